"""What has been found out about one call, before anything is worked out from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows that reach a call, what it sends for them, and what there is to say about these numbers.

    None means that it is not known. ``requests`` are those that the call pays for: what a call before it in the query
    asks as well is counted there. ``prompt_tokens`` are estimated, and those of the ``requests`` alone.
    """

    evaluations: float  # of a row, on average
    rows: int | None
    requests: int | None
    prompt_tokens: int | None
    remarks: tuple[str, ...] = ()
