"""A job that died and runs again with the same ``reuse`` pays only for what is missing."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from engine_calls import answers, batches_of, calling, finish, model_at, start_task

from inferlake.result import CallResult
from inferlake.testing import StubEndpoint, chat
from inferlake.worker.answer_codec import encode_answer
from inferlake.worker.answer_store import AnswerStore, Claimed, Found
from inferlake.worker.engine import forget_engine
from inferlake.worker.errors import ReuseUnusable
from inferlake.worker.reuse import Journal
from inferlake.worker.runner import run


def test_another_application_calls_only_what_is_missing(stub: StubEndpoint, tmp_path: Path) -> None:
    folder = str(tmp_path / "answers of job 1")
    model = model_at(stub.url)
    first = answers(calling(model, reuse=folder, application_id="one"), [f"row {number}" for number in range(100)])
    forget_engine()
    rows = [f"row {number}" for number in range(50, 150)]
    second = answers(calling(model, reuse=folder, application_id="two"), rows)
    assert stub.calls == 150
    assert [result["response"] for result in second] == rows
    assert [result["from_cache"] for result in second] == [True] * 50 + [False] * 50
    assert second[0] == {**first[50], "from_cache": True}
    forget_engine()
    answers(calling(model, reuse=folder, application_id="three"), [f"row {number}" for number in range(150)])
    assert stub.calls == 150


def test_a_job_killed_half_way_pays_in_all_what_was_in_flight_more(stub: StubEndpoint, tmp_path: Path) -> None:
    stub.script = lambda received: chat(received.prompt, delay_s=0.02)
    folder = str(tmp_path / "reuse")
    rows = [f"row {number}" for number in range(2_000)]
    model = model_at(stub.url, concurrency_per_worker=16)
    victim = start_task(calling(model, reuse=folder, application_id="killed"), rows)
    while stub.calls < 1_000:
        time.sleep(0.01)
    victim.kill()
    finish(victim)
    before = stub.calls
    results = answers(calling(model, reuse=folder, application_id="again"), rows)
    assert [result["response"] for result in results] == rows
    reused = sum(result["from_cache"] for result in results)
    # Lost are the 16 calls in flight and nothing else: an answer is in the folder as soon as it has come in.
    assert before - 16 <= reused < 2_000
    assert 2_000 <= stub.calls <= 2_000 + 16


def test_answers_are_in_the_folder_before_their_rows_go_out(stub: StubEndpoint, tmp_path: Path) -> None:
    folder = tmp_path / "reuse"
    parts = run(calling(stub.url, reuse=str(folder)), batches_of([f"row {number}" for number in range(300)]))
    seen = 0
    for part in parts:
        seen += len(part)
        held = sum(file.read_bytes().count(b'["row ') for file in folder.iterdir())
        assert held >= seen


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(stub: StubEndpoint, tmp_path: Path) -> None:
    folder = tmp_path / "reuse"
    model = model_at(stub.url)
    for number in range(3):
        answers(
            calling(model, reuse=str(folder), application_id=f"app {number}"),
            [f"row {number} {at}" for at in range(20)],
        )
        forget_engine()
    whole, cut, nothing = sorted(folder.iterdir())
    cut.write_bytes(cut.read_bytes()[:-40])
    nothing.write_bytes(nothing.read_bytes()[:10])
    calls = stub.calls
    for number in range(3):
        answers(calling(model, reuse=str(folder), application_id="last"), [f"row {number} {at}" for at in range(20)])
    assert whole.exists()
    assert 20 <= stub.calls - calls <= 40


def test_samples_of_one_prompt_are_the_same_ones_in_the_next_run(stub: StubEndpoint, tmp_path: Path) -> None:
    stub.script = lambda received: chat(f"sample {received.number}")
    model = model_at(stub.url)
    descriptor = calling(model, reuse=str(tmp_path / "reuse"), dedupe=False, application_id="one")
    first = [result["response"] for result in answers(descriptor, ["roll"] * 10)]
    forget_engine()
    again = replace(descriptor, application_id="two", query_id="another")
    assert [result["response"] for result in answers(again, ["roll"] * 10)] == first
    assert stub.calls == 10


def test_answers_found_in_the_applications_store_get_into_the_folder_too(stub: StubEndpoint, tmp_path: Path) -> None:
    folder = str(tmp_path / "reuse")
    model = model_at(stub.url)
    answers(calling(model), ["one"])
    answers(calling(model, reuse=folder), ["one"])
    forget_engine()
    answers(calling(model, reuse=folder, application_id="later"), ["one"])
    assert stub.calls == 1


def test_a_folder_that_cannot_be_written_is_named(stub: StubEndpoint, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ReuseUnusable, match="file/reuse"):
        answers(calling(stub.url, reuse=str(tmp_path / "file" / "reuse")), ["one"])
    assert stub.calls == 0


ANSWER = encode_answer(CallResult("text", None, None, 200, "stop", "m", "1", 1, 1.0, 1, 1, 1, 1, None, "il-1", False))


def test_what_a_killed_process_had_not_written_is_written_by_the_one_that_repeats_its_rows(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "store")
    victim, other = (Journal(str(tmp_path / "reuse"), store) for _ in range(2))

    async def killed_amid() -> None:
        victim.write(b"k" * 16, ANSWER)  # and nothing of it after: its loop does not run again
        other.write(b"k" * 16, ANSWER)

    asyncio.run(killed_amid())
    other.close()
    assert found(tmp_path, b"k" * 16)
    store.close()


def test_rows_of_a_full_disk_do_not_go_out_and_nothing_is_lost_when_there_is_room_again(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "store")
    journal = Journal(str(tmp_path / "reuse"), store)
    keys = [bytes([number]) * 16 for number in range(3)]

    async def fill() -> None:
        journal.write(keys[0], ANSWER)
        journal.flush()
        with no_file_grows_beyond(10):
            journal.write(keys[1], ANSWER)
            await asyncio.sleep(0.01)  # the early flush finds no room
            journal.write(keys[2], ANSWER)
            with pytest.raises(ReuseUnusable, match="reuse"):
                journal.flush()
        journal.flush()

    asyncio.run(fill())
    journal.close()
    assert [found(tmp_path, key) for key in keys] == [True] * 3
    store.close()


def found(folder: Path, key: bytes) -> bool:
    """Tell whether another application that reads the folder has the answer."""
    store = AnswerStore(folder / "another application")
    Journal(str(folder / "reuse"), store).load()
    seen = store.look(key, 0.0)
    store.close()
    assert isinstance(seen, Found | Claimed)
    return isinstance(seen, Found)


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """Make the system refuse writes of this process behind ``size`` bytes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
