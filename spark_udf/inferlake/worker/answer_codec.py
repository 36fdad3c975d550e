"""Answers as bytes for keeping: a JSON list, since it is read a million times and named members would double it."""

from __future__ import annotations

from typing import Any, Final

import orjson

from inferlake.result import CallResult

# Behind the response: everything but the error, which there is none, and the mark of a kept answer.
_FIRST_KEPT: Final = CallResult._fields.index("http_status")
_KEPT_END: Final = CallResult._fields.index("from_cache")


def encode_answer(result: CallResult) -> bytes:
    """Return the bytes of an answer. Errors are never kept, so there is no place for them."""
    assert result.error_code is None and result.response is not None
    return orjson.dumps((result[0], *result[_FIRST_KEPT:_KEPT_END]))


def decode_answer(data: bytes | memoryview) -> CallResult:
    """Return the answer, marked as not called for: what it cost is what the first asker paid."""
    values: list[Any] = orjson.loads(data)
    values[1:1] = (None, None)
    values.append(True)
    return CallResult(*values)
