"""The arithmetic of send slots: exact, whoever asks and however often."""

from __future__ import annotations

import heapq
import random
from itertools import pairwise

import pytest

from inferlake_registry.domain.leases import (
    LONGEST_PAUSE_SECONDS,
    UNLIMITED_COUNT,
    Clock,
    Shares,
    Slots,
    change_limit,
    concurrency_share,
    give_back,
    grant,
    grant_share,
    pause,
    take_returned,
)

NOW = 1_800_000_000.0
NONE = Shares()


def times(slots: Slots) -> list[float]:
    return [slots.first + slots.spacing * index for index in range(slots.count)]


def worst_second(sent: list[float]) -> int:
    """Return the most sends in any half-open second."""
    ordered, first, worst = sorted(sent), 0, 0
    for index, at in enumerate(ordered):
        while at - ordered[first] >= 1.0 - 1e-6:
            first += 1
        worst = max(worst, index - first + 1)
    return worst


def test_a_lease_takes_the_next_free_slots() -> None:
    clock, slots = grant(Clock(), 100.0, wanted=10, holders=1, now=NOW)
    assert (slots.first, slots.spacing, slots.count) == (NOW, 0.01, 10)
    assert clock.next_slot == pytest.approx(NOW + 0.1)
    _, following = grant(clock, 100.0, wanted=10, holders=1, now=NOW)
    assert following.first == clock.next_slot


def test_nothing_is_caught_up_after_a_silence() -> None:
    clock, _ = grant(Clock(), 10.0, wanted=1, holders=1, now=NOW)
    _, slots = grant(clock, 10.0, wanted=100, holders=1, now=NOW + 60)
    assert slots.first == NOW + 60
    assert slots.count == 5  # half a second's worth


@pytest.mark.parametrize(
    ("qps", "holders", "wanted", "count"),
    [(500.0, 1, 1000, 250), (500.0, 8, 1000, 31), (500.0, 8, 3, 3), (0.5, 1, 10, 1), (1.0, 16, 10, 1), (20.0, 4, 0, 1)],
)
def test_a_holder_gets_its_part_of_half_a_second_and_at_least_one(
    qps: float, holders: int, wanted: int, count: int
) -> None:
    assert grant(Clock(), qps, wanted=wanted, holders=holders, now=NOW)[1].count == count


def test_a_fractional_limit_spaces_slots_beyond_a_second() -> None:
    clock = Clock()
    firsts = []
    for _ in range(3):
        clock, slots = grant(clock, 0.5, wanted=5, holders=3, now=NOW)
        firsts.append(slots.first - NOW)
    assert firsts == [0.0, 2.0, 4.0]


def test_without_a_limit_there_is_nothing_to_wait_for() -> None:
    clock, slots = grant(Clock(next_slot=NOW + 50), None, wanted=1_000_000, holders=3, now=NOW)
    assert (slots.first, slots.spacing, slots.count) == (NOW, 0.0, UNLIMITED_COUNT)
    assert clock == Clock(next_slot=NOW + 50)


def test_a_pause_holds_everybody_and_never_becomes_shorter() -> None:
    clock = pause(pause(Clock(), 3_000, NOW), 1_000, NOW + 0.5)
    assert clock.paused_until == NOW + 3
    assert grant(clock, 10.0, wanted=1, holders=1, now=NOW + 1)[1].first == NOW + 3
    assert grant(clock, None, wanted=1, holders=1, now=NOW + 1)[1].first == NOW + 3
    assert pause(Clock(), 10**12, NOW).paused_until == NOW + LONGEST_PAUSE_SECONDS
    assert pause(clock, 0, NOW) == clock


def test_the_last_holder_gives_slots_back_to_the_clock() -> None:
    clock, slots = grant(Clock(), 10.0, wanted=5, holders=1, now=NOW)
    after, kept = give_back(clock, slots, 2, NOW)
    assert kept is None
    assert after.next_slot == pytest.approx(NOW + 0.3)


