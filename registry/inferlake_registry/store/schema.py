"""The tables. What calls are made with is immutable (versions); what can change in place is apart (properties).

Times are UTC. A model's ``revision`` grows with every change and is what concurrent statements are compared by.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, ForeignKey, Index, LargeBinary, MetaData, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator


class Utc(TypeDecorator[datetime]):
    """A moment with its time zone; SQLite keeps none, so it is stored as UTC and comes back as UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone: it could mean anything."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the zone back."""
        return None if value is None else value.replace(tzinfo=UTC)


class Table(DeclarativeBase):
    """Base of all tables; constraint names are fixed so that a migration can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: Utc, dict[str, Any]: JSON, list[Any]: JSON}  # noqa: RUF012 # SQLAlchemy's own form


class PropertyValueColumns:
    """One property: exactly one of a plain text, an encrypted secret and a reference to one."""

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str | None]
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    reference: Mapped[str | None]
    changed_at: Mapped[datetime]


class Model(Table):
    """A registered model. A dropped one keeps its row, so that UNDROP and its history work."""

    __tablename__ = "model"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    name_key: Mapped[str]
    namespace: Mapped[str]
    comment: Mapped[str | None]
    enabled: Mapped[bool] = mapped_column(default=True)
    managed: Mapped[bool] = mapped_column(default=False)  # a version was named by a person
    revision: Mapped[int] = mapped_column()
    limit_epoch: Mapped[int] = mapped_column(default=1)
    secret_epoch: Mapped[int] = mapped_column(default=1)
    inputs: Mapped[list[Any]] = mapped_column(default=list)
    outputs: Mapped[list[Any]] = mapped_column(default=list)
    created_at: Mapped[datetime]
    created_by: Mapped[str]
    updated_at: Mapped[datetime]
    dropped_at: Mapped[datetime | None]

    versions: Mapped[list[Version]] = relationship(order_by="Version.ordinal", cascade="all, delete-orphan")
    properties: Mapped[list[ModelProperty]] = relationship(cascade="all, delete-orphan", order_by="ModelProperty.key")
    aliases: Mapped[list[Alias]] = relationship(cascade="all, delete-orphan", order_by="Alias.alias")
    activations: Mapped[list[Activation]] = relationship(order_by="Activation.ordinal", cascade="all, delete-orphan")

    # Every change sets updated_at, and the mapper then compares and raises the revision: the loser of a race is told.
    __mapper_args__ = {"version_id_col": revision}  # noqa: RUF012 # SQLAlchemy's own form
    __table_args__ = (
        # One living model a name; dropped ones do not count.
        Index(
            "uq_model_living_name",
            "name_key",
            unique=True,
            sqlite_where=text("dropped_at IS NULL"),
            postgresql_where=text("dropped_at IS NULL"),
        ),
    )


class Version(Table):
    """One immutable version of a model."""

    __tablename__ = "model_version"

    id: Mapped[str] = mapped_column(primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"))
    version: Mapped[str]
    ordinal: Mapped[int]
    provider: Mapped[str | None]
    location: Mapped[str]
    comment: Mapped[str | None]
    created_at: Mapped[datetime]
    created_by: Mapped[str]

    properties: Mapped[list[VersionProperty]] = relationship(
        cascade="all, delete-orphan", order_by="VersionProperty.key"
    )

    __table_args__ = (UniqueConstraint("model_id", "version"), UniqueConstraint("model_id", "ordinal"))


class ModelProperty(PropertyValueColumns, Table):
    """An operational property: changed in place."""

    __tablename__ = "model_property"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    host: Mapped[str] = mapped_column(primary_key=True, default="")  # that a secret was given for; empty for the rest


class VersionProperty(PropertyValueColumns, Table):
    """An identity property: part of its version, never changed."""

    __tablename__ = "version_property"

    version_id: Mapped[str] = mapped_column(ForeignKey("model_version.id", ondelete="CASCADE"), primary_key=True)


class Alias(Table):
    """A name that points at one version."""

    __tablename__ = "model_alias"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    alias: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str]
    moved_at: Mapped[datetime]


class Activation(Table):
    """What served from when: a stack. A rollback marks the top as undone; the next one below is live again."""

    __tablename__ = "activation"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), index=True)
    ordinal: Mapped[int]
    version: Mapped[str]  # the active version
    shares: Mapped[dict[str, Any] | None]  # version -> percent while a split is set
    at: Mapped[datetime]
    undone_at: Mapped[datetime | None]


class HistoryEvent(Table):
    """Everything that was done to a model, with the statement as it may be shown."""

    __tablename__ = "history_event"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    model_id: Mapped[str] = mapped_column(index=True)
    model_name: Mapped[str]
    at: Mapped[datetime] = mapped_column(index=True)
    actor: Mapped[str]
    action: Mapped[str]
    statement: Mapped[str]
    before: Mapped[dict[str, Any]]
    after: Mapped[dict[str, Any]]


class ModelHealth(Table):
    """Where a model's probes have brought it."""

    __tablename__ = "model_health"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    state: Mapped[str]
    since: Mapped[datetime]
    failures: Mapped[int]
    successes: Mapped[int]
    last_at: Mapped[datetime]
    cause: Mapped[str | None]


