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


class BreakerState(StrEnum):
    """Whether workers call an endpoint: after repeated faults they stop, and then one call finds out."""

    CLOSED = "closed"
    HALF_OPEN = "half-open"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class BreakerReport:
    """A worker has stopped calling an address of a model, or calls it again."""

    holder: str  # host:pid:uuid of the worker process
    address: str
    open_ms: float | None  # how long it will not call; None: it calls again
    model_id: str | None = None  # of the snapshot that the query was planned with; None means the model of the name


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
