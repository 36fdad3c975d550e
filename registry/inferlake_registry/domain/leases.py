"""How one limit becomes send slots in the future: the generic cell rate algorithm (ITU-T I.371), many slots at once.

A model has one clock: the time of its next free slot. A lease takes ``count`` slots from it, ``spacing`` apart, and
moves it on. A slot belongs to one lease, so the sum over all holders can never exceed the limit, however
many there are and however often they ask. Slots that nobody took lapse with the time; there is no burst to catch up.

While the limit holds nobody up, slots one after the other would be over before a busy holder has used them, and it
would have to ask a hundred times a second. Such a holder gets a share instead: half a second at an even part of the
limit, beside the clock, whose slots are that much further apart meanwhile.

Times are seconds since the epoch on the registry's own clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

# A holder asks for what it can use in the next 250 to 500 ms, and gets no more than its part of half a second.
WINDOW_SECONDS: Final = 0.5
# What is granted at once to a holder of a model without a limit: only bounds the number in the answer.
UNLIMITED_COUNT: Final = 10_000
# A share is for a holder that made this many calls in the last half second: fewer are easily asked for.
SHARE_LEAST_CALLS: Final = 32
# What a share is of an even part of the limit: the rest is for holders that are new.
SHARE_OF_PART: Final = 0.9
# A holder that uses more than this of its even part may soon want more than that: it gets slots of the clock.
SHARE_USE: Final = 0.8
# Nobody is held up when the next free slot is no further away.
SHARE_BOOKED_SECONDS: Final = 0.02
# The clock has at least this part of the limit, or waits until the shares end.
CLOCK_LEAST: Final = 0.05
# How long after its last slot a lease is good: a worker that was suspended for longer must ask again.
GRACE_SECONDS: Final = 1.0
# A lease without slots to wait for ends after this, so that DISABLE and a new limit are noticed.
UNLIMITED_SECONDS: Final = 2.0
# A holder that is silent for longer than its lease and this is taken for dead.
HOLDER_SECONDS: Final = 2.0
# A pause that an endpoint asks for is believed up to this; a nonsense value must not stop a model for a day.
LONGEST_PAUSE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Clock:
    """The state of one model's limit: when the next slot is free, and until when the endpoint wants quiet."""

    next_slot: float = 0.0
    paused_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a limit that holders have, in calls a second, and when the last of them ends."""

    rate: float = 0.0
    until: float = 0.0

    def __add__(self, other: Shares) -> Shares:
        return Shares(self.rate + other.rate, max(self.until, other.until))


@dataclass(frozen=True, slots=True)
class Slots:
    """A run of send slots: ``count`` of them from ``first`` on, ``spacing`` apart; with spacing 0 all at once."""

    first: float
    spacing: float
    count: int

    @property
    def end(self) -> float:
        """When the slot after the last one would be."""
        return self.first + self.spacing * self.count

    @property
    def expires(self) -> float:
        """When what is unused is void."""
        return self.end + (GRACE_SECONDS if self.spacing else UNLIMITED_SECONDS)


def grant(
    clock: Clock, qps_limit: float | None, *, wanted: int, holders: int, now: float, shares: Shares = Shares()
) -> tuple[Clock, Slots]:
    """Take up to ``wanted`` slots, at least one, and return the clock after that.

    ``holders`` counts the asker, and ``shares`` are all that have not ended, the asker's own among them.
    """
    begin = max(now, clock.paused_until)
    if qps_limit is None:
        return clock, Slots(begin, 0.0, max(1, min(wanted, UNLIMITED_COUNT)))
    rate = qps_limit - shares.rate
    if rate < CLOCK_LEAST * qps_limit:  # the limit was lowered, or holders are new
        begin, rate = max(begin, shares.until), qps_limit
    fair = max(1, math.floor(qps_limit * WINDOW_SECONDS / max(1, holders)))
    slots = Slots(max(begin, clock.next_slot), 1.0 / rate, max(1, min(wanted, fair)))
    return replace(clock, next_slot=slots.end), slots


def grant_share(
    clock: Clock, qps_limit: float | None, *, recent: int, holders: int, others: Shares, own: Shares, now: float
) -> Slots | None:
    """Return half a second's slots at the asker's share, or None when it is to take slots of the clock.

    ``recent`` calls of the asker were in the last half second, ``holders`` that call now count it, ``others`` are
    the shares of the other ones, ``own`` is its own until then. A lone holder has the clock for itself.
    """
    if qps_limit is None:
        return None
    part = qps_limit / max(1, holders)
    rate = SHARE_OF_PART * part
    if holders < 2 or recent < SHARE_LEAST_CALLS or recent > SHARE_USE * part * WINDOW_SECONDS:
        return None
    if max(clock.next_slot, clock.paused_until) > now + SHARE_BOOKED_SECONDS or others.rate + rate > qps_limit:
        return None
    if own.rate > rate and own.until > now:
        return None  # one rate is on record, and the other ones may count on it
    # Slots that were given out before are over by then, so the sum stays within the limit.
    first = max(now, clock.next_slot, clock.paused_until, own.until)
    return Slots(first, 1.0 / rate, math.floor(rate * WINDOW_SECONDS))


def take_returned(returned: Slots, *, wanted: int, now: float) -> tuple[Slots | None, Slots | None]:
    """Take slots that another holder gave back: what is taken, and what is left of them. Slots in the past are void."""
    future = _from(returned, now)
    if future is None:
        return None, None
    count = max(1, min(wanted, future.count))
    left = future.count - count
    rest = Slots(future.first + future.spacing * count, future.spacing, left) if left else None
    return replace(future, count=count), rest


def give_back(clock: Clock, slots: Slots, unused: int, now: float) -> tuple[Clock, Slots | None]:
    """Return the last ``unused`` slots: the clock goes back over them if nobody came after, else they are kept.

    The second value is what somebody else may have; None when nothing is left or the clock has it.
    """
    unused = min(unused, slots.count)
    if unused <= 0 or not slots.spacing:
        return clock, None
    tail = _from(Slots(slots.first + slots.spacing * (slots.count - unused), slots.spacing, unused), now)
    if tail is None:
        return clock, None
    if math.isclose(clock.next_slot, slots.end, rel_tol=0.0, abs_tol=slots.spacing / 1000):
        return replace(clock, next_slot=tail.first), None
    return clock, tail


def pause(clock: Clock, pause_ms: int, now: float) -> Clock:
    """Leave the endpoint alone for that long from now; a pause never becomes shorter than it was."""
    until = now + min(pause_ms / 1000, LONGEST_PAUSE_SECONDS)
    return replace(clock, paused_until=max(clock.paused_until, until)) if pause_ms > 0 else clock


def change_limit(clock: Clock, old: float | None, new: float | None, now: float) -> Clock:
    """Make a new limit act at once: a raised one begins now, a lowered one behind the slots already given out."""
    raised = new is None or (old is not None and new > old)
    return replace(clock, next_slot=min(clock.next_slot, now)) if raised else clock


def concurrency_share(limit: int, holders: int, rank: int) -> int:
    """Return one holder's part of the calls in flight; ``rank`` is its place among the holders, from 0.

    The parts sum to the limit as long as there are no more holders than that; beyond it each may have one.
    """
    whole, rest = divmod(limit, max(1, holders))
    return max(1, whole + (1 if rank < rest else 0))


def _from(slots: Slots, now: float) -> Slots | None:
    """Return the slots that are not yet past."""
    missed = max(0, math.ceil((now - slots.first) / slots.spacing)) if slots.spacing else 0
    left = slots.count - missed
    return Slots(slots.first + slots.spacing * missed, slots.spacing, left) if left > 0 else None
