"""The engine with a real registry: shared limits, keys, usage; and with one that goes away."""

from __future__ import annotations

import sqlite3
import threading
import time
from itertools import pairwise

import pytest
from arrivals import check_limit
from engine_calls import answers, calling, codes, finish, start_task
from registry_fixtures import RegistryProcess, StartRegistry

from inferlake.call import CallDescriptor
from inferlake.testing import Answer, Received, StubEndpoint, chat, echo, error
from inferlake.worker import limit
from inferlake.worker.engine import engine
from inferlake_registry.client import Client
from inferlake_registry.contract.problems import ModelDisabled, ModelNotFound


def create(client: Client, stub: StubEndpoint, name: str = "m", **properties: object) -> None:
    """Register the stub as a model."""
    given = {
        "model.type": "chat",
        "model.name": "stub",
        **{key.replace("__", "."): value for key, value in properties.items()},
    }
    listed = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    client.execute(f"CREATE MODEL {name} USING 'openai' LOCATION '{stub.url}' PROPERTIES ({listed})")


def calls_of(stub: StubEndpoint, task: str) -> int:
    """Return how many requests came from the task whose rows begin with its name."""
    return sum(received.prompt.startswith(task) for received in stub.requests)


def registered(client: Client, reference: str = "m", **changes: object) -> CallDescriptor:
    """Return a call of a registered model, resolved as planning does."""
    return calling(client.resolve(reference), registry_url=client.url, reference=reference, **changes)


def test_a_model_without_a_limit_is_called_through_the_registry(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub)
    rows = [f"row {number}" for number in range(300)]
    assert [result["response"] for result in answers(registered(fresh_client), rows)] == rows
    assert stub.calls == 300


def test_a_limit_is_kept_by_one_worker(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub, qps__limit=40)
    began = time.monotonic()
    results = answers(registered(fresh_client), [f"row {number}" for number in range(121)])
    took = time.monotonic() - began
    assert codes(results) == {None: 121}
    assert 3.0 <= took < 5.0
    check_limit(stub, 40)


def test_two_workers_share_a_limit_exactly_and_never_exceed_it_without_the_registry(
    fresh_registry: RegistryProcess, stub: StubEndpoint
) -> None:
    client = fresh_registry.client()
    create(client, stub, qps__limit=20)
    descriptor = registered(client)
    tasks = [start_task(descriptor, [f"task {task} row {at}" for at in range(125)]) for task in range(2)]
    while stub.calls < 100:
        time.sleep(0.02)
    client.close()
    fresh_registry.process.kill()
    assert [finish(task) for task in tasks] == [125, 125]
    assert stub.calls == 250
    times = sorted(received.at for received in stub.requests)
    check_limit(stub, 20)
    # The limit is also reached, before the registry went and, once it is clear that it has gone, after.
    assert (times[95] - times[5]) < 90 / 20 * 1.5
    assert (times[-10] - times[130]) < 110 / 20 * 1.5


def test_a_registry_that_comes_back_is_used_again_and_the_limit_holds_throughout(
    start_registry: StartRegistry, stub: StubEndpoint
) -> None:
    registry = start_registry("--no-probes")
    port = registry.url.rpartition(":")[2]
    client = registry.client()
    create(client, stub, qps__limit=20)
    descriptor = registered(client)
    client.close()
    tasks = [start_task(descriptor, [f"task {task} row {at}" for at in range(120)]) for task in range(2)]
    while stub.calls < 60:
        time.sleep(0.02)
    registry.stop()
    while stub.calls < 110:
        time.sleep(0.02)
    again = start_registry("--no-probes", "--port", port)
    assert [finish(task) for task in tasks] == [120, 120]
    assert stub.calls == 240
    check_limit(stub, 20)
    with again.client() as client:
        assert client.resolve("m").name == "m"


def test_a_task_that_starts_without_the_registry_waits_for_it_and_keeps_the_limit(
    start_registry: StartRegistry, stub: StubEndpoint
) -> None:
    registry = start_registry("--no-probes")
    port = registry.url.rpartition(":")[2]
    with registry.client() as client:
        create(client, stub, qps__limit=20)
        descriptor = registered(client)
    registry.stop()
    task = start_task(descriptor, [f"row {at}" for at in range(60)])
    time.sleep(3.0)
    assert stub.calls == 0  # there is no share yet that could go on
    start_registry("--no-probes", "--port", port)
    assert finish(task) == 60
    assert stub.calls == 60
    check_limit(stub, 20)


