"""What calls used, summed in the process and reported to the registry in the background."""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Sender
from inferlake_registry.client import WorkerRegistry
from inferlake_registry.contract.runs import UsageReport
from inferlake_sql.errors import InferlakeError

_log = logging.getLogger(__name__)

_EVERY_S: Final = 5.0
_ANSWER_S: Final = 5.0
# Upper bounds in milliseconds: answers take from one to ten minutes, and a factor of two or three is enough to plan by.
BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 600_000)
_NAMES: Final = (*(str(bound) for bound in BOUNDS_MS), "inf")


@dataclass(slots=True)
class Sums:
    """Calls of one version since the last report."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    latencies: list[int] = field(default_factory=lambda: [0] * len(_NAMES))

    def add(self, result: CallResult, attempts: int) -> None:
        """Count an answer."""
        self.calls += attempts
        self.prompt_tokens += result.prompt_tokens or 0
        self.completion_tokens += result.completion_tokens or 0
        self.latencies[bisect_left(BOUNDS_MS, result.latency_ms or 0.0)] += 1

    def add_error(self, code: str, attempts: int) -> None:
        """Count a call that failed for good."""
        self.calls += attempts
        self.errors[code] += 1

    def histogram(self) -> Mapping[str, int]:
        """Return upper bound in milliseconds, as text, -> answers."""
        return {name: count for name, count in zip(_NAMES, self.latencies, strict=True) if count}


class Counted:
    """Counts what goes through it."""

    def __init__(self, inner: Sender, usage: Usage, model: str, version: str) -> None:
        self._inner = inner
        self._usage = usage
        self._key = (model, version)

    async def send(self, call: Call) -> CallResult:
        """Return the answer, counted."""
        try:
            result = await self._inner.send(call)
        except CallFailed as failed:
            self._usage.sums(self._key).add_error(failed.code.value, call.attempts)
            raise
        self._usage.sums(self._key).add(result, call.attempts)
        return result


class Usage:
    """The sums of one process for one registry, reported every few seconds while there is something to report."""

    def __init__(self, registry: WorkerRegistry, holder: str) -> None:
        self._registry = registry
        self._holder = holder
        self._sums: dict[tuple[str, str], Sums] = {}
        self._reporting = asyncio.get_running_loop().create_task(self._report_forever())

    def sums(self, key: tuple[str, str]) -> Sums:
        """Return the sums of a model and version."""
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = Sums()
        return found

    async def flush(self) -> None:
        """Report now; what cannot be reported is kept for the next time."""
        if not self._sums:
            return
        sums, self._sums = self._sums, {}
        reports = [
            UsageReport(
                self._holder,
                model,
                version,
                of.calls,
                dict(of.errors),
                of.prompt_tokens,
                of.completion_tokens,
                of.histogram(),
            )
            for (model, version), of in sums.items()
        ]
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._registry.report_usage(reports)
        except (InferlakeError, TimeoutError) as error:
            _log.warning("Usage could not be reported and is kept: %s", error)
            self._merge(sums)

    async def close(self) -> None:
        """Report the rest and stop."""
        self._reporting.cancel()
        await self.flush()

    def _merge(self, sums: Mapping[tuple[str, str], Sums]) -> None:
        for key, of in sums.items():
            into = self.sums(key)
            into.calls += of.calls
            into.prompt_tokens += of.prompt_tokens
            into.completion_tokens += of.completion_tokens
            into.errors.update(of.errors)
            into.latencies = [a + b for a, b in zip(into.latencies, of.latencies, strict=True)]

    async def _report_forever(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            await self.flush()
