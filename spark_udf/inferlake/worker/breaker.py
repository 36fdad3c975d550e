"""A breaker per address: after repeated faults only one probe at a time is sent, and rows wait within their time.

Only faults of the connection and 5xx count. A 429, a 503 that says when to come back, 4xx, and a timeout that the
caller made shorter than the model's own say nothing about whether the endpoint works.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Cause, Sender
from inferlake.worker.window import EARLY_S

_FAULTS_IN_A_ROW: Final = 5
_JUDGED: Final = 20  # of that many calls more than half must have failed
_FIRST_OPEN_S: Final = 5.0
_LONGEST_OPEN_S: Final = 300.0


class State(Enum):
    """What may be sent."""

    CLOSED = auto()  # everything
    OPEN = auto()  # nothing
    PROBING = auto()  # one call is on its way, whose outcome decides


class Breaker:
    """The rule alone. ``longest_open_s`` is small for rows with little time, so that one probe falls into it."""

    def __init__(self, longest_open_s: float = _LONGEST_OPEN_S) -> None:
        self.state = State.CLOSED
        self.open_until = 0.0
        self.opened_for = ""  # the fault that opened it
        self._longest_open_s = max(_FIRST_OPEN_S, min(_LONGEST_OPEN_S, longest_open_s))
        self._open_s = _FIRST_OPEN_S
        self._in_a_row = 0
        self._last: deque[bool] = deque(maxlen=_JUDGED)

    def admit(self, now: float) -> bool:
        """Tell whether a call may be sent; a True in the open state makes it the probe."""
        if self.state is State.CLOSED:
            return True
        if self.state is State.OPEN and now >= self.open_until:
            self.state = State.PROBING
            return True
        return False

    def success(self) -> bool:
        """Note an answer; True when it closes the breaker."""
        if self.state is State.CLOSED:
            self._in_a_row = 0
            self._last.append(True)
            return False
        self.state = State.CLOSED
        self._open_s = _FIRST_OPEN_S
        self._in_a_row = 0
        self._last.clear()
        return True

    def fault(self, now: float, reason: str) -> bool:
        """Note a fault; True when it opens the breaker (again)."""
        if self.state is State.OPEN:
            return False  # a call that was sent before it opened
        self._in_a_row += 1
        self._last.append(False)
        if self.state is State.CLOSED and not self._broken():
            return False
        if self.state is State.PROBING:
            self._open_s = min(self._open_s * 2, self._longest_open_s)
        self.state = State.OPEN
        self.open_until = now + self._open_s
        self.opened_for = reason
        return True

    def release_probe(self, now: float) -> None:
        """Take a probe back that ended without an outcome, so that the next call becomes one."""
        if self.state is State.PROBING:
            self.state = State.OPEN
            self.open_until = now

    def _broken(self) -> bool:
        failed = self._last.count(False)
        return self._in_a_row >= _FAULTS_IN_A_ROW or (len(self._last) == _JUDGED and failed * 2 > _JUDGED)


class Circuit:
    """One address's breaker, and the calls that wait until it lets them through."""

    def __init__(self, breaker: Breaker, clock: Callable[[], float]) -> None:
        self.breaker = breaker
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._watchers: dict[tuple[str, str], Callable[[float | None], None]] = {}

    def watch(self, key: tuple[str, str], tell: Callable[[float | None], None]) -> None:
        """Have it told from now on how long the breaker is open when it opens, and None when it closes; once a key."""
        self._watchers.setdefault(key, tell)

    async def wait(self, call: Call) -> None:
        """Wait for a turn to ask again; the call holds no place meanwhile. Raises ``CallFailed`` at its deadline."""
        call.begin(self._clock())
        call.leave()
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(turn)
        timer = self._loop.call_at(call.deadline, turn.cancel)
        went_on = False
        try:
            await asyncio.wait([turn])
            went_on = not turn.cancelled() and await call.enter()
        finally:
            timer.cancel()
            if not went_on and not turn.cancel() and not turn.cancelled():
                self._wake_one()  # it was this call's turn, and it cannot use it
        if not went_on:
            raise CallFailed(
                ErrorCode.NETWORK,
                f"The endpoint is down and did not come back within the row's time. Last: {self.breaker.opened_for}",
            )

    def opened(self) -> None:
        """Let one waiting call probe when the open time is over."""
        self._loop.call_at(self.breaker.open_until, self._probe)
        open_s = self.breaker.open_until - self._clock()
        for tell in self._watchers.values():
            tell(open_s)

    def closed(self) -> None:
        """Let all waiting calls go on."""
        while self._waiting:
            self._wake_one()
        for tell in self._watchers.values():
            tell(None)

    def _probe(self) -> None:
        # A call that is woken too early is not admitted, and nobody would wake it again.
        if self.breaker.state is State.OPEN and self._clock() < self.breaker.open_until:
            self._loop.call_at(self.breaker.open_until + EARLY_S, self._probe)
        else:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


class BreakerGate:
    """Sends through a circuit and tells it how calls went."""

    def __init__(self, inner: Sender, circuit: Circuit, model_timeout_s: float, clock: Callable[[], float]) -> None:
        self._inner = inner
        self._circuit = circuit
        self._model_timeout_s = model_timeout_s
        self._clock = clock

    async def send(self, call: Call) -> CallResult:
        """Return the answer, once the address is not known to be broken."""
        circuit, breaker = self._circuit, self._circuit.breaker
        while not breaker.admit(self._clock()):
            await circuit.wait(call)
        probing = breaker.state is State.PROBING
        settled = False
        try:
            result = await self._inner.send(call)
            settled = True
            self._alive()
            return result
        except CallFailed as failed:
            settled = self._note(failed, call, probing)
            raise
        finally:
            if probing and not settled:
                breaker.release_probe(self._clock())
                circuit.opened()

    def _note(self, failed: CallFailed, call: Call, probing: bool) -> bool:
        """Draw the conclusion from a failure; False when there is none."""
        if self._is_fault(failed, call):
            breaker = self._circuit.breaker
            if breaker.state is State.PROBING and not probing:
                return False  # sent before the breaker opened
            if breaker.fault(self._clock(), failed.message):
                self._circuit.opened()
            return True
        if failed.http_status is None:
            return False
        self._alive()
        return True

    def _alive(self) -> None:
        """Note an answer; even a refusal shows that the endpoint lives."""
        if self._circuit.breaker.success():
            self._circuit.closed()

    def _is_fault(self, failed: CallFailed, call: Call) -> bool:
        if failed.cause is Cause.TIMED_OUT:
            return call.attempts == 1 and call.budget_s >= self._model_timeout_s
        if failed.http_status is not None and failed.http_status < 500:
            return False
        shed = failed.http_status == 503 and failed.retry_after_s is not None
        return failed.cause in (Cause.FAULT, Cause.BROKEN_ANSWER) and not shed
