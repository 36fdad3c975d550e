"""Equal requests cost one call: within a task, between tasks, between processes, and after a killed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from engine_calls import answers, calling, codes, finish, model_at, start_task

from inferlake.result import CallResult
from inferlake.testing import Answer, Received, StubEndpoint, chat, echo, error
from inferlake.worker import pay_once
from inferlake.worker.answer_codec import decode_answer, encode_answer
from inferlake.worker.answer_store import AnswerStore, Busy, Claimed, Found, application_directory, remove_application
from inferlake.worker.engine import forget_engine
from inferlake.worker.runner import run

RESULT = CallResult("text ü", None, None, 200, "stop", "m", "2.1", 3, 12.5, 20, 6, 1, 2, 0.25, "il-1", False)


def test_a_kept_answer_is_the_same_but_marked() -> None:
    assert decode_answer(encode_answer(RESULT)) == RESULT._replace(from_cache=True)


def test_one_claims_and_keeps_and_everybody_finds(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    assert store.claim([b"k"], 0.0, 10.0)[b"k"] == Claimed()
    store.keep({b"k": encode_answer(RESULT)})
    assert store.claim([b"k"], 0.0, 10.0)[b"k"] == Found(RESULT._replace(from_cache=True))
    store.close()


OTHER_PROCESS = """
import sys, time
from pathlib import Path
from inferlake.worker.answer_store import AnswerStore
store = AnswerStore(Path(sys.argv[1]))
print(type(store.claim([b"k"], time.monotonic(), time.monotonic() + float(sys.argv[2]))[b"k"]).__name__, flush=True)
for line in sys.stdin:
    if line == "abandon\\n":
        store.abandon([b"k"])
    print("done", flush=True)
"""


class Other:
    """Another process that has claimed the key ``k``."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(folder), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline().strip()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


def test_a_claim_of_another_process_is_respected_until_it_gives_up(tmp_path: Path) -> None:
    other = Other(tmp_path, 60.0)
    store = AnswerStore(tmp_path)
    assert other.first == "Claimed"
    now = time.monotonic()
    assert store.claim([b"k"], now, now + 60)[b"k"] == Busy()
    other.tell("abandon")
    assert store.claim([b"k"], now, now + 60)[b"k"] == Claimed()
    other.kill()
    store.close()


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    other = Other(tmp_path, 3_600.0)
    store = AnswerStore(tmp_path)
    other.kill()
    now = time.monotonic()
    assert store.claim([b"k"], now, now + 60)[b"k"] == Claimed()
    store.close()


def test_a_claim_ends_by_its_expiry(tmp_path: Path) -> None:
    other = Other(tmp_path, 5.0)
    store = AnswerStore(tmp_path)
    now = time.monotonic()
    assert store.claim([b"k"], now, now + 60)[b"k"] == Busy()
    assert store.claim([b"k"], now + 6.0, now + 66)[b"k"] == Claimed()
    other.kill()
    store.close()


def test_only_the_holder_abandons_or_renews(tmp_path: Path) -> None:
    other = Other(tmp_path, 60.0)
    store = AnswerStore(tmp_path)
    store.abandon([b"k"])
    store.renew([b"k"], 1e9)
    now = time.monotonic()
    assert store.claim([b"k"], now, now + 1)[b"k"] == Busy()
    assert store.claim([b"k"], now + 61.0, now + 62)[b"k"] == Claimed()
    store.renew([b"k"], now + 1_000)
    assert store.look(b"k", now + 900) == Busy()
    other.kill()
    store.close()


def test_a_repeated_task_calls_nothing_and_gives_the_same(stub: StubEndpoint) -> None:
    rows = [f"row {number}" for number in range(500)]
    descriptor = calling(stub.url)
    first = answers(descriptor, rows)
    second = answers(descriptor, rows)
    assert stub.calls == 500
    assert [{**result, "from_cache": True} for result in first] == second
    assert not any(result["from_cache"] for result in first)


def test_another_query_of_the_application_pays_nothing_either_and_another_application_does(stub: StubEndpoint) -> None:
    model = model_at(stub.url)
    answers(calling(model), ["one"])
    answers(calling(model), ["one"])
    assert stub.calls == 1
    answers(calling(model, application_id="other"), ["one"])
    assert stub.calls == 2


def test_a_new_engine_finds_what_another_one_kept(stub: StubEndpoint) -> None:
    descriptor = calling(stub.url)
    answers(descriptor, ["one", "two"])
    forget_engine()
    assert [result["from_cache"] for result in answers(descriptor, ["one", "two", "three"])] == [True, True, False]
    assert stub.calls == 3


def test_equal_rows_under_way_at_once_are_one_call(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.1)
    rows = [f"row {number % 50}" for number in range(1_000)]
    results = answers(calling(stub.url), rows)
    assert [result["response"] for result in results] == rows
    assert stub.calls == 50
    assert sum(result["from_cache"] for result in results) == 950


