"""Tells the registry when this process stops calling an endpoint and when it calls again, for people to see."""

from __future__ import annotations

import asyncio
from typing import Final

from inferlake_registry.client import WorkerRegistry
from inferlake_registry.contract.health import BreakerReport
from inferlake_registry.contract.models import ModelSnapshot
from inferlake_sql.errors import InferlakeError

_ANSWER_S: Final = 5.0


class BreakerNews:
    """Reports on one model's breaker at one address. All methods run on the loop."""

    def __init__(self, registry: WorkerRegistry, snapshot: ModelSnapshot, holder: str, address: str) -> None:
        self._registry = registry
        self._snapshot = snapshot
        self._holder = holder
        self._address = address
        self._last: asyncio.Task[None] | None = None

    def tell(self, open_s: float | None) -> None:
        """Report that the breaker is open for so long, or with None that it is closed."""
        report = BreakerReport(
            self._holder, self._address, None if open_s is None else open_s * 1_000, self._snapshot.model_id
        )
        self._last = asyncio.get_running_loop().create_task(self._send(report, self._last))

    async def _send(self, report: BreakerReport, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before  # news must not overtake each other
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._registry.report_breaker(self._snapshot.name, report)
        except (InferlakeError, TimeoutError):
            pass  # it is shown and nothing depends on it; an old report is forgotten by itself