def test_an_earlier_holder_gives_slots_back_for_somebody_else() -> None:
    clock, first = grant(Clock(), 10.0, wanted=5, holders=1, now=NOW)
    clock, _ = grant(clock, 10.0, wanted=5, holders=1, now=NOW)
    after, kept = give_back(clock, first, 3, NOW)
    assert after == clock
    assert kept is not None
    assert times(kept) == pytest.approx([NOW + 0.2, NOW + 0.3, NOW + 0.4])
    taken, left = take_returned(kept, wanted=2, now=NOW + 0.25)
    assert taken is not None
    assert left is None  # the slot at 0.2 s is past, the other two are taken
    assert times(taken) == pytest.approx([NOW + 0.3, NOW + 0.4])


def test_slots_in_the_past_are_void() -> None:
    clock, slots = grant(Clock(), 10.0, wanted=5, holders=1, now=NOW)
    assert give_back(clock, slots, 5, NOW + 9) == (clock, None)
    assert take_returned(slots, wanted=5, now=NOW + 9) == (None, None)
    assert give_back(clock, slots, 0, NOW) == (clock, None)
    assert give_back(clock, slots, -3, NOW) == (clock, None)


def test_a_raised_limit_begins_now_and_a_lowered_one_behind_what_is_out() -> None:
    booked = Clock(next_slot=NOW + 40)
    assert change_limit(booked, 0.1, 500.0, NOW).next_slot == NOW
    assert change_limit(booked, 0.1, None, NOW).next_slot == NOW
    assert change_limit(booked, 500.0, 1.0, NOW).next_slot == NOW + 40
    assert change_limit(Clock(), None, 1.0, NOW).next_slot == 0.0


@pytest.mark.parametrize(("limit", "holders"), [(1024, 1), (1024, 7), (10, 10), (3, 2)])
def test_shares_of_calls_in_flight_sum_to_the_limit(limit: int, holders: int) -> None:
    shares = [concurrency_share(limit, holders, rank) for rank in range(holders)]
    assert sum(shares) == limit
    assert max(shares) - min(shares) <= 1


