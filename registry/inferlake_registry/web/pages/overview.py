"""``/``: what is to be seen at first sight."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from inferlake_registry.services.listings.overview import Change, Overview, UnwellModel
from inferlake_registry.services.listings.runs import RunItem
from inferlake_registry.web.addresses import model_address, with_query
from inferlake_registry.web.pages.models import state_facets
from inferlake_registry.web.pages.probes import state_of
from inferlake_registry.web.views import ChangeLine, Frame, OverviewPage, RunBrief, Section, UnwellLine

PATH: Final = "/"
_STATEMENT_CHARACTERS: Final = 160


def overview_page(overview: Overview, now: datetime) -> OverviewPage:
    """Return the view of the first page."""
    return OverviewPage(
        frame=Frame("Overview", Section.OVERVIEW, now, PATH),
        registered=overview.registered,
        states=state_facets(overview.states),
        unwell=tuple(_unwell(model) for model in overview.unwell),
        more_unwell=overview.more_unwell,
        runs_today=overview.runs_today,
        rows_today=overview.rows_today,
        rejected_today=overview.rejected_today,
        rejected_stored=overview.rejected_stored,
        runs=tuple(_run(run) for run in overview.runs),
        changes=tuple(_change(change) for change in overview.changes),
    )


def _unwell(model: UnwellModel) -> UnwellLine:
    return UnwellLine(
        name=model.name,
        address=model_address(model.name),
        state=state_of(model.standing),
        cause=model.standing.cause,
    )


def _run(run: RunItem) -> RunBrief:
    return RunBrief(
        model=run.model,
        model_address=model_address(run.model) if run.model else None,
        version=run.version,
        started_at=run.started_at,
        rows=run.rows,
        accepted=run.accepted,
        rejected=run.rejected,
        rejected_address=with_query("/rejected", run=run.run_id),
        p95_ms=run.p95_ms,
    )


def _change(change: Change) -> ChangeLine:
    cut = len(change.statement) > _STATEMENT_CHARACTERS
    return ChangeLine(
        at=change.at,
        actor=change.actor,
        action=change.action,
        model=change.model,
        address=model_address(change.model),
        statement=change.statement[:_STATEMENT_CHARACTERS] + ("…" if cut else ""),
    )
