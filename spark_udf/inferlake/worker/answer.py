"""An endpoint's HTTP answer becomes a ``CallResult`` or a ``CallFailed``: what each status and each odd body means.

No text of the endpoint gets into a message: endpoints echo prompts and keys in their errors. What gets in is the status
and the endpoint's own short error code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import orjson

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Cause, HttpReply
from inferlake.worker.retry_after import retry_after_s
from inferlake_registry.contract.models import ModelType

_Object: TypeAlias = Mapping[str, object]

_GZIP: Final = b"\x1f\x8b"

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{0,63}")
# A 429 that never clears: the account has no money or no right, and waiting would only burn the row's time.
_EXHAUSTED: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "quota_exceeded", "access_terminated"}
)
_THROTTLED: Final = ("rate_limit", "rate limit", "too many requests")
_TOO_LONG: Final = ("context_length", "context length", "context window", "max_model_len", "maximum input length")
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
# A server that gave up in the middle says so here (OpenRouter, vLLM); the text before it is no answer.
_GIVEN_UP: Final = frozenset({"error", "abort"})
_NOT_RETRIED_5XX: Final = frozenset({501, 505})


@dataclass(frozen=True, slots=True)
class Source:
    """Whose answer it is: the parts of the result that are the same for every row of one version."""

    model: str
    version: str
    model_type: ModelType
    price_input: float | None = None  # per 1,000,000 tokens
    price_output: float | None = None


def read_answer(source: Source, reply: HttpReply, call: Call, latency_ms: float) -> CallResult:
    """Return the result of a complete HTTP answer; raise ``CallFailed`` for everything that is not an answer.

    The response of a request with several inputs is one vector a line, an empty one being an empty line.
    """
    if not 200 <= reply.status < 300:
        raise _status_failure(reply)
    document = _parse(reply)
    error = document.get("error")
    if error:
        raise _error_member(reply, error)
    text, finish_reason = _content(source.model_type, document, reply.status, call.inputs)
    usage = document.get("usage")
    prompt, completion, cached, reasoning = _usage(usage) if isinstance(usage, dict) else (None, None, None, None)
    return CallResult(
        text,
        None,
        None,
        reply.status,
        finish_reason,
        source.model,
        source.version,
        call.attempts,
        latency_ms,
        prompt,
        completion,
        cached,
        reasoning,
        _cost(source, prompt, completion),
        reply.request_id or call.request_id,
        False,
    )


def _parse(reply: HttpReply) -> _Object:
    try:
        document = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        raise CallFailed(ErrorCode.DECODE, _not_json(reply), http_status=reply.status) from None
    if not isinstance(document, dict):
        raise CallFailed(ErrorCode.DECODE, "The answer is JSON but not an object.", http_status=reply.status)
    return document


def _not_json(reply: HttpReply) -> str:
    if reply.body.startswith(_GZIP):
        return "The endpoint answered compressed bytes although none were asked for."
    kind = (reply.content_type or "").partition(";")[0].strip().lower()
    start = reply.body[:64].lstrip().lower()
    if kind == "text/event-stream" or start.startswith((b"data:", b"event:")):
        return "The endpoint answered a stream of events although none was asked for."
    if kind == "text/html" or start.startswith((b"<!doctype", b"<html")):
        return "The endpoint answered an HTML page: is LOCATION the address of the API?"
    return "The answer is not valid JSON."


def _content(model_type: ModelType, document: _Object, status: int, inputs: int) -> tuple[str, str | None]:
    if model_type is ModelType.EMBEDDING:
        return _embeddings(document, status, inputs), None
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise CallFailed(ErrorCode.DECODE, "The answer has no choices.", http_status=status)
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str):
        finish_reason = None
    message = choice if model_type is ModelType.COMPLETIONS else choice.get("message")
    if not isinstance(message, dict):
        raise CallFailed(ErrorCode.DECODE, "The answer's first choice has no message.", http_status=status)
    text = message.get("text" if model_type is ModelType.COMPLETIONS else "content")
    if finish_reason != "stop" or not text or not isinstance(text, str):
        text = _checked(text, finish_reason, message, status)
    return text, finish_reason


def _checked(text: object, finish_reason: str | None, message: _Object, status: int) -> str:
    """Return the text, if a choice that is not plainly a stopped text is an answer all the same."""
    if finish_reason in _GIVEN_UP:
        raise CallFailed(
            ErrorCode.SERVER,
            f"The endpoint gave up in the middle of the answer (finish_reason {finish_reason}).",
            Cause.BROKEN_ANSWER,
            http_status=status,
            finish_reason=finish_reason,
        )
    if finish_reason == "length":
        raise CallFailed(
            ErrorCode.TRUNCATED,
            "The answer was cut off at the token limit (finish_reason length): raise request.max_tokens.",
            http_status=status,
            finish_reason=finish_reason,
        )
    if finish_reason == "content_filter" or message.get("refusal"):
        raise CallFailed(
            ErrorCode.CONTENT_FILTER,
            "The endpoint refused or filtered the answer.",
            http_status=status,
            finish_reason=finish_reason,
        )
    if text is None or text == "":
        raise CallFailed(ErrorCode.EMPTY, "The answer has no text.", http_status=status, finish_reason=finish_reason)
    if not isinstance(text, str):
        raise CallFailed(ErrorCode.DECODE, "The answer's text is not a string.", http_status=status)
    return text


def _embeddings(document: _Object, status: int, inputs: int) -> str:
    data = document.get("data")
    entries = data if isinstance(data, list) else []
    if len(entries) != inputs:
        message = f"The answer has {len(entries)} embeddings for {inputs} inputs."
        raise CallFailed(ErrorCode.DECODE, message, http_status=status)
    vectors: dict[int, str] = {}
    for at, entry in enumerate(entries):
        vector = entry.get("embedding") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(vector, list):
            message = "The answer has no embedding as a list of numbers."
            raise CallFailed(ErrorCode.DECODE, message, http_status=status)
        index = entry.get("index", at)
        if type(index) is not int or index in vectors or not 0 <= index < inputs:
            message = "The answer's embeddings are not numbered by the inputs."
            raise CallFailed(ErrorCode.DECODE, message, http_status=status)
        vectors[index] = orjson.dumps(vector).decode() if vector else ""
    if inputs == 1 and not vectors[0]:
        raise CallFailed(ErrorCode.EMPTY, "The answer's embedding is empty.", http_status=status)
    return "\n".join(vectors[at] for at in range(inputs))


def _usage(usage: _Object) -> tuple[int | None, int | None, int | None, int | None]:
    prompt_details = usage.get("prompt_tokens_details")
    completion_details = usage.get("completion_tokens_details")
    return (
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(prompt_details.get("cached_tokens")) if isinstance(prompt_details, dict) else None,
        _count(completion_details.get("reasoning_tokens")) if isinstance(completion_details, dict) else None,
    )


def _count(value: object) -> int | None:
    """Return a token count; what the server did not report stays unknown and is not 0."""
    return value if type(value) is int and 0 <= value < 1 << 62 else None


def _cost(source: Source, prompt: int | None, completion: int | None) -> float | None:
    if source.price_input is None and source.price_output is None:
        return None
    if prompt is None and completion is None:
        return None
    return ((prompt or 0) * (source.price_input or 0.0) + (completion or 0) * (source.price_output or 0.0)) / 1e6


def _status_failure(reply: HttpReply) -> CallFailed:
    status = reply.status
    code, cause = _classify(status, _error_words(reply))
    words = f" ({', '.join(_identifiers(reply))})" if _identifiers(reply) else ""
    return CallFailed(
        code,
        f"The endpoint answered HTTP {status}{words}{_advice(code, status)}",
        cause,
        http_status=status,
        retry_after_s=retry_after_s(reply),
        request_id=reply.request_id,
    )


def _advice(code: ErrorCode, status: int) -> str:
    if 300 <= status < 400:
        return ": redirects are not followed, set LOCATION to the final address."
    match code:
        case ErrorCode.AUTH:
            return ": check api.key of the model."
        case ErrorCode.NOT_FOUND:
            return ": check LOCATION and model.name of the model."
        case ErrorCode.CONTEXT_LENGTH:
            return ": the input is longer than the model's context."
        case _:
            return "."


def _classify(status: int, words: str) -> tuple[ErrorCode, Cause]:
    if status == 401:
        return ErrorCode.AUTH, Cause.UNAUTHORISED
    if status == 403:
        return ErrorCode.AUTH, Cause.FINAL
    if status in (404, 405, 410):
        return ErrorCode.NOT_FOUND, Cause.FINAL
    if status == 408:
        return ErrorCode.TIMEOUT, Cause.FAULT
    if status in (409, 425):
        return ErrorCode.SERVER, Cause.FAULT
    if status == 429:
        exhausted = any(word in words for word in _EXHAUSTED)
        return ErrorCode.RATE_LIMITED, Cause.FINAL if exhausted else Cause.THROTTLED
    if status >= 500:
        return ErrorCode.SERVER, Cause.FINAL if status in _NOT_RETRIED_5XX else Cause.FAULT
    if any(word in words for word in _TOO_LONG):
        return ErrorCode.CONTEXT_LENGTH, Cause.FINAL
    if any(word in words for word in _FILTERED):
        return ErrorCode.CONTENT_FILTER, Cause.FINAL
    return ErrorCode.BAD_REQUEST, Cause.FINAL


def _error_member(reply: HttpReply, error: object) -> CallFailed:
    """Return the failure that an ``error`` member in a successful status means."""
    status = error.get("code") if isinstance(error, dict) else None
    if type(status) is int and 400 <= status < 600:
        code, cause = _classify(status, _error_words(reply))
    else:
        words = _error_words(reply)
        code, cause = _classify(_blamed(words), words)
    found = _identifiers(reply)
    words = f" ({', '.join(found)})" if found else ""
    return CallFailed(
        code,
        f"The endpoint answered HTTP {reply.status} with an error in the body{words}.",
        cause,
        http_status=reply.status,
        request_id=reply.request_id,
    )


def _blamed(words: str) -> int:
    """Return the status that an error in a successful answer would have had by itself."""
    if any(word in words for word in (*_EXHAUSTED, *_THROTTLED)):
        return 429
    return 400 if any(word in words for word in ("invalid", "bad_request", *_TOO_LONG, *_FILTERED)) else 500


def _error_object(reply: HttpReply) -> _Object:
    if len(reply.body) > 1 << 20:
        return {}
    try:
        document = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(document, dict):
        return {}
    error = document.get("error")
    if isinstance(error, dict):
        return error
    return {"message": error, **document} if isinstance(error, str) else document


def _error_words(reply: HttpReply) -> str:
    """Return all that the error says, in lower case, to be searched for known words and never shown."""
    error = _error_object(reply)
    return " ".join(str(error[key]) for key in ("code", "type", "message", "detail") if error.get(key)).lower()


def _identifiers(reply: HttpReply) -> list[str]:
    error = _error_object(reply)
    found = (error.get(key) for key in ("type", "code"))
    return [text for text in found if isinstance(text, str) and _IDENTIFIER.fullmatch(text)]
