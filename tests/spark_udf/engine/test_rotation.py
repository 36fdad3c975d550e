"""A key that is changed in the middle of a job is read again once, and costs only the rows that were under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from arrivals import check_limit
from engine_calls import answers, calling, codes
from one_bad_row import ROWS, all_answered, failing, one_failed
from registry_fixtures import StartRegistry

from inferlake.call import CallDescriptor
from inferlake.fake_registry import FakeRegistry
from inferlake.testing import Answer, Received, StubEndpoint, chat, error
from inferlake.worker import credentials
from inferlake_registry.client import Client
from inferlake_registry.contract.models import CallSettings

IN_FLIGHT = 8


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    """Give a registry that notes each reading of a key."""
    with FakeRegistry() as fake:
        yield fake


def with_key(registry: FakeRegistry, stub: StubEndpoint, key: str) -> CallDescriptor:
    """Give the model this key and return a call of it."""
    settings = CallSettings(concurrency_per_worker=IN_FLIGHT)
    model = registry.add_model("m", stub.url, settings=settings, api_key=key)
    return calling(model, registry_url=registry.url, max_error_ratio=1.0)


class Gate:
    """Answers who has the right key; at a given request the key is rotated."""

    def __init__(self, rotate: Callable[[], None], at: int, refusal: Answer) -> None:
        self.accepted = "first"
        self.refused: list[str] = []
        self._rotate = rotate
        self._at = at
        self._refusal = refusal

    def __call__(self, received: Received) -> Answer:
        if received.number == self._at:
            self._rotate()
            self.accepted = "second"
        if received.headers["authorization"] == f"Bearer {self.accepted}":
            return chat(received.prompt, delay_s=0.01)
        self.refused.append(received.prompt)
        return self._refusal


def test_a_key_that_is_rotated_in_the_middle_of_a_job_is_read_once_more(
    registry: FakeRegistry, stub: StubEndpoint
) -> None:
    def rotate() -> None:
        with_key(registry, stub, "second")

    gate = Gate(rotate, 100, error(401))
    stub.script = gate
    rows = [f"row {number}" for number in range(200)]
    results = answers(with_key(registry, stub, "first"), rows)
    assert [result["response"] for result in results] == rows
    # Refused is what was sent before the new key was read: at most what was in flight. Each is sent once more.
    assert 1 <= len(set(gate.refused)) == len(gate.refused) <= IN_FLIGHT
    assert [result["attempts"] for result in results] == [2 if row in gate.refused else 1 for row in rows]
    assert stub.calls == 200 + len(gate.refused)
    assert registry.keys_read == ["m", "m"]


def test_a_row_that_alone_is_refused_has_no_effect_on_others(registry: FakeRegistry, stub: StubEndpoint) -> None:
    stub.script = failing(error(401))
    failed = one_failed(answers(with_key(registry, stub, "first"), ROWS), "auth")
    assert (failed["attempts"], failed["http_status"]) == (1, 401)
    assert stub.calls == len(ROWS)
    assert registry.keys_read == ["m", "m"]


def test_a_revoked_key_is_asked_about_once_a_second_and_not_once_a_row(
    registry: FakeRegistry, stub: StubEndpoint
) -> None:
    stub.script = error(401)
    began = time.monotonic()
    results = answers(with_key(registry, stub, "first"), [f"row {number}" for number in range(500)])
    took = time.monotonic() - began
    assert codes(results) == {"auth": 500}
    assert {result["attempts"] for result in results} == {1}
    assert stub.calls == 500
    assert 2 <= len(registry.keys_read) <= 2 + int(took)


def test_a_row_is_sent_with_one_further_key_and_not_with_more(registry: FakeRegistry, stub: StubEndpoint) -> None:
    def script(received: Received) -> Answer:
        with_key(registry, stub, f"key {received.number + 1}")
        return error(401)

    stub.script = script
    (result,) = answers(with_key(registry, stub, "key 0"), ["one"])
    assert (result["error_code"], result["attempts"]) == ("auth", 2)
    assert [received.headers["authorization"] for received in stub.requests] == ["Bearer key 0", "Bearer key 1"]
    for shown in ("key 0", "key 1"):
        assert shown not in str(result)


def test_a_refusal_while_the_registry_is_away_fails_its_row_and_not_the_job(stub: StubEndpoint) -> None:
    with FakeRegistry() as registry:
        descriptor = with_key(registry, stub, "first")
        assert codes(answers(descriptor, ["before"])) == {None: 1}
    stub.script = failing(error(401))
    one_failed(answers(descriptor, ROWS), "auth")
    assert stub.calls == 1 + len(ROWS)


def test_rows_wait_for_a_registry_that_is_away_when_their_key_is_needed(
    start_registry: StartRegistry, stub: StubEndpoint
) -> None:
    registry = start_registry("--no-probes")
    with registry.client() as client:
        properties = "'model.type'='chat', 'api.key'='first'"
        client.execute(f"CREATE MODEL m LOCATION '{stub.url}' PROPERTIES ({properties})")
        descriptor = calling(client.resolve("m"), registry_url=client.url)
    registry.stop()
    back = threading.Timer(1.0, start_registry, ("--no-probes", "--port", registry.url.rpartition(":")[2]))
    back.start()
    all_answered(answers(descriptor, ROWS))
    back.join()
    assert stub.calls == len(ROWS)
    assert {received.headers["authorization"] for received in stub.requests} == {"Bearer first"}


def test_rows_without_a_key_fail_when_the_registry_stays_away(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_PATIENCE_S", 1.5)
    with FakeRegistry() as gone:
        descriptor = with_key(gone, stub, "first")
    results = answers(descriptor, ROWS)
    assert codes(results) == {"network": len(ROWS)}
    assert all("key cannot be read" in result["error"] for result in results)
    assert stub.calls == 0


def test_what_is_sent_again_after_a_rotation_waits_for_send_slots_too(fresh_client: Client, stub: StubEndpoint) -> None:
    def rotate() -> None:
        fresh_client.execute("ALTER MODEL m SET 'api.key'='second'")

    # Refusals take half a second, so that ten calls have been sent with the old key before anybody knows.
    gate = Gate(rotate, 20, replace(error(401), delay_s=0.5))
    stub.script = gate
    properties = "'model.type'='chat', 'api.key'='first', 'qps.limit'=20"
    fresh_client.execute(f"CREATE MODEL m LOCATION '{stub.url}' PROPERTIES ({properties})")
    rows = [f"row {number}" for number in range(60)]
    results = answers(calling(fresh_client.resolve("m"), registry_url=fresh_client.url), rows)
    assert [result["response"] for result in results] == rows
    assert 5 <= len(set(gate.refused)) == len(gate.refused) <= 15
    assert stub.calls == 60 + len(gate.refused)
    check_limit(stub, 20)
