"""A run's figures: what it observed of its rows on their way, and the rows counted in the files that it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf

from inferlake.routing.layout import ACCEPTED, OUTCOME


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of one run. Calls, tokens and latencies are those of rows that were not reused answers."""

    rows: int  # that went in
    accepted: int
    rejected_by_reason: Mapping[str, int]
    version: str | None  # None when several versions answered, or none is known
    calls: int
    from_cache: int
    prompt_tokens: int | None  # of the answers that said how many; None when none did
    completion_tokens: int | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None

    @property
    def rejected(self) -> int:
        """Rows with a reason."""
        return sum(self.rejected_by_reason.values())


def observed_figures(answer: Column | None) -> list[Column]:
    """Return what a run counts of its rows on their way. ``answer`` is their struct; None for texts, which say less."""
    rows = sf.count(sf.lit(1)).alias("rows")
    if answer is None:
        return [rows]
    own = answer["from_cache"] == sf.lit(False)
    return [
        rows,
        sf.sum(sf.when(own, answer["attempts"])).alias("calls"),
        sf.count(sf.when(answer["from_cache"], sf.lit(True))).alias("from_cache"),
        sf.sum(sf.when(own, answer["prompt_tokens"])).alias("prompt_tokens"),
        sf.sum(sf.when(own, answer["completion_tokens"])).alias("completion_tokens"),
        sf.percentile_approx(sf.when(own, answer["latency_ms"]), [0.5, 0.95], 10_000).alias("latency"),
        sf.min(answer["version"]).alias("first_version"),
        sf.max(answer["version"]).alias("last_version"),
    ]


def count_written(written: DataFrame) -> list[Row]:
    """Count the rows in a run's files by outcome and reason: this is the proof that they are there."""
    return written.groupBy(OUTCOME, "reason").agg(sf.count(sf.lit(1)).alias("rows")).collect()


def read_figures(observed: Mapping[str, Any], written: Sequence[Row]) -> Figures:
    """Return the figures of a run from what it observed and from the count of what it wrote."""
    latency = observed.get("latency") or (None, None)
    first, last = observed.get("first_version"), observed.get("last_version")
    return Figures(
        rows=observed["rows"],
        accepted=sum(group["rows"] for group in written if group[OUTCOME] == ACCEPTED),
        rejected_by_reason={group["reason"]: group["rows"] for group in written if group[OUTCOME] != ACCEPTED},
        version=first if first == last else None,
        calls=observed.get("calls") or 0,
        from_cache=observed.get("from_cache") or 0,
        prompt_tokens=_tokens(observed, "prompt_tokens"),
        completion_tokens=_tokens(observed, "completion_tokens"),
        latency_p50_ms=latency[0],
        latency_p95_ms=latency[1],
    )


def _tokens(observed: Mapping[str, Any], name: str) -> int | None:
    """Return what the answers said in all; a run that only used answers of others spent nothing, which is known."""
    said: int | None = observed.get(name)
    only_reused = not observed.get("calls") and (observed.get("from_cache") or not observed["rows"])
    return 0 if said is None and only_reused else said
