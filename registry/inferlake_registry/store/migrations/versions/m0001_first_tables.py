"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "history_event",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("model_name", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("statement", sa.String(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_history_event")),
    )
    op.create_index(op.f("ix_history_event_at"), "history_event", ["at"], unique=False)
    op.create_index(op.f("ix_history_event_model_id"), "history_event", ["model_id"], unique=False)
    op.create_table(
        "leader_lease",
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_leader_lease")),
    )
    op.create_table(
        "model",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("managed", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("limit_epoch", sa.Integer(), nullable=False),
        sa.Column("secret_epoch", sa.Integer(), nullable=False),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("outputs", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.Column("dropped_at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
    )
    op.create_index(
        "uq_model_living_name",
        "model",
        ["name_key"],
        unique=True,
        sqlite_where=sa.text("dropped_at IS NULL"),
        postgresql_where=sa.text("dropped_at IS NULL"),
    )
    op.create_table(
        "rejected_row",
        sa.Column("rejected_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("row_key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_version", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("errors", sa.String(), nullable=False),
        sa.Column("ai_output", sa.String(), nullable=True),
        sa.Column("input", sa.String(), nullable=True),
        sa.Column("rejected_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("rejected_id", name=op.f("pk_rejected_row")),
    )
    op.create_index("ix_rejected_row_at_id", "rejected_row", ["rejected_at", "rejected_id"], unique=False)
    op.create_index(op.f("ix_rejected_row_model"), "rejected_row", ["model"], unique=False)
    op.create_index(op.f("ix_rejected_row_reason"), "rejected_row", ["reason"], unique=False)
    op.create_index(op.f("ix_rejected_row_run_id"), "rejected_row", ["run_id"], unique=False)
    op.create_table(
        "run",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("model_version", sa.String(), nullable=True),
        sa.Column("application_id", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), nullable=False),
        sa.Column("rejected_by_reason", sa.JSON(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("from_cache", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("latency_p50_ms", sa.Double(), nullable=True),
        sa.Column("latency_p95_ms", sa.Double(), nullable=True),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("rejected_table", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_started_at"), "run", ["started_at"], unique=False)
    op.create_table(
        "usage_hour",
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("hour", sa.DateTime(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("errors", sa.JSON(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("latency_ms_histogram", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("model", "version", "hour", name=op.f("pk_usage_hour")),
    )
    op.create_table(
        "activation",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("shares", sa.JSON(), nullable=True),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("undone_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_activation_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_activation")),
    )
    op.create_index(op.f("ix_activation_model_id"), "activation", ["model_id"], unique=False)
    op.create_table(
        "health_sample",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("latency_ms", sa.Double(), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("cause", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_health_sample_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_health_sample")),
    )
    op.create_index("ix_health_sample_at", "health_sample", ["at"], unique=False)
    op.create_index("ix_health_sample_model_at", "health_sample", ["model_id", "at"], unique=False)
    op.create_table(
        "health_transition",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f("fk_health_transition_model_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_health_transition")),
    )
    op.create_index(op.f("ix_health_transition_model_id"), "health_transition", ["model_id"], unique=False)
    op.create_table(
        "lease",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("first_slot", sa.Double(), nullable=False),
        sa.Column("spacing", sa.Double(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_lease_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
    )
    op.create_index(op.f("ix_lease_expires"), "lease", ["expires"], unique=False)
    op.create_index(op.f("ix_lease_model_id"), "lease", ["model_id"], unique=False)
    op.create_table(
        "lease_holder",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("in_flight", sa.Integer(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_lease_holder_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", "holder", name=op.f("pk_lease_holder")),
    )
    op.create_table(
        "limit_clock",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("next_slot", sa.Double(), nullable=False),
        sa.Column("paused_until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_limit_clock_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", name=op.f("pk_limit_clock")),
    )
    op.create_table(
        "model_alias",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("moved_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_model_alias_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", "alias", name=op.f("pk_model_alias")),
    )
    op.create_table(
        "model_health",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("successes", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(), nullable=False),
        sa.Column("cause", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_model_health_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", name=op.f("pk_model_health")),
    )
    op.create_table(
        "model_property",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f("fk_model_property_model_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("model_id", "key", name=op.f("pk_model_property")),
    )
    op.create_table(
        "model_version",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("provider", sa.String(), nullable=True),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_model_version_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_version")),
        sa.UniqueConstraint("model_id", "ordinal", name=op.f("uq_model_version_model_id_ordinal")),
        sa.UniqueConstraint("model_id", "version", name=op.f("uq_model_version_model_id_version")),
    )
    op.create_table(
        "version_property",
        sa.Column("version_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=True),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"], ["model_version.id"], name=op.f("fk_version_property_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("version_id", "key", name=op.f("pk_version_property")),
    )


def downgrade() -> None:
    op.drop_table("version_property")
    op.drop_table("model_version")
    op.drop_table("model_property")
    op.drop_table("model_health")
    op.drop_table("model_alias")
    op.drop_table("limit_clock")
    op.drop_table("lease_holder")
    op.drop_index(op.f("ix_lease_model_id"), table_name="lease")
    op.drop_index(op.f("ix_lease_expires"), table_name="lease")
    op.drop_table("lease")
    op.drop_index(op.f("ix_health_transition_model_id"), table_name="health_transition")
    op.drop_table("health_transition")
    op.drop_index("ix_health_sample_model_at", table_name="health_sample")
    op.drop_index("ix_health_sample_at", table_name="health_sample")
    op.drop_table("health_sample")
    op.drop_index(op.f("ix_activation_model_id"), table_name="activation")
    op.drop_table("activation")
    op.drop_table("usage_hour")
    op.drop_index(op.f("ix_run_started_at"), table_name="run")
    op.drop_table("run")
    op.drop_index(op.f("ix_rejected_row_run_id"), table_name="rejected_row")
    op.drop_index(op.f("ix_rejected_row_reason"), table_name="rejected_row")
    op.drop_index(op.f("ix_rejected_row_model"), table_name="rejected_row")
    op.drop_index("ix_rejected_row_at_id", table_name="rejected_row")
    op.drop_table("rejected_row")
    op.drop_index(
        "uq_model_living_name",
        table_name="model",
        sqlite_where=sa.text("dropped_at IS NULL"),
        postgresql_where=sa.text("dropped_at IS NULL"),
    )
    op.drop_table("model")
    op.drop_table("leader_lease")
    op.drop_index(op.f("ix_history_event_model_id"), table_name="history_event")
    op.drop_index(op.f("ix_history_event_at"), table_name="history_event")
    op.drop_table("history_event")
