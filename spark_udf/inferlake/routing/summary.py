"""A run's figures, computed from the files that it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from inferlake.routing.layout import ACCEPTED, CALL, OUTCOME


@dataclass(frozen=True, slots=True)
class Figures:
    """What the files of one run hold. Calls, tokens and latencies are those of rows that were not reused answers."""

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


def read_figures(written: DataFrame) -> Figures:
    """Count a run's files in one Spark job: by outcome and reason, and over everything."""
    own = sf.col(f"{CALL}.from_cache") == sf.lit(False)
    latency_ms = sf.when(own, sf.col(f"{CALL}.latency_ms"))
    latency = sf.percentile_approx(latency_ms, [0.5, 0.95], 10_000)
    rows = (
        written.groupingSets([[sf.col(OUTCOME), sf.col("reason")], []], OUTCOME, "reason")
        .agg(
            sf.grouping_id().alias("level"),
            sf.count(sf.lit(1)).alias("rows"),
            sf.sum(sf.when(own, sf.col(f"{CALL}.attempts"))).alias("calls"),
            sf.count_if(sf.col(f"{CALL}.from_cache")).alias("from_cache"),
            sf.sum(sf.when(own, sf.col(f"{CALL}.prompt_tokens"))).alias("prompt_tokens"),
            sf.sum(sf.when(own, sf.col(f"{CALL}.completion_tokens"))).alias("completion_tokens"),
            latency.alias("latency"),
            sf.min(f"{CALL}.version").alias("first_version"),
            sf.max(f"{CALL}.version").alias("last_version"),
        )
        .collect()
    )
    return _figures(rows)


def _figures(rows: list[Row]) -> Figures:
    groups = [row for row in rows if row["level"] == 0]
    total = next(row for row in rows if row["level"] != 0)
    latency = total["latency"] or (None, None)
    one_version = total["first_version"] == total["last_version"]
    return Figures(
        accepted=sum(row["rows"] for row in groups if row[OUTCOME] == ACCEPTED),
        rejected_by_reason={row["reason"]: row["rows"] for row in groups if row[OUTCOME] != ACCEPTED},
        version=total["first_version"] if one_version else None,
        calls=total["calls"] or 0,
        from_cache=total["from_cache"] or 0,
        prompt_tokens=_tokens(total, "prompt_tokens"),
        completion_tokens=_tokens(total, "completion_tokens"),
        latency_p50_ms=latency[0],
        latency_p95_ms=latency[1],
    )


def _tokens(total: Row, name: str) -> int | None:
    """Return what the answers said in all; a run that only used answers of others spent nothing, which is known."""
    said: int | None = total[name]
    only_reused = not total["calls"] and total["from_cache"]
    return 0 if said is None and only_reused else said


NO_ROWS = Figures(0, {}, None, 0, 0, 0, 0, None, None)
