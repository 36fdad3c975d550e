"""Tells the registry of a run, so that people see it; the run itself does not depend on that."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame, Row

from inferlake.connection import log
from inferlake_registry.client import Registry
from inferlake_registry.contract.problems import RegistryError
from inferlake_registry.contract.runs import RejectedSample, RunReport

SAMPLES: Final = 200  # rejected rows of a run that people can look at in the dashboard; the table has all
_MAX_TEXT: Final = 4_000  # characters of one text of a sample


def report(registry: Registry, summary: RunReport, rejected: DataFrame) -> None:
    """Send the summary and some rejected rows. A registry that is away is logged: everything is written by now."""
    try:
        registry.report_run(summary)
        if summary.rejected:
            rows = rejected.limit(SAMPLES).collect()
            registry.report_rejected(summary.run_id, [_sample(row) for row in rows])
    except RegistryError as error:
        log.warning("Run %s is written, but the registry does not know of it: %s", summary.run_id, error)


def _sample(row: Row) -> RejectedSample:
    at: datetime = row["rejected_at"]
    return RejectedSample(
        rejected_id=row["rejected_id"],
        run_id=row["run_id"],
        row_key=row["row_key"],
        model=row["model"],
        model_version=row["model_version"],
        reason=row["reason"],
        errors=row["errors"],
        ai_output=_cut(row["ai_output"]),
        input=_cut(row["input"]),
        rejected_at=at.astimezone(UTC).isoformat(),
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
