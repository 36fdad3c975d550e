"""A worker that stops calling a broken endpoint says so to the registry, and says when it calls again."""

from __future__ import annotations

import threading
import time

from engine_calls import answers, calling, codes

from inferlake.testing import Answer, Received, StubEndpoint, echo, error
from inferlake_registry.client import Client

PATIENCE_S = 15.0


def breaker(client: Client) -> object:
    result = client.execute("SHOW MODEL HEALTH")
    return dict(zip([column.name for column in result.columns], result.rows[0], strict=True))["breaker"]


def wait_for(client: Client, state: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while breaker(client) != state:
        assert time.monotonic() < deadline, f"the breaker was never shown as {state}"
        time.sleep(0.05)


def test_the_registry_shows_the_breakers_of_workers(fresh_client: Client, stub: StubEndpoint) -> None:
    works = threading.Event()

    def script(received: Received) -> Answer:
        return echo(received) if works.is_set() else error(500)

    stub.script = script
    fresh_client.execute(f"CREATE MODEL m LOCATION '{stub.url}' PROPERTIES ('model.type'='chat')")
    descriptor = calling(fresh_client.resolve("m"), registry_url=fresh_client.url)
    results: list[dict[str | None, int]] = []
    task = threading.Thread(
        target=lambda: results.append(codes(answers(descriptor, [f"row {number}" for number in range(10)])))
    )
    assert breaker(fresh_client) == "closed"
    task.start()
    wait_for(fresh_client, "open")
    works.set()
    task.join(30)
    wait_for(fresh_client, "closed")
    assert results == [{None: 10}]
