"""What workers report about endpoints that they have stopped calling for a while: shown, never acted upon."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inferlake_registry.contract.health import BreakerReport, BreakerState
from inferlake_registry.services.models import get_called
from inferlake_registry.store.schema import BreakerRow

# A worker that is gone says nothing more. A breaker stays open for five minutes at the most, and its probe may take as
# long again as the longest answer.
REMEMBERED_SECONDS: Final = 600.0


def store_breaker(session: Session, name: str, report: BreakerReport, now: datetime) -> None:
    """Note that a worker's breaker has opened, or closed again. Raises ModelNotFound."""
    model = get_called(session, name, report.model_id)
    key = (model.id, report.holder, report.address)
    row = session.get(BreakerRow, key)
    if report.open_ms is None:
        if row is not None:
            session.delete(row)
        return
    if row is None:
        row = BreakerRow(model_id=model.id, holder=report.holder, address=report.address)
        session.add(row)
    row.until = now.timestamp() + report.open_ms / 1_000


def breakers(session: Session, now: datetime) -> Mapping[str, BreakerState]:
    """Return the worst state that workers have reported, by model; a model that is not there has none but closed."""
    at = now.timestamp()
    latest = select(BreakerRow.model_id, func.max(BreakerRow.until)).where(BreakerRow.until > at - REMEMBERED_SECONDS)
    return {
        model_id: BreakerState.OPEN if until > at else BreakerState.HALF_OPEN
        for model_id, until in session.execute(latest.group_by(BreakerRow.model_id))
    }
