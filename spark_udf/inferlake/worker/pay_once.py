"""Asks the answer store before a call and puts the answer into it after, so that equal requests are paid once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import Final

from inferlake.result import CallResult
from inferlake.worker.answer_codec import encode_answer
from inferlake.worker.answer_store import BUSY, CLAIMED, AnswerStore, Busy, Claim, Claimed, Found
from inferlake.worker.calls import Call, Sender
from inferlake.worker.reuse import Journal

_CLAIM_S: Final = 120.0  # a claim's life
_RENEWED_EVERY_S: Final = 30.0
_FIRST_LOOK_S: Final = 0.005
_LAST_LOOK_S: Final = 0.2


class Claims:
    """The claims that this process holds in one store, renewed for as long as their calls go on, and their answers.

    A claim is the process's: of equal calls that its tasks make, the first that begins uses it up.
    """

    def __init__(self, store: AnswerStore, clock: Callable[[], float]) -> None:
        self.store = store
        self._clock = clock
        self._held: dict[bytes, bool] = {}  # whether the call has begun
        self._answers: dict[bytes, bytes] = {}  # not yet in the store
        self._flushing: asyncio.Handle | None = None
        self._loop = asyncio.get_running_loop()
        self._renewal = self._loop.create_task(self._renew())

    def ahead(self, keys: Collection[bytes]) -> dict[bytes, CallResult]:
        """Return the answers that are there, and claim the calls that somebody has to make, for ``take``."""
        self.flush()
        found = {}
        for key, claim in self._claim(keys).items():
            if isinstance(claim, Found):
                found[key] = claim.answer
            elif isinstance(claim, Claimed):
                self._held[key] = False
        return found

    def take(self, key: bytes) -> Claim:
        """Return the answer or the right to call, one that was claimed ahead or that can be had now."""
        begun = self._held.get(key)
        if begun is None:
            if key in self._answers:
                self.flush()
            claim = self._claim((key,))[key]
            if not isinstance(claim, Claimed):
                return claim
        elif begun:
            return BUSY
        self._held[key] = True
        return CLAIMED

    def keep(self, key: bytes, answer: bytes) -> None:
        """Replace a claim by its answer; answers that come in at one moment go into the store together."""
        self._held.pop(key, None)
        self._answers[key] = answer
        if self._flushing is None:
            self._flushing = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Have everything so far in the store; what it does not take is kept for the next time."""
        self._flushing = None
        if self._answers:
            self.store.keep(self._answers)
            self._answers = {}

    def abandon(self, key: bytes) -> None:
        """Give up a claim that was not replaced by an answer."""
        if self._held.pop(key, None) is not None:
            self.store.abandon((key,))

    def abandon_ahead(self, keys: Iterable[bytes]) -> None:
        """Give up those of the claims whose calls have not begun."""
        idle = [key for key in keys if self._held.get(key) is False]
        for key in idle:
            del self._held[key]
        if idle:
            self.store.abandon(idle)

    def close(self) -> None:
        """Give up all claims and close the store."""
        self._renewal.cancel()
        self.flush()
        self.store.abandon(self._held)
        self._held.clear()
        self.store.close()

    def _claim(self, keys: Collection[bytes]) -> dict[bytes, Claim]:
        now = self._clock()
        return self.store.claim(keys, now, now + _CLAIM_S) if keys else {}

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEWED_EVERY_S)
            self.store.renew(self._held, self._clock() + _CLAIM_S)


class Ahead:
    """Asks the store for many rows at once, before their calls are sent."""

    def __init__(self, claims: Claims, journal: Journal | None) -> None:
        self._claims = claims
        self._journal = journal

    def claim(self, keys: Collection[bytes]) -> dict[bytes, CallResult]:
        """Return the answers that are there; the other calls are this process's, unless another is making them."""
        found = self._claims.ahead(keys)
        if self._journal is not None:
            for key, answer in found.items():
                self._journal.write(key, encode_answer(answer))
        return found

    def abandon(self, keys: Iterable[bytes]) -> None:
        """Let others make the calls that have not begun."""
        self._claims.abandon_ahead(keys)

    def flush(self) -> None:
        """Have every answer so far in the store."""
        self._claims.flush()


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
