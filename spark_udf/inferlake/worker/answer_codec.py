"""Answers as bytes for keeping: a JSON list, since it is read a million times and named members would double it."""

from __future__ import annotations

from typing import Any

import orjson

from inferlake.result import CallResult


def encode_answer(result: CallResult) -> bytes:
    """Return the bytes of an answer. Errors are never kept, so there is no place for them."""
    assert result.error_code is None and result.response is not None
    return orjson.dumps(
        [
            result.response,
            result.http_status,
            result.finish_reason,
            result.model,
            result.version,
            result.attempts,
            result.latency_ms,
            result.prompt_tokens,
            result.completion_tokens,
            result.cached_tokens,
            result.reasoning_tokens,
            result.cost,
            result.request_id,
        ]
    )


def decode_answer(data: bytes | memoryview) -> CallResult:
    """Return the answer, marked as not called for: what it cost is what the first asker paid."""
    values: list[Any] = orjson.loads(data)
    values[1:1] = (None, None)
    values.append(True)
    return CallResult(*values)
