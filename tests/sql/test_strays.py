"""Definitions that do not stand where one is recognised are refused before Spark sees them; all else passes."""

from __future__ import annotations

import time

import pytest
from stray_texts import SPARKS, STRAYS

from inferlake_sql.errors import LanguageError
from inferlake_sql.grammar import recognise
from inferlake_sql.strays import refuse_strays


@pytest.mark.parametrize(("text", "code", "column"), STRAYS)
def test_a_stray_is_refused_at_its_place(text: str, code: str, column: int) -> None:
    assert recognise(text) is None
    with pytest.raises(LanguageError) as raised:
        refuse_strays(text)
    assert (raised.value.code, raised.value.fields["line"], raised.value.fields["column"]) == (code, 1, column)


@pytest.mark.parametrize("text", [*SPARKS, "", ";", "'x'", "SELECT 'unclosed", "/* unclosed"])
def test_what_is_not_ours_passes(text: str) -> None:
    assert recognise(text) is None
    refuse_strays(text)


def test_a_long_query_takes_linear_time() -> None:
    for piece in ("a AS model, ", "CREATE MODEL . ", "ALTER OR ", "MODEL `x` . ", "; CREATE "):
        begun = time.perf_counter()
        refuse_strays("SELECT " + piece * 20_000)
        assert time.perf_counter() - begun < 3  # a quarter of a second by itself
