"""Definitions that do not stand where one is recognised are refused before Spark sees them; all else passes."""

from __future__ import annotations

import time

import pytest

from inferlake_sql.errors import LanguageError
from inferlake_sql.grammar import recognise
from inferlake_sql.strays import refuse_strays

STRAYS = [
    ("CREATE MODLE m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("CREATE MODELS m", "SYNTAX_ERROR", 1),
    ("CREATE MODULE m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("alter modell m SET api.key = 'x'", "SYNTAX_ERROR", 1),
    ("ALTR MODEL m SET api.key = 'x'", "SYNTAX_ERROR", 1),
    ("CRAETE OR REPLACE MODEL m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("CREATEMODEL m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("ALTERMODEL m SET api.key = 'x'", "SYNTAX_ERROR", 1),
    ("\ufeffCREATE MODEL m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("(CREATE MODEL m USING x)", "SYNTAX_ERROR", 1),
    ("CREATE GLOBAL TEMPORARY MODEL m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("CREATE IF NOT EXISTS MODEL m LOCATION 'x'", "SYNTAX_ERROR", 1),
    ("CREATE OR UPDATE MODEL m USING x", "SYNTAX_ERROR", 1),
    ("EXPLAIN CREATE MODEL m LOCATION 'x'", "SYNTAX_ERROR", 9),
    ("PLEASE ALTER MODEL a.`b c` SET x = 1", "SYNTAX_ERROR", 8),
    ("BEGIN CREATE MODEL m USING 'x'; END", "SYNTAX_ERROR", 7),
    ("WITH x AS (ALTER MODEL m SET api.key = 'x') SELECT 1", "SYNTAX_ERROR", 12),
    ("SHOW TABLES; ALTER MODEL m SET api.key = 'x'", "MULTIPLE_STATEMENTS", 14),
    ("/* x\nALTER MODEL m SET api.key = 'x'", "UNREADABLE_TEXT", 1),
    ("'ALTER MODEL m SET api.key = 'x''", "UNREADABLE_TEXT", 1),
    ("` ALTER MODEL m SET x = 1", "UNREADABLE_TEXT", 1),
    ("EXECUTE IMMEDIATE \"ALTER MODEL m SET api.key='x'\"", "UNREADABLE_TEXT", 19),
]

SPARKS = [
    "SELECT create model FROM t",
    "SELECT 1 FROM create model JOIN b USING (id)",
    "SELECT create model, x FROM t",
    "SELECT alter model",
    "SELECT * FROM create model WINDOW w AS (ORDER BY x)",
    "CREATE TABLE model USING parquet AS SELECT 1",
    "CREATE OR REPLACE TEMP VIEW model AS SELECT 1",
    "CREATE TEMPORARY VIEW models AS SELECT 1",
    "ALTER TABLE model SET TBLPROPERTIES ('a' = 'b')",
    "ALTER VIEW models SET TBLPROPERTIES ('a' = 'b')",
    "CREATE FUNCTION model AS 'x'",
    "CREATE DATABASE model",
    "CREATE SCHEMA model LOCATION 'x'",
    "CREATE INDEX model ON t (c)",
    "SELECT 'CREATE MODEL m USING x'",
    "SELECT 1 -- ALTER MODEL m SET x = 1",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "SELECT node, mode FROM modes",
    "SET api.key = 5",
]


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
