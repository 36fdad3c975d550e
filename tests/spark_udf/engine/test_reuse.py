"""A job that died and runs again with the same ``reuse`` pays only for what is missing."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from engine_calls import answers, batches_of, calling, finish, model_at, start_task

from inferlake.testing import StubEndpoint, chat
from inferlake.worker.engine import forget_engine
from inferlake.worker.errors import ReuseUnusable
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
    # Lost are the 16 calls in flight and at most 31 answers that were not flushed yet.
    assert before - 16 - 31 <= reused < 2_000
    assert stub.calls <= 2_000 + 16 + 31


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
