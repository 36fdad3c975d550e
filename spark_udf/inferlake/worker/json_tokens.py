"""Texts and numbers as JSON, spelled as Spark spells them."""

from __future__ import annotations

import re
from typing import Final

import orjson

_ESCAPED: Final = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def json_string(text: str) -> str:
    """Return the text as a JSON string; the digits of a control character's number are capitals."""
    quoted = orjson.dumps(text).decode()
    return _ESCAPED.sub(_capitals, quoted) if "\\u" in quoted else quoted


def json_number(text: str) -> str:
    """Return the text of a floating-point number as JSON, which has no word for NaN and the infinities."""
    return text if text[-1].isdigit() else f'"{text}"'


def _capitals(escape: re.Match[str]) -> str:
    text = escape[0]
    return text[:2] + text[2:].upper()