def test_more_holders_than_calls_in_flight_have_one_each() -> None:
    assert [concurrency_share(2, 4, rank) for rank in range(4)] == [1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_many_holders_share_one_limit_exactly(seed: int) -> None:
    """16 holders ask, use a part, give the rest back and are killed at random: the worst second keeps the limit."""
    dice = random.Random(seed)
    limit, clock, free = 100.0, Clock(), list[Slots]()
    sent: list[float] = []
    due = [(NOW + dice.random(), holder) for holder in range(16)]
    heapq.heapify(due)
    while due[0][0] < NOW + 30:
        now, holder = heapq.heappop(due)
        slots = None
        if free:
            slots, left = take_returned(free.pop(0), wanted=10, now=now)
            free += [left] if left is not None else []
        if slots is None:
            clock, slots = grant(clock, limit, wanted=10, holders=16, now=now)
        used = dice.randint(0, slots.count)
        sent += times(slots)[:used]
        if dice.random() < 0.8:
            clock, back = give_back(clock, slots, slots.count - used, now)
            free += [back] if back is not None else []
        heapq.heappush(due, (max(now, slots.end) + dice.random() * 0.05, holder))
    assert len(sent) > 100
    assert worst_second(sent) <= 101
    assert min(later - earlier for earlier, later in pairwise(sorted(sent))) > 0.01 - 1e-6


def test_busy_holders_use_the_whole_limit() -> None:
    clock, sent, at = Clock(), list[float](), [NOW] * 8
    while min(at) < NOW + 20:
        holder = at.index(min(at))
        clock, slots = grant(clock, 500.0, wanted=60, holders=8, now=at[holder])
        sent += times(slots)
        at[holder] = slots.end - 0.1  # asks again a little before the last slot
    inside = [moment for moment in sent if NOW <= moment < NOW + 20]
    assert len(inside) == pytest.approx(10_000, abs=2)
    assert worst_second(inside) <= 501


def share(
    clock: Clock | None = None,
    *,
    recent: int = 100,
    holders: int = 2,
    others: Shares = NONE,
    own: Shares = NONE,
    now: float = NOW,
) -> Slots | None:
    return grant_share(clock or Clock(), 1_000.0, recent=recent, holders=holders, others=others, own=own, now=now)


def test_a_share_is_half_a_second_at_nine_tenths_of_an_even_part() -> None:
    assert share() == Slots(NOW, 1 / 450, 225)
    assert share(holders=4) == Slots(NOW, 1 / 225, 112)
    assert share(Clock(next_slot=NOW + 0.01)) == Slots(NOW + 0.01, 1 / 450, 225)  # behind what is given out
    assert share(own=Shares(450, NOW + 0.1)) == Slots(NOW + 0.1, 1 / 450, 225)  # and behind the one before


def test_who_is_alone_calls_little_or_much_or_is_held_up_has_no_share() -> None:
    assert share(holders=1) is None
    assert share(recent=31) is None
    assert share(recent=32) is not None
    assert share(recent=200) is not None  # 400 a second of 500
    assert share(recent=201) is None
    assert share(Clock(next_slot=NOW + 0.1)) is None
    assert share(Clock(paused_until=NOW + 0.1)) is None


def test_shares_never_sum_to_more_than_the_limit() -> None:
    assert share(others=Shares(550, NOW + 0.3)) is not None
    assert share(others=Shares(551, NOW + 0.3)) is None
    # A holder has come, and the share of before is larger than its part is now: it runs out first.
    assert share(holders=3, own=Shares(450, NOW + 0.1)) is None
    assert share(holders=3, own=Shares(450, NOW)) == Slots(NOW, 1 / 300, 150)


def test_the_clock_has_what_the_shares_leave() -> None:
    clock, slots = grant(Clock(), 1_000.0, wanted=10, holders=3, now=NOW, shares=Shares(900, NOW + 0.4))
    assert (slots.first, slots.spacing, slots.count) == (NOW, pytest.approx(0.01), 10)
    assert clock.next_slot == pytest.approx(NOW + 0.1)
    # Nothing is left, or the limit is lower by now: who asks waits until they end.
    _, slots = grant(Clock(), 100.0, wanted=10, holders=3, now=NOW, shares=Shares(900, NOW + 0.4))
    assert (slots.first, slots.spacing) == (NOW + 0.4, 0.01)


@pytest.mark.parametrize("seed", range(8))
def test_shares_and_slots_together_keep_the_limit(seed: int) -> None:
    """Twelve holders call, pause and want everything at random; whatever they are granted keeps the limit."""
    dice = random.Random(seed)
    limit, clock, sent, shared = 1_000.0, Clock(), list[float](), 0
    shares = dict.fromkeys(range(12), Shares())
    last = dict.fromkeys(range(12), 0.0)
    due = [(NOW + dice.random(), holder) for holder in range(12)]
    heapq.heapify(due)
    while due[0][0] < NOW + 30:
        now, holder = heapq.heappop(due)
        live = {other: each for other, each in shares.items() if each.until > now}
        calling = sum(end >= now - 0.5 for other, end in last.items() if other != holder)
        own = live.pop(holder, Shares())
        others = sum(live.values(), Shares())
        recent = dice.choice([0, 40, 60, 300]) if dice.random() < 0.2 else 40
        slots = grant_share(clock, limit, recent=recent, holders=calling + 1, others=others, own=own, now=now)
        if slots is not None:
            shares[holder] = Shares(1 / slots.spacing, slots.end)
            shared += 1
        else:
            wanted = 400 if recent == 300 else 5
            clock, slots = grant(clock, limit, wanted=wanted, holders=12, now=now, shares=others + own)
        sent += times(slots)
        last[holder] = slots.end
        idle = dice.random() * (3.0 if dice.random() < 0.05 else 0.02)
        heapq.heappush(
            due, (max(now, slots.end - 0.1 if shares[holder].until == slots.end else slots.end) + idle, holder)
        )
    assert shared > 100
    assert len(sent) > 10_000
    assert worst_second(sent) <= 1_000 + 12  # each of several evenly spaced runs may have one at both ends
