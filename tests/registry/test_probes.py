"""Probes of real endpoints: what is asked, what is concluded, and who asks."""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

import pytest
from registry_fixtures import RegistryProcess, StartRegistry, run_registry
from registry_sql import Sql

from inferlake.testing import Answer, Fault, Received, Reply, StubEndpoint, chat
from inferlake_sql.errors import InferlakeError

PATIENCE_S: Final = 15
_NUMBERS: Final = itertools.count(1)


def by_path(**answers: Answer) -> Callable[[Received], Answer]:
    """Return a script that answers ``/health`` by ``health``, ``/v1/models`` by ``models``, calls by ``chat``."""

    def script(received: Received) -> Answer:
        name = {"/health": "health", "/v1/models": "models", "/v1/chat/completions": "chat"}.get(received.path, "other")
        return answers.get(name, Reply(404))

    return script


@pytest.fixture(scope="module")
def probing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """Give one registry that probes; each test has models of its own, whose endpoints end with the test."""
    registry = run_registry(tmp_path_factory.mktemp("probing"))
    yield registry
    registry.stop()


@pytest.fixture
def sql(probing: RegistryProcess) -> Iterator[Sql]:
    with probing.client() as client:
        yield Sql(client, f"m{next(_NUMBERS)}")
        for row in client.execute("SHOW MODELS").rows:
            client.execute(f"DROP MODEL {row[1]}")


def create(sql: Sql, stub: StubEndpoint, properties: str = "") -> None:
    listed = f"'probe.interval.ms'=1000{', ' + properties if properties else ''}"
    sql(f"CREATE MODEL {{m}} LOCATION '{stub.url}' PROPERTIES ({listed})")


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def state(sql: Sql) -> object:
    return sql.described()["health"]


def test_a_newcomer_has_a_state_within_seconds_by_a_free_question(sql: Sql) -> None:
    with StubEndpoint(by_path(health=Reply(200))) as stub:
        create(sql, stub, "'api.key'='canary-probe'")
        wait_for(lambda: state(sql) == "healthy")
        assert {request.path for request in stub.requests} == {"/health"}
        assert stub.requests[0].headers["authorization"] == "Bearer canary-probe"
        (row,) = sql.table("SHOW MODEL HEALTH LIKE '{m}'")
        assert row["latency_ms"] is not None
        assert row["cause"] is None


def test_a_server_without_a_health_address_is_asked_for_its_models(sql: Sql) -> None:
    with StubEndpoint(by_path(models=Reply(200))) as stub:
        create(sql, stub)
        wait_for(lambda: state(sql) == "healthy")
        assert [request.path for request in stub.requests[:2]] == ["/health", "/v1/models"]


@pytest.mark.parametrize(
    ("answer", "expected", "cause"),
    [
        (Reply(401), "misconfigured", "key"),
        (Reply(404), "misconfigured", "LOCATION"),
        (Reply(429), "degraded", "throttled"),
        (Reply(503), "unhealthy", "503"),
        (Reply(302, headers={"location": "http://127.0.0.1:9/"}), "misconfigured", "redirect"),
        (Fault.RESET, "unhealthy", ""),
        (Fault.NOT_HTTP, "unhealthy", ""),
    ],
    ids=str,
)
def test_what_an_endpoint_says_first(sql: Sql, answer: Answer, expected: str, cause: str) -> None:
    with StubEndpoint(answer) as stub:
        create(sql, stub)
        wait_for(lambda: state(sql) != "unknown")
        assert state(sql) == expected
        assert cause in str(sql.described()["health.cause"])


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.DRIBBLE])
def test_a_slow_endpoint_does_not_keep_the_prober(sql: Sql, fault: Fault) -> None:
    """One that never ends its answer has its own time only, and the others are probed meanwhile."""
    with StubEndpoint(fault) as slow, StubEndpoint(Reply(200)) as good:
        create(sql, slow, "'timeout.ms'=2000")
        sql(f"CREATE MODEL other LOCATION '{good.url}' PROPERTIES ('probe.interval.ms'=1000)")
        wait_for(lambda: state(sql) == "unhealthy")
        assert "in time" in str(sql.described()["health.cause"])
        assert good.calls >= 2


def test_three_failures_to_leave_healthy_and_two_successes_to_return(sql: Sql, probing: RegistryProcess) -> None:
    with StubEndpoint(Reply(200)) as stub:
        create(sql, stub)
        wait_for(lambda: state(sql) == "healthy")
        stub.script = Reply(500)
        wait_for(lambda: state(sql) == "unhealthy")
        stub.script = Reply(200)
        wait_for(lambda: state(sql) == "healthy")
        described = sql.described()
        assert "health.cause" not in described
        assert "500" in str(described["last_error"])
    with closing(sqlite3.connect(probing.database)) as database:
        of_model = "WHERE model_id = (SELECT id FROM model WHERE name = ?) ORDER BY id"
        samples = [ok for (ok,) in database.execute(f"SELECT ok FROM health_sample {of_model}", (sql.name,))]
        moves = database.execute(f'SELECT "before", "after" FROM health_transition {of_model}', (sql.name,)).fetchall()
    assert moves == [("unknown", "healthy"), ("healthy", "unhealthy"), ("unhealthy", "healthy")]
    first_bad = samples.index(0)
    assert samples[first_bad : first_bad + 5] == [0, 0, 0, 1, 1]