def test_what_makes_another_request_is_called_again(stub: StubEndpoint) -> None:
    model = model_at(stub.url)
    same = calling(model)
    for descriptor in (
        same,
        replace(same, system="be brief"),
        replace(same, options={"max_tokens": 5}),
        replace(same, response_schema={"type": "object"}),
        calling(replace(model, model_id="dropped and created again")),
    ):
        answers(descriptor, ["one"])
    assert stub.calls == 5


def test_without_dedupe_each_occurrence_is_a_sample_of_its_own_yet_paid_once(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(f"sample {received.number}")
    descriptor = calling(stub.url, dedupe=False)
    rows = ["roll a die"] * 20
    first = [result["response"] for result in answers(descriptor, rows)]
    assert len(set(first)) == stub.calls == 20
    assert [result["response"] for result in answers(descriptor, rows)] == first  # the same query, evaluated again
    assert stub.calls == 20
    list(run(descriptor, iter([(pa.array(["roll a die"], pa.string()),)]), partition=1))
    assert stub.calls == 21  # another partition has its own
    answers(calling(descriptor.snapshot or "", dedupe=False), rows[:1])
    assert stub.calls == 22  # and so has another query


def test_a_sample_key_enters_the_key_and_not_the_request(stub: StubEndpoint) -> None:
    rows = pa.array(["same"] * 4, pa.string())
    keys = pa.array([1, 2, None, 1], pa.int32())
    descriptor = calling(stub.url, has_sample_key=True)
    (part,) = run(descriptor, iter([(rows, keys)]))
    assert part.field("response").to_pylist() == ["same"] * 4
    assert stub.calls == 3
    assert len({received.body for received in stub.requests}) == 1


def test_errors_are_never_kept(stub: StubEndpoint) -> None:
    stub.script = [error(400), chat("now it works")]
    descriptor = calling(stub.url)
    assert codes(answers(descriptor, ["one"])) == {"bad_request": 1}
    assert answers(descriptor, ["one"])[0]["response"] == "now it works"
    assert stub.calls == 2


def test_followers_of_a_failed_call_share_its_failure(stub: StubEndpoint) -> None:
    def script(received: Received) -> Answer:
        return replace(error(400), delay_s=0.1)

    stub.script = script
    assert codes(answers(calling(stub.url), ["same"] * 30)) == {"bad_request": 30}
    assert stub.calls == 1


def test_the_same_partition_twice_at_once_is_paid_once(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.02)
    rows = [f"row {number}" for number in range(600)]
    descriptor = calling(stub.url)
    tasks = [start_task(descriptor, rows) for _ in range(2)]
    assert [finish(task) for task in tasks] == [600, 600]
    assert stub.calls == 600


def test_a_killed_worker_costs_what_it_had_in_flight_and_nothing_else(stub: StubEndpoint) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.05)
    rows = [f"row {number}" for number in range(1_500)]
    descriptor = calling(model_at(stub.url, concurrency_per_worker=16))
    victim = start_task(descriptor, rows)
    while stub.calls < 300:
        time.sleep(0.01)
    victim.kill()
    finish(victim)
    before = stub.calls
    began = time.monotonic()
    assert finish(start_task(descriptor, rows)) == 1_500
    # Nobody waits for the dead worker's claims to expire, and at most its 16 calls in flight are made again.
    assert 1_500 <= stub.calls <= 1_500 + 16
    assert before < 1_500
    assert time.monotonic() - began < 30


def test_a_raised_task_that_runs_again_pays_only_for_the_rest(stub: StubEndpoint) -> None:
    rows = [f"row {number}" for number in range(200)]
    descriptor = calling(stub.url)

    def breaks() -> Iterator[tuple[pa.Array, ...]]:
        yield (pa.array(rows[:100], pa.string()),)
        raise RuntimeError("executor lost")

    parts = run(descriptor, breaks())
    with pytest.raises(RuntimeError):
        for _ in parts:
            pass
    answers(descriptor, rows)
    assert 200 <= stub.calls <= 200 + 8  # the first task breaks off with at most eight calls in flight


def test_an_ended_application_leaves_nothing(stub: StubEndpoint) -> None:
    answers(calling(stub.url), ["one"])
    folder = application_directory("test")
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    forget_engine()
    remove_application("test")
    assert not folder.exists()


def test_a_slow_call_is_not_taken_over_while_its_holder_lives(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay_once, "_CLAIM_S", 0.6)
    monkeypatch.setattr(pay_once, "_RENEWED_EVERY_S", 0.2)
    stub.script = lambda received: chat(received.prompt, delay_s=1.5) if received.number == 0 else echo(received)
    descriptor = calling(stub.url)
    first = threading.Thread(target=answers, args=(descriptor, ["slow"]))
    first.start()
    time.sleep(1.0)
    assert finish(start_task(descriptor, ["slow"])) == 1
    first.join()
    assert stub.calls == 1
