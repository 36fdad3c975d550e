"""When the breaker opens, whom it lets probe, and when it closes."""

from __future__ import annotations

from inferlake.worker.breaker import Breaker, State


def opened(breaker: Breaker, now: float = 0.0) -> Breaker:
    for _ in range(5):
        breaker.fault(now, "no connection")
    assert breaker.state is State.OPEN
    return breaker


def test_five_faults_in_a_row_open_it() -> None:
    breaker = Breaker()
    assert [breaker.fault(0.0, "x") for _ in range(5)] == [False, False, False, False, True]
    assert not breaker.admit(4.9)
    assert breaker.admit(5.0)  # the probe
    assert not breaker.admit(5.0)  # and nobody beside it


def test_an_answer_in_between_starts_the_count_again() -> None:
    breaker = Breaker()
    for _ in range(4):
        for _ in range(4):
            assert not breaker.fault(0.0, "x")
        for _ in range(5):
            breaker.success()
    assert breaker.state is State.CLOSED


def test_more_than_half_of_twenty_open_it_without_five_in_a_row() -> None:
    breaker = Breaker()
    for _ in range(9):
        breaker.fault(0.0, "x")
        breaker.success()
    breaker.success()
    assert not breaker.fault(0.0, "x")  # 10 of 20
    breaker.success()  # pushes a fault out: 9 of 20
    assert not breaker.fault(0.0, "x")
    assert not breaker.fault(0.0, "x")
    assert breaker.fault(0.0, "x")


def test_failed_probes_are_further_and_further_apart_up_to_five_minutes() -> None:
    breaker = opened(Breaker())
    waits = []
    now = 0.0
    for _ in range(9):
        waits.append(breaker.open_until - now)
        now = breaker.open_until
        assert breaker.admit(now)
        breaker.fault(now, "still down")
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_rows_with_little_time_get_probes_that_fall_into_it() -> None:
    breaker = opened(Breaker(longest_open_s=15.0))
    now = breaker.open_until
    for _ in range(3):
        assert breaker.admit(now)
        breaker.fault(now, "still down")
        now = breaker.open_until
    assert breaker.open_until - 15.0 == 5 + 10 + 15


def test_a_good_probe_closes_it_and_forgets() -> None:
    breaker = opened(Breaker())
    assert breaker.admit(5.0)
    assert breaker.success()
    assert breaker.admit(5.0)
    assert [breaker.fault(5.0, "x") for _ in range(5)][-1]
    assert breaker.open_until == 10.0


def test_a_probe_without_outcome_is_given_to_the_next() -> None:
    breaker = opened(Breaker())
    assert breaker.admit(5.0)
    breaker.release_probe(6.0)
    assert breaker.admit(6.0)


def test_an_answer_of_a_call_sent_before_it_opened_closes_it() -> None:
    breaker = opened(Breaker())
    assert breaker.success()
    assert breaker.state is State.CLOSED
