"""The registry that this driver talks to: one for the whole process, set by ``enable``."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from inferlake.errors import NotEnabled
from inferlake_registry.client import Registry

TOKEN_VARIABLE: Final = "INFERLAKE_REGISTRY_TOKEN"
URL_VARIABLE: Final = "INFERLAKE_REGISTRY_URL"

# What people should see without asking goes out at WARNING, which Python shows by default.
log: Final = logging.getLogger("inferlake")


@dataclass(frozen=True, slots=True)
class Connection:
    """A registry, and the Spark application whose calls share their answers."""

    registry: Registry
    application_id: str

    @property
    def url(self) -> str:
        """Address of the registry."""
        return self.registry.url


_current: Connection | None = None


def current() -> Connection:
    """Return the connection that ``enable`` made. Raises NotEnabled."""
    if _current is None:
        raise NotEnabled
    return _current


def known() -> Connection | None:
    """Return the connection if there is one."""
    return _current


def connect(connection: Connection | None) -> None:
    """Make a connection the one of this process, or forget it."""
    global _current
    _current = connection
