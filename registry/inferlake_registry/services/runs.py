"""What runs report: summaries, rejected rows to look at, and usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime

from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import BadRequest, NotFound
from inferlake_registry.contract.runs import RejectedSample, RunListing, RunReport, UsageReport
from inferlake_registry.services.listings.keyset import Place
from inferlake_registry.services.listings.runs import list_runs
from inferlake_registry.store.schema import RejectedRow, Run, UsageHour


def store_run(session: Session, report: RunReport) -> None:
    """Store a run's summary; the same run again replaces it. Raises BadRequest when the sum does not hold."""
    if report.rows != report.accepted + report.rejected:
        raise BadRequest("rows must be accepted + rejected")
    values = {**asdict(report), "started_at": _moment(report.started_at)}
    values["rejected_by_reason"] = dict(report.rejected_by_reason)
    session.merge(Run(**values))


def read_run(session: Session, run_id: str) -> RunReport:
    """Return a run as it was reported. Raises NotFound."""
    stored = session.get(Run, run_id)
    if stored is None:
        raise NotFound(f"run {run_id!r}")
    return _report(stored)


def read_runs(session: Session, model: str, after: Place | None) -> RunListing:
    """Return one page of runs, of one model or of all."""
    found = list_runs(session, model, after)
    reports = tuple(read_run(session, item.run_id) for item in found.runs)
    return RunListing(reports, None if found.following is None else found.following.write())


def _report(stored: Run) -> RunReport:
    values = {field.name: getattr(stored, field.name) for field in fields(RunReport)}
    return RunReport(**{**values, "started_at": stored.started_at.isoformat()})


def store_rejected(session: Session, run_id: str, samples: Sequence[RejectedSample]) -> None:
    """Store rejected rows for people to look at; the same row again changes nothing but its text."""
    for sample in samples:
        if sample.run_id != run_id:
            raise BadRequest("a row belongs to another run than the address says")
        session.merge(RejectedRow(**{**asdict(sample), "rejected_at": _moment(sample.rejected_at)}))


def store_usage(session: Session, reports: Sequence[UsageReport], now: datetime) -> None:
    """Add what workers called to the sums of this hour."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    for report in reports:
        row = session.get(UsageHour, (report.model, report.version, hour))
        if row is None:
            row = UsageHour(
                model=report.model,
                version=report.version,
                hour=hour,
                calls=0,
                errors={},
                prompt_tokens=0,
                completion_tokens=0,
                latency_ms_histogram={},
            )
            session.add(row)
        row.calls += report.calls
        row.prompt_tokens += report.prompt_tokens
        row.completion_tokens += report.completion_tokens
        row.errors = _sum(row.errors, report.errors)
        row.latency_ms_histogram = _sum(row.latency_ms_histogram, report.latency_ms_histogram)
        session.flush()


def _sum(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(before) + Counter(more))


def _moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest("a time must be ISO 8601") from None
    if at.tzinfo is None:
        raise BadRequest("a time must say its time zone")
    return at
