"""Calls as OpenTelemetry client spans. Imported only where the package is installed."""

from __future__ import annotations

import os
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Sender
from inferlake.worker.tracing import Parent

_ENDPOINT_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_configured = False


class Traced:
    """One client span a call, below the caller's; its id is what the endpoint sees."""

    def __init__(self, inner: Sender, parent: Parent, model: str, version: str) -> None:
        _configure()
        self._inner = inner
        self._tracer = trace.get_tracer("inferlake")
        context = SpanContext(
            int(parent.trace_id, 16),
            int(parent.span_id, 16),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        self._context = trace.set_span_in_context(NonRecordingSpan(context))
        self._name = f"chat {model}"
        self._attributes = {"gen_ai.operation.name": "chat", "inferlake.model": model, "inferlake.version": version}

    async def send(self, call: Call) -> CallResult:
        """Send within a span."""
        span = self._tracer.start_span(
            self._name, self._context, SpanKind.CLIENT, self._attributes | {"inferlake.request_id": call.request_id}
        )
        own = span.get_span_context()
        call.traceparent = f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"
        try:
            result = await self._inner.send(call)
        except CallFailed as failed:
            span.set_status(StatusCode.ERROR, failed.code.value)
            span.set_attribute("error.type", failed.code.value)
            raise
        else:
            for name, tokens in (("input", result.prompt_tokens), ("output", result.completion_tokens)):
                if tokens is not None:
                    span.set_attribute(f"gen_ai.usage.{name}_tokens", tokens)
            return result
        finally:
            span.set_attribute("inferlake.attempts", call.attempts)
            span.end()


def _configure() -> None:
    """Export spans where the environment says, unless this process has a provider of its own already."""
    global _configured
    if _configured or not any(os.environ.get(name) for name in _ENDPOINT_VARIABLES):
        return
    _configured = True
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        return  # the API alone: spans are not recorded, ids are still handed on
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider(resource=Resource.create({"service.name": "inferlake-worker"}))
        provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter())
        )  # own thread, bounded queue, drops when full
        trace.set_tracer_provider(provider)