class HealthSample(Table):
    """One probe; kept for 48 hours."""

    __tablename__ = "health_sample"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"))
    at: Mapped[datetime]
    ok: Mapped[bool]
    state: Mapped[str]
    latency_ms: Mapped[float | None]
    http_status: Mapped[int | None]
    cause: Mapped[str | None]

    __table_args__ = (Index("ix_health_sample_model_at", "model_id", "at"), Index("ix_health_sample_at", "at"))


class HealthTransition(Table):
    """A change of state; kept when its samples are gone."""

    __tablename__ = "health_transition"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), index=True)
    at: Mapped[datetime]
    before: Mapped[str]
    after: Mapped[str]
    cause: Mapped[str | None]


class LimitClock(Table):
    """The one clock of a model's ``qps.limit``: when the next free send slot is, in seconds since the epoch."""

    __tablename__ = "limit_clock"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    next_slot: Mapped[float]
    paused_until: Mapped[float]


class LeaseHolder(Table):
    """A worker process that took a lease lately."""

    __tablename__ = "lease_holder"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    holder: Mapped[str] = mapped_column(primary_key=True)
    in_flight: Mapped[int]
    until: Mapped[float]  # when it counts as gone, unless it asks again
    share: Mapped[float] = mapped_column(server_default="0")  # of the limit, in calls a second
    share_until: Mapped[float] = mapped_column(server_default="0")


class BreakerRow(Table):
    """A worker process that has stopped calling an endpoint for a while."""

    __tablename__ = "breaker_report"

    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), primary_key=True)
    holder: Mapped[str] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[float]  # when it means to try again


class LeaseRow(Table):
    """A granted lease, until it expires or is given back."""

    __tablename__ = "lease"

    id: Mapped[str] = mapped_column(primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model.id", ondelete="CASCADE"), index=True)
    holder: Mapped[str]
    first_slot: Mapped[float]
    spacing: Mapped[float]
    count: Mapped[int]
    expires: Mapped[float] = mapped_column(index=True)


class UsageHour(Table):
    """Calls of one model version in one hour."""

    __tablename__ = "usage_hour"

    model: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str] = mapped_column(primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    calls: Mapped[int]
    errors: Mapped[dict[str, Any]]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    latency_ms_histogram: Mapped[dict[str, Any]]


class Run(Table):
    """Summary of one Spark run; the columns are those of ``contract.runs.RunReport``."""

    __tablename__ = "run"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str | None]
    model_version: Mapped[str | None]
    application_id: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(index=True)
    seconds: Mapped[float]
    rows: Mapped[int]
    accepted: Mapped[int]
    rejected: Mapped[int]
    rejected_by_reason: Mapped[dict[str, Any]]
    calls: Mapped[int]
    from_cache: Mapped[int]
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    latency_p50_ms: Mapped[float | None]
    latency_p95_ms: Mapped[float | None]
    location: Mapped[str]
    rejected_table: Mapped[str]
    state: Mapped[str]


class RejectedRow(Table):
    """A rejected row as people look at it; the whole row stays in the user's own table."""

    __tablename__ = "rejected_row"

    rejected_id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(index=True)
    row_key: Mapped[str]
    model: Mapped[str | None] = mapped_column(index=True)
    model_version: Mapped[str | None]
    reason: Mapped[str] = mapped_column(index=True)
    errors: Mapped[str]
    ai_output: Mapped[str | None]
    input: Mapped[str | None]
    rejected_at: Mapped[datetime]

    __table_args__ = (Index("ix_rejected_row_at_id", "rejected_at", "rejected_id"),)


class LeaderLease(Table):
    """Which process does a thing that only one may do, such as probing."""

    __tablename__ = "leader_lease"

    task: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    expires: Mapped[float]
