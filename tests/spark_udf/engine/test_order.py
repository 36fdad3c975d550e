"""Rows come out in the order they went in, none lost and none doubled, whatever happens in between."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from engine_calls import answers, batches_of, calling, codes, model_at

from inferlake.call import OnError, Returns
from inferlake.result import STRUCT_DDL
from inferlake.testing import Answer, Fault, Received, StubEndpoint, chat, echo, error
from inferlake.worker.engine import engine
from inferlake.worker.errors import RowFailed, TooManyErrors
from inferlake.worker.result_arrow import STRUCT_TYPE
from inferlake.worker.runner import run, run_values


def test_random_delays_statuses_and_bodies_leave_every_row_its_own_answer(stub: StubEndpoint) -> None:
    rows = [f"row {number}" for number in range(5_000)]
    dice = random.Random(7)
    # What a row's first attempt meets (a second one is answered), how long it takes, and what it says.
    fates = dict(
        zip(rows, dice.choices(("answer", 400, 500, 429, Fault.RESET), (88, 4, 3, 3, 2), k=5_000), strict=True)
    )
    delays = {row: dice.uniform(0.0, 0.2) if dice.random() < 0.05 else 0.0 for row in rows}
    texts = {row: f"{row} {'x' * dice.randrange(200)}" for row in rows}
    seen: set[str] = set()

    def script(received: Received) -> Answer:
        prompt = received.prompt
        fate = fates[prompt] if fates[prompt] == 400 or prompt not in seen else "answer"
        seen.add(prompt)
        if isinstance(fate, Fault):
            return fate
        answer = error(fate) if isinstance(fate, int) else chat(texts[prompt])
        return replace(answer, delay_s=delays[prompt])

    stub.script = script
    results = answers(calling(stub.url), rows, batch=700)
    assert [result["response"] for result in results] == [None if fates[row] == 400 else texts[row] for row in rows]
    assert [result["error_code"] for result in results] == [
        "bad_request" if fates[row] == 400 else None for row in rows
    ]
    assert [result["attempts"] for result in results] == [1 if fates[row] in ("answer", 400) else 2 for row in rows]
    assert stub.calls == 5_000 + sum(fates[row] not in ("answer", 400) for row in rows)


@pytest.mark.parametrize("sizes", [[0], [1], [0, 3, 0, 2, 0], [129] * 5, [10_000]])
def test_batches_of_any_size_keep_total_and_order(stub: StubEndpoint, sizes: list[int]) -> None:
    numbers = iter(range(sum(sizes)))
    batches = [(pa.array([f"row {next(numbers)}" for _ in range(size)], pa.string()),) for size in sizes]
    results = [row for part in run(calling(stub.url), iter(batches)) for row in part.to_pylist()]
    assert [result["response"] for result in results] == [f"row {number}" for number in range(sum(sizes))]
    assert stub.calls == sum(sizes)


def test_an_empty_partition_yields_nothing(stub: StubEndpoint) -> None:
    assert list(run(calling(stub.url), iter(()))) == []
    assert list(run_values(calling(stub.url), iter(()))) == []


def test_the_struct_is_the_documented_one(stub: StubEndpoint) -> None:
    (part,) = run(calling(stub.url), batches_of(["one"]))
    assert part.type == STRUCT_TYPE
    spark = {"string": "string", "int": "int32", "bigint": "int64", "double": "double", "boolean": "bool"}
    declared = [tuple(field.split()) for field in STRUCT_DDL.split(", ")]
    assert [(field.name, str(field.type)) for field in part.type] == [(name, spark[kind]) for name, kind in declared]


def test_a_row_of_nulls_and_an_unwanted_row_are_not_called(stub: StubEndpoint) -> None:
    rows = pa.array(["a", None, "b", "c", "d"], pa.string())
    wanted = pa.array([True, True, False, None, True], pa.bool_())
    results = [
        row for part in run(calling(stub.url, has_where=True), iter([(rows, wanted)])) for row in part.to_pylist()
    ]
    assert [result["response"] for result in results] == ["a", None, None, None, "d"]
    assert [result["error_code"] for result in results] == [None, "null_input", None, None, None]
    assert stub.calls == 2


def test_several_columns_and_a_template_reach_the_endpoint(stub: StubEndpoint) -> None:
    columns = (pa.array([1, None], pa.int64()), pa.array(["x", None], pa.string()))
    descriptor = calling(stub.url, input_names=("id", "text"))
    results = [row for part in run(descriptor, iter([columns])) for row in part.to_pylist()]
    assert [result["response"] for result in results] == ['{"id":1,"text":"x"}', None]
    descriptor = calling(stub.url, input_names=("id", "text"), prompt="{id}: {text}")
    results = [row for part in run(descriptor, iter([columns])) for row in part.to_pylist()]
    assert [result["response"] for result in results] == ["1: x", None]


def test_a_straggler_holds_up_the_order_but_not_the_work(stub: StubEndpoint) -> None:
    rows = [f"row {number}" for number in range(1_500)]
    stub.script = lambda received: chat(received.prompt, delay_s=1.0 if received.prompt == "row 0" else 0.0)
    began = time.monotonic()
    assert [result["response"] for result in answers(calling(stub.url), rows)] == rows
    assert time.monotonic() - began < 2.0


def test_the_look_ahead_is_bounded(stub: StubEndpoint) -> None:
    # With one call in flight at most 2,048 rows (and a piece of 128) may be ahead of the oldest unfinished one.
    release = threading.Event()

    def script(received: Received) -> Answer:
        if received.prompt == "row 0":
            return Fault.SILENT if not release.is_set() else echo(received)
        return echo(received)

    stub.script = script
    rows = [f"row {number}" for number in range(6_000)]
    model = model_at(stub.url, timeout_ms=3_000, concurrency_per_worker=2)
    results = answers(calling(model), rows)
    assert codes(results) == {None: 5_999, "timeout": 1}
    when = [received.at for received in stub.requests]
    within = sum(1 for moment in when if moment < when[0] + 2.9)
    assert 2_048 <= within <= 2_048 + 128 + 2


def test_finished_rows_come_out_while_others_are_still_on_their_way(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=2.0 if received.prompt == "row 9" else 0.0)
    began = time.monotonic()
    parts = run(calling(stub.url), batches_of([f"row {number}" for number in range(10)]))
    first = next(parts)
    assert len(first) == 9
    assert time.monotonic() - began < 1.0
    assert [len(part) for part in parts] == [1]


def test_input_is_read_no_further_than_needed(stub: StubEndpoint) -> None:
    taken: list[int] = []

    def endless() -> Iterator[tuple[pa.Array, ...]]:
        for number in range(1_000_000):
            taken.append(number)
            yield (pa.array([f"row {number * 100 + at}" for at in range(100)], pa.string()),)

    stub.script = lambda received: chat(received.prompt, delay_s=0.01)
    parts = run(calling(model_at(stub.url, concurrency_per_worker=8)), endless())
    assert len(next(parts)) > 0
    parts.close()
    assert len(taken) * 100 <= 2_048 + 2 * 128 + 3 * 100


def test_closing_the_generator_stops_the_calls(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.0 if received.prompt == "row 0" else 0.5)
    parts = run(calling(stub.url), batches_of([f"row {number}" for number in range(500)]))
    next(parts)
    began = time.monotonic()
    parts.close()
    assert time.monotonic() - began < 0.4
    stopped_at = stub.calls
    time.sleep(1.0)
    assert stub.calls == stopped_at
    assert stub.in_flight == 0
    assert answers(calling(stub.url), ["row 0"])[0]["response"] == "row 0"


def test_values_follow_on_error(stub: StubEndpoint) -> None:
    stub.script = lambda received: error(400) if received.prompt == "row 2" else echo(received)
    rows = [f"row {number}" for number in range(4)]
    values = [value for part in run_values(calling(stub.url), batches_of(rows)) for value in part.to_pylist()]
    assert values == ["row 0", "row 1", None, "row 3"]
    with pytest.raises(RowFailed, match="bad_request") as caught:
        list(run_values(calling(stub.url, on_error=OnError.RAISE), batches_of(rows)))
    assert caught.value.fields == {"model": "m", "error_code": "bad_request"}


def test_too_many_errors_stop_the_task_once_and_not_before_200_rows(stub: StubEndpoint) -> None:
    stub.script = lambda received: error(400) if int(received.prompt.split()[1]) % 2 else echo(received)
    rows = [f"row {number}" for number in range(199)]
    assert codes(answers(calling(stub.url, max_error_ratio=0.4), rows)) == {None: 100, "bad_request": 99}
    rows = [f"row {number}" for number in range(400)]
    assert codes(answers(calling(stub.url, max_error_ratio=0.5), rows)) == {None: 200, "bad_request": 200}
    with pytest.raises(TooManyErrors, match="200 of 400") as caught:
        answers(calling(stub.url, max_error_ratio=0.4), rows)
    assert caught.value.fields["by_code"] == {"bad_request": 200}


def test_rows_that_need_no_call_say_nothing_about_errors(stub: StubEndpoint) -> None:
    stub.script = lambda received: error(400)
    rows: list[str | None] = [None] * 1_000 + ["bad"] * 1
    assert codes(answers(calling(stub.url, max_error_ratio=0.0), rows)) == {"null_input": 1_000, "bad_request": 1}


def test_a_mistake_in_the_input_reaches_spark_and_not_only_a_log(stub: StubEndpoint) -> None:
    def broken() -> Iterator[tuple[pa.Array, ...]]:
        yield (pa.array(["row 0"], pa.string()),)
        raise ValueError("upstream broke")

    with pytest.raises(ValueError, match="upstream broke"):
        list(run(calling(stub.url), broken()))
    assert answers(calling(stub.url), ["after"])[0]["response"] == "after"


def test_two_tasks_of_one_process_share_the_window_of_an_address(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.02)
    model = model_at(stub.url, concurrency_per_worker=16)
    done: dict[int, list[str]] = {}

    def task(number: int) -> None:
        rows = [f"task {number} row {at}" for at in range(300)]
        done[number] = [result["response"] for result in answers(calling(model), rows)]

    threads = [threading.Thread(target=task, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert done[number] == [f"task {number} row {at}" for at in range(300)]
    assert stub.calls == 1_200
    assert stub.peak_in_flight <= 16
    assert engine() is engine()


def test_failures_that_became_nulls_are_said_in_the_log(stub: StubEndpoint, caplog: pytest.LogCaptureFixture) -> None:
    stub.script = lambda received: error(400) if received.prompt == "row 2" else echo(received)
    rows = [*(f"row {number}" for number in range(4)), None]
    list(run_values(calling(stub.url), batches_of(rows)))
    [said] = [record.getMessage() for record in caplog.records if record.name == "inferlake.worker.failures"]
    assert said.startswith("1 of 4 rows that m was called for are null because their calls failed (bad_request 1).")
    caplog.clear()
    list(run(calling(stub.url, returns=Returns.STRUCT), batches_of(rows)))
    assert not [record for record in caplog.records if record.name == "inferlake.worker.failures"]
