"""The arithmetic of a run: nothing lost, nothing paid twice.

``rows == accepted + rejected``, and the endpoint itself, asked for the requests that it has served, must have seen
exactly one for each different row that needed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """What each side counted by itself during one run. ``served`` is the endpoint's own figure."""

    rows: int
    accepted: int
    rejected: int
    null_rows: int  # nothing to send, so no call
    different: int  # requests that differ from every other of the run
    served: int
    again: int  # calls beyond the first of each request: after a fault, or for an equal row after a failure
    reachable: bool = True  # False when the endpoint died, so that its counter is gone or short


@dataclass(frozen=True, slots=True)
class Claim:
    """Two counts that must be equal, and a sentence with the arithmetic."""

    sentence: str
    left: int
    right: int

    @property
    def holds(self) -> bool:
        """Whether they are."""
        return self.left == self.right


def claims(counts: Counts) -> Iterator[Claim]:
    """Yield what must hold of a run; the second only for an endpoint that was there until the end."""
    total = counts.accepted + counts.rejected
    yield Claim(
        f"{counts.rows} rows = {counts.accepted} accepted + {counts.rejected} rejected",
        counts.rows,
        total,
    )
    if counts.reachable:
        equal = counts.rows - counts.null_rows - counts.different
        due = counts.rows - counts.null_rows - equal + counts.again
        yield Claim(
            f"{counts.served} requests counted by the endpoint = {counts.rows} rows − {counts.null_rows} "
            f"without input − {equal} equal to another + {counts.again} asked again after a failure",
            counts.served,
            due,
        )
