"""A transport whose answers hold none of the secrets that were sent: an endpoint may repeat them anywhere.

What comes back is kept in tables, stores and logs: the answer, its finish reason, its request id, an error's code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from inferlake.worker.calls import HttpReply, Transport
from inferlake_sql.echo import mask_echo

# Ours, and nothing secret. Every other header comes from the model's credentials.
_OWN: Final = frozenset(
    {"accept", "content-type", "idempotency-key", "traceparent", "tracestate", "user-agent", "x-request-id"}
)


class Masked:
    """Posts through another transport."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def post(self, url: str, headers: dict[str, str], body: bytes, timeout_s: float) -> HttpReply:
        """Return the answer with the values of the secret headers masked in it."""
        reply = await self._inner.post(url, headers, body, timeout_s)
        secrets = [value for name, value in headers.items() if name not in _OWN]
        return _masked(reply, secrets) if secrets else reply

    async def close(self) -> None:
        """Close the idle connections."""
        await self._inner.close()


def _masked(reply: HttpReply, secrets: list[str]) -> HttpReply:
    body = mask_echo(reply.body, secrets)
    request_id = None if reply.request_id is None else mask_echo(reply.request_id.encode(), secrets).decode()
    if body is reply.body and request_id == reply.request_id:
        return reply
    return replace(reply, body=body, request_id=request_id)
