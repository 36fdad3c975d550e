"""The search itself: a canary test that could not find the canary would prove nothing."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from canary_key import ALL, Canary


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_it_is_found_in_every_dress(canary: Canary) -> None:
    key = canary.value
    texts = [
        key,
        f"Bearer {key}",
        repr(key),
        json.dumps({"k": key}),
        html.escape(key),
        quote(key, safe=""),
        canary.literal,
        key.lower(),
        key.upper(),
        canary.core[:8],
        canary.core[-8:],
        *(base64.b64encode(("x" * offset + canary.core).encode()).decode() for offset in range(6)),
        canary.core.encode().hex(),
    ]
    for text in texts:
        assert canary.is_in(text), text
    assert canary.is_in(key.encode("utf-16-le"))


def test_nothing_is_found_where_nothing_is() -> None:
    for canary in ALL:
        assert not canary.is_in("api.key='******' Secret('******') " + "0123456789abcdef" * 10)
        assert not any(other.is_in(canary.value) for other in ALL if other is not canary)
