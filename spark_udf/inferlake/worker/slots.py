"""The send slots that a worker has in hand: a rule without clock or network."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from inferlake_registry.contract.leases import Lease

MISSED_S: Final = 0.010  # a slot that is later than this is not used: late workers would send in a bunch
_EARLY_S: Final = 0.001  # the loop's timers count in milliseconds


@dataclass(frozen=True, slots=True)
class Slot:
    """A moment at which one call may be sent."""

    at: float
    lease_id: str | None  # None: made up while the registry is away


class Slots:
    """Slots in the order of their moments."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def end(self) -> float:
        """Moment of the last slot."""
        return self._slots[-1].at if self._slots else float("-inf")

    @property
    def made_up(self) -> bool:
        """Tell whether the last slot is made up."""
        return bool(self._slots) and self._slots[-1].lease_id is None

    @property
    def next_at(self) -> float | None:
        """Moment of the next slot."""
        return self._slots[0].at if self._slots else None

    def add(self, lease: Lease, now: float, at_least: float = 0.0) -> None:
        """Take a lease's slots into hand, those that are ``at_least`` apart; made-up ones have had their time."""
        before = self._slots[0].at - at_least if self.made_up else self.end
        if self.made_up:
            self.give_up()
        first = now + lease.first_delay_ms / 1_000
        for number in range(lease.count):
            at = first + number * lease.spacing_ms / 1_000
            if at - before >= at_least:
                self._slots.append(Slot(at, lease.lease_id))
                before = at

    def make_up(self, start: float, spacing: float, until: float) -> None:
        """Make slots from the last known share, from ``start`` on and behind those in hand."""
        at = max(start, self.end + spacing)
        while at < until:
            self._slots.append(Slot(at, None))
            at += spacing

    def take(self, now: float) -> bool:
        """Use the next slot if its moment has come."""
        self._drop_missed(now)
        if not self._slots or self._slots[0].at > now + _EARLY_S:
            return False
        self._slots.popleft()
        return True

    def give_up(self) -> Mapping[str, int]:
        """Drop all slots; return how many of which lease can be given back."""
        unused = Counter(slot.lease_id for slot in self._slots if slot.lease_id is not None)
        self._slots.clear()
        return unused

    def _drop_missed(self, now: float) -> None:
        while self._slots and self._slots[0].at < now - MISSED_S:
            self._slots.popleft()


def useful_beside_others(waiting: int, recent: int, of_limit: float) -> int:
    """Return how many slots a worker can use that shares a limit: for what waits, and for what comes while they last.

    ``recent`` calls of the worker came lately, which were the part ``of_limit`` of the whole limit. Under a limit that
    is far from reached a lease's slots are over in a moment, and those that nobody wants in it would be lost to the
    others. Never for more than as many calls as came lately.
    """
    if of_limit >= 1:
        return waiting + recent
    return waiting + min(recent, ceil(waiting * of_limit / (1 - of_limit)))
