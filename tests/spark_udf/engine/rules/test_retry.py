"""What is tried again, how often, and after which wait."""

from __future__ import annotations

import pytest

from inferlake.worker.calls import Cause, HttpReply
from inferlake.worker.retry import RetryBudget, Tally, wait_s
from inferlake.worker.retry_after import retry_after_s


def attempts(cause: Cause, *, repeatable: bool = False, most: int = 50) -> int:
    tally = Tally()
    for attempt in range(1, most + 1):
        tally.note(cause)
        if not tally.allows(cause, 4, repeatable=repeatable):
            return attempt
    return most


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Cause.FINAL, 1),
        (Cause.UNAUTHORISED, 1),
        (Cause.FAULT, 4),
        (Cause.BROKEN_ANSWER, 2),
        (Cause.RENEWED, 2),
        (Cause.TIMED_OUT, 1),
        (Cause.THROTTLED, 50),
    ],
)
def test_each_cause_has_its_number_of_attempts(cause: Cause, expected: int) -> None:
    assert attempts(cause) == expected


def test_a_timeout_is_repeated_only_when_a_second_payment_is_allowed() -> None:
    assert attempts(Cause.TIMED_OUT, repeatable=True) == 4


def test_429_between_faults_uses_none_of_their_attempts() -> None:
    tally = Tally()
    for cause in (Cause.FAULT, Cause.THROTTLED, Cause.FAULT, Cause.THROTTLED, Cause.FAULT, Cause.THROTTLED):
        tally.note(cause)
        assert tally.allows(cause, 4, repeatable=False)
    tally.note(Cause.FAULT)
    assert not tally.allows(Cause.FAULT, 4, repeatable=False)


def test_the_wait_doubles_up_to_eight_seconds_and_is_random_below() -> None:
    spans = []
    tally = Tally()
    for _ in range(7):
        tally.note(Cause.FAULT)
        spans.append(wait_s(tally, None, 1.0))
        assert wait_s(tally, None, 0.0) == 0.0
    assert spans == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_retry_after_is_a_floor_and_the_jitter_lies_above_it() -> None:
    tally = Tally()
    tally.note(Cause.THROTTLED)
    assert wait_s(tally, 3.0, 0.0) == 3.0
    assert wait_s(tally, 3.0, 0.5) == 3.25


def test_the_budget_is_a_fifth_of_the_calls_but_never_less_than_ten() -> None:
    budget = RetryBudget()
    assert sum(budget.take(0.0) for _ in range(50)) == 10
    budget = RetryBudget()
    for _ in range(200):
        budget.count_call(1.0)
    assert sum(budget.take(1.0) for _ in range(500)) == 40
    assert sum(budget.take(11.5) for _ in range(500)) == 10  # the window has moved on


@pytest.mark.parametrize(
    ("header", "milliseconds", "expected"),
    [
        ("2", None, 2.0),
        (" 0.25 ", None, 0.25),
        ("2", "1500", 1.5),
        (None, "0", 0.0),
        ("2", "soon", 2.0),
        ("Wed, 21 Oct 2026 07:28:10 GMT", None, 10.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", None, 0.0),
        ("soon", None, None),
        ("-1", None, None),
        ("inf", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_every_way_of_saying_how_long_to_wait(
    header: str | None, milliseconds: str | None, expected: float | None
) -> None:
    reply = HttpReply(429, b"", retry_after=header, retry_after_ms=milliseconds, date="Wed, 21 Oct 2026 07:28:00 GMT")
    assert retry_after_s(reply) == expected


def test_a_refused_retry_is_asked_for_again_when_the_oldest_one_is_forgotten() -> None:
    budget = RetryBudget()
    assert all(budget.take(3.0) for _ in range(10))
    assert not budget.take(4.0)
    assert budget.free_at(4.0) == 4.5  # or sooner than that, if calls widen the budget
    assert budget.free_at(12.8) == 13.0
    assert budget.take(13.1)
