"""Which names announce a secret: header names, URL parameters, body members."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

from inferlake_sql.errors import JsonValue

_SENSITIVE: Final = re.compile(
    r"^key$|(^|[-_.])(api|access|account|auth|encryption|master|private|secret|shared|subscription|x)[-_.]?key$|"
    r"(?<!bos)(?<!eos)(?<!pad)(?<!unk)(?<!stop)(?<!mask)[-_.]token$|^(auth|access|id|refresh|session|bearer)?token$|"
    r"^sig(nature)?$|[-_.]signature$|secret|passw(or)?d|passphrase|(^|[-_.])(pass|pwd)$|credential|authori[sz]ation|bearer|cookie",
    re.IGNORECASE,
)

# In the query of an address any key is one, and some services call theirs so: a refusal costs little there.
_SENSITIVE_IN_QUERY: Final = re.compile(r"keys?$|^(code|pin)$|token$|auth$", re.IGNORECASE)

# Request headers whose values say nothing secret. Any other header's literal is treated as one: keys leak through
# headers that nobody thought of listing.
HARMLESS_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "content-type",
        "prefer",
        "user-agent",
        "x-request-source",
        "x-client-name",
    }
)


def is_sensitive_name(name: str) -> bool:
    """Whether a value under this name is to be hidden: ``api_key``, ``X-Auth-Token``; not ``max_tokens``."""
    return _SENSITIVE.search(name) is not None


def query_holds_key(query: str) -> bool:
    """Whether the query of a URL has a parameter whose name announces a secret. Raises ValueError for no query."""
    names = (name for name, _ in parse_qsl(query, keep_blank_values=True))
    return any(is_sensitive_name(name) or _SENSITIVE_IN_QUERY.search(name) for name in names)


def holds_sensitive_name(value: JsonValue) -> bool:
    """Whether a JSON value has, at any depth, a member whose name announces a secret."""
    if isinstance(value, dict):
        return any(is_sensitive_name(name) or holds_sensitive_name(member) for name, member in value.items())
    return isinstance(value, list) and any(map(holds_sensitive_name, value))
