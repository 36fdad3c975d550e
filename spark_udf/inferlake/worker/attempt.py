"""The innermost sender: one attempt, one HTTP exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.answer import Source, read_answer
from inferlake.worker.calls import Break, Call, CallFailed, Cause, HttpReply, Transport, TransportFailed


class Headers(Protocol):
    """Headers that every request to one model carries; they may change while the engine runs (a rotated key)."""

    async def current(self) -> dict[str, str]:
        """Return the headers as they are now, each value revealed."""
        ...

    def complete(self, body: bytes) -> bytes:
        """Return a body with the members that only its endpoint may see."""
        ...

    def masked(self, reply: HttpReply) -> HttpReply:
        """Return an answer that repeats none of the secrets."""
        ...


_BREAKS: dict[Break, tuple[ErrorCode, Cause]] = {
    Break.CONNECT: (ErrorCode.NETWORK, Cause.FAULT),
    Break.RESET: (ErrorCode.NETWORK, Cause.FAULT),
    Break.BODY: (ErrorCode.NETWORK, Cause.BROKEN_ANSWER),
    Break.TIMEOUT: (ErrorCode.TIMEOUT, Cause.TIMED_OUT),
    Break.TOO_LARGE: (ErrorCode.DECODE, Cause.FINAL),
    Break.FORBIDDEN: (ErrorCode.NETWORK, Cause.FINAL),
}


class Attempt:
    """Posts a call to one endpoint and reads its answer."""

    def __init__(
        self,
        transport: Transport,
        url: str,
        source: Source,
        headers: Headers,
        attempt_timeout_s: float | None,
        clock: Callable[[], float],
    ) -> None:
        self._transport = transport
        self._url = url
        self._source = source
        self._headers = headers
        self._attempt_timeout_s = attempt_timeout_s
        self._clock = clock

    async def send(self, call: Call) -> CallResult:
        """Return the answer of one exchange; its latency counts from the call's first attempt."""
        headers = await self._headers.current()
        now = self._clock()
        call.begin(now)
        left = call.deadline - now
        if left <= 0:
            raise CallFailed(ErrorCode.TIMEOUT, "The row's time was over before an attempt could start.")
        call.attempts += 1
        headers["x-request-id"] = call.request_id
        headers["idempotency-key"] = call.key.hex()
        if call.traceparent is not None:
            headers["traceparent"] = call.traceparent
        try:
            body = self._headers.complete(call.body)
            reply = self._headers.masked(await self._transport.post(self._url, headers, body, self._limit(left)))
        except TransportFailed as failed:
            code, cause = _BREAKS[failed.kind]
            raise CallFailed(code, failed.message, cause, http_status=failed.http_status) from None
        assert call.started is not None
        latency_ms = (self._clock() - call.started) * 1_000
        return read_answer(self._source, reply, call, latency_ms)

    def _limit(self, left: float) -> float:
        return left if self._attempt_timeout_s is None else min(left, self._attempt_timeout_s)