def test_a_key_that_is_mended_is_tried_at_once(sql: Sql) -> None:
    """A misconfigured model is asked less and less, but a change of it is a reason to ask."""

    def script(received: Received) -> Answer:
        return Reply(200 if received.headers.get("authorization") == "Bearer right" else 401)

    with StubEndpoint(script) as stub:
        sql(
            f"CREATE MODEL {{m}} LOCATION '{stub.url}' "
            "PROPERTIES ('api.key'='wrong', 'probe.interval.ms'=600000, 'probe.successes'=1)"
        )
        wait_for(lambda: state(sql) == "misconfigured")
        sql("ALTER MODEL {m} SET api.key='right'")
        wait_for(lambda: state(sql) == "healthy")
        assert stub.calls == 2


@pytest.mark.parametrize(
    ("properties", "paths"),
    [
        ("'probe.kind'='models'", ["/v1/models"]),
        ("'probe.path'='/ready'", ["/ready"]),
        ("'probe.kind'='http'", ["/health"]),
        ("'probe.kind'='chat', 'request.tools'='[1]', 'model.name'='n'", ["/v1/chat/completions"]),
    ],
)
def test_kinds_of_probe(sql: Sql, properties: str, paths: list[str]) -> None:
    def script(received: Received) -> Answer:
        return chat("cut", finish_reason="length") if received.path.endswith("completions") else Reply(200)

    with StubEndpoint(script) as stub:
        create(sql, stub, properties)
        wait_for(lambda: state(sql) == "healthy")
        assert [request.path for request in stub.requests[:1]] == paths
        if stub.requests[0].body:
            # Of allowed members only: tools and other extras of the model's own could make a probe dear, or fail.
            assert stub.requests[0].json == {
                "model": "n",
                "max_tokens": 16,
                "temperature": 0,
                "messages": [{"role": "user", "content": "ping"}],
            }


def test_what_is_not_probed(sql: Sql) -> None:
    with StubEndpoint(Reply(200)) as stub, StubEndpoint(Reply(200)) as asked:
        create(sql, stub, "'probe.kind'='none'")
        sql(f"CREATE MODEL off LOCATION '{stub.url}'")
        sql("ALTER MODEL off DISABLE")
        before = stub.calls
        sql(f"CREATE MODEL on LOCATION '{asked.url}' PROPERTIES ('probe.interval.ms'=1000)")
        wait_for(lambda: asked.calls >= 3)
        assert stub.calls == before
        assert before <= 1  # it may have been asked before it was disabled
        assert state(sql) == "unknown"


def test_the_active_version_is_probed(sql: Sql) -> None:
    with StubEndpoint(Reply(200)) as first, StubEndpoint(Reply(200)) as second:
        create(sql, first)
        wait_for(lambda: first.calls >= 1)
        sql(f"ALTER MODEL {{m}} SET LOCATION '{second.url}'")
        wait_for(lambda: second.calls >= 2)
        done = first.calls
        wait_for(lambda: second.calls >= 4)
        assert first.calls == done


def test_a_name_that_leads_to_a_forbidden_address_is_refused_at_connect(sql: Sql) -> None:
    sql("CREATE MODEL {m} LOCATION 'http://0x7f.1:9/v1/chat/completions' PROPERTIES ('probe.interval.ms'=1000)")
    wait_for(lambda: state(sql) == "unhealthy")
    assert "refused" in str(sql.described()["health.cause"])


def test_a_reference_that_leads_nowhere_is_misconfigured(sql: Sql) -> None:
    with StubEndpoint(Reply(200)) as stub:
        create(sql, stub, "'api.key'='env:INFERLAKE_TEST_NO_SUCH_VARIABLE'")
        wait_for(lambda: state(sql) == "misconfigured")
        assert "INFERLAKE_TEST_NO_SUCH_VARIABLE" in str(sql.described()["health.cause"])
        assert stub.calls == 0


def test_one_prober_for_two_processes_and_the_other_takes_over(start_registry: StartRegistry) -> None:
    first, second = start_registry(), start_registry()
    with StubEndpoint(Reply(200)) as stub:
        with second.client() as client:
            client.execute(f"CREATE MODEL m LOCATION '{stub.url}' PROPERTIES ('probe.interval.ms'=1000)")
        wait_for(lambda: stub.calls >= 4)
        gaps = [later.at - earlier.at for earlier, later in zip(stub.requests[1:], stub.requests[2:], strict=False)]
        assert min(gaps) > 0.4
        with closing(sqlite3.connect(first.database)) as database:
            assert len(database.execute("SELECT holder FROM leader_lease").fetchall()) == 1
        assert first.stop() == 0
        done = stub.calls
        wait_for(lambda: stub.calls >= done + 3)


