"""Trace context: every call belongs to its caller's trace, and what goes to the endpoint names the call's own span.

OpenTelemetry is optional. With it, a sampled call becomes a client span; the exporter is the process's own, or the one
that the environment (OTEL_EXPORTER_OTLP_ENDPOINT) asks for. Without it, a span id is made up, so that the endpoint's
own spans hang below the caller's trace all the same.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from inferlake.result import CallResult
from inferlake.worker.calls import Call, Sender

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")  # W3C Trace Context, version 00


@dataclass(frozen=True, slots=True)
class Parent:
    """The caller's span, as the descriptor brings it."""

    trace_id: str
    span_id: str
    flags: str

    @property
    def sampled(self) -> bool:
        """Tell whether the root of the trace decided to keep it."""
        return int(self.flags, 16) & 1 == 1


def parse_traceparent(text: str | None) -> Parent | None:
    """Return the caller's span; None for none, and for text that is not valid (it must not fail a call)."""
    match = _TRACEPARENT.fullmatch(text or "")
    if match is None or set(match[1]) == {"0"} or set(match[2]) == {"0"}:
        return None
    return Parent(match[1], match[2], match[3])


class Linked:
    """Gives each call a span id of its own below the parent, without recording anything."""

    def __init__(self, inner: Sender, parent: Parent) -> None:
        self._inner = inner
        self._parent = parent

    async def send(self, call: Call) -> CallResult:
        """Send with the trace's header."""
        call.traceparent = f"00-{self._parent.trace_id}-{os.urandom(8).hex()}-{self._parent.flags}"
        return await self._inner.send(call)


def traced(inner: Sender, traceparent: str | None, model: str, version: str) -> Sender:
    """Return a sender within the caller's trace; ``inner`` itself when there is none."""
    parent = parse_traceparent(traceparent)
    if parent is None:
        return inner
    if parent.sampled:
        try:
            from inferlake.worker.tracing_otel import Traced
        except ModuleNotFoundError:
            return Linked(inner, parent)
        return Traced(inner, parent, model, version)
    return Linked(inner, parent)
