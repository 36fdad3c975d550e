"""Where the registry's moments lie on this worker's own clock: a rule without clock or network.

An answer that took long says little about when it was given, a quick one says it to within half its way there and
back. So the quickest of the last answers fixes the difference of the two clocks (as NTP does, RFC 5905 section 10), and
leases keep the distance in which they were granted, however long each was on its way.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

_KEPT_S: Final = 30.0  # quartz clocks drift by less than 2 ms in this time


@dataclass(frozen=True, slots=True)
class _Sample:
    taken: float
    offset: float  # ours minus the registry's
    doubt: float  # half the way there and back


class ClockOffset:
    """The difference of the two clocks, from exchanges that were timed on both."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def place(self, moment: float, sent: float, received: float) -> float:
        """Return on our clock the registry's ``moment``, which lay between our ``sent`` and ``received``."""
        sample = _Sample(received, (sent + received) / 2 - moment, (received - sent) / 2)
        while self._samples and self._samples[0].taken < received - _KEPT_S:
            self._samples.popleft()
        # What cannot both be true means another clock: one that was set, or another registry's.
        if any(abs(other.offset - sample.offset) > other.doubt + sample.doubt for other in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        return moment + min(self._samples, key=lambda other: other.doubt).offset
