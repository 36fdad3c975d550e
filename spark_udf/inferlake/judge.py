"""Judges one answer against a JSON Schema: strictly, as text, with one reason from a short fixed list.

jsonschema-rs decides on every row (about 1 µs), jsonschema explains the rows that failed. Where the two disagree the
row is rejected and the reason says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NoReturn

import orjson

from inferlake.schema import Schema, explaining_validator, fast_validator, pointer

MAX_ERRORS: Final = 20  # explanations kept of one row
MAX_MESSAGE: Final = 300  # characters of one explanation
MAX_DEPTH: Final = 200  # brackets in brackets; far below where the parsers give up


class Reason(StrEnum):
    """Why an answer is rejected. People write these into filters and dashboards, so the list is fixed.

    In the struct form a row without an answer has its ``inferlake.result.ErrorCode`` as reason instead of
    ``no_output``.
    """

    NO_OUTPUT = "no_output"
    NULL_INPUT = "null_input"  # all inputs are null, so nothing was asked
    CODE_FENCE = "code_fence"  # the JSON is wrapped in a Markdown fence
    TRAILING_TEXT = "trailing_text"  # JSON first, then something else
    NOT_JSON = "not_json"
    DUPLICATE_KEY = "duplicate_key"
    NOT_FINITE = "not_finite"  # NaN or an infinity, which JSON does not have
    TOO_DEEP = "too_deep"
    SCHEMA = "schema"
    VALIDATORS_DISAGREE = "validators_disagree"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One thing that is wrong: where (JSON pointer), which keyword of the schema, and a sentence."""

    path: str
    keyword: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """``value`` is the canonical JSON text that was judged, None when the answer is no JSON. Valid: reason is None."""

    value: str | None
    reason: Reason | None = None
    errors: tuple[Explanation, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the answer is accepted."""
        return self.reason is None


class Judge:
    """Holds a compiled schema; one for each schema and process."""

    def __init__(self, schema: Schema) -> None:
        self._accepts = fast_validator(schema.text).is_valid
        self._schema = schema

    def judge(self, text: str) -> Verdict:
        """Return the verdict on an answer's text."""
        try:
            canonical, value = read_strictly(text)
        except Unreadable as error:
            return Verdict(None, error.reason, (Explanation("", "json", error.message),))
        if self._accepts(value):
            return Verdict(canonical)
        try:
            errors = tuple(self._explain(value))
        except RecursionError:
            errors = (Explanation("", "", "The value is nested too deep for this schema to say where it is wrong."),)
        if not errors:
            message = "jsonschema-rs rejects this value and jsonschema accepts it, so it is rejected."
            return Verdict(canonical, Reason.VALIDATORS_DISAGREE, (Explanation("", "", message),))
        return Verdict(canonical, Reason.SCHEMA, errors)

    def _explain(self, value: Any) -> list[Explanation]:
        found = []
        for error in explaining_validator(self._schema.text).iter_errors(value):
            message = error.message if len(error.message) <= MAX_MESSAGE else f"{error.message[: MAX_MESSAGE - 1]}…"
            found.append(Explanation(pointer(error.absolute_path), str(error.validator), message))
            if len(found) == MAX_ERRORS:
                break
        return found


class Unreadable(ValueError):
    """A text that is not exactly one JSON value; never leaves this module's callers."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


_OUTSIDE_STRINGS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+')
_NOT_FINITE: Final = re.compile(r"-?(?:NaN|Infinity)\b")


def read_strictly(text: str) -> tuple[str, object]:
    """Return the canonical text and the value of exactly one JSON value.

    Canonical: no white space, key order and the digits of numbers as written, strings as written.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _explain_unreadable(text, error) from None
    compact = _OUTSIDE_STRINGS.sub(_keep_strings, text)
    if compact.count("[") + compact.count("{") > MAX_DEPTH:
        _check_depth(compact)
    # Equal after a round trip: no key was lost, no digit changed, nothing is left to look at.
    if orjson.dumps(value) == compact.encode():
        return compact, value
    return compact, json.loads(compact, object_pairs_hook=_unique, parse_constant=_refuse)


def _keep_strings(match: re.Match[str]) -> str:
    piece = match[0]
    return piece if piece[0] == '"' else ""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Unreadable(Reason.DUPLICATE_KEY, f"The key {twice[:100]!r} is there twice.")
    return document


def _refuse(name: str) -> NoReturn:
    raise Unreadable(Reason.NOT_FINITE, f"{name} is no JSON number.")


def _check_depth(compact: str) -> None:
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', compact):
        piece = match[0]
        depth += (piece in "[{") - (piece in "]}")
        if depth > MAX_DEPTH:
            raise Unreadable(Reason.TOO_DEEP, f"Brackets are nested more than {MAX_DEPTH} deep.")


def _explain_unreadable(text: str, error: orjson.JSONDecodeError) -> Unreadable:
    stripped = text.strip()
    if "depth limit" in error.msg:
        return Unreadable(Reason.TOO_DEEP, f"Brackets are nested more than {MAX_DEPTH} deep.")
    if not stripped:
        return Unreadable(Reason.NO_OUTPUT, "The answer is empty.")
    if stripped.startswith(("```", "~~~")):
        return Unreadable(Reason.CODE_FENCE, "The answer is wrapped in a Markdown code fence; ask for plain JSON.")
    if "unexpected content after" in error.msg or "trailing" in error.msg:
        where = f"line {error.lineno}, column {error.colno}"
        return Unreadable(Reason.TRAILING_TEXT, f"There is text after the JSON value ({where}).")
    if "infinity" in error.msg or _NOT_FINITE.match(text, error.pos):
        return Unreadable(Reason.NOT_FINITE, "NaN and infinities are no JSON numbers.")
    return Unreadable(Reason.NOT_JSON, f"{error.msg} (line {error.lineno}, column {error.colno}).")
