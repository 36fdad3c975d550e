"""What a run did, and what calls used: reported to the registry by the driver and by the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunReport:
    """Summary of one ``route_rejected`` run: ``rows == accepted + rejected``, always."""

    run_id: str
    model: str | None
    model_version: str | None
    application_id: str
    started_at: str  # ISO 8601, UTC
    seconds: float
    rows: int
    accepted: int
    rejected: int
    rejected_by_reason: Mapping[str, int]
    calls: int  # attempts that reached the network
    from_cache: int
    prompt_tokens: int | None  # of the answers that said how many; None when none did
    completion_tokens: int | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    location: str  # directory of the run's files, so that a later session makes the table visible again
    rejected_table: str
    state: str = "finished"


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Calls of one worker process on one model version since its last report."""

    holder: str
    model: str
    version: str
    calls: int
    errors: Mapping[str, int]  # by error code
    prompt_tokens: int
    completion_tokens: int
    latency_ms_histogram: Mapping[str, int]  # upper bound in ms, as text -> count


@dataclass(frozen=True, slots=True)
class RejectedSample:
    """A rejected row as the dashboard shows it: enough to understand it, not the whole row."""

    rejected_id: str
    run_id: str
    row_key: str
    model: str | None
    model_version: str | None
    reason: str
    errors: str  # JSON text, as in the rejected table
    ai_output: str | None
    input: str | None
    rejected_at: str


@dataclass(frozen=True, slots=True)
class RejectedListing:
    """One page of rejected rows, the latest first; long texts are cut there and whole when one row is asked for."""

    rows: tuple[RejectedSample, ...]
    matching: int  # over all pages
    following: str | None  # place of the next page


@dataclass(frozen=True, slots=True)
class RunListing:
    """One page of runs, the latest first."""

    runs: tuple[RunReport, ...]
    following: str | None  # place of the next page
