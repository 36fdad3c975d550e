"""Workers, executors and tasks of a real Spark that die, repeat or are cancelled: every row once, and what it costs.

What a killed process had in flight is called again, and nothing else; a task that only runs again calls nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from answers_by_row import calling, expected, said, without_source
from arrivals import check_limit
from registry_fixtures import StartRegistry
from spark_cluster import Cluster, executor_of, run_cluster, wait_until, worker_calling
from spark_fixtures import Lake

from inferlake.testing import Received, Reply, StubEndpoint, chat
from inferlake_registry.client import Client

IN_FLIGHT = 16  # at most, of each worker


def on_a_cluster(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test whose first one starts three Java processes."""
    return pytest.mark.processes(pytest.mark.timeout(240)(test))


@pytest.fixture(scope="module")
def cluster(quiet_registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give a Spark application with two executors, which retries tasks; a local session does not."""
    with run_cluster(quiet_registry, tmp_path_factory.mktemp("cluster")) as running:
        yield running


def model_of(registry: str, stub: StubEndpoint, name: str, **properties: int) -> str:
    """Register the endpoint, with few calls in flight."""
    given = {"concurrency__per__worker": IN_FLIGHT, **properties}
    listed = ", ".join(f"'{key.replace('__', '.')}'='{value}'" for key, value in given.items())
    with Client(registry) as client:
        client.execute(f"CREATE MODEL {name} LOCATION '{stub.url}' PROPERTIES ('model.type'='chat', {listed})")
    return name


def slow(received: Received) -> Reply:
    """Echo after a while, so that there are always calls in flight."""
    return chat(received.prompt, delay_s=0.05)


def rows_called(stub: StubEndpoint) -> int:
    """Return how many different rows have been asked for."""
    return len({received.prompt for received in stub.requests})


def test_a_cancelled_job_calls_no_more_and_is_not_paid_again(lake: Lake) -> None:
    lake.stub.script = slow
    lake.client.execute(f"ALTER MODEL {lake.model} SET 'concurrency.per.worker'={IN_FLIGHT}")
    frame = calling(lake.spark, lake.model, 4_000, 2)

    def job() -> None:
        lake.spark.sparkContext.setJobGroup("to be cancelled", "a job that takes six seconds")
        said(frame)

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(job)
        wait_until(lambda: lake.stub.calls >= 500)
        lake.spark.sparkContext.cancelJobGroup("to be cancelled")
        cancelled = time.monotonic()
        assert "cancelled" in str(running.exception())
    time.sleep(max(0.0, cancelled + 4.0 - time.monotonic()))
    assert max(received.at for received in lake.stub.requests) <= cancelled + 3.0
    assert lake.stub.in_flight == 0
    assert lake.stub.calls < 4_000
    lake.stub.script = lambda received: chat(received.prompt)
    assert without_source(said(frame)) == expected(lake.model, 4_000)
    assert 4_000 <= lake.stub.calls <= 4_000 + 2 * IN_FLIGHT


def test_two_tasks_of_the_same_rows_at_once_are_paid_once(lake: Lake) -> None:
    lake.stub.script = slow
    lake.client.execute(f"ALTER MODEL {lake.model} SET 'concurrency.per.worker'={IN_FLIGHT}")
    frame = calling(lake.spark, lake.model, 600, 1)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: said(frame), range(2))
    assert without_source(first) == without_source(second) == expected(lake.model, 600)
    assert lake.stub.calls == 600
    # Each answer is new to the one that called, and to the other it is not.
    assert all(one[-1] != other[-1] for one, other in zip(first, second, strict=True))


def test_a_registry_stopped_in_mid_job_and_back(lake: Lake, start_registry: StartRegistry) -> None:
    import inferlake

    registry = start_registry("--no-probes")
    port = registry.url.rpartition(":")[2]
    model = model_of(registry.url, lake.stub, "registry_stopped", qps__limit=40)
    inferlake.enable(lake.spark, registry=registry.url)
    frame = calling(lake.spark, model, 400, 2)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(said, frame)
        wait_until(lambda: lake.stub.calls >= 80)
        registry.process.kill()
        wait_until(lambda: lake.stub.calls >= 240)
        start_registry("--no-probes", "--port", port)
        assert without_source(running.result()) == expected(model, 400)
    assert lake.stub.calls == 400
    check_limit(lake.stub, 40)


@on_a_cluster
def test_a_worker_killed_in_mid_batch(cluster: Cluster, quiet_registry: str, stub: StubEndpoint) -> None:
    stub.script = slow
    model = model_of(quiet_registry, stub, "worker_killed")
    cluster.start("answers", model, 1_000)
    wait_until(lambda: stub.calls >= 300)
    worker_calling(stub).kill()
    assert without_source(cluster.result()) == expected(model, 1_000)
    assert 1_000 <= stub.calls <= 1_000 + IN_FLIGHT
    assert rows_called(stub) == 1_000


@on_a_cluster
def test_an_executor_lost_in_mid_batch(cluster: Cluster, quiet_registry: str, stub: StubEndpoint) -> None:
    stub.script = slow
    model = model_of(quiet_registry, stub, "executor_lost")
    cluster.start("answers", model, 1_000)
    wait_until(lambda: stub.calls >= 300)
    executor_of(worker_calling(stub)).kill()
    assert without_source(cluster.result()) == expected(model, 1_000)
    assert 1_000 <= stub.calls <= 1_000 + IN_FLIGHT
    assert rows_called(stub) == 1_000


@on_a_cluster
def test_a_task_retried_after_its_last_row(cluster: Cluster, quiet_registry: str, stub: StubEndpoint) -> None:
    model = model_of(quiet_registry, stub, "task_retried")
    cluster.start("fails_at_first", model, 300)
    answers = cluster.result()
    assert without_source(answers) == expected(model, 300)
    assert stub.calls == 300
    assert [answer[-1] for answer in answers] == [True] * 300  # what went out are the second attempts' answers


@on_a_cluster
def test_an_executor_lost_while_rows_are_routed(cluster: Cluster, quiet_registry: str, stub: StubEndpoint) -> None:
    def script(received: Received) -> Reply:
        even = int(received.prompt.removeprefix("row ")) % 2 == 0
        return chat('{"label": "even"}' if even else "odd", delay_s=0.05)

    stub.script = script
    model = model_of(quiet_registry, stub, "executor_lost_while_routing")
    cluster.start("routed", model, 1_000)
    wait_until(lambda: stub.calls >= 300)
    executor_of(worker_calling(stub)).kill()
    assert cluster.result() == [1_000, 500, 500, list(range(0, 1_000, 2)), list(range(1, 1_000, 2))]
    assert rows_called(stub) == 1_000
    assert 1_000 <= stub.calls <= 1_000 + IN_FLIGHT
