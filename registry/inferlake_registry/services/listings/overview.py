"""What is to be seen at first sight: how many models are how, which need somebody, what happened lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.models import STALE, Standing, standings
from inferlake_registry.services.listings.runs import RunItem, list_runs
from inferlake_registry.store.schema import HistoryEvent, RejectedRow, Run

DAY: Final = timedelta(days=1)
_UNWELL: Final = 10
_RUNS: Final = 5
_CHANGES: Final = 10

# The worst first: what answers nobody, what never will, what answers some, what nobody knows about any more.
_URGENCY: Final = (Health.UNHEALTHY.value, Health.MISCONFIGURED.value, Health.DEGRADED.value, STALE)


@dataclass(frozen=True, slots=True)
class UnwellModel:
    """A model that needs somebody's attention."""

    name: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a model, as its history holds it; secrets are hidden in the statement."""

    at: datetime
    actor: str
    action: str
    model: str
    statement: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The registry at one moment; ``rows`` and ``rejected`` are of runs that started within the last day."""

    registered: int
    states: Mapping[str, int]
    unwell: tuple[UnwellModel, ...]
    more_unwell: int  # those beyond the ones listed
    runs_today: int
    rows_today: int
    rejected_today: int
    rejected_stored: int
    runs: tuple[RunItem, ...]
    changes: tuple[Change, ...]


def read_overview(session: Session, now: datetime) -> Overview:
    """Return what the first page shows."""
    every = standings(session, now)
    unwell = sorted(
        (UnwellModel(name, standing) for name, standing in every if standing.shown_as in _URGENCY),
        key=lambda model: (_URGENCY.index(model.standing.shown_as), model.name),
    )
    runs, rows, rejected = session.execute(
        select(func.count(), func.sum(Run.rows), func.sum(Run.rejected)).where(Run.started_at >= now - DAY)
    ).one()
    return Overview(
        registered=len(every),
        states=Counter(standing.shown_as for _, standing in every),
        unwell=tuple(unwell[:_UNWELL]),
        more_unwell=max(len(unwell) - _UNWELL, 0),
        runs_today=runs,
        rows_today=rows or 0,
        rejected_today=rejected or 0,
        rejected_stored=session.scalar(select(func.count()).select_from(RejectedRow)) or 0,
        runs=list_runs(session, limit=_RUNS).runs,
        changes=_changes(session),
    )


def _changes(session: Session) -> tuple[Change, ...]:
    latest = select(HistoryEvent).order_by(HistoryEvent.at.desc(), HistoryEvent.id.desc()).limit(_CHANGES)
    return tuple(
        Change(event.at, event.actor, event.action, event.model_name, event.statement)
        for event in session.scalars(latest)
    )
