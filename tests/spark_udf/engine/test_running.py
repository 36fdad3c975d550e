"""What an ALTER does to a query that runs: a limit and the kill switch act at once, a definition never."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine_calls import Result, answers, calling

from inferlake.call import CallDescriptor
from inferlake.testing import Answer, Received, StubEndpoint, chat
from inferlake_registry.client import Client
from inferlake_registry.contract.problems import ModelDisabled


@dataclass(slots=True)
class Running:
    """A task in a thread of its own."""

    descriptor: CallDescriptor
    rows: Sequence[str]
    results: list[Result] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    thread: threading.Thread | None = None

    def start(self, stub: StubEndpoint, calls: int) -> None:
        """Start it, and wait until it has made so many calls."""
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        while stub.calls < calls:
            time.sleep(0.01)

    def end(self) -> None:
        assert self.thread is not None
        self.thread.join(60)
        assert not self.thread.is_alive()

    def _run(self) -> None:
        try:
            self.results = answers(self.descriptor, self.rows)
        except ModelDisabled as disabled:
            self.failures.append(disabled)


def slow(received: Received) -> Answer:
    return chat(received.prompt, delay_s=0.05)


def running(client: Client, stub: StubEndpoint, rows: int, **properties: object) -> Running:
    stub.script = slow
    listed = "".join(f", '{key.replace('__', '.')}' = {value}" for key, value in properties.items())
    client.execute(f"CREATE MODEL m LOCATION '{stub.url}' PROPERTIES ('model.type' = 'chat'{listed})")
    descriptor = calling(client.resolve("m"), registry_url=client.url)
    return Running(descriptor, [f"row {number}" for number in range(rows)])


def test_a_running_query_keeps_the_definition_it_was_planned_with(fresh_client: Client, stub: StubEndpoint) -> None:
    task = running(fresh_client, stub, 80, concurrency__per__worker=8, request__seed=1)
    task.start(stub, 10)
    for change in (
        "SET VERSION 2",
        "SET prompt.system = 'be brief'",
        "UNSET request.seed",
        "SET LOCATION 'http://127.0.0.1:9/v1/chat/completions'",
        "RENAME TO n",
    ):
        fresh_client.execute(f"ALTER MODEL m {change}")
    task.end()
    assert [(result["response"], result["version"]) for result in task.results] == [(row, "1") for row in task.rows]
    bodies = [received.json for received in stub.requests]
    assert {(len(body["messages"]), body["seed"]) for body in bodies} == {(1, 1)}
    assert stub.calls == 80


def test_the_kill_switch_stops_a_running_query_of_a_model_without_a_limit(
    fresh_client: Client, stub: StubEndpoint
) -> None:
    task = running(fresh_client, stub, 2_000, concurrency__per__worker=8)
    task.start(stub, 10)
    fresh_client.execute("ALTER MODEL m DISABLE")
    task.end()
    assert [failure.code for failure in task.failures if isinstance(failure, ModelDisabled)] == ["MODEL_DISABLED"]
    # 160 calls a second, and a lease of a model without a limit is renewed within two.
    assert stub.calls < 1_000


def test_a_limit_that_is_set_acts_on_a_running_query_that_had_none(fresh_client: Client, stub: StubEndpoint) -> None:
    task = running(fresh_client, stub, 420, concurrency__per__worker=8)
    task.start(stub, 10)
    fresh_client.execute("ALTER MODEL m SET qps.limit = 40")
    changed = time.monotonic()
    task.end()
    assert len(task.results) == stub.calls == 420
    # Without the limit the rest takes 2.6 s. At most two seconds go on as before, then 40 a second.
    assert time.monotonic() - changed > 3.5
