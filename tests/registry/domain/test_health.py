"""From probes to a state: thresholds, certain answers, and when to ask again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from inferlake_registry.contract.health import Health
from inferlake_registry.domain.health import (
    SLOWEST_FACTOR,
    Condition,
    Thresholds,
    Verdict,
    advance,
    is_stale,
    judge_status,
    next_due,
    next_interval,
)

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
H, D, U, M = Health.HEALTHY, Health.DEGRADED, Health.UNHEALTHY, Health.MISCONFIGURED


def after(*said: Health, failures: int = 3, successes: int = 2) -> Condition:
    """Return the condition after one probe a minute."""
    condition: Condition | None = None
    for index, state in enumerate(said):
        cause = None if state is H else f"probe {index}"
        condition = advance(condition, Verdict(state, cause), START + MINUTE * index, Thresholds(failures, successes))
    assert condition is not None
    return condition


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, H),
        (204, H),
        (301, M),
        (307, M),
        (400, M),
        (401, M),
        (403, M),
        (404, M),
        (405, M),
        (408, U),
        (425, U),
        (429, D),
        (500, U),
        (502, U),
        (503, U),
    ],
)
def test_what_one_answer_says(status: int, state: Health) -> None:
    verdict = judge_status(status)
    assert verdict.state is state
    assert (verdict.cause is None) == (state is H)
    assert verdict.cause is None or str(status) in verdict.cause


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ((H,), H),
        ((U,), U),  # a newcomer sees at once that its endpoint is away
        ((M,), M),
        ((D,), D),
        ((H, U), H),
        ((H, U, U), H),
        ((H, U, U, U), U),
        ((H, U, U, H, U, U), H),  # three in a row, not three in all
        ((U, H), U),
        ((U, H, H), H),
        ((U, H, U, H), U),
        ((H, M), M),  # a refused key is certain
        ((H, M, H), M),
        ((H, M, H, H), H),
        ((H, D), D),
        ((H, D, H), D),
        ((H, D, H, H), H),
        ((U, D), U),
        ((U, D, D), D),
        ((H, D, U, U, U), U),
    ],
)
def test_the_state_after_a_row_of_probes(said: tuple[Health, ...], state: Health) -> None:
    assert after(*said).state is state


def test_thresholds_are_per_model() -> None:
    assert after(H, U, failures=1).state is U
    assert after(U, H, successes=1).state is H
    assert after(H, *[U] * 9, failures=10).state is H


def test_since_is_when_the_state_began_and_the_cause_is_the_last_one() -> None:
    condition = after(H, U, U, U, U)
    assert condition.since == START + 3 * MINUTE
    assert condition.last_at == START + 4 * MINUTE
    assert condition.cause == "probe 4"
    assert after(U, H, H).cause is None


def test_a_misconfigured_model_is_asked_less_and_less() -> None:
    assert next_interval(None, MINUTE) == MINUTE
    assert next_interval(after(U, U, U), MINUTE) == MINUTE
    waits = [next_interval(after(*[M] * count), MINUTE) // MINUTE for count in (1, 2, 3, 5, 40)]
    assert waits == [1, 2, 4, SLOWEST_FACTOR, SLOWEST_FACTOR]


@pytest.mark.parametrize("offset", [0.0, 0.25, 0.5, 0.99])
def test_models_keep_their_place_in_the_minute(offset: float) -> None:
    due = next_due(None, MINUTE, offset, START)
    assert due == START  # a newcomer at once
    for _ in range(5):
        before = due
        due = (
            next_due(after(H), MINUTE, offset, START)
            if before == START
            else next_due(Condition(H, START, 0, 1, before, None), MINUTE, offset, START)
        )
        assert timedelta(seconds=30) <= due - before <= timedelta(seconds=90)
        assert due.timestamp() % 60 == pytest.approx(offset * 60)


def test_stale_is_older_than_two_and_a_half_intervals() -> None:
    assert not is_stale(START, MINUTE, START + timedelta(seconds=150))
    assert is_stale(START, MINUTE, START + timedelta(seconds=151))
    assert not is_stale(None, MINUTE, START)
