"""A model's health for callers: stored state with its age, never a question to the endpoint."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from inferlake_registry.contract.health import Health, HealthReport, ProbeSample
from inferlake_registry.services.listings.models import Sample, last_samples, standing_of
from inferlake_registry.store.schema import Model


def health_of(session: Session, model: Model, now: datetime) -> HealthReport:
    """Return the state of a model with its last probes."""
    standing = standing_of(session, model.id, now)
    return HealthReport(
        model=model.name,
        state=Health.UNKNOWN if standing is None else standing.health,
        since=None if standing is None or standing.since is None else _text(standing.since),
        stale=standing is not None and standing.stale,
        samples=tuple(_sample(sample) for sample in last_samples(session, [model.id])[model.id]),
    )


def _sample(sample: Sample) -> ProbeSample:
    return ProbeSample(_text(sample.at), sample.ok, sample.state, sample.latency_ms, sample.http_status, sample.cause)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
