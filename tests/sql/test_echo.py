"""Secrets that come back in an answer are masked; what only looks alike is not touched."""

from __future__ import annotations

import json

import pytest
from canary_key import ALL, Canary

from inferlake_sql.echo import mask_echo


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_a_key_is_masked_in_every_spelling_of_json(canary: Canary) -> None:
    for sent in (canary.value, f"Bearer {canary.value}"):
        for ascii_only in (True, False):
            document = json.dumps({"a": [canary.value, f"x{canary.value}y"]}, ensure_ascii=ascii_only)
            for text in (document, document.replace("/", "\\/")):
                masked = mask_echo(text.encode(), ["application/json", sent])
                assert json.loads(masked) == {"a": ["******", "x******y"]}


def test_a_placeholder_is_left_alone() -> None:
    answer = b'{"text": "The list is EMPTY, not none."}'
    assert mask_echo(answer, ["Bearer EMPTY", "none", "Bearer dummy"]) is answer


def test_a_scheme_is_no_part_of_the_secret() -> None:
    assert mask_echo(b"Bearer abcdefghijkl Basic", ["Bearer abcdefghijkl"]) == b"Bearer ****** Basic"
    assert mask_echo(b"a=1; b=secret-value", ["a=1; b=secret-value"]) == b"******"
