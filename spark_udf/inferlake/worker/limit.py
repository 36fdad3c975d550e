"""A limit that all workers of all hosts share, kept by send slots that are leased from the registry a few at a time.

A lease says when its slots are; the worker sends at those moments and not before, so the limit is exact at a tenth of
the control traffic. Without a registry the last known share goes on, never more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Sender
from inferlake.worker.clock_offset import ClockOffset
from inferlake.worker.slots import Slots, useful_beside_others
from inferlake.worker.window import Window
from inferlake_registry.client import WorkerRegistry
from inferlake_registry.contract.leases import Lease, LeaseRequest
from inferlake_registry.contract.problems import ModelDisabled, ModelError, RegistryError
from inferlake_sql.errors import InferlakeError

_log = logging.getLogger(__name__)

_AHEAD_S: Final = 0.5  # a lease covers what this time can use
_REFILL_S: Final = 0.25  # the next one is asked for when the slots in hand end sooner than this
_RENEW_S: Final = 0.1  # before a share ends
_APART_S: Final = 0.010  # between two questions, so that what comes meanwhile is asked for together
_IDLE_S: Final = 0.05  # slots that nobody has wanted for so long are given back
_COUNT_MOST: Final = 10_000
_ANSWER_S: Final = 5.0  # how long the registry may take
_AGAIN_S: Final = 1.0  # pause before a registry that did not answer is asked again
_REJOIN_S: Final = 1.5 * _AGAIN_S  # by then every worker has asked a registry that is back
_PATIENCE_S: Final = 30.0  # how long rows wait for a first lease of a limited model


@dataclass(frozen=True, slots=True)
class LimitedModel:
    """Whose slots: the model's name and identity, and its limit when the query was planned."""

    name: str
    model_id: str | None
    planned_qps_limit: float | None


