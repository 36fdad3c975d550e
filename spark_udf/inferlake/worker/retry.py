"""When a failed attempt is followed by another one, and when that is.

Faults use attempts and a budget that all calls of a process to one address share, so that an outage does not multiply
traffic. A 429 uses time only. After a timeout the answer may have been paid: no second attempt unless the request is
marked repeatable. After an answer that broke off, or a key that was refused and has been renewed: one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Cause, Sender

_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 8.0
_BUDGET_SHARE: Final = 0.2  # retries per call: Google's book says 0.1 per client, AWS uses a local bucket of this size
_BUDGET_LEAST: Final = 10  # retries per window that are always allowed
_BUDGET_WINDOW_S: Final = 10.0
_LOOK_AGAIN_S: Final = 0.5  # calls that are made meanwhile widen the budget


class RetryBudget:
    """Retries are at most a fifth of the calls of a sliding window, and never fewer than ten."""

    def __init__(self) -> None:
        self._calls: deque[float] = deque()
        self._retries: deque[float] = deque()

    def count_call(self, now: float) -> None:
        """Note a first attempt."""
        self._calls.append(now)
        if self._calls[0] < now - _BUDGET_WINDOW_S:
            self._calls.popleft()

    def take(self, now: float) -> bool:
        """Use up one retry; False when there is none left."""
        for moments in (self._calls, self._retries):
            while moments and moments[0] < now - _BUDGET_WINDOW_S:
                moments.popleft()
        if len(self._retries) >= max(_BUDGET_LEAST, _BUDGET_SHARE * len(self._calls)):
            return False
        self._retries.append(now)
        return True

    def free_at(self, now: float) -> float:
        """Return when to ask again after a refusal: at the latest when the oldest retry leaves the window."""
        return min(self._retries[0] + _BUDGET_WINDOW_S, now + _LOOK_AGAIN_S)


@dataclass(slots=True)
class Tally:
    """Failures of one call so far."""

    faults: int = 0
    throttled: int = 0
    broken: int = 0
    renewed: int = 0

    def note(self, cause: Cause) -> None:
        """Count a failure."""
        match cause:
            case Cause.FAULT | Cause.TIMED_OUT:
                self.faults += 1
            case Cause.THROTTLED:
                self.throttled += 1
            case Cause.BROKEN_ANSWER:
                self.broken += 1
            case Cause.RENEWED:
                self.renewed += 1
            case Cause.FINAL | Cause.UNAUTHORISED:
                pass
            case _:
                assert_never(cause)

    def allows(self, cause: Cause, attempts: int, *, repeatable: bool) -> bool:
        """Tell whether the call's own account allows another attempt after a failure that is noted already."""
        match cause:
            case Cause.FAULT:
                return self.faults + self.broken < attempts
            case Cause.TIMED_OUT:
                return repeatable and self.faults + self.broken < attempts
            case Cause.BROKEN_ANSWER:
                return self.broken == 1 and self.faults + self.broken < attempts
            case Cause.THROTTLED:
                return True
            case Cause.RENEWED:
                return self.renewed == 1
            case Cause.FINAL | Cause.UNAUTHORISED:
                return False
            case _:
                assert_never(cause)


def wait_s(tally: Tally, retry_after_s: float | None, jitter: float) -> float:
    """Return the wait before the next attempt: a random part of a doubling span, above what the endpoint asked for.

    ``jitter`` is uniform in [0, 1) ("full jitter": many callers that failed together come back apart).
    """
    failures = tally.faults + tally.throttled + tally.broken
    span = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(failures - 1, 10))
    return (retry_after_s or 0.0) + span * jitter


class Retry:
    """Sends again what deserves it; while a call waits it holds no place in flight."""

    def __init__(
        self,
        inner: Sender,
        attempts: int,
        budget: RetryBudget,
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        self._inner = inner
        self._attempts = attempts
        self._budget = budget
        self._clock = clock
        self._random = random

    async def send(self, call: Call) -> CallResult:
        """Return the first answer; raise the last failure, at the latest at the call's deadline."""
        self._budget.count_call(self._clock())
        try:
            return await self._inner.send(call)
        except CallFailed as failed:
            return await self._again(call, failed)

    async def _again(self, call: Call, failed: CallFailed) -> CallResult:
        tally = Tally()
        while True:
            await self._wait(call, tally, failed)
            try:
                return await self._inner.send(call)
            except CallFailed as again:
                failed = again

    async def _wait(self, call: Call, tally: Tally, failed: CallFailed) -> None:
        """Wait for the next attempt, or raise the failure when there will be none."""
        now = self._clock()
        tally.note(failed.cause)
        if not tally.allows(failed.cause, self._attempts, repeatable=call.repeatable):
            raise failed
        if failed.cause is Cause.RENEWED:
            return
        wait = wait_s(tally, failed.retry_after_s, self._random())
        if now + wait >= call.deadline:
            raise failed
        call.leave()
        if failed.cause is not Cause.THROTTLED and not await self._within_budget(call):
            raise failed
        await asyncio.sleep(wait)
        if not await call.enter():
            raise failed

    async def _within_budget(self, call: Call) -> bool:
        """Wait until the budget has a retry for this call; False when that is not before its deadline.

        An outage uses the budget up at once. The rows it has hit wait for more, as they wait for a broken endpoint:
        the traffic is bounded either way, and a row fails only when its time is over.
        """
        while not self._budget.take(now := self._clock()):
            free_at = self._budget.free_at(now)
            if free_at >= call.deadline:
                return False
            await asyncio.sleep(free_at - now)
        return True
