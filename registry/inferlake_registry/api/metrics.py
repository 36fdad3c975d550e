"""Metrics in Prometheus' text form. Labels come only from the registry's own names, never from a caller."""

from __future__ import annotations

from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from sqlalchemy import func, select

from inferlake_registry.contract.health import Health
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import Model, ModelHealth, RejectedRow, Run


def render(database: Database, now: datetime) -> bytes:
    """Return the present state as text; made anew for each scrape, so that no process keeps counters of its own."""
    registry = CollectorRegistry()
    models = Gauge("inferlake_models", "Registered models.", registry=registry)
    healthy = Gauge("inferlake_model_healthy", "1 when the model's state is healthy.", ["model"], registry=registry)
    probed = Gauge("inferlake_model_probe_age_seconds", "Seconds since the last probe.", ["model"], registry=registry)
    runs = Gauge("inferlake_runs", "Runs reported.", registry=registry)
    rejected = Gauge("inferlake_rejected_rows", "Rejected rows reported.", registry=registry)
    with database.read() as session:
        living = session.execute(
            select(Model.name, ModelHealth.state, ModelHealth.last_at)
            .outerjoin(ModelHealth, ModelHealth.model_id == Model.id)
            .where(Model.dropped_at.is_(None))
        ).all()
        models.set(len(living))
        for name, state, last_at in living:
            healthy.labels(name).set(state == Health.HEALTHY.value)
            if last_at is not None:
                probed.labels(name).set((now - last_at).total_seconds())
        runs.set(session.scalar(select(func.count()).select_from(Run)) or 0)
        rejected.set(session.scalar(select(func.count()).select_from(RejectedRow)) or 0)
    return generate_latest(registry)
