"""Runs of Spark jobs, the latest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from inferlake_registry.services.listings.keyset import PAGE_SIZE, Place
from inferlake_registry.store.schema import Run


@dataclass(frozen=True, slots=True)
class RunItem:
    """One run as it was reported; ``rows == accepted + rejected``."""

    run_id: str
    model: str | None
    version: str | None
    state: str
    started_at: datetime
    seconds: float
    rows: int
    accepted: int
    rejected: int
    rejected_by_reason: Mapping[str, int]
    calls: int
    from_cache: int
    p50_ms: float | None
    p95_ms: float | None
    prompt_tokens: int | None  # None: the endpoint did not say
    completion_tokens: int | None
    rejected_table: str


@dataclass(frozen=True, slots=True)
class RunList:
    """One page of runs."""

    runs: tuple[RunItem, ...]
    following: Place | None


def list_runs(session: Session, model: str = "", after: Place | None = None, limit: int = PAGE_SIZE) -> RunList:
    """Return one page of runs, of one model or of all."""
    query = select(Run)
    if model:
        query = query.where(Run.model == model)
    if after is not None:
        query = query.where(
            or_(Run.started_at < after.at, and_(Run.started_at == after.at, Run.run_id < after.identity))
        )
    query = query.order_by(Run.started_at.desc(), Run.run_id.desc()).limit(limit + 1)
    found = [_item(run) for run in session.scalars(query)]
    runs = tuple(found[:limit])
    more = len(found) > limit
    return RunList(runs, Place(runs[-1].started_at, runs[-1].run_id) if more else None)


def _item(run: Run) -> RunItem:
    return RunItem(
        run_id=run.run_id,
        model=run.model,
        version=run.model_version,
        state=run.state,
        started_at=run.started_at,
        seconds=run.seconds,
        rows=run.rows,
        accepted=run.accepted,
        rejected=run.rejected,
        rejected_by_reason={str(reason): int(count) for reason, count in run.rejected_by_reason.items()},
        calls=run.calls,
        from_cache=run.from_cache,
        p50_ms=run.latency_p50_ms,
        p95_ms=run.latency_p95_ms,
        prompt_tokens=run.prompt_tokens,
        completion_tokens=run.completion_tokens,
        rejected_table=run.rejected_table,
    )
