"""Opens the database, brings its tables up to date, and hands out transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.orm import Session
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from inferlake_registry.contract.problems import BadSetting

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_BUSY_MS: Final = 10_000
_MIGRATION_LOCK: Final = 0x1F_E21A  # any number, the same for all of us


class Database:
    """One database; ``read`` and ``write`` give a session that is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # SQLite upgrades a reading transaction to a writing one only if nobody wrote meanwhile; a writer therefore
        # takes the lock when it begins and waits for it, instead of failing in the middle.
        self._writing = engine.execution_options(inferlake_write=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Give a session for reading."""
        with Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Give a session that commits at the end, or rolls everything back when the block raises."""
        with Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(url: str) -> Database:
    """Connect, and create or upgrade the tables. Raises BadSetting for a database that cannot be used."""
    try:
        parsed = make_url(url)
        engine = create_engine(parsed, hide_parameters=True, **_options(parsed.get_backend_name()))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise BadSetting("--database", f"is no database address that can be used ({type(error).__name__})") from None
    try:
        if parsed.get_backend_name() == "sqlite":
            if parsed.database and parsed.database != ":memory:":
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            _prepare_sqlite(engine)
        upgrade(engine)
    except (OSError, DBAPIError) as error:
        # A driver's message may repeat the address, and that may hold a password.
        cause = error.strerror if isinstance(error, OSError) else type(error.orig).__name__
        raise BadSetting("--database", f"names a database that cannot be opened ({cause})") from None
    return Database(engine)


def _options(backend: str) -> dict[str, Any]:
    if backend == "sqlite":
        return {"connect_args": {"timeout": _BUSY_MS / 1000, "check_same_thread": False}}
    return {"pool_pre_ping": True}


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: object) -> None:
        # The driver's own transaction handling would begin transactions behind our back.
        connection.isolation_level = None
        _write_ahead(connection)
        for pragma in ("foreign_keys = ON", "synchronous = NORMAL", f"busy_timeout = {_BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("inferlake_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY


@retry(
    retry=retry_if_exception(_is_busy),
    wait=wait_fixed(0.02),
    stop=stop_after_delay(_BUSY_MS / 1000),
    reraise=True,
)
def _write_ahead(connection: sqlite3.Connection) -> None:
    """Log writes ahead. Where others open a new database at the same moment SQLite fails at once: we have to wait."""
    connection.execute("PRAGMA journal_mode = WAL")


def upgrade(engine: Engine) -> None:
    """Bring the tables to the latest migration, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with engine.execution_options(inferlake_write=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two processes that begin at once: the second waits here and finds the work done.
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
