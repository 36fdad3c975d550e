"""What one model's page shows: its standing, versions, effective properties, and SQL that creates it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from inferlake_registry.contract.health import Health
from inferlake_registry.services import models as store
from inferlake_registry.services.bound_keys import host_of, properties_for
from inferlake_registry.services.listings.models import Sample, Standing, last_samples, standing_of
from inferlake_registry.services.properties import shown, typed
from inferlake_registry.services.snapshot import contract_columns
from inferlake_registry.store.schema import Model, PropertyValueColumns, Version, VersionProperty
from inferlake_sql.location import Location
from inferlake_sql.names import parse_name, parse_reference
from inferlake_sql.properties import CATALOGUE, PropertySpec, find_spec, show_value
from inferlake_sql.render import render_pretty
from inferlake_sql.statements import CreateModel


@dataclass(frozen=True, slots=True)
class VersionItem:
    """One version; ``weight`` is its share of the traffic in percent while a split is set."""

    version: str
    active: bool
    weight: int | None
    created_at: datetime
    created_by: str
    location: str
    comment: str | None
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertyItem:
    """One effective property. ``value`` is None when there is none, and for a literal secret, which is never read."""

    key: str
    value: str | None
    own: bool  # set on this model, not a default
    inherited: bool  # from the version that this one was made of
    secret: bool
    changed_at: datetime | None
    meaning: str


@dataclass(frozen=True, slots=True)
class Portrait:
    """One model as its page shows it; versions the newest first, samples the oldest first."""

    name: str
    comment: str | None
    standing: Standing
    samples: tuple[Sample, ...]
    version: str
    provider: str | None
    location: str
    versions: tuple[VersionItem, ...]
    properties: tuple[PropertyItem, ...]
    statement: str


def read_portrait(session: Session, name: str, now: datetime) -> Portrait:
    """Return the portrait of the model of that name, as written in SQL. Raises ModelNotFound, InvalidReference."""
    model = store.get_referred(session, parse_reference(name))
    active = store.active_version(model)
    standing = standing_of(session, model.id, now)
    return Portrait(
        name=model.name,
        comment=model.comment,
        standing=standing or Standing(Health.UNKNOWN, None, stale=False, enabled=model.enabled, cause=None),
        samples=tuple(last_samples(session, [model.id])[model.id]),
        version=active.version,
        provider=active.provider,
        location=active.location,
        versions=_versions(model),
        properties=effective_properties(model, active),
        statement=create_statement(model, active),
    )


def _versions(model: Model) -> tuple[VersionItem, ...]:
    live = store.live(model)
    aliases = store.aliases_of(model)
    return tuple(
        VersionItem(
            version=row.version,
            active=row.version == live.version,
            weight=None if live.shares is None else live.shares.get(row.version, 0),
            created_at=row.created_at,
            created_by=row.created_by,
            location=row.location,
            comment=row.comment,
            aliases=tuple(sorted(alias for alias, version in aliases.items() if version == row.version)),
        )
        for row in sorted(model.versions, key=lambda row: row.ordinal, reverse=True)
    )


def effective_properties(model: Model, version: Version) -> tuple[PropertyItem, ...]:
    """Return what is set, in the catalogue's order with free keys where their prefix stands, then the defaults."""
    rows: list[PropertyValueColumns] = [*version.properties, *properties_for(model, host_of(version.location))]
    order = {spec.key: place for place, spec in enumerate(CATALOGUE)}
    own = sorted(rows, key=lambda row: (order[find_spec(row.key).key], row.key))
    written = {row.key for row in rows}
    defaults = [spec for spec in CATALOGUE if spec.key not in written and not spec.key.endswith("*")]
    return (*(_own(row, version) for row in own), *(_default(spec, model) for spec in defaults))


def _own(row: PropertyValueColumns, version: Version) -> PropertyItem:
    hidden = row.secret is not None
    # A version never changes, so what is older than it came with the version that it was made of.
    inherited = isinstance(row, VersionProperty) and row.changed_at < version.created_at
    meaning = find_spec(row.key).meaning
    return PropertyItem(row.key, None if hidden else shown(row), True, inherited, hidden, row.changed_at, meaning)


def _default(spec: PropertySpec, model: Model) -> PropertyItem:
    # A value is written as SET takes it, so that it can be copied.
    value = show_value(spec.default) if spec.default is not None else spec.default_text or None
    if spec.key == "model.name":
        value = parse_name(model.name).last
    return PropertyItem(spec.key, value, False, False, False, None, spec.meaning)


def create_statement(model: Model, active: Version) -> str:
    """Return the statement that makes the model again; literal secrets are masked."""
    rows: list[PropertyValueColumns] = [*active.properties, *properties_for(model, host_of(active.location))]
    return render_pretty(
        CreateModel(
            name=parse_name(model.name),
            location=Location(active.location),
            provider=active.provider,
            properties=tuple(typed(row) for row in rows),
            version=active.version,
            comment=model.comment,
            input=contract_columns(model.inputs),
            output=contract_columns(model.outputs),
        )
    )