def test_what_is_old_is_forgotten(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes")
    with registry.client() as client:
        client.execute("CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
        client.execute("CREATE MODEL gone LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
        client.execute("DROP MODEL gone")
    registry.stop()
    with closing(sqlite3.connect(registry.database)) as database:
        (model,) = database.execute("SELECT id FROM model WHERE name = 'm'").fetchone()
        for hours in (1, 47, 49, 500):
            database.execute(
                "INSERT INTO health_sample (model_id, at, ok, state) VALUES (?, datetime('now', ?), 1, 'healthy')",
                (model, f"-{hours} hours"),
            )
        database.execute("UPDATE model SET dropped_at = datetime('now', '-31 days') WHERE name = 'gone'")
        database.commit()
    start_registry()

    def rows() -> tuple[int, int]:
        with closing(sqlite3.connect(registry.database)) as database:
            samples = "SELECT count(*) FROM health_sample WHERE at < datetime('now', '-30 minutes')"
            models = "SELECT count(*) FROM model WHERE name = 'gone'"
            return database.execute(samples).fetchone()[0], database.execute(models).fetchone()[0]

    wait_for(lambda: rows() == (2, 0))


# --- TEST MODEL and probe.on.create


def test_test_model_asks_for_health_and_then_sends_one_request(sql: Sql) -> None:
    with StubEndpoint(by_path(health=Reply(200), chat=chat("label"))) as stub:
        sql(f"CREATE MODEL {{m}} LOCATION '{stub.url}' PROPERTIES ('probe.kind'='none', 'model.name'='n')")
        (row,) = sql.table("TEST MODEL {m} WITH 'what is it?'")
        assert (row["model"], row["version"], row["health"], row["status"]) == (sql.name, "1", "healthy", 200)
        assert (row["prompt_tokens"], row["completion_tokens"], row["answer"]) == (20, 6, "label")
        assert isinstance(row["latency_ms"], float)
        assert row["latency_ms"] > 0
        assert [request.path for request in stub.requests] == ["/health", "/v1/chat/completions"]
        assert stub.requests[-1].prompt == "what is it?"


def test_test_model_of_a_version(sql: Sql) -> None:
    with StubEndpoint(Reply(200)) as old, StubEndpoint(by_path(health=Reply(200), chat=chat("x"))) as new:
        sql(f"CREATE MODEL {{m}} VERSION '1' LOCATION '{old.url}' PROPERTIES ('probe.kind'='none')")
        sql(f"ALTER MODEL {{m}} ADD VERSION 'a:b' LOCATION '{new.url}'")
        assert sql.table("TEST MODEL {m} VERSION 'a:b'")[0]["version"] == "a:b"
        assert old.calls == 0
        assert new.calls == 2
        assert sql.code("TEST MODEL {m} VERSION '9'") == "VERSION_NOT_FOUND"


def test_test_model_of_an_endpoint_that_fails(sql: Sql) -> None:
    with StubEndpoint(by_path(health=Reply(200), chat=Reply(500, b'{"error": "canary-body"}'))) as stub:
        sql(f"CREATE MODEL {{m}} LOCATION '{stub.url}' PROPERTIES ('probe.kind'='none', 'api.key'='canary-key')")
        error = sql.fails("TEST MODEL {m}")
        assert (error.code, error.status) == ("ENDPOINT_FAILED", 502)
        assert "500" in error.message
        assert "canary" not in str(error)
        sql("ALTER MODEL {m} DISABLE")
        assert sql.code("TEST MODEL {m}") == "MODEL_DISABLED"


def test_create_may_be_refused_when_the_endpoint_does_not_answer(sql: Sql) -> None:
    with StubEndpoint(by_path(health=Reply(200))) as stub:
        options = "'probe.on.create'=TRUE, 'api.key'='canary-create', 'header.x-team'='env:HOME'"
        sql(f"CREATE MODEL good LOCATION '{stub.url}' PROPERTIES ({options})")
        assert stub.requests[0].headers["authorization"] == "Bearer canary-create"
        assert stub.requests[0].headers["x-team"]
        stub.script = Reply(503)
        with pytest.raises(InferlakeError, match="503") as caught:
            sql(f"CREATE MODEL bad LOCATION '{stub.url}' PROPERTIES ({options})")
        assert caught.value.code == "ENDPOINT_FAILED"
        assert sql.code("DESCRIBE MODEL bad") == "MODEL_NOT_FOUND"
        before = stub.calls
        result = sql.client.execute(f"CREATE MODEL bad LOCATION '{stub.url}' PROPERTIES ({options})", dry_run=True)
        assert result.rows[0][0] == "created"
        assert stub.calls <= before + 1  # only the scheduler's own probe of the good one
