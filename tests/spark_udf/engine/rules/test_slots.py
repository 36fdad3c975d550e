"""Send slots in hand: used at their moment, never late."""

from __future__ import annotations

from dataclasses import replace

from inferlake.worker.slots import Slots, useful_beside_others
from inferlake_registry.contract.leases import Lease


def lease(count: int, first_ms: float, spacing_ms: float, name: str = "a") -> Lease:
    return Lease(name, count, first_ms, spacing_ms, 1_000, 1, True, 8, 1_000 / spacing_ms, 1)


def test_a_slot_is_used_once_and_not_before_its_moment() -> None:
    slots = Slots()
    slots.add(lease(3, 100, 50), now=10.0)
    assert slots.next_at == 10.1
    assert not slots.take(10.05)
    assert slots.take(10.1)
    assert not slots.take(10.1)
    assert slots.take(10.15)
    assert slots.take(10.2)
    assert not slots.take(99.0)


def test_a_slot_missed_by_more_than_ten_milliseconds_is_not_used() -> None:
    slots = Slots()
    slots.add(lease(10, 0, 5), now=0.0)
    # The loop was busy for 30 ms: of the slots at 0, 5, 10, 15, 20, 25, 30 ms the first four are gone.
    used = 0
    while slots.take(0.030):
        used += 1
    assert used == 3
    assert len(slots) == 3


def test_what_is_not_used_is_given_back_by_lease() -> None:
    slots = Slots()
    slots.add(lease(5, 0, 10, "a"), now=0.0)
    slots.add(lease(4, 50, 10, "b"), now=0.0)
    for moment in (0.0, 0.01, 0.02):
        assert slots.take(moment)
    assert slots.give_up() == {"a": 2, "b": 4}
    assert len(slots) == 0


def test_of_two_runs_the_earlier_slot_is_used_first() -> None:
    slots = Slots()
    slots.add(lease(3, 0, 100, "a"), now=0.0)
    slots.add(lease(2, 50, 100, "b"), now=0.0)
    moments = [tick / 100 for tick in range(100) if slots.take(tick / 100)]
    assert moments == [0.0, 0.05, 0.1, 0.15, 0.2]
    assert slots.end == float("-inf")


def test_slots_of_a_share_are_not_given_back() -> None:
    slots = Slots()
    slots.add(replace(lease(5, 0, 10), share=True), now=0.0)
    assert not slots.made_up
    assert len(slots) == 5
    assert slots.give_up() == {}
    assert len(slots) == 0


def test_slots_that_must_be_further_apart_are_some_of_the_leases_own() -> None:
    slots = Slots()
    slots.add(lease(1, 0, 50, "a"), now=0.0)
    slots.add(lease(10, 0, 50, "b"), now=0.0, at_least=0.12)
    moments = [tick / 100 for tick in range(100) if slots.take(tick / 100)]
    assert moments == [0.0, 0.15, 0.3, 0.45]


def test_made_up_slots_follow_those_in_hand_at_the_shares_spacing() -> None:
    slots = Slots()
    slots.add(lease(2, 0, 100), now=0.0)
    slots.make_up(start=0.0, spacing=0.4, until=1.5)
    moments = []
    for tick in range(200):
        if slots.take(tick / 100):
            moments.append(tick / 100)
    assert moments == [0.0, 0.1, 0.5, 0.9, 1.3]
    assert slots.give_up() == {}  # nothing of them belongs to the registry


def test_beside_others_slots_are_for_what_waits_and_what_comes_while_they_last() -> None:
    assert useful_beside_others(waiting=100, recent=0, of_limit=0.0) == 100
    # A quarter of the limit: while 134 slots pass 34 calls come, and 100 while 400 pass.
    assert useful_beside_others(waiting=100, recent=2_500, of_limit=0.25) == 134
    assert useful_beside_others(waiting=300, recent=2_500, of_limit=0.25) == 400
    # Half of a limit that is reached, and the whole of it.
    assert useful_beside_others(waiting=400, recent=125, of_limit=0.5) == 525
    assert useful_beside_others(waiting=3, recent=10, of_limit=1.0) == 13
    assert useful_beside_others(waiting=3, recent=12, of_limit=1.2) == 15
