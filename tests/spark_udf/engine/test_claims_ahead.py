"""Rows are asked for in the store many at a time: equal ones follow the first, and claims end with their purpose."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from engine_calls import answers, batches_of, calling, codes, finish, model_at, start_task

from inferlake.result import CallResult
from inferlake.testing import Answer, Received, StubEndpoint, chat, error
from inferlake.worker.answer_codec import encode_answer
from inferlake.worker.answer_store import AnswerStore, Busy, Claimed, Found
from inferlake.worker.pay_once import Claims
from inferlake.worker.runner import run

ANSWER = CallResult("text", None, None, 200, "stop", "m", "1", 1, 1.0, 1, 1, 1, 1, None, "il-1", False)
A, B = b"a" * 16, b"b" * 16


def test_equal_rows_of_one_task_are_one_call_wherever_they_are(stub: StubEndpoint) -> None:
    rows = [f"row {number % 100}" for number in range(20_000)]
    results = answers(calling(stub.url), rows, batch=3_000)
    assert [result["response"] for result in results] == rows
    assert [result["from_cache"] for result in results] == [False] * 100 + [True] * 19_900
    assert {result["request_id"] for result in results[:100]} == {result["request_id"] for result in results}
    assert stub.calls == 100


def test_an_equal_row_says_what_the_first_one_cost_and_a_failed_one_that_it_was_not_sent(stub: StubEndpoint) -> None:
    def script(received: Received) -> Answer:
        return replace(error(400) if received.prompt == "bad" else chat(received.prompt), delay_s=0.05)

    stub.script = script
    good, bad, again, bad_again = answers(calling(stub.url), ["good", "bad", "good", "bad"])
    assert again == {**good, "from_cache": True}
    assert bad_again == {**bad, "attempts": 0, "latency_ms": None}
    assert (bad["attempts"], bad["error_code"]) == (1, "bad_request")
    assert stub.calls == 2


def test_two_tasks_of_one_process_share_their_calls(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.05)
    descriptor = calling(model_at(stub.url, concurrency_per_worker=4))
    rows = [f"row {number}" for number in range(40)]
    found: list[list[bool]] = []

    def task() -> None:
        results = answers(descriptor, rows)
        assert codes(results) == {None: 40}
        found.append([result["from_cache"] for result in results])

    tasks = [threading.Thread(target=task) for _ in range(2)]
    for each in tasks:
        each.start()
    for each in tasks:
        each.join()
    assert stub.calls == 40
    first, second = found
    assert [a != b for a, b in zip(first, second, strict=True)] == [True] * 40


def test_what_a_task_that_ends_early_has_not_begun_is_free_for_others(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.0 if received.number < 8 else 30.0)
    descriptor = calling(model_at(stub.url, concurrency_per_worker=8))
    rows = [f"row {number}" for number in range(1_000)]
    for _ in run(descriptor, batches_of(rows)):
        break  # after the age of output, with eight slow calls in flight and a hundred claims
    stub.script = lambda received: chat(received.prompt)
    assert finish(start_task(descriptor, rows)) == 1_000  # in time: another process does not wait for claims to expire


def test_answers_of_one_moment_are_found_at_once_and_stored_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = AnswerStore(tmp_path)
        claims = Claims(store, time.monotonic)
        assert claims.ahead([A, B]) == {}
        assert (claims.take(A), claims.take(B)) == (Claimed(), Claimed())
        assert claims.take(A) == Busy()  # it has begun
        for key in (A, B):
            claims.keep(key, encode_answer(ANSWER))
        assert store.look(A, time.monotonic()) == Busy()
        await asyncio.sleep(0)
        assert store.look(A, time.monotonic()) == store.look(B, time.monotonic()) == Found(kept)
        claims.close()

    async def without_a_turn_of_the_loop() -> None:
        claims = Claims(AnswerStore(tmp_path / "other"), time.monotonic)
        claims.take(A)
        claims.keep(A, encode_answer(ANSWER))
        assert claims.take(A) == Found(kept)
        assert claims.ahead([A, B]) == {A: kept}
        claims.take(B)
        claims.keep(B, encode_answer(ANSWER))
        claims.close()
        again = AnswerStore(tmp_path / "other")
        assert again.look(B, time.monotonic()) == Found(kept)
        again.close()

    kept = ANSWER._replace(from_cache=True)
    asyncio.run(scenario())
    asyncio.run(without_a_turn_of_the_loop())


def test_only_claims_that_have_not_begun_are_given_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = AnswerStore(tmp_path)
        claims = Claims(store, time.monotonic)
        claims.ahead([A, B])
        claims.take(A)
        claims.abandon_ahead([A, B])
        now = time.monotonic()
        assert (store.look(A, now), store.look(B, now)) == (Busy(), Claimed())
        claims.abandon(A)
        assert store.look(A, now) == Claimed()
        claims.close()

    asyncio.run(scenario())


_KILLED_AT_ITS_FIRST_OUTPUT = """
import os, pickle, signal, sys
from engine_calls import batches_of
from inferlake.worker.runner import run
descriptor, rows = pickle.loads(bytes.fromhex(sys.argv[1]))
for part in run(descriptor, batches_of(rows)):
    print(len(part), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_rows_that_have_left_a_worker_are_never_paid_again(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.002)
    descriptor = calling(model_at(stub.url, concurrency_per_worker=32))
    rows = [f"row {number}" for number in range(3_000)]
    task = pickle.dumps((descriptor, rows)).hex()
    out = subprocess.run(
        [sys.executable, "-c", _KILLED_AT_ITS_FIRST_OUTPUT, task],
        stdout=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ).stdout
    left = int(out)
    assert 0 < left <= 3_000
    paid = stub.calls
    assert all(result["from_cache"] for result in answers(descriptor, rows[:left]))
    assert stub.calls == paid
