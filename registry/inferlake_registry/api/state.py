"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from inferlake_registry.settings import Settings
from inferlake_registry.store.database import Database
from inferlake_registry.store.secrets import KeyRing


@dataclass(frozen=True, slots=True)
class State:
    """The open database, the key ring and the settings."""

    database: Database
    ring: KeyRing
    settings: Settings


def clock() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)
