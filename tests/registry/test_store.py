"""The database: migrations make what the schema says, transactions hold, and the file is opened as it should be."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, select, text
from sqlalchemy.exc import IntegrityError, OperationalError, StatementError
from sqlalchemy.orm.exc import StaleDataError

from inferlake_registry.contract.problems import BadSetting
from inferlake_registry.store.database import Database, _prepare_sqlite, open_database, upgrade
from inferlake_registry.store.schema import LeaderLease, Model, Table

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path / 'registry.db'}")


def a_model(name: str, dropped: datetime | None = None) -> Model:
    return Model(
        id=f"id of {name} {dropped}",
        name=name,
        name_key=name.casefold(),
        namespace="",
        created_at=NOW,
        created_by="test",
        updated_at=NOW,
        dropped_at=dropped,
    )


def test_the_migrations_make_exactly_the_schema(database: Database) -> None:
    with database.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), Table.metadata)
    assert differences == []
    database.close()


def test_upgrading_again_changes_nothing(database: Database) -> None:
    with database.write() as session:
        session.add(a_model("m"))
    upgrade(database.engine)
    with database.read() as session:
        assert session.scalar(select(Model.name)) == "m"
    database.close()


def test_two_processes_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    barrier, failures = threading.Barrier(4), list[BaseException]()

    def start() -> None:
        barrier.wait()
        try:
            open_database(f"sqlite:///{tmp_path / 'registry.db'}").close()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_connections_that_are_the_first_at_the_same_moment_wait_for_each_other(tmp_path: Path) -> None:
    barrier, failures = threading.Barrier(6), list[BaseException]()

    def connect(round_: int) -> None:
        engine = create_engine(f"sqlite:///{tmp_path / f'{round_}.db'}")
        _prepare_sqlite(engine)
        barrier.wait()
        try:
            with engine.connect() as connection:
                assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
            failures.append(error)
        engine.dispose()

    for round_ in range(100):  # in one of about eighty SQLite does not wait by itself
        threads = [threading.Thread(target=connect, args=(round_,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_every_table_is_there_after_a_migration_that_was_cut_off(tmp_path: Path) -> None:
    """A migration is one transaction: what was half done is gone, and the next start does it."""
    file = tmp_path / "registry.db"
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("CREATE TABLE run (run_id INTEGER)")  # in the way of the first migration
        raw.commit()
    with pytest.raises(BadSetting, match="cannot be opened"):
        open_database(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as raw:
        assert [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")] == ["run"]
        raw.execute("DROP TABLE run")
        raw.commit()
    database = open_database(f"sqlite:///{file}")
    assert {"model", "model_version", "run"} <= set(inspect(database.engine).get_table_names())
    database.close()


def test_the_file_is_opened_as_it_should_be(database: Database) -> None:
    with database.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert session.scalar(text("PRAGMA foreign_keys")) == 1
        assert session.scalar(text("PRAGMA busy_timeout")) >= 1_000
    database.close()


def test_a_writer_takes_the_lock_when_it_begins_and_readers_go_on(database: Database, tmp_path: Path) -> None:
    with database.write() as session, closing(sqlite3.connect(tmp_path / "registry.db", timeout=0)) as other:
        session.add(a_model("m"))
        session.flush()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        with database.read() as reader:
            assert reader.scalar(select(Model.name)) is None
    with database.read() as reader:
        assert reader.scalar(select(Model.name)) == "m"
    database.close()


def test_a_block_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError), database.write() as session:
        session.add(a_model("m"))
        session.flush()
        raise RuntimeError
    with database.read() as session:
        assert session.scalar(select(Model.name)) is None
    database.close()


def test_reading_does_not_write(database: Database) -> None:
    with database.read() as session:
        session.add(a_model("m"))
        session.flush()
    with database.read() as session:
        assert session.scalar(select(Model.name)) is None
    database.close()


def test_one_living_model_a_name_and_any_number_of_dropped_ones(database: Database) -> None:
    with database.write() as session:
        session.add_all([a_model("m", NOW), a_model("m", NOW + timedelta(1)), a_model("m")])
    with pytest.raises(IntegrityError), database.write() as session:
        again = a_model("M")
        again.id = "another"
        session.add(again)
    database.close()


def test_the_loser_of_a_race_is_told(database: Database) -> None:
    with database.write() as session:
        session.add(a_model("m"))
    with database.read() as late:
        seen = late.scalars(select(Model)).one()
        assert seen.revision == 1
    with database.write() as session:
        session.scalars(select(Model)).one().updated_at = NOW + timedelta(seconds=1)
    with pytest.raises(StaleDataError), database.write() as session:
        session.add(seen)
        seen.updated_at = NOW + timedelta(seconds=2)
    with database.read() as session:
        assert session.scalars(select(Model.revision)).one() == 2
    database.close()


def test_times_keep_their_moment_and_want_a_zone(database: Database) -> None:
    somewhere = timezone(timedelta(hours=5, minutes=30))
    with database.write() as session:
        model = a_model("m")
        model.created_at = NOW.astimezone(somewhere)
        session.add(model)
    with database.read() as session:
        stored = session.scalar(select(Model.created_at))
        assert stored == NOW
        assert stored is not None
        assert stored.tzinfo is UTC
    with pytest.raises(StatementError), database.write() as session:
        model = a_model("n")
        model.created_at = datetime(2026, 1, 1)
        session.add(model)
    database.close()


def test_a_database_that_is_locked_for_long_is_an_error_and_not_a_hang(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'registry.db'}")
    with closing(sqlite3.connect(tmp_path / "registry.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 100")
        with pytest.raises(OperationalError, match="locked"), database.write() as session:
            session.execute(text("PRAGMA busy_timeout = 100"))
            session.add(LeaderLease(task="t", holder="h", expires=1.0))
    database.close()