def test_rows_fail_when_no_registry_ever_comes(
    start_registry: StartRegistry, stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "_PATIENCE_S", 1.5)
    registry = start_registry("--no-probes")
    with registry.client() as client:
        create(client, stub, qps__limit=20)
        descriptor = registered(client)
    registry.stop()
    results = answers(descriptor, [f"row {at}" for at in range(60)])
    assert codes(results) == {"network": 60}
    assert {result["error"] for result in results} == {
        "The registry does not answer, so the model's rate limit cannot be kept."
    }
    assert stub.calls == 0


def test_a_changed_limit_acts_on_a_running_task_within_a_lease(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub, qps__limit=10)
    descriptor = registered(fresh_client)
    done: list[int] = []
    task = threading.Thread(
        target=lambda: done.append(len(answers(descriptor, [f"row {number}" for number in range(130)])))
    )
    began = time.monotonic()
    task.start()
    while stub.calls < 15:
        time.sleep(0.02)
    fresh_client.execute("ALTER MODEL m SET qps.limit=100")
    task.join()
    assert done == [130]
    assert time.monotonic() - began < 1.5 + 1.0 + 115 / 100 + 4.0  # at ten a second it would be 13 s


def test_a_killed_worker_takes_no_more_than_one_lease_with_it(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub, qps__limit=20)
    descriptor = registered(fresh_client)
    victim = start_task(descriptor, [f"victim {at}" for at in range(200)])
    other = start_task(descriptor, [f"other {at}" for at in range(120)])
    while min(calls_of(stub, "victim"), calls_of(stub, "other")) < 20:
        time.sleep(0.02)
    victim.kill()
    killed = time.monotonic()  # the endpoint's clock is the same
    finish(victim)
    assert finish(other) == 120
    assert calls_of(stub, "other") == 120
    # The victim's slots lie in the next half second, and a lease ends one second after its last slot: from then on the
    # other one has the whole limit, where half of it was its share. A busy machine misses slots, as above.
    expiry = killed + 0.5 + 1.0
    times = [received.at for received in stub.requests if received.at >= expiry]
    assert len(times) >= 40
    assert sum(moment < expiry + 2.0 for moment in times) >= 20 * 2.0 / 1.5
    check_limit(stub, 20)


def test_a_disabled_model_stops_a_running_task(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub, qps__limit=50)
    descriptor = registered(fresh_client)
    caught: list[BaseException] = []

    def task() -> None:
        try:
            answers(descriptor, [f"row {number}" for number in range(1_000)])
        except ModelDisabled as disabled:
            caught.append(disabled)

    thread = threading.Thread(target=task)
    thread.start()
    while stub.calls < 20:
        time.sleep(0.02)
    fresh_client.execute("ALTER MODEL m DISABLE")
    thread.join(10)
    assert len(caught) == 1
    assert stub.calls < 200
    with pytest.raises(ModelDisabled):
        answers(calling(descriptor.snapshot or "", registry_url=fresh_client.url, query_id="another"), ["one more"])


def test_a_rotated_key_is_read_again_once(fresh_client: Client, stub: StubEndpoint) -> None:
    accepted = "first"

    def script(received: Received) -> Answer:
        return echo(received) if received.headers.get("authorization") == f"Bearer {accepted}" else error(401)

    stub.script = script
    create(fresh_client, stub, api__key="first", concurrency__per__worker=4)
    descriptor = registered(fresh_client)
    rows = [f"row {number}" for number in range(20)]
    assert codes(answers(descriptor, rows)) == {None: 20}
    assert stub.calls == 20
    fresh_client.execute("ALTER MODEL m SET 'api.key'='second'")
    accepted = "second"
    results = answers(descriptor, [f"new {number}" for number in range(20)])
    assert codes(results) == {None: 20}
    # Up to four rows are in flight with the old key; each of them is sent once more and no other.
    assert 20 + 20 < stub.calls <= 20 + 20 + 4
    accepted = "third, which the registry does not know"
    assert codes(answers(descriptor, ["last"])) == {"auth": 1}
    assert "second" not in str(answers(descriptor, ["last"]))


def authorizations(stub: StubEndpoint) -> set[str | None]:
    return {received.headers.get("authorization") for received in stub.requests}


def test_a_split_over_two_hosts_sends_the_key_to_its_own_host_only(fresh_client: Client, stub: StubEndpoint) -> None:
    with StubEndpoint() as other:
        create(fresh_client, stub, api__key="canary")
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        fresh_client.execute(f"ALTER MODEL m ADD VERSION '2' LOCATION '{elsewhere}'")
        fresh_client.execute("ALTER MODEL m SET TRAFFIC ('1'=50, '2'=50)")
        assert codes(answers(registered(fresh_client), [f"row {number}" for number in range(40)])) == {None: 40}
        assert (authorizations(stub), authorizations(other)) == ({"Bearer canary"}, {None})


