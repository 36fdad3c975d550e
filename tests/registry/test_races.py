"""Statements that race: one winner, one CONCURRENT_MODIFICATION, nothing half done."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from registry_fixtures import RegistryProcess, StartRegistry
from registry_sql import LOCATION, Sql

from inferlake_registry.client import Client
from inferlake_registry.contract.statements import StatementResult
from inferlake_sql.errors import InferlakeError


def at_once(registry: RegistryProcess, *statements: str) -> list[StatementResult | InferlakeError]:
    """Send statements while the database is locked for writing, so that all of them see the same state, then let go."""
    with ExitStack() as stack:
        clients = [stack.enter_context(registry.client()) for _ in statements]
        for client in clients:
            client.execute("SHOW MODELS LIKE 'nothing'")  # so that it is connected
        pool = stack.enter_context(ThreadPoolExecutor(len(statements)))
        lock = stack.enter_context(closing(sqlite3.connect(registry.database)))
        lock.execute("BEGIN IMMEDIATE")
        sent = [pool.submit(client.execute, text) for client, text in zip(clients, statements, strict=True)]
        time.sleep(1.0)  # all of them have looked and wait for the lock
        assert not any(future.done() for future in sent)
        lock.rollback()
        return [_answer(future) for future in sent]


def _answer(future: Future[StatementResult]) -> StatementResult | InferlakeError:
    error = future.exception(timeout=20)
    assert error is None or isinstance(error, InferlakeError)
    return future.result() if error is None else error


def codes(answers: list[StatementResult | InferlakeError]) -> list[str]:
    return sorted("ok" if isinstance(answer, StatementResult) else answer.code for answer in answers)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SET VERSION 3", "SET VERSION 4"),
        ("SET qps.limit=5", "SET qps.limit=6"),
        ("SET request.seed=5", "SET request.top_k=6"),
        ("RENAME TO {m}_a", "RENAME TO {m}_b"),
        ("DISABLE", "SET VERSION 4"),
    ],
)
def test_the_later_of_two_statements_loses(quiet_registry: RegistryProcess, sql: Sql, first: str, second: str) -> None:
    sql.create()
    model = f"ALTER MODEL {sql.name} "
    answers = at_once(quiet_registry, *(model + text.replace("{m}", sql.name) for text in (first, second)))
    assert codes(answers) == ["CONCURRENT_MODIFICATION", "ok"]


def test_the_loser_changes_nothing(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create()
    at_once(quiet_registry, *(f"ALTER MODEL {sql.name} SET VERSION {number}" for number in range(3, 8)))
    assert sql.history() == ["created", "activated"]
    assert len(sql.table("SHOW VERSIONS IN MODEL {m}")) == 2


def test_properties_set_in_place_do_not_collide_when_their_keys_differ(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create()
    model = f"ALTER MODEL {sql.name} "
    answers = at_once(
        quiet_registry, model + "SET qps.limit=5", model + "SET timeout.ms=9000", f"COMMENT ON MODEL {sql.name} IS 'c'"
    )
    assert codes(answers) == ["ok", "ok", "ok"]
    settings = sql.client.resolve(sql.name).settings
    assert (settings.qps_limit, settings.timeout_ms, sql.described()["comment"]) == (5, 9000, "c")


def test_two_creates_have_one_winner(quiet_registry: RegistryProcess, sql: Sql) -> None:
    create = f"CREATE MODEL {sql.name} LOCATION '{LOCATION}'"
    assert codes(at_once(quiet_registry, create, create)) == ["MODEL_ALREADY_EXISTS", "ok"]
    assert sql.history() == ["created"]


def test_fifty_versions_added_by_two_processes_have_fifty_numbers(start_registry: StartRegistry) -> None:
    """Whatever wins, every success is one version and one line of history, in the same order on both processes."""
    first, second = start_registry("--no-probes"), start_registry("--no-probes")
    with first.client() as client:
        client.execute(f"CREATE MODEL m LOCATION '{LOCATION}'")
    barrier, added = threading.Barrier(4), list[str]()

    def work(registry: RegistryProcess, start: int) -> None:
        with registry.client() as client:
            barrier.wait()
            for number in range(start, 50, 4):
                _until_it_wins(client, f"ALTER MODEL m SET request.seed={number}", added)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (first, second, first, second), range(4)))
    with second.client() as client:
        versions = [row[0] for row in client.execute("SHOW VERSIONS IN MODEL m").rows]
        history = client.execute("DESCRIBE HISTORY MODEL m").rows
        assert client.resolve("m").revision == 51
    assert versions == [str(number) for number in range(1, 52)]
    assert sorted(added, key=int) == versions[1:]
    assert len(history) == 51


def _until_it_wins(client: Client, statement: str, added: list[str]) -> None:
    for _ in range(200):
        try:
            added.append(str(client.execute(statement).rows[0][2]))
            return
        except InferlakeError as error:
            assert error.code == "CONCURRENT_MODIFICATION"
    raise AssertionError("lost 200 races in a row")
