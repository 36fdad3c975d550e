"""JSON as a value: read strictly, kept as compact text, so that it can be compared, hashed and rendered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from typing import Final, NoReturn

from inferlake_sql.errors import JsonValue, NestingTooDeep

MAX_JSON_DEPTH: Final = 64
MAX_INTEGER_DIGITS: Final = 400  # CPython's own limit is 4,300; no API takes a number this long


class NotJson(ValueError):
    """The text is no JSON value; never leaves this package."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """One JSON value as compact text; key order is kept."""

    text: str

    def load(self) -> JsonValue:
        """Return the value."""
        value: JsonValue = json.loads(self.text)
        return value

    def __str__(self) -> str:
        return self.text


def make_json(value: JsonValue) -> JsonText:
    """Return a value as JsonText."""
    return JsonText(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def read_json(text: str) -> JsonText:
    """Read strict JSON; raises NotJson, or NestingTooDeep before the depth could exhaust the stack."""
    check_depth(text)
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_short)
        result = make_json(value)
        result.text.encode()
    except ValueError as cause:  # includes a lone surrogate, which no UTF-8 can carry
        raise NotJson(str(cause)) from None
    return result


def read_json_loosely(text: str) -> JsonText:
    """Read a property's value: JSON when it is JSON, else the text itself as a JSON string."""
    try:
        return read_json(text)
    except NotJson:
        return make_json(text)


def check_depth(text: str, limit: int = MAX_JSON_DEPTH) -> None:
    """Raise NestingTooDeep for brackets nested beyond ``limit``; strings are skipped; takes time linear in the text."""
    depth, inside, escaped = 0, False, False
    for character in text:
        if inside:
            inside = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > limit:
                raise NestingTooDeep(limit)
        elif character in "]}":
            depth -= 1


def _refuse(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise NotJson("the number is too large")
    return number


def _short(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise NotJson("the number is too long")
    return int(text)
