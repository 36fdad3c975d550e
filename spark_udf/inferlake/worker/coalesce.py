"""Equal calls that are under way at the same time in one process become one call."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Sender

# By key; the future is made for the first follower, since most calls have none.
UnderWay: TypeAlias = dict[bytes, "asyncio.Future[CallResult] | None"]


class Coalesce:
    """Lets the followers of a call wait for its answer; ``under_way`` is shared by all stacks of the process."""

    def __init__(self, inner: Sender, under_way: UnderWay) -> None:
        self._inner = inner
        self._under_way = under_way

    async def send(self, call: Call) -> CallResult:
        """Return the answer of the first of equal calls, or raise its failure."""
        while call.key in self._under_way:
            call.leave()
            first = self._first(call.key)
            await asyncio.wait([first])  # unlike an await it tells whose cancellation it was
            if not first.cancelled():
                return first.result()._replace(from_cache=True)
            await call.enter()
        return await self._lead(call)

    def _first(self, key: bytes) -> asyncio.Future[CallResult]:
        first = self._under_way[key]
        if first is None:
            first = self._under_way[key] = asyncio.get_running_loop().create_future()
        return first

    async def _lead(self, call: Call) -> CallResult:
        under_way, key = self._under_way, call.key
        under_way[key] = None
        try:
            answer = await self._inner.send(call)
        except CallFailed as failed:
            if (followed := under_way.pop(key)) is not None:
                followed.set_exception(failed)
                followed.exception()  # seen: its followers may all be gone
            raise
        except BaseException:
            if (followed := under_way.pop(key)) is not None:
                followed.cancel()
            raise
        if (followed := under_way.pop(key)) is not None:
            followed.set_result(answer)
        return answer
