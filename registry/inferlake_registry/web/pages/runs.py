"""``/runs``: what Spark jobs did."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from inferlake_registry.services.listings.keyset import Place
from inferlake_registry.services.listings.runs import RunItem, RunList
from inferlake_registry.web.addresses import model_address, with_query
from inferlake_registry.web.views import Facet, Frame, Pager, RunLine, RunsPage, Section

PATH: Final = "/runs"


def runs_page(found: RunList, model: str, after: Place | None, now: datetime) -> RunsPage:
    """Return the view of one page of runs."""
    place = after.write() if after else ""
    return RunsPage(
        frame=Frame("Runs", Section.RUNS, now, with_query(PATH, model=model, after=place)),
        runs=tuple(_line(item) for item in found.runs),
        model=model,
        pager=Pager(
            first=with_query(PATH, model=model) if after else None,
            following=with_query(PATH, model=model, after=found.following.write()) if found.following else None,
        ),
    )


def _line(item: RunItem) -> RunLine:
    by_count = sorted(item.rejected_by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    return RunLine(
        run_id=item.run_id,
        model=item.model,
        model_address=model_address(item.model) if item.model else None,
        version=item.version,
        state=item.state,
        started_at=item.started_at,
        seconds=item.seconds,
        rows=item.rows,
        accepted=item.accepted,
        rejected=item.rejected,
        rejected_address=with_query("/rejected", run=item.run_id),
        reasons=tuple(
            Facet(reason, count, with_query("/rejected", run=item.run_id, reason=reason), selected=False)
            for reason, count in by_count
        ),
        calls=item.calls,
        from_cache=item.from_cache,
        p50_ms=item.p50_ms,
        p95_ms=item.p95_ms,
        prompt_tokens=item.prompt_tokens,
        completion_tokens=item.completion_tokens,
        rejected_table=item.rejected_table,
    )
