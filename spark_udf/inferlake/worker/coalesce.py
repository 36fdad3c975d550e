"""Equal calls that are under way at the same time in one process become one call."""

from __future__ import annotations

import asyncio

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Sender


class Coalesce:
    """Lets the followers of a call wait for its answer; ``under_way`` is shared by all stacks of the process."""

    def __init__(self, inner: Sender, under_way: dict[bytes, asyncio.Future[CallResult]]) -> None:
        self._inner = inner
        self._under_way = under_way

    async def send(self, call: Call) -> CallResult:
        """Return the answer of the first of equal calls, or raise its failure."""
        first = self._under_way.get(call.key)
        while first is not None:
            call.leave()
            await asyncio.wait([first])  # unlike an await it tells whose cancellation it was
            if not first.cancelled():
                return first.result()._replace(from_cache=True)
            await call.enter()
            first = self._under_way.get(call.key)
        return await self._lead(call)

    async def _lead(self, call: Call) -> CallResult:
        future: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        self._under_way[call.key] = future
        try:
            answer = await self._inner.send(call)
        except CallFailed as failed:
            future.set_exception(failed)
            future.exception()  # seen: nobody may be waiting for it
            raise
        finally:
            del self._under_way[call.key]
            if not future.done():
                future.cancel()
        return answer
