"""Inputs of an embedding model that wait at the same time go out in one request, and each gets its own vector.

The request is one call to everything below: one send slot, one place in flight, one retry. What it cost (attempts,
tokens, price) is written on its first row, so that sums over rows are right; the others share its request id. When the
endpoint refuses the request for its content or size, the halves are asked again, so that one bad input fails alone;
what was refused was not paid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Sender
from inferlake.worker.request import RequestForm

INPUTS_MOST: Final = 32  # the default of text-embeddings-inference (max-client-batch-size); OpenAI and vLLM take more
BYTES_MOST: Final = 256 << 10  # of inputs in one request: about 80,000 tokens, a quarter of what OpenAI takes
_WAIT_S: Final = 0.005  # for more inputs: a tenth of what a small request takes
_REFUSED: Final = frozenset({400, 413, 422})
_SEPARATOR: Final = "\n"  # between the vectors of one answer: JSON as it is written here has no line break


@dataclass(slots=True)
class _Group:
    """The calls that go out together."""

    calls: list[Call] = field(default_factory=list)
    answers: list[asyncio.Future[CallResult]] = field(default_factory=list)
    size: int = 0  # bytes
    timer: asyncio.TimerHandle | None = None
    sending: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self.calls) >= INPUTS_MOST or self.size >= BYTES_MOST

    def stop_if_abandoned(self) -> None:
        """Stop when nobody waits any more; a part of a request cannot be called back."""
        if self.sending is not None and all(answer.cancelled() for answer in self.answers):
            self.sending.cancel()


class Gather:
    """Sends calls of one form together. They wait without a place; the request takes one when it goes out."""

    def __init__(self, inner: Sender, form: RequestForm) -> None:
        self._inner = inner
        self._before, self._after = form.before, form.after
        self._group = _Group()

    async def send(self, call: Call) -> CallResult:
        """Return the call's own answer from the request that it went out in."""
        group = self._join(call)
        answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        group.answers.append(answer)
        if group.is_full:
            self._send_off()
        try:
            return await answer
        finally:
            group.stop_if_abandoned()

    def _join(self, call: Call) -> _Group:
        group = self._group
        if group.timer is None:
            group.timer = asyncio.get_running_loop().call_later(_WAIT_S, self._send_off)
        call.leave()
        group.calls.append(call)
        group.size += len(call.body)
        return group

    def _send_off(self) -> None:
        group, self._group = self._group, _Group()
        assert group.timer is not None
        group.timer.cancel()
        group.sending = asyncio.get_running_loop().create_task(self._send_group(group))

    async def _send_group(self, group: _Group) -> None:
        wanted = [at for at, answer in enumerate(group.answers) if not answer.cancelled()]
        try:
            results = await self._ask([group.calls[at] for at in wanted])
        except Exception as error:  # noqa: BLE001 - a mistake of ours: every row that waits must hear of it
            results = [error] * len(wanted)
        for at, result in zip(wanted, results, strict=True):
            answer = group.answers[at]
            if answer.cancelled():
                continue
            if isinstance(result, CallResult):
                answer.set_result(result)
            else:
                answer.set_exception(result)

    async def _ask(self, calls: Sequence[Call]) -> list[CallResult | Exception]:
        """Return one answer or failure a call, in their order."""
        if not calls:
            return []
        request = self._request(calls)
        try:
            if not await request.enter():
                raise request.late()
            answer = await self._inner.send(request)
        except CallFailed as failed:
            _account(calls, request)
            if len(calls) == 1 or failed.http_status not in _REFUSED:
                return [failed] * len(calls)
        else:
            _account(calls, request)
            return _shared_out(answer, calls)
        finally:
            request.leave()
        half = len(calls) // 2
        return [*await self._ask(calls[:half]), *await self._ask(calls[half:])]

    def _request(self, calls: Sequence[Call]) -> Call:
        first = calls[0]
        if len(calls) == 1:
            return replace(first, attempts=0)
        inputs = b",".join(call.body[len(self._before) : len(call.body) - len(self._after)] for call in calls)
        key = blake2b(b"".join(call.key for call in calls), digest_size=len(first.key)).digest()
        body = self._before + b"[" + inputs + b"]" + self._after
        return replace(first, key=key, body=body, inputs=len(calls), attempts=0)


def _account(calls: Sequence[Call], request: Call) -> None:
    """Write down on the rows what their request took."""
    calls[0].attempts += request.attempts
    for call in calls:
        call.started = request.started


def _shared_out(answer: CallResult, calls: Sequence[Call]) -> list[CallResult | Exception]:
    assert answer.response is not None
    vectors = answer.response.split(_SEPARATOR)
    first = answer._replace(attempts=calls[0].attempts)
    other = answer._replace(
        attempts=0,
        prompt_tokens=None,
        completion_tokens=None,
        cached_tokens=None,
        reasoning_tokens=None,
        cost=None,
    )
    return [
        (first if at == 0 else other)._replace(response=vector) if vector else _empty(answer)
        for at, vector in enumerate(vectors)
    ]


def _empty(answer: CallResult) -> CallFailed:
    return CallFailed(ErrorCode.EMPTY, "The answer's embedding is empty.", http_status=answer.http_status)
