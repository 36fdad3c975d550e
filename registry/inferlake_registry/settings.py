"""Settings of the service: from options of the command line, else from the environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inferlake_sql.secret import Secret


@dataclass(frozen=True, slots=True)
class Settings:
    """How one registry process runs.

    ``token``: when set, every address below /v1 wants it as a bearer token. ``secret_key``: the Fernet keys of the
    secrets, newest first, separated by commas; without it a key file beside a SQLite database is made on first use.
    ``probes``: whether this process may probe endpoints.
    """

    database: str
    token: Secret | None = None
    secret_key: Secret | None = None
    key_file: Path | None = None
    probes: bool = True
    hosts: frozenset[str] | None = None  # names that requests may be for; None is any


def default_database() -> str:
    """Return the address of the user's own SQLite file."""
    return sqlite_address(Path.home() / ".inferlake" / "registry.db")


def sqlite_address(file: Path) -> str:
    """Return the address of a SQLite file."""
    return f"sqlite:///{file.resolve()}"


def key_file_of(database: str) -> Path | None:
    """Return where the key of a SQLite database's secrets lies: beside it; None for a database elsewhere."""
    prefix = "sqlite:///"
    if not database.startswith(prefix) or database in (prefix, prefix + ":memory:"):
        return None
    return Path(database.removeprefix(prefix) + ".key")