class LeaseBook:
    """One process's leases of one model. All methods run on the loop."""

    def __init__(self, registry: WorkerRegistry, model: LimitedModel, holder: str, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._model = model
        self._holder = holder
        self._windows: dict[Window, int] = {}  # with the cap that each has by itself
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._offset = ClockOffset()
        self._slots = Slots()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken: deque[float] = deque(maxlen=_COUNT_MOST)
        self._lease: Lease | None = None
        self._open_until = float("-inf")  # while there is no limit, calls pass without waiting
        self._renew_at = float("-inf")  # while calls pass without waiting, or with slots of a share
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._silent_since: float | None = None
        self._share_spacing = 0.0  # between the calls of this worker while the registry is away
        self._rejoined_until = float("-inf")
        self._pause_until = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, window: Window, cap: int) -> None:
        """Keep a window of the model within this process's share, and within a cap of its own."""
        self._windows[window] = cap
        window.set_cap(cap if self._lease is None else min(cap, self._lease.concurrency))

    @property
    def is_open(self) -> bool:
        """Tell whether a call may be sent at once; asks for a fresh lease in the background when that is due."""
        now = self._clock()
        if now >= self._open_until:
            return False
        if now >= self._renew_at:
            self._ask()
        return True

    async def slot(self, deadline: float) -> None:
        """Wait for a send slot. Raises ``CallFailed`` at the deadline, ``ModelDisabled`` for a disabled model."""
        if not self._waiting and self._slots.take(now := self._clock()):
            self._taken.append(now)
            self._give_back_later(now)
            if self._has_share and now >= self._renew_at:
                self._ask()
            return
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(turn)
        timer = self._loop.call_at(deadline, _give_up, turn) if deadline != float("inf") else None
        self._dispatch()
        try:
            await turn
        finally:
            turn.cancel()
            if timer is not None:
                timer.cancel()

    def pause(self, seconds: float) -> None:
        """Tell the registry that the endpoint wants to be left alone, so that all its callers stop."""
        self._pause_until = max(self._pause_until, self._clock() + seconds)
        self._release(self._slots.give_up())
        self._ask()

    def close(self) -> None:
        """Give back what is in hand."""
        self._stop_timer()
        self._release(self._slots.give_up())

    @property
    def _has_share(self) -> bool:
        return self._lease is not None and self._lease.share

    def _dispatch(self) -> None:
        """Let waiting calls go whose slot has come, and see to it that there will be slots for the others."""
        self._stop_timer()
        now = self._clock()
        self._drop_abandoned()
        while self._waiting and (now < self._open_until or self._slots.take(now)):
            self._waiting.popleft().set_result(None)
            self._taken.append(now)
            self._drop_abandoned()
        if self._waiting:
            self._wake_at(min(self._refill(now), self._slots.next_at or float("inf")))
        elif self._slots:
            self._give_back_later(now)

    def _refill(self, now: float) -> float:
        """Ask for slots when there are too few of them; return when to look again, infinite while that is not known."""
        if self._has_share and now < self._renew_at:
            return self._renew_at
        enough = not self._slots.made_up and 2 * len(self._slots) > self._useful(now)
        if enough or self._slots.end >= now + _REFILL_S:
            return float("inf")
        if now < self._asked_at + _APART_S:
            return self._asked_at + _APART_S
        self._ask()
        return float("inf")

    def _drop_abandoned(self) -> None:
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()

    def _wake_at(self, moment: float, action: Callable[[], None] | None = None) -> None:
        self._stop_timer()
        if moment != float("inf"):
            self._timer = self._loop.call_at(moment, action or self._dispatch)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_back_later(self, now: float) -> None:
        if self._timer is None and not self._has_share:
            self._wake_at(now + _IDLE_S, self._give_back)

    def _give_back(self) -> None:
        """Give slots back that nobody has wanted lately."""
        self._timer = None
        self._drop_abandoned()
        now = self._clock()
        if self._waiting:
            self._dispatch()
        elif self._taken and self._taken[-1] + _IDLE_S > now:
            self._give_back_later(now)
        elif not self._has_share:
            self._release(self._slots.give_up())

    def _release(self, unused: Mapping[str, int]) -> None:
        for lease_id, count in unused.items():
            _keep(self._loop.create_task(self._give(lease_id, count)))

    async def _give(self, lease_id: str, count: int) -> None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._registry.release(self._model.name, lease_id, count)
        except (InferlakeError, TimeoutError):
            pass  # slots that are not given back lapse by themselves

    def _ask(self) -> None:
        if self._asking is None:
            self._asking = self._loop.create_task(self._lease_once())
            self._asking.add_done_callback(self._asked)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail_waiting(error)
        self._dispatch()

    async def _lease_once(self) -> None:
        now = self._clock()
        pause_ms = max(0, ceil((self._pause_until - now) * 1_000)) if self._pause_until > now else 0
        in_flight = sum(window.in_use for window in self._windows)
        count = self._wanted(now)
        request = LeaseRequest(self._holder, count, in_flight, pause_ms, self._model.model_id, len(self._taken))
        sent = self._asked_at = self._clock()
        try:
            async with asyncio.timeout(_ANSWER_S):
                lease = await self._registry.lease(self._model.name, request)
        except (RegistryError, TimeoutError) as error:
            await self._without_registry(str(error) or "it did not answer in time")
        except ModelError as error:
            # Gone for good, or a fake registry's: a query that has been planned finishes with what it knows.
            await self._without_registry(str(error))
        else:
            self._take(lease, self._granted(lease, sent, self._clock()))

    def _granted(self, lease: Lease, sent: float, received: float) -> float:
        """Return when a lease was granted, on our own clock."""
        if lease.granted_at is None:
            return (sent + received) / 2
        return self._offset.place(lease.granted_at, sent, received)

    def _wanted(self, now: float) -> int:
        """Return how many slots to ask for."""
        return max(1, min(_COUNT_MOST, self._useful(now) - len(self._slots)))

    def _useful(self, now: float) -> int:
        """Return how many slots can be used, those in hand among them."""
        while self._taken and self._taken[0] <= now - _AHEAD_S:
            self._taken.popleft()
        waiting, recent, known = len(self._waiting), len(self._taken), self._lease
        if known is None or known.qps_limit is None or known.holders == 1:
            return waiting + recent
        return useful_beside_others(waiting, recent, recent / (_AHEAD_S * known.qps_limit))

    def _take(self, lease: Lease, now: float) -> None:
        if not lease.enabled:
            self._open_until = float("-inf")
            self._release(self._slots.give_up())  # what is in hand would let a few more calls out
            raise ModelDisabled(self._model.name)
        if self._silent_since is not None:
            self._silent_since = None
            self._rejoined_until = now + _REJOIN_S
            _log.warning("The registry answers again: the limit of %s is exact again.", self._model.name)
        self._lease = lease
        for window, cap in self._windows.items():
            window.set_cap(min(cap, lease.concurrency))
        life = lease.expires_in_ms / 1_000
        if lease.qps_limit is None:
            self._open_until = now + life
            self._renew_at = now + life / 2
            if lease.first_delay_ms > 0:
                for window in self._windows:
                    window.pause(now + lease.first_delay_ms / 1_000)
        else:
            self._open_until = float("-inf")
            # Others may not have noticed yet that the registry is back: no worker exceeds its share until they have.
            self._slots.add(lease, now, self._share_spacing if now < self._rejoined_until else 0.0)
            self._renew_at = self._slots.end - _RENEW_S

    async def _without_registry(self, reason: str) -> None:
        now = self._clock()
        if self._silent_since is None:
            self._silent_since = now
            _log.warning("%s Calls of %s go on with the last known share of its limit.", reason, self._model.name)
        known = self._lease
        limit = self._model.planned_qps_limit if known is None else known.qps_limit
        if limit is None:
            self._open_until = now + 2 * _AGAIN_S
            self._renew_at = now + _AGAIN_S
        elif known is not None:
            # The slots that others still hold lie in the next three quarters of a second, and nobody knows where.
            start = now if self._slots.made_up else now + _AHEAD_S + _REFILL_S
            self._share_spacing = known.holders / limit
            self._slots.make_up(start, self._share_spacing, now + 2 * _AGAIN_S)
            self._dispatch()
            await asyncio.sleep(_AGAIN_S)
        elif now - self._silent_since < _PATIENCE_S:
            await asyncio.sleep(_AGAIN_S)
        else:
            failure = "The registry does not answer, so the model's rate limit cannot be kept."
            self._fail_waiting(CallFailed(ErrorCode.NETWORK, failure))

    def _fail_waiting(self, error: BaseException) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(error)


class Limit:
    """Sends a call in a slot of its own."""

    def __init__(self, inner: Sender, book: LeaseBook) -> None:
        self._inner = inner
        self._book = book

    async def send(self, call: Call) -> CallResult:
        """Return the answer; waiting for a slot before the first attempt does not use the row's time."""
        if not self._book.is_open:
            await self._book.slot(call.deadline)
        try:
            return await self._inner.send(call)
        except CallFailed as failed:
            if failed.retry_after_s:
                self._book.pause(failed.retry_after_s)
            raise


def _give_up(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(CallFailed(ErrorCode.RATE_LIMITED, "No send slot under qps.limit within the row's time."))


_tasks: set[asyncio.Task[None]] = set()


def _keep(task: asyncio.Task[None]) -> None:
    """Hold on to a task that nobody awaits: the loop itself holds tasks only weakly."""
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
