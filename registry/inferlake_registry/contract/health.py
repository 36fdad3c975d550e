"""Health of a model as stored and shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """Verdict over a model's probes. ``stale`` is derived from the age of the last sample, never stored."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    MISCONFIGURED = "misconfigured"


@dataclass(frozen=True, slots=True)
class ProbeSample:
    """One probe. ``latency_ms`` is None when no answer came."""

    at: str  # ISO 8601, UTC
    ok: bool
    state: Health  # what this probe alone says
    latency_ms: float | None
    http_status: int | None
    cause: str | None  # short, redacted


@dataclass(frozen=True, slots=True)
class HealthReport:
    """State of one model with its recent probes, oldest first."""

    model: str
    state: Health
    since: str | None
    stale: bool
    samples: tuple[ProbeSample, ...]
