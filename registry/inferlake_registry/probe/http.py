"""One question to an endpoint: no redirect is followed, the answer is bounded, and no message repeats a secret."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import httpcore

from inferlake_registry.probe.address import AddressRefused, CheckedBackend
from inferlake_sql.echo import mask_echo
from inferlake_sql.errors import JsonValue
from inferlake_sql.secret import Secret
from inferlake_sql.sensitive import is_sensitive_name

_MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``status`` is None when nothing did; then ``cause`` says why."""

    status: int | None
    latency_ms: float | None
    body: bytes = b""
    cause: str | None = None
    refused: bool = False  # by ourselves: the address must not be called

    def document(self) -> JsonValue:
        """Return the body as JSON, or None when it is none."""
        try:
            value: JsonValue = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value


@dataclass(frozen=True, slots=True)
class Question:
    """A request; ``body`` makes it a POST of JSON."""

    url: str
    headers: Mapping[str, Secret]
    timeout_s: float
    connect_timeout_s: float
    ca: str | None = None
    body: JsonValue = None


async def ask(question: Question) -> Answer:
    """Ask once, within ``timeout_s`` in all: an endpoint that sends a byte now and then does not keep us."""
    try:
        context = _tls(question)
    except (OSError, ssl.SSLError):
        return Answer(None, None, cause="the file of tls.ca cannot be used on the registry's machine", refused=True)
    begun = time.perf_counter()
    try:
        async with (
            asyncio.timeout(question.timeout_s),
            httpcore.AsyncConnectionPool(ssl_context=context, network_backend=CheckedBackend()) as pool,
        ):
            status, body = await _exchange(pool, question)
    except (httpcore.TimeoutException, TimeoutError):
        return Answer(None, None, cause="no answer in time")
    except AddressRefused as error:
        return Answer(None, None, cause=str(error), refused=True)
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError) as error:
        return Answer(None, None, cause=_cause(error))
    sent = [value.reveal() for name, value in question.headers.items() if is_sensitive_name(name)]
    return Answer(status, (time.perf_counter() - begun) * 1000, mask_echo(body, sent))


async def _exchange(pool: httpcore.AsyncConnectionPool, question: Question) -> tuple[int, bytes]:
    headers = [(name.encode(), value.reveal().encode()) for name, value in question.headers.items()]
    content = None
    if question.body is not None:
        content = json.dumps(question.body).encode()
        headers.append((b"content-type", b"application/json"))
    limits = {
        "connect": question.connect_timeout_s,
        "read": question.timeout_s,
        "write": question.timeout_s,
        "pool": question.timeout_s,
    }
    method = "GET" if content is None else "POST"
    async with pool.stream(method, question.url, headers=headers, content=content, extensions={"timeout": limits}) as r:
        body = b""
        async for chunk in r.aiter_stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                break
        return r.status, body


def _tls(question: Question) -> ssl.SSLContext | None:
    if question.url[:6].lower() != "https:":
        return None
    # A file of the user's own may be renewed at any time; the system's certificates are read once, which takes 20 ms.
    return _system_tls() if question.ca is None else ssl.create_default_context(cafile=question.ca)


@cache
def _system_tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _cause(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, httpcore.ConnectError) and 0 < len(text) < 100 else "the connection failed"
