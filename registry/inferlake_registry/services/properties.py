"""Properties between the language's typed values and the store's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import SecretUnavailable
from inferlake_registry.services.bound_keys import bound_host
from inferlake_registry.services.references import follow
from inferlake_registry.store.schema import Model, ModelProperty, PropertyValueColumns, Version, VersionProperty
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.names import parse_name
from inferlake_sql.properties import Effect, Property, normalise, show_value
from inferlake_sql.secret import MASK, Secret, SecretReference, parse_secret_reference

Row = TypeVar("Row", bound=PropertyValueColumns)


def split_by_effect(properties: Iterable[Property]) -> tuple[tuple[Property, ...], tuple[Property, ...]]:
    """Return identity properties and operational ones."""
    items = tuple(properties)
    identity = tuple(item for item in items if item.spec.effect is Effect.IDENTITY)
    return identity, tuple(item for item in items if item.spec.effect is Effect.OPERATIONAL)


def version_row(item: Property, ring: KeyRing, now: datetime) -> VersionProperty:
    """Return an identity property as its row."""
    return _fill(VersionProperty(key=item.key), item, ring, now)


def _fill(row: Row, item: Property, ring: KeyRing, now: datetime) -> Row:
    row.changed_at = now
    row.value = row.secret = row.reference = None
    match item.value:
        case Secret():
            row.secret = ring.encrypt(item.value)
        case SecretReference():
            row.reference = str(item.value)
        case _:
            row.value = show_value(item.value)
    return row


def put(model: Model, item: Property, host: str, ring: KeyRing, now: datetime) -> None:
    """Set an operational property in place; a secret is for ``host`` alone."""
    bound = bound_host(item, host)
    existing = next((row for row in model.properties if (row.key, row.host) == (item.key, bound)), None)
    if existing is None:
        existing = ModelProperty(key=item.key, host=bound)
        model.properties.append(existing)
    _fill(existing, item, ring, now)


def copy_version_row(row: VersionProperty) -> VersionProperty:
    """Return the same property for another version, as old as it is; a secret is copied encrypted."""
    return VersionProperty(
        key=row.key, value=row.value, secret=row.secret, reference=row.reference, changed_at=row.changed_at
    )


def pinned_name(rows: Iterable[VersionProperty], model: str, now: datetime) -> list[VersionProperty]:
    """Return the ``model.name`` that a version has by default, for where that would change; else nothing."""
    if any(row.key == "model.name" for row in rows):
        return []
    return [VersionProperty(key="model.name", value=parse_name(model).last, changed_at=now)]


def shown(row: PropertyValueColumns) -> str:
    """Return a property's value as it may be shown."""
    if row.secret is not None:
        return MASK
    return row.reference if row.reference is not None else row.value or ""


def typed(row: PropertyValueColumns) -> Property:
    """Return a property that is no literal secret as the language's typed value; a literal secret comes as its mask."""
    if row.secret is not None:
        return Property(row.key, Secret(MASK))
    if row.reference is not None:
        reference = parse_secret_reference(row.reference)
        return Property(row.key, reference if reference is not None else row.reference)
    return normalise(row.key, row.value or "")


def reveal(row: PropertyValueColumns, ring: KeyRing, model: str) -> Secret:
    """Return a property's value for a request header. Raises SecretUnavailable for a reference that leads nowhere."""
    if row.secret is not None:
        return ring.decrypt(row.secret)
    if row.reference is not None:
        reference = parse_secret_reference(row.reference)
        if reference is None:
            raise SecretUnavailable(model, row.key, "the reference is not one that this registry knows")
        return follow(reference, ring, model, row.key)
    return Secret(row.value or "")


def some_secret(session: Session) -> bytes | None:
    """Return a stored secret, encrypted, or None when there is none: what a key ring must be able to read."""
    for table in (ModelProperty, VersionProperty):
        found = session.scalar(select(table.secret).where(table.secret.is_not(None)).limit(1))
        if found is not None:
            return found
    return None


def same_content(
    version: Version, provider: str | None, location: str, rows: Iterable[VersionProperty], ring: KeyRing
) -> bool:
    """Return whether a version already says exactly this; secrets are compared in clear, and only here."""
    return (version.provider, version.location) == (provider, location) and _plain(version.properties, ring) == _plain(
        rows, ring
    )


def _plain(rows: Iterable[VersionProperty], ring: KeyRing) -> Mapping[str, str]:
    return {
        row.key: ring.decrypt(row.secret).reveal() if row.secret is not None else row.reference or row.value or ""
        for row in rows
    }
