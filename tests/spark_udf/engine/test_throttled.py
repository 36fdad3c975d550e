"""An endpoint that asks to be left alone: every way of saying it is obeyed, by all rows, and costs time only."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate

import pytest
from engine_calls import answers, calling, codes, model_at
from one_bad_row import BAD, ROWS, all_answered, failing, failing_first, one_failed

from inferlake.testing import Answer, Received, Reply, StubEndpoint, chat, error

# What is on its way when a 429 is read cannot be called back; a tenth of a second is more than enough for that.
ON_ITS_WAY_S = 0.1


def refusal(**headers: str) -> Reply:
    """Return a 429 with these headers."""
    return error(429, headers={name.replace("_", "-"): value for name, value in headers.items()})


def check_quiet(stub: StubEndpoint, began: float, seconds: float) -> None:
    """Check that nothing was sent in the time that began with a refusal."""
    assert not [request.at for request in stub.requests if began + ON_ITS_WAY_S < request.at < began + seconds]


def in_two_seconds() -> Mapping[str, str]:
    """Return a date as a wait; dates have whole seconds, so the answer's own date says from when it counts."""
    now = time.time()
    return {"retry_after": formatdate(now + 2, usegmt=True), "date": formatdate(now, usegmt=True)}


WAITS: dict[str, tuple[Mapping[str, str], float]] = {
    "seconds": ({"retry_after": "1"}, 1.0),
    "a fraction of a second": ({"retry_after": "0.4"}, 0.4),
    "milliseconds": ({"retry_after_ms": "300"}, 0.3),
    "milliseconds win": ({"retry_after_ms": "300", "retry_after": "9"}, 0.3),
    "a date": (in_two_seconds(), 2.0),
    "a date that is over": ({"retry_after": formatdate(0, usegmt=True)}, 0.0),
    "nonsense": ({"retry_after": "in a moment"}, 0.0),
    "nonsense beside milliseconds": ({"retry_after": "soon", "retry_after_ms": "300"}, 0.3),
    "less than nothing": ({"retry_after": "-5"}, 0.0),
    "no number": ({"retry_after": "nan"}, 0.0),
    "infinite": ({"retry_after": "inf"}, 0.0),
    "nothing": ({}, 0.0),
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_429_is_waited_out_at_least_as_long_as_it_says_by_all_rows(stub: StubEndpoint, wait: str) -> None:
    headers, at_least = WAITS[wait]
    stub.script = failing_first(refusal(**headers))
    assert all_answered(answers(calling(stub.url), ROWS))["attempts"] == 2
    assert stub.calls == len(ROWS) + 1
    first, second = (request.at for request in stub.requests if request.prompt == BAD)
    assert second - first >= at_least
    check_quiet(stub, first, at_least)
    # The pause that is drawn beside it is half a second at the most; the rest is what a busy machine takes.
    assert second - first < at_least + 0.5 + 1.0


def test_each_wait_is_as_long_as_the_newest_answer_says_and_all_rows_are_quiet_meanwhile(stub: StubEndpoint) -> None:
    told = iter((1, 2, 3))
    quiet: list[tuple[float, float]] = []

    def script(received: Received) -> Answer:
        seconds = next(told, None) if received.prompt == BAD else None
        if seconds is None:
            return chat(received.prompt, delay_s=0.02)
        quiet.append((received.at, seconds))
        return refusal(retry_after=str(seconds))

    stub.script = script
    rows = [BAD, *(f"row {number}" for number in range(1_000, 3_000))]
    results = answers(calling(model_at(stub.url, timeout_ms=60_000)), rows)
    assert [result["response"] for result in results] == rows
    assert results[0]["attempts"] == 4
    assert stub.calls == len(rows) + 3
    assert [seconds for _, seconds in quiet] == [1, 2, 3]
    for began, seconds in quiet:
        check_quiet(stub, began, seconds)


def test_a_later_longer_wait_counts_and_a_later_shorter_one_does_not(stub: StubEndpoint) -> None:
    # Three of the eight rows in flight are refused one after the other, while the first pause lasts; 32 rows wait.
    waits = {"row 1": (0.1, "0.4"), "row 2": (0.25, "1"), "row 3": (0.35, "0.1")}
    told: dict[str, float] = {}

    def script(received: Received) -> Answer:
        if received.prompt not in waits or received.prompt in told:
            return chat(received.prompt, delay_s=0.2 if received.number < 8 else 0.0)
        delay_s, seconds = waits[received.prompt]
        told[received.prompt] = received.at + delay_s
        return replace(refusal(retry_after=seconds), delay_s=delay_s)

    stub.script = script
    results = answers(calling(model_at(stub.url, concurrency_per_worker=8)), ROWS)
    all_answered(results)
    assert [result["attempts"] for result in results] == [2 if row in waits else 1 for row in ROWS]
    assert stub.calls == len(ROWS) + 3
    check_quiet(stub, told["row 1"], told["row 2"] + 1.0 - told["row 1"])


def test_a_wait_longer_than_the_rows_time_fails_that_row_at_once_and_delays_the_others(stub: StubEndpoint) -> None:
    stub.script = failing(refusal(retry_after="2"))
    failed = one_failed(answers(calling(model_at(stub.url, timeout_ms=1_000)), ROWS), "rate_limited")
    assert (failed["attempts"], failed["http_status"]) == (1, 429)
    assert stub.calls == len(ROWS)
    (refused,) = (request.at for request in stub.requests if request.prompt == BAD)
    check_quiet(stub, refused, 2.0)


def test_a_row_that_cannot_wait_does_not_keep_its_task_and_a_long_wait_is_said(
    stub: StubEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    stub.script = refusal(retry_after="60")
    began = time.monotonic()
    assert codes(answers(calling(model_at(stub.url, timeout_ms=10_000)), [BAD])) == {"rate_limited": 1}
    assert time.monotonic() - began < 2.0
    assert stub.calls == 1
    said = [record.getMessage() for record in caplog.records if record.name == "inferlake.worker.window"]
    assert said == ["An endpoint asks its callers to stay away for 60 s: rows wait for that."]


def test_a_429_uses_time_and_not_attempts(stub: StubEndpoint) -> None:
    stub.script = failing_first(*[refusal(retry_after_ms="1")] * 3)
    assert all_answered(answers(calling(model_at(stub.url, retry_attempts=1)), ROWS))["attempts"] == 4
    assert stub.calls == len(ROWS) + 3


def test_a_rate_limit_in_the_body_of_a_200_is_one_too(stub: StubEndpoint) -> None:
    told = [chat("x", error={"code": 429}), chat("x", error={"type": "rate_limit_exceeded"})]
    stub.script = failing_first(*told)
    assert all_answered(answers(calling(model_at(stub.url, retry_attempts=1)), ROWS))["attempts"] == 3
    assert stub.calls == len(ROWS) + 2
