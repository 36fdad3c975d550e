"""What decides that a text is ours: its leading words and nothing else."""

from __future__ import annotations

import time

import pytest

from inferlake_sql.grammar import FORMS, Kind, is_model_statement, recognise


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE MODEL", Kind.CREATE),
        ("create or replace temp model 'unclosed", Kind.CREATE),
        ("ALTER MODEL", Kind.ALTER),
        ("DROP TEMPORARY MODEL m", Kind.DROP),
        ("UNDROP MODEL m", Kind.UNDROP),
        ("COMMENT ON MODEL m", Kind.COMMENT),
        ("SHOW MODELS", Kind.SHOW_MODELS),
        ("SHOW CREATE MODEL m", Kind.SHOW_CREATE),
        ("SHOW VERSIONS", Kind.SHOW_VERSIONS),
        ("SHOW MODEL VERSIONS m", Kind.SHOW_VERSIONS),
        ("SHOW MODEL STATUS", Kind.SHOW_HEALTH),
        ("SHOW MODEL PROPERTIES m", Kind.SHOW_PROPERTIES),
        ("SHOW MODEL", Kind.SHOW_OTHER),
        ("DESCRIBE HISTORY MODEL m", Kind.HISTORY),
        ("DESC HISTORY MODEL limit", Kind.HISTORY),
        ("TEST MODEL m", Kind.TEST),
        ("EXPLAIN AI SELECT 1", Kind.EXPLAIN),
        ("GRANT USE, ALTER ON MODEL m TO p", Kind.GRANT),
        ("REVOKE ALL PRIVILEGES ON MODEL m FROM p", Kind.REVOKE),
        ("CREATE TABLE t AS SELECT a FROM b VALIDATE a AGAINST 'x'", Kind.ROUTE),
        ("CREATE TABLE t AS SELECT a FROM b VALIDATE `a` AGAINST :s REJECTED INTO r", Kind.ROUTE),
        ("CREATE TABLE t AS SELECT a FROM b VALIDATE `a``b` AGAINST 'x''y' REJECTED INTO r", Kind.ROUTE),
        ("CREATE TABLE t AS SELECT a FROM b VALIDATE ```` AGAINST ? REJECTED INTO r", Kind.ROUTE),
        ('CREATE TABLE t AS SELECT a FROM b VALIDATE "a" AGAINST ? REJECTED INTO r', Kind.ROUTE),
        ("CREATE TABLE t AS SELECT a FROM b VALIDATE `limit` AGAINST ? REJECTED INTO r", Kind.ROUTE),
        ('DESCRIBE HISTORY MODEL "m"', Kind.HISTORY),
        ("  /* x */\n-- y\nALTER/**/MODEL m", Kind.ALTER),
    ],
)
def test_leading_words_decide(text: str, kind: Kind) -> None:
    recognition = recognise(text)
    assert recognition is not None
    assert recognition.kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "DESCRIBE MODEL x",
        "desc model x;",
        "DESCRIBE MODEL x;; ;",
        "DESCRIBE MODEL a.b",
        "DESCRIBE MODEL `x y`",
        "DESCRIBE MODEL `x``y`",
        'DESCRIBE MODEL "x"',
        'DESCRIBE MODEL "x""y".z',
        "DESCRIBE EXTENDED MODEL x",
        "DESC FORMATTED MODEL x",
        "DESCRIBE MODEL extended",
    ],
)
def test_the_two_word_describe_is_ours_only_without_a_table_called_model(text: str) -> None:
    recognition = recognise(text)
    assert recognition is not None
    assert recognition.kind is Kind.DESCRIBE
    assert recognition.ambiguous


@pytest.mark.parametrize(
    "text",
    ["DESCRIBE MODEL EXTENDED m", "DESCRIBE MODEL m VERSION '1'", "DESCRIBE MODEL m VERSION 1", "DESCRIBE MODEL m x"],
)
def test_longer_describes_are_always_ours(text: str) -> None:
    recognition = recognise(text)
    assert recognition is not None
    assert not recognition.ambiguous


def test_one_row_of_the_grammar_is_for_each_kind() -> None:
    assert {form.kind for form in FORMS} | {Kind.ROUTE} == set(Kind)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "a, " * 400_000,
        "CREATE TABLE t AS SELECT " + "validate " * 100_000 + "against",
        "CREATE TABLE t AS SELECT '" + "'' " * 300_000,
        "/*" * 500_000,
        "'" * 999_999,
        "`" * 999_999,
        "CREATE TABLE t AS SELECT validate " + '"' * 999_999 + "against",
        "GRANT " + "a, " * 400_000,
    ],
    ids=range(8),
)
def test_a_megabyte_is_judged_in_linear_time(text: str) -> None:
    began = time.perf_counter()
    is_model_statement(text)
    assert time.perf_counter() - began < 5  # quadratic time would be hours
