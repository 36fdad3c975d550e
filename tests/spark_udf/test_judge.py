"""Answers are judged strictly, with one reason each, and the canonical text keeps keys and digits."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferlake.errors import InvalidSchema
from inferlake.judge import MAX_DEPTH, MAX_ERRORS, Judge, Reason, read_strictly
from inferlake.schema import check_schema

LABEL = check_schema(
    {"type": "object", "properties": {"label": {"enum": ["normal", "abnormal"]}}, "required": ["label"]}
)
ANYTHING = check_schema(True)


@pytest.mark.parametrize(
    ("text", "reason", "keyword"),
    [
        ('{"label": "odd"}', Reason.SCHEMA, "enum"),
        ("{}", Reason.SCHEMA, "required"),
        ("[]", Reason.SCHEMA, "type"),
        ('```json\n{"label": "normal"}\n```', Reason.CODE_FENCE, "json"),
        ('  ~~~\n{"label": "normal"}', Reason.CODE_FENCE, "json"),
        ('{"label": "normal"} as asked', Reason.TRAILING_TEXT, "json"),
        ('{"label": "normal"}{"label": "normal"}', Reason.TRAILING_TEXT, "json"),
        ('{"label": "odd", "label": "normal"}', Reason.DUPLICATE_KEY, "json"),
        ('{"label": "normal", "deep": {"a": 1, "a": 1}}', Reason.DUPLICATE_KEY, "json"),
        ('{"label": NaN}', Reason.NOT_FINITE, "json"),
        ('{"label": -Infinity}', Reason.NOT_FINITE, "json"),
        ('{"label": 1e999}', Reason.NOT_FINITE, "json"),
        ("normal", Reason.NOT_JSON, "json"),
        ('{"label": "norm', Reason.NOT_JSON, "json"),
        ("{'label': 'normal'}", Reason.NOT_JSON, "json"),
        ('{"label": "\\ud800"}', Reason.NOT_JSON, "json"),
        ("", Reason.NO_OUTPUT, "json"),
        (" \n", Reason.NO_OUTPUT, "json"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), Reason.TOO_DEEP, "json"),
        ("[" * 5_000, Reason.TOO_DEEP, "json"),
    ],
)
def test_each_fault_has_its_reason(text: str, reason: Reason, keyword: str) -> None:
    verdict = Judge(LABEL).judge(text)
    assert not verdict.valid
    assert verdict.reason is reason
    assert verdict.errors[0].keyword == keyword


def test_an_error_says_where_it_is() -> None:
    schema = check_schema({"properties": {"a/b": {"items": {"type": "integer"}}}})
    verdict = Judge(schema).judge('{"a/b": [1, "two"]}')
    assert [(error.path, error.keyword) for error in verdict.errors] == [("/a~1b/1", "type")]


def test_explanations_are_limited() -> None:
    verdict = Judge(check_schema({"items": {"type": "integer"}})).judge(json.dumps(["x" * 1_000] * 50))
    assert len(verdict.errors) == MAX_ERRORS
    assert max(len(error.message) for error in verdict.errors) == 300


def test_a_value_too_deep_to_explain_is_rejected_all_the_same() -> None:
    schema = check_schema({"type": "array", "items": {"$ref": "#"}})
    verdict = Judge(schema).judge("[" * 190 + "1" + "]" * 190)
    assert verdict.reason is Reason.SCHEMA


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{ "z" : 1 , "a" : [ 1, 2 ] }', '{"z":1,"a":[1,2]}'),
        ("[1.0, 1e2, 0.10, -0, 12345678901234567890123]", "[1.0,1e2,0.10,-0,12345678901234567890123]"),
        ('"a  b\\u00e9 \\" c"', '"a  b\\u00e9 \\" c"'),
        ("\n\ttrue ", "true"),
    ],
)
def test_canonical_text_keeps_key_order_digits_and_strings(text: str, canonical: str) -> None:
    assert Judge(ANYTHING).judge(text).value == canonical


def test_big_numbers_are_judged_by_all_their_digits() -> None:
    judge = Judge(check_schema({"const": 12345678901234567890123}))
    assert judge.judge("12345678901234567890123").valid
    assert not judge.judge("12345678901234567890124").valid


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON, st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", "\t: ")]), st.booleans())
def test_canonical_text_is_the_same_value(value: object, separators: tuple[str, str], ascii_only: bool) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
    canonical, read = read_strictly(text)
    assert json.loads(canonical, parse_float=Decimal) == json.loads(text, parse_float=Decimal)
    assert read == value
    assert read_strictly(canonical)[0] == canonical


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    verdict = Judge(LABEL).judge(text)
    assert verdict.valid == (verdict.reason is None)


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "[]",
        "3",
        '{"type": "strng"}',
        {"type": "strng"},
        {"pattern": "("},
        {"$ref": "http://127.0.0.1:1/elsewhere.json"},
        {"$ref": "#/$defs/nowhere"},
        {"enum": {1, 2}},
        "[" * 5_000,
        None,
    ],
)
def test_what_is_no_schema_is_refused(schema: object) -> None:
    with pytest.raises(InvalidSchema):
        check_schema(schema)  # type: ignore[arg-type]


def test_digest_does_not_see_spelling() -> None:
    assert check_schema('{"a": 1,  "b": 2}').digest == check_schema({"b": 2, "a": 1}).digest
    assert check_schema({"a": 1}).digest != check_schema({"a": 2}).digest
