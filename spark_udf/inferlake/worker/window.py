"""How many calls are in flight to one address: a limit that adapts to losses, and the places under it.

Loss decides and not latency: answers of a language model differ fifty-fold in length, so a slow one says little. The
limit doubles per window of calls until the first loss (adding one per window alone would need 130,000 calls to reach
512), then grows by one per window and shrinks by 0.7 at most once per window.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Cause, Sender

_log = logging.getLogger(__name__)

START: Final = 8
EARLY_S: Final = 0.001  # a timer of uvloop counts whole milliseconds and may run by half of one too early
_LONG_PAUSE_S: Final = 30.0
_SHRINK: Final = 0.7


class Aimd:
    """The rule alone: additive increase, multiplicative decrease, between 1 and a cap."""

    def __init__(self, cap: int, start: int = START) -> None:
        self._cap = max(1, cap)
        self._exact = float(min(start, self._cap))
        self._slow_start = True
        self._last_cut = float("-inf")
        self.limit = int(self._exact)  # calls allowed in flight now

    def set_cap(self, cap: int) -> None:
        """Change the most that the limit may be."""
        self._cap = max(1, cap)
        self._set(self._exact)

    def success(self, in_use: int) -> None:
        """Grow after an answer, if the places are used at all: what is not used has not been tested."""
        if self.limit < self._cap and in_use * 2 >= self.limit:
            self._set(self._exact + (1.0 if self._slow_start else 1.0 / self._exact))

    def loss(self, sent: float, now: float) -> None:
        """Shrink after a 429, 503 or timeout; a call sent before the last cut tells nothing new."""
        if sent < self._last_cut:
            return
        self._slow_start = False
        self._last_cut = now
        self._set(self._exact * _SHRINK)

    def _set(self, exact: float) -> None:
        self._exact = max(1.0, min(exact, float(self._cap)))
        self.limit = int(self._exact)


class Window:
    """The places of one address in one process, and the pause that a Retry-After puts on all of them."""

    def __init__(self, rule: Aimd, loop: asyncio.AbstractEventLoop) -> None:
        self.rule = rule
        self.in_use = 0
        self.on_room: set[Callable[[], None]] = set()  # called when a new call could start
        self._loop = loop
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._paused_until = float("-inf")

    @property
    def paused(self) -> bool:
        """Tell whether the endpoint asked to be left alone."""
        return self._loop.time() < self._paused_until

    def try_enter(self) -> bool:
        """Take a place for a new call, unless calls that were here before want it."""
        self._forget_gone()
        if self._waiting or self.in_use >= self.rule.limit or self.paused:
            return False
        self.in_use += 1
        return True

    def may_hand_on(self) -> bool:
        """Tell whether a call that ends may give its place to a new one: nobody was here before, and it fits."""
        self._forget_gone()
        return not self._waiting and self.in_use <= self.rule.limit and not self.paused

    def leave(self) -> None:
        """Give a place back."""
        self.in_use -= 1
        self._admit()

    async def enter(self, deadline: float) -> bool:
        """Take a place again, before new calls; False when there was none until the deadline."""
        if self.try_enter():
            return True
        granted: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.append(granted)
        timer = self._loop.call_at(deadline, _refuse, granted) if deadline != float("inf") else None
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.result():
                self.leave()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def pause(self, until: float) -> None:
        """Stop all sending until then; a pause is never shortened."""
        if until > self._paused_until:
            seconds = until - self._loop.time()
            if seconds > _LONG_PAUSE_S:
                _log.warning("An endpoint asks its callers to stay away for %.0f s: rows wait for that.", seconds)
            self._paused_until = until
            self._loop.call_at(until, self._resume, until)

    def set_cap(self, cap: int) -> None:
        """Change the most that may be in flight."""
        self.rule.set_cap(cap)
        self._admit()

    def _resume(self, until: float) -> None:
        if self._loop.time() < until:
            self._loop.call_at(until + EARLY_S, self._resume, until)
        else:
            self._admit()

    def _admit(self) -> None:
        if self.paused:
            return
        self._forget_gone()
        while self._waiting and self.in_use < self.rule.limit:
            self.in_use += 1
            self._waiting.popleft().set_result(True)
            self._forget_gone()
        if not self._waiting and self.in_use < self.rule.limit:
            for notify in self.on_room:
                notify()

    def _forget_gone(self) -> None:
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()


def _refuse(granted: asyncio.Future[bool]) -> None:
    if not granted.done():
        granted.set_result(False)


class Paced:
    """Tells the window how calls went, and holds back what would go out during a pause."""

    def __init__(self, inner: Sender, window: Window, clock: Callable[[], float]) -> None:
        self._inner = inner
        self._window = window
        self._clock = clock

    async def send(self, call: Call) -> CallResult:
        """Send within the window; the call holds one of its places."""
        window = self._window
        if window.paused:
            await self._sit_out(call)
        sent = self._clock()
        try:
            result = await self._inner.send(call)
        except CallFailed as failed:
            if failed.cause in (Cause.THROTTLED, Cause.TIMED_OUT) or failed.http_status == 503:
                window.rule.loss(sent, self._clock())
            if failed.retry_after_s is not None:
                window.pause(self._clock() + failed.retry_after_s)
            raise
        window.rule.success(window.in_use)
        return result

    async def _sit_out(self, call: Call) -> None:
        call.leave()
        if not await call.enter():
            raise CallFailed(
                ErrorCode.RATE_LIMITED, "The endpoint asked all callers to wait for longer than the row's time."
            )
