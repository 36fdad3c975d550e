"""Stored probes as charts draw them, shared by the pages that show health."""

from __future__ import annotations

from collections.abc import Sequence

from inferlake_registry.contract.health import Health
from inferlake_registry.services.listings.models import Sample, Standing
from inferlake_registry.web.charts import Mark, Probe
from inferlake_registry.web.views import State


def drawn(samples: Sequence[Sample]) -> list[Probe]:
    """Return samples as probes of a strip."""
    return [
        Probe(sample.at, _mark(sample), sample.latency_ms if sample.ok else None, sample.cause) for sample in samples
    ]


def state_of(standing: Standing) -> State:
    """Return a model's standing as the pages show it."""
    return State(standing.health, standing.since, standing.stale, standing.enabled)


def _mark(sample: Sample) -> Mark:
    if not sample.ok:
        return Mark.FAILED
    return Mark.THROTTLED if sample.state is Health.DEGRADED else Mark.ANSWERED