def test_a_key_that_a_model_gets_later_is_used_by_the_next_query(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub)
    answers(registered(fresh_client), ["first"])
    fresh_client.execute("ALTER MODEL m SET 'api.key'='late'")
    answers(registered(fresh_client), ["second"])
    assert [received.headers.get("authorization") for received in stub.requests] == [None, "Bearer late"]


@pytest.mark.parametrize("change", ["RENAME", "DROP"])
def test_a_planned_query_finishes_when_its_model_is_renamed_or_dropped(
    fresh_client: Client, stub: StubEndpoint, change: str
) -> None:
    create(fresh_client, stub, api__key="mine", qps__limit=200)
    descriptor = registered(fresh_client)
    fresh_client.execute("ALTER MODEL m RENAME TO n" if change == "RENAME" else "DROP MODEL m")
    create(fresh_client, stub, api__key="of another model")
    assert codes(answers(descriptor, [f"row {number}" for number in range(20)])) == {None: 20}
    assert authorizations(stub) == {"Bearer mine"}
    if change == "RENAME":  # the limit goes with the model, not with the name
        assert [holder.holder for holder in fresh_client.limits("n").holders] == [engine().holder]
    assert fresh_client.limits("m").holders == ()


def test_a_pause_is_told_to_all_callers(fresh_client: Client, stub: StubEndpoint) -> None:
    told = threading.Event()

    def script(received: Received) -> Answer:
        if not told.is_set() and received.number >= 30:
            told.set()
            return error(429, headers={"retry-after": "2"})
        return chat(received.prompt)

    stub.script = script
    create(fresh_client, stub, qps__limit=40)
    descriptor = registered(fresh_client)
    tasks = [start_task(descriptor, [f"task {task} row {at}" for at in range(60)]) for task in range(2)]
    assert [finish(task) for task in tasks] == [60, 60]
    assert stub.calls == 121
    times = sorted(received.at for received in stub.requests)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    # The other worker goes on with the slots it holds, for half a second at the most.
    assert max(gaps) >= 2.0 - 0.6
    check_limit(stub, 40)


def test_a_worker_resolves_what_was_not_planned_once_per_query(fresh_client: Client, stub: StubEndpoint) -> None:
    create(fresh_client, stub)
    descriptor = calling(stub.url, registry_url=fresh_client.url, snapshot=None)
    assert answers(descriptor, ["one"])[0]["version"] == "1"
    fresh_client.execute("ALTER MODEL m SET VERSION 2.1")
    assert answers(descriptor, ["two"])[0]["version"] == "1"
    again = calling(stub.url, registry_url=fresh_client.url, snapshot=None)
    assert answers(again, ["three"])[0]["version"] == "2.1"
    with pytest.raises(ModelNotFound):
        answers(calling(stub.url, registry_url=fresh_client.url, snapshot=None, reference="nobody"), ["four"])


def test_a_split_gives_every_version_its_share_and_a_row_always_the_same(
    fresh_client: Client, stub: StubEndpoint
) -> None:
    create(fresh_client, stub)
    fresh_client.execute("ALTER MODEL m ADD VERSION '2' PROPERTIES ('prompt.system'='be brief')")
    fresh_client.execute("ALTER MODEL m SET TRAFFIC ('1'=80, '2'=20)")
    descriptor = registered(fresh_client)
    rows = [f"row {number}" for number in range(1_000)]
    first = answers(descriptor, rows)
    shares = codes([{**result, "error_code": None} for result in first])
    assert shares == {None: 1_000}
    second_version = sum(result["version"] == "2" for result in first)
    assert 150 <= second_version <= 250
    assert sum(b"be brief" in received.body for received in stub.requests) == second_version
    assert [result["version"] for result in answers(descriptor, rows)] == [result["version"] for result in first]
    assert stub.calls == 1_000
    pinned = answers(registered(fresh_client, "m:2"), rows[:50])
    assert {result["version"] for result in pinned} == {"2"}


def test_usage_is_reported(fresh_registry: RegistryProcess, stub: StubEndpoint) -> None:
    with fresh_registry.client() as client:
        create(client, stub, price__input=3, price__output=15)
        stub.script = lambda received: error(400) if received.prompt == "row 3" else echo(received)
        results = answers(registered(client), [f"row {number}" for number in range(10)])
        shared = engine()
        shared.submit(shared.usage(client.url).flush()).result(5)
    assert results[0]["cost"] == pytest.approx((20 * 3 + 6 * 15) / 1e6)
    with sqlite3.connect(fresh_registry.database) as database:
        ((calls, prompt, completion, errors),) = database.execute(
            "select calls, prompt_tokens, completion_tokens, errors from usage_hour"
        ).fetchall()
    assert (calls, prompt, completion, errors) == (10, 180, 54, '{"bad_request": 1}')
