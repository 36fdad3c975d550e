"""An answer without the secrets that were sent for it: an endpoint may repeat them anywhere.

What comes back is kept in tables, stores and logs: the answer, its finish reason, its request id, an error's code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inferlake.worker.calls import HttpReply
from inferlake_sql.echo import mask_echo
from inferlake_sql.errors import JsonValue
from inferlake_sql.sensitive import is_sensitive_name


def masked(reply: HttpReply, sent: Sequence[str]) -> HttpReply:
    """Return the answer with the secrets masked in all of it that is kept."""
    body = mask_echo(reply.body, sent)
    request_id = None if reply.request_id is None else mask_echo(reply.request_id.encode(), sent).decode()
    if body is reply.body and request_id == reply.request_id:
        return reply
    return replace(reply, body=body, request_id=request_id)


def secret_texts(name: str, value: JsonValue) -> Iterator[str]:
    """Yield every text that stands under a name which announces a secret; others may stand in an answer with right."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from secret_texts(name if is_sensitive_name(name) else key, member)
    elif isinstance(value, list):
        for member in value:
            yield from secret_texts(name, member)
    elif isinstance(value, str) and is_sensitive_name(name):
        yield value
