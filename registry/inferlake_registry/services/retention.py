"""What is forgotten, and when, so that the database does not grow without end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete
from sqlalchemy.orm import Session

from inferlake_registry.services.breakers import REMEMBERED_SECONDS
from inferlake_registry.store.schema import BreakerRow, HealthSample, LeaseHolder, LeaseRow, Model

SAMPLES_KEPT: Final = timedelta(hours=48)
# How long UNDROP works.
DROPPED_KEPT: Final = timedelta(days=30)


def forget(session: Session, now: datetime) -> None:
    """Delete old samples, lapsed leases and reports, and models that were dropped long ago with all that hangs on them.

    Transitions, history, runs and rejected rows stay.
    """
    session.execute(delete(HealthSample).where(HealthSample.at < now - SAMPLES_KEPT))
    session.execute(delete(LeaseRow).where(LeaseRow.expires < now.timestamp()))
    session.execute(delete(LeaseHolder).where(LeaseHolder.until < now.timestamp()))
    session.execute(delete(BreakerRow).where(BreakerRow.until < now.timestamp() - REMEMBERED_SECONDS))
    session.execute(delete(Model).where(Model.dropped_at < now - DROPPED_KEPT))
