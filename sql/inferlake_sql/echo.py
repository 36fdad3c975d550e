"""A secret that comes back: endpoints repeat what they were sent, in their errors and in their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from inferlake_sql.secret import MASK

# Shorter ones are placeholders such as EMPTY or dummy, and stand in harmless texts too.
_LEAST_LENGTH: Final = 12


def mask_echo(content: bytes, sent: Iterable[str]) -> bytes:
    """Return a body or a header with every secret that was sent masked, also where JSON has escaped it.

    ``sent`` are values of headers; of ``Bearer …`` and the like the part behind the scheme is the secret.
    """
    for form in (form for value in sent for form in _forms(value)):
        if form in content:
            content = content.replace(form, MASK.encode())
    return content


@lru_cache(maxsize=256)
def _forms(value: str) -> tuple[bytes, ...]:
    """Return how a secret may look in an answer, the longest first; nothing for a placeholder."""
    scheme, _, credentials = value.partition(" ")
    secret = credentials if credentials and scheme.isalpha() else value
    if len(secret) < _LEAST_LENGTH:
        return ()
    escaped = {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    slashed = {text.replace("/", "\\/") for text in escaped}
    forms = {text.encode() for text in (secret, *escaped, *slashed)}
    return tuple(sorted(forms, key=len, reverse=True))
