"""What probes say about a model: one probe's verdict, and the state that a row of them leads to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from inferlake_registry.contract.health import Health

# A state older than this many intervals is stale: one late probe is not news, three missing ones are.
STALE_INTERVALS: Final = 2.5
# A misconfigured model is asked less and less often, down to once in this many intervals: asking does not mend it.
SLOWEST_FACTOR: Final = 16


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probes in a row that it takes to leave healthy, and to return."""

    failures: int = 3
    successes: int = 2


@dataclass(frozen=True, slots=True)
class Condition:
    """Where a model's probes have brought it. ``failures`` and ``successes`` count the last ones in a row."""

    state: Health
    since: datetime
    failures: int
    successes: int
    last_at: datetime
    cause: str | None  # of the last probe that was not healthy; None while all is well


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one probe says by itself."""

    state: Health
    cause: str | None = None


def judge_status(status: int) -> Verdict:
    """Return what an answer with this HTTP status says about an endpoint."""
    if 200 <= status < 300:
        return Verdict(Health.HEALTHY)
    if status == 429:
        return Verdict(Health.DEGRADED, "alive and throttled (HTTP 429)")
    if status in (401, 403):
        return Verdict(Health.MISCONFIGURED, f"the endpoint refuses our key (HTTP {status}): ALTER MODEL … SET api.key")
    if status in (404, 405):
        return Verdict(Health.MISCONFIGURED, f"nothing is there (HTTP {status}): check LOCATION and probe.path")
    if 300 <= status < 400:
        return Verdict(Health.MISCONFIGURED, f"the endpoint redirects (HTTP {status}), which is not followed")
    if status in (408, 425) or status >= 500:
        return Verdict(Health.UNHEALTHY, f"the endpoint answers HTTP {status}")
    return Verdict(Health.MISCONFIGURED, f"the endpoint refuses the probe (HTTP {status})")


def advance(before: Condition | None, verdict: Verdict, at: datetime, thresholds: Thresholds) -> Condition:
    """Return the condition after one more probe; ``before`` is None for a model that was never probed."""
    if before is None:
        failed = verdict.state in (Health.UNHEALTHY, Health.MISCONFIGURED)
        return Condition(verdict.state, at, int(failed), int(not failed), at, verdict.cause)
    state, failures, successes = _step(before, verdict.state, thresholds)
    since = before.since if state is before.state else at
    cause = verdict.cause if verdict.cause or state is Health.HEALTHY else before.cause
    return Condition(state, since, failures, successes, at, cause)


def _step(before: Condition, said: Health, thresholds: Thresholds) -> tuple[Health, int, int]:
    """Return the next state with its counts of failures and successes in a row."""
    match said:
        case Health.MISCONFIGURED:
            # An answer such as "wrong key" is certain: there is nothing to wait for.
            return Health.MISCONFIGURED, before.failures + 1, 0
        case Health.UNHEALTHY:
            failures = before.failures + 1
            gone = before.state is Health.UNKNOWN or failures >= thresholds.failures
            return (Health.UNHEALTHY if gone else before.state), failures, 0
        case Health.HEALTHY | Health.DEGRADED:
            successes = before.successes + 1
            trusted = before.state in (Health.HEALTHY, Health.UNKNOWN) or successes >= thresholds.successes
            if said is Health.DEGRADED and before.state is Health.HEALTHY:
                successes = 0  # it has to prove itself again
            return (said if trusted else before.state), 0, successes
        case Health.UNKNOWN:
            return before.state, before.failures, before.successes
        case _:
            assert_never(said)


def next_interval(condition: Condition | None, interval: timedelta) -> timedelta:
    """Return how long to wait for the next probe."""
    if condition is None or condition.state is not Health.MISCONFIGURED:
        return interval
    return interval * min(1 << min(max(condition.failures - 1, 0), 10), SLOWEST_FACTOR)


def next_due(condition: Condition | None, interval: timedelta, offset: float, first_seen: datetime) -> datetime:
    """Return when a model is to be probed next: a newcomer at once, others at their own place in the interval.

    ``offset`` is that place, from 0 to 1: each model has its own, so that a thousand of them are not
    probed in the same second.
    """
    if condition is None:
        return first_seen
    wait = next_interval(condition, interval)
    target = condition.last_at + wait
    place = interval.total_seconds()
    shift = (offset * place - target.timestamp() % place) % place
    # Move to the model's place within half an interval at most, so that no gap grows beyond one and a half.
    shift = shift if shift <= place / 2 else shift - place
    return target + timedelta(seconds=shift)


def is_stale(last_at: datetime | None, wait: timedelta, now: datetime) -> bool:
    """Whether the last probe is too old to be believed; a model that was never probed is unknown, not stale."""
    return last_at is not None and now - last_at > wait * STALE_INTERVALS
