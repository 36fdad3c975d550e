"""The fixed struct that a call answers, and the short list of reasons why a row has no answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class ErrorCode(StrEnum):
    """Why a row has no answer. The list is fixed: people write these into dashboards and filters."""

    NULL_INPUT = "null_input"
    MEDIA = "media"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    SERVER = "server"
    NETWORK = "network"
    DECODE = "decode"
    EMPTY = "empty"
    CANCELLED = "cancelled"


class CallResult(NamedTuple):
    """Answer or error of one row; a tuple, because there is one a row, and rows of tuples turn into columns at once.

    ``response`` is the text of the answer. Exactly one of it and ``error_code`` is set; rows that needed no call
    because all their inputs are null have the code ``null_input``.
    """

    response: str | None
    error: str | None = None  # at most 200 characters; no prompt, no header, no URL query
    error_code: ErrorCode | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    model: str | None = None
    version: str | None = None
    attempts: int = 0
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    request_id: str | None = None
    from_cache: bool = False


# Spark DDL of the struct above, in the same order. Users type these names: they do not change.
STRUCT_DDL: Final = (
    "response string, error string, error_code string, http_status int, finish_reason string, model string, "
    "version string, attempts int, latency_ms double, prompt_tokens bigint, completion_tokens bigint, "
    "cached_tokens bigint, reasoning_tokens bigint, cost double, request_id string, from_cache boolean"
)
