"""Asks the answer store before a call and puts the answer into it after, so that equal requests are paid once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from inferlake.result import CallResult
from inferlake.worker.answer_codec import encode_answer
from inferlake.worker.answer_store import AnswerStore, Busy, Claimed, Found
from inferlake.worker.calls import Call, Sender
from inferlake.worker.reuse import Journal

_CLAIM_S: Final = 120.0  # a claim's life
_RENEWED_EVERY_S: Final = 30.0
_FIRST_LOOK_S: Final = 0.005
_LAST_LOOK_S: Final = 0.2


class Claims:
    """The claims that this process holds in one store, renewed for as long as their calls go on."""

    def __init__(self, store: AnswerStore, clock: Callable[[], float]) -> None:
        self.store = store
        self._clock = clock
        self._held: set[bytes] = set()
        self._renewal = asyncio.get_running_loop().create_task(self._renew())

    def take(self, key: bytes) -> Found | Claimed | Busy:
        """Ask for an answer or the right to call."""
        now = self._clock()
        claim = self.store.claim(key, now, now + _CLAIM_S)
        if isinstance(claim, Claimed):
            self._held.add(key)
        return claim

    def keep(self, key: bytes, answer: bytes) -> None:
        """Replace a claim by its answer."""
        self._held.discard(key)
        self.store.keep(key, answer)

    def abandon(self, key: bytes) -> None:
        """Give up a claim that was not replaced by an answer."""
        if key in self._held:
            self._held.discard(key)
            self.store.abandon(key)

    def close(self) -> None:
        """Give up all claims and close the store."""
        self._renewal.cancel()
        for key in tuple(self._held):
            self.abandon(key)
        self.store.close()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEWED_EVERY_S)
            self.store.renew(self._held, self._clock() + _CLAIM_S)


class PayOnce:
    """Calls only what has no answer yet and is not being called by another process of the host."""

    def __init__(self, inner: Sender, claims: Claims, journal: Journal | None) -> None:
        self._inner = inner
        self._claims = claims
        self._journal = journal

    async def send(self, call: Call) -> CallResult:
        """Return the kept answer, or a new one that has been kept."""
        claim = self._claims.take(call.key)
        if isinstance(claim, Busy):
            claim = await self._wait(call)
        if isinstance(claim, Found):
            if self._journal is not None:
                self._journal.write(call.key, encode_answer(claim.answer))
            return claim.answer
        try:
            answer = await self._inner.send(call)
            encoded = encode_answer(answer)
            self._claims.keep(call.key, encoded)
        finally:
            self._claims.abandon(call.key)
        if self._journal is not None:
            self._journal.write(call.key, encoded)
        return answer

    async def _wait(self, call: Call) -> Found | Claimed:
        """Wait for another process's answer, or until it gives up; the call holds no place meanwhile."""
        call.leave()
        wait = _FIRST_LOOK_S
        while True:
            await asyncio.sleep(wait)
            claim = self._claims.take(call.key)
            if isinstance(claim, Found):
                return claim
            if isinstance(claim, Claimed):
                try:
                    await call.enter()  # its time has not started, so there is no deadline to miss
                except BaseException:
                    self._claims.abandon(call.key)
                    raise
                return claim
            wait = min(wait * 1.5, _LAST_LOOK_S)
