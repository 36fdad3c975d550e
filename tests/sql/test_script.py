"""Splitting scripts."""

from __future__ import annotations

import time

import pytest

from inferlake_sql.errors import UnreadableText
from inferlake_sql.grammar import Kind
from inferlake_sql.script import is_complete, split_script

SCRIPT = """-- set up; first
CREATE MODEL m LOCATION 'http://h/v1' COMMENT 'a;b';
;
SELECT ";", `;` /* ; */ FROM t;
  -- nothing but this;
ALTER MODEL m ENABLE"""


def test_a_semicolon_in_a_string_a_name_or_a_comment_does_not_split() -> None:
    pieces = list(split_script(SCRIPT))
    assert [piece.text for piece in pieces] == [
        "-- set up; first\nCREATE MODEL m LOCATION 'http://h/v1' COMMENT 'a;b'",
        'SELECT ";", `;` /* ; */ FROM t',
        "-- nothing but this;\nALTER MODEL m ENABLE",
    ]
    assert [piece.line for piece in pieces] == [2, 4, 6]
    kinds = [piece.recognition.kind if piece.recognition else None for piece in pieces]
    assert kinds == [Kind.CREATE, None, Kind.ALTER]


@pytest.mark.parametrize("text", ["", " \n", ";;;", "-- only a comment", "/* ; */;"])
def test_nothing_is_no_statement(text: str) -> None:
    assert list(split_script(text)) == []


def test_what_stands_before_a_broken_quote_is_still_given() -> None:
    pieces = split_script("SELECT 1;\nSELECT 'x;")
    assert next(pieces).text == "SELECT 1"
    with pytest.raises(UnreadableText) as raised:
        next(pieces)
    assert (raised.value.fields["line"], raised.value.fields["column"]) == (2, 8)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT ';", False),
        ("/* ;", False),
        ("", False),
    ],
)
def test_a_prompt_waits_for_the_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_a_long_script_is_split_in_linear_time() -> None:
    began = time.perf_counter()
    assert sum(1 for _ in split_script("SELECT 1;\n" * 100_000)) == 100_000
    assert time.perf_counter() - began < 30  # quadratic time would be many minutes
