"""The send slots that a worker has in hand: a rule without clock or network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from operator import attrgetter
from typing import Final

from inferlake_registry.contract.leases import Lease

MISSED_S: Final = 0.010  # a slot that is later than this is not used: late workers would send in a bunch
_EARLY_S: Final = 0.001  # the loop's timers count in milliseconds


@dataclass(slots=True)
class _Run:
    """Moments at each of which one call may be sent: ``count`` of them, of which ``gone`` have been used or missed."""

    first: float
    spacing: float
    count: int
    lease_id: str | None  # None: nothing to give back
    made_up: bool = False  # while the registry is away
    gone: int = 0

    @property
    def left(self) -> int:
        return self.count - self.gone

    @property
    def next_at(self) -> float:
        return self.first + self.gone * self.spacing

    @property
    def end(self) -> float:
        return self.first + (self.count - 1) * self.spacing

    def drop_missed(self, before: float) -> None:
        late = before - self.next_at
        if late > 0:
            self.gone = min(self.count, self.gone + (ceil(late / self.spacing) if self.spacing else self.count))


class Slots:
    """Slots in hand, a few runs of them. The one with the earliest moment is used first."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(run.left for run in self._runs)

    @property
    def end(self) -> float:
        """Moment of the last slot."""
        return max((run.end for run in self._runs), default=float("-inf"))

    @property
    def made_up(self) -> bool:
        """Tell whether the last slot is made up."""
        return bool(self._runs) and self._runs[-1].made_up

    @property
    def next_at(self) -> float | None:
        """Moment of the next slot."""
        return min((run.next_at for run in self._runs), default=None)

    def add(self, lease: Lease, now: float, at_least: float = 0.0) -> None:
        """Take a lease's slots into hand, those that are ``at_least`` apart; made-up ones have had their time."""
        next_at, spacing = self.next_at, lease.spacing_ms / 1_000
        if self.made_up and next_at is not None:
            self.give_up()
            earliest = next_at
        else:
            earliest = self.end + at_least if at_least else float("-inf")
        lease_id = None if lease.share else lease.lease_id
        run = _Run(now + lease.first_delay_ms / 1_000, spacing, lease.count, lease_id)
        run.drop_missed(earliest)
        apart = max(1, ceil(at_least / spacing)) if spacing else 1
        left = ceil(run.left / apart)
        if left:
            self._runs.append(_Run(run.next_at, apart * spacing, left, lease_id))

    def make_up(self, start: float, spacing: float, until: float) -> None:
        """Make slots from the last known share, from ``start`` on and behind those in hand."""
        at = max(start, self.end + spacing)
        if at < until:
            self._runs.append(_Run(at, spacing, ceil((until - at) / spacing), None, made_up=True))

    def take(self, now: float) -> bool:
        """Use the next slot if its moment has come."""
        runs = self._runs
        for run in runs:
            run.drop_missed(now - MISSED_S)
        if any(not run.left for run in runs):
            runs = self._runs = [run for run in runs if run.left]
        if not runs:
            return False
        run = runs[0] if len(runs) == 1 else min(runs, key=attrgetter("next_at"))
        if run.next_at > now + _EARLY_S:
            return False
        run.gone += 1
        if not run.left:
            runs.remove(run)
        return True

    def give_up(self) -> Mapping[str, int]:
        """Drop all slots; return how many of which lease can be given back."""
        unused = Counter[str]()
        for run in self._runs:
            if run.lease_id is not None:
                unused[run.lease_id] += run.left
        self._runs.clear()
        return unused


def useful_beside_others(waiting: int, recent: int, of_limit: float) -> int:
    """Return how many slots a worker can use that shares a limit: for what waits, and for what comes while they last.

    ``recent`` calls of the worker came lately, which were the part ``of_limit`` of the whole limit. Under a limit that
    is far from reached a lease's slots are over in a moment, and those that nobody wants in it would be lost to the
    others. Never for more than as many calls as came lately.
    """
    if of_limit >= 1:
        return waiting + recent
    return waiting + min(recent, ceil(waiting * of_limit / (1 - of_limit)))
