"""Where the registry's moments lie on a worker's clock."""

from __future__ import annotations

import pytest

from inferlake.worker.clock_offset import ClockOffset


def test_one_exchange_puts_the_moment_in_its_middle() -> None:
    assert ClockOffset().place(1_000.0, sent=5.0, received=5.2) == pytest.approx(5.1)


def test_a_slow_answer_does_not_move_what_a_quick_one_has_fixed() -> None:
    offset = ClockOffset()
    assert offset.place(1_000.0, sent=5.000, received=5.002) == pytest.approx(5.001)
    # Granted half a second later; the answer then took 200 ms to arrive, all of it on the way back.
    assert offset.place(1_000.5, sent=5.500, received=5.702) == pytest.approx(5.501)


def test_a_quicker_answer_is_believed_from_then_on() -> None:
    offset = ClockOffset()
    offset.place(1_000.0, sent=5.0, received=5.2)
    assert offset.place(1_001.0, sent=6.03, received=6.04) == pytest.approx(6.035)
    assert offset.place(1_002.0, sent=7.0, received=7.2) == pytest.approx(7.035)


def test_a_clock_that_was_set_is_taken_as_it_is_now() -> None:
    offset = ClockOffset()
    offset.place(1_000.0, sent=5.0, received=5.002)
    assert offset.place(2_000.0, sent=6.0, received=6.1) == pytest.approx(6.05)


def test_what_is_old_is_forgotten() -> None:
    offset = ClockOffset()
    offset.place(1_000.0, sent=5.0, received=5.002)
    assert offset.place(1_040.04, sent=45.0, received=45.1) == pytest.approx(45.05)
