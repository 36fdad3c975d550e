"""Secret members of a request's body: part of a version, given to a worker with the headers, for the version's host."""

from __future__ import annotations

from collections.abc import Iterable

from inferlake_registry.services.bound_keys import host_of
from inferlake_registry.services.properties import reveal
from inferlake_registry.store.schema import Version, VersionProperty
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.json_text import read_json_loosely
from inferlake_sql.secret import Secret

_PREFIX = "request."


def is_secret(row: VersionProperty) -> bool:
    """Whether a property of a version must not be seen, or refers to what must not."""
    return row.secret is not None or row.reference is not None


def secret_members(version: Version) -> tuple[str, ...]:
    """Return the names of a version's secret members, sorted."""
    return tuple(sorted(row.key.removeprefix(_PREFIX) for row in version.properties if is_secret(row)))


def members_for(ring: KeyRing, model: str, version: Version, host: str) -> dict[str, Secret]:
    """Return the secret members as JSON texts; none for another host than the version's. Raises SecretUnavailable."""
    if host_of(version.location) != host:
        return {}
    return {
        row.key.removeprefix(_PREFIX): Secret(read_json_loosely(reveal(row, ring, model).reveal()).text)
        for row in version.properties
        if is_secret(row)
    }


def inherited(rows: Iterable[VersionProperty], before: str, now: str) -> tuple[list[VersionProperty], tuple[str, ...]]:
    """Return the rows that a version at the address ``now`` inherits from one at ``before``, with a notice of the rest.

    A secret was given for a host, and is not sent to another one.
    """
    kept = [row for row in rows if not is_secret(row) or host_of(before) == host_of(now)]
    left = sorted(row.key for row in rows if row not in kept)
    if not left:
        return kept, ()
    return kept, (f"Not inherited, since it was given for another host: {', '.join(left)}.",)
