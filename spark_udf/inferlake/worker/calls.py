"""What travels through the engine: a call, its answer or its failure, and the one interface of everything on the way.

The parts of the engine (store, coalesce, deadline, retry, breaker, limit, attempt) all are a ``Sender`` around another
``Sender``. The innermost one posts to the endpoint through a ``Transport``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from typing import Final, Protocol

from inferlake.result import CallResult, ErrorCode

MESSAGE_LIMIT: Final = 200  # characters of an error message that a user's table keeps


class Place(Protocol):
    """A place among the calls in flight, left while a call only waits."""

    def leave(self) -> None:
        """Give the place to somebody else."""

    async def enter(self, deadline: float) -> bool:
        """Take a place again, before calls that have not started yet; False when there was none until the deadline."""
        ...


@dataclass(slots=True)
class Call:
    """One row's request on its way to an answer.

    Everything above ``place`` is fixed; the rest is what the parts write down for each other. Times are seconds of the
    loop's clock.
    """

    key: bytes  # equal keys mean: one call, one payment
    body: bytes
    request_id: str
    budget_s: float
    place: Place
    placed: bool = False
    repeatable: bool = False  # a second attempt after a timeout is allowed, although the first may have been paid
    started: float | None = None  # moment of the first attempt; waiting for a send slot before it is free
    attempts: int = 0  # sent to the network so far
    traceparent: str | None = None
    inputs: int = 1  # rows that the request is for

    def leave(self) -> None:
        """Give the place to another call, if this one holds one."""
        if self.placed:
            self.placed = False
            self.place.leave()

    async def enter(self) -> bool:
        """Take a place again; False when the row's time was over first."""
        self.placed = await self.place.enter(self.deadline)
        return self.placed

    def begin(self, now: float) -> None:
        """Start the row's time, if it has not started yet."""
        if self.started is None:
            self.started = now

    def late(self) -> CallFailed:
        """Return the failure of a call whose time was over while it waited."""
        return CallFailed(ErrorCode.TIMEOUT, "The row's time was over while it waited to be sent.")

    @property
    def deadline(self) -> float:
        """End of the row's time; infinite as long as it has not started."""
        return inf if self.started is None else self.started + self.budget_s


class Cause(Enum):
    """What went wrong in one attempt, as far as it decides whether another one makes sense."""

    FINAL = auto()  # the endpoint would answer the same again
    FAULT = auto()  # connect, reset before any answer, 5xx: uses an attempt and the retry budget
    THROTTLED = auto()  # 429: uses time only
    TIMED_OUT = auto()  # no answer within the attempt's time: it may have been paid
    BROKEN_ANSWER = auto()  # the connection was lost in the middle of an answer
    UNAUTHORISED = auto()  # 401: the key may have been rotated
    RENEWED = auto()  # 401, and there is another key by now: sent again at once, one time


class CallFailed(Exception):
    """An attempt, or the whole call, has no answer. It never leaves the engine: the pump turns it into a result."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        cause: Cause = Cause.FINAL,
        *,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        finish_reason: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"
        self.cause = cause
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.finish_reason = finish_reason
        self.request_id = request_id


class Sender(Protocol):
    """Sends a call and returns its answer, or raises ``CallFailed``."""

    async def send(self, call: Call) -> CallResult:
        """Return the answer, whose ``response`` is never None."""
        ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete HTTP answer of bounded size; header names are the few that the engine reads."""

    status: int
    body: bytes
    content_type: str | None = None
    retry_after: str | None = None
    retry_after_ms: str | None = None
    request_id: str | None = None
    date: str | None = None


class Break(Enum):
    """How a transport failed to bring an answer."""

    CONNECT = auto()  # nothing was sent
    RESET = auto()  # sent, and the connection ended before any answer
    BODY = auto()  # the answer began and did not end
    TIMEOUT = auto()
    TOO_LARGE = auto()
    FORBIDDEN = auto()  # our own policy refused the address, or its certificate is not trusted or not to be checked


class TransportFailed(Exception):
    """No complete HTTP answer. The message is safe to show: no URL, no header."""

    def __init__(self, kind: Break, message: str, *, http_status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.http_status = http_status  # of an answer that was too large to read


class Transport(Protocol):
    """Posts bytes and returns the complete answer within a time, or raises ``TransportFailed``."""

    async def post(self, url: str, headers: dict[str, str], body: bytes, timeout_s: float) -> HttpReply:
        """Return the answer whatever its status; ``timeout_s`` covers connecting, sending and the whole body."""
        ...

    async def close(self) -> None:
        """Close the idle connections."""
