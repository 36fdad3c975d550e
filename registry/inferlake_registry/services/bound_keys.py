"""A secret belongs to the host that it was given for, and is sent nowhere else.

Whatever makes a version of another host serve (SET LOCATION, ADD VERSION, an alias, a split, a rollback), that host
gets only what was given for it. What belongs to the first host stays there, so that going back works.
"""

from __future__ import annotations

from inferlake_registry.store.schema import Model, ModelProperty
from inferlake_sql.location import check_location
from inferlake_sql.properties import Property
from inferlake_sql.secret import Secret, SecretReference

EVERY_HOST = ""


def is_header(key: str) -> bool:
    """Whether a property is sent to the endpoint as a header."""
    return key == "api.key" or key.startswith("header.")


def host_of(location: str) -> str:
    """Return the host of a stored address, in lower case."""
    return check_location(location).host


def bound_host(item: Property, host: str) -> str:
    """Return the host that a property is for when it is set while ``host`` is meant: for no secret, every one."""
    secret = isinstance(item.value, (Secret, SecretReference))
    return host if secret and is_header(item.key) else EVERY_HOST


def properties_for(model: Model, host: str) -> list[ModelProperty]:
    """Return the operational properties that calls to a host are made with."""
    return [row for row in model.properties if row.host in (EVERY_HOST, host)]


def not_sent(model: Model, *hosts: str) -> tuple[str, ...]:
    """Return a notice for each of the hosts that gets less than another one, naming the keys."""
    notices: list[str] = []
    for host in dict.fromkeys(hosts):
        own = {row.key for row in properties_for(model, host)}
        missing = sorted({row.key for row in model.properties} - own)
        if missing:
            keys = ", ".join(missing)
            notices.append(f"Not sent to {host}, since it was given for another host: {keys}. SET it again for {host}.")
    return tuple(notices)
