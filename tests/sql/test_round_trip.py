"""parse(render(x)) == x for statements of every kind; INFERLAKE_THOROUGH=1 tries 10,000 of them."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from statement_strategies import statements, texts

from inferlake_sql.errors import LanguageError
from inferlake_sql.names import ModelName
from inferlake_sql.parse import parse
from inferlake_sql.render import quote_string, render, render_pretty
from inferlake_sql.statements import CreateModel, SetComment, SetProperties, Statement
from inferlake_sql.tokens import TokenKind, tokenize

THOROUGH = bool(os.environ.get("INFERLAKE_THOROUGH"))
profile = settings(
    max_examples=10_000 if THOROUGH else 400,
    deadline=None,
    derandomize=not THOROUGH,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@profile
@given(statements)
def test_what_is_printed_means_the_same(statement: Statement) -> None:
    text = render(statement)
    assert parse(text) == statement
    assert render(statement) == text
    if isinstance(statement, CreateModel):
        assert parse(render_pretty(statement)) == statement


@profile
@given(statements)
def test_a_comment_between_any_two_tokens_changes_nothing(statement: Statement) -> None:
    text = render(statement)
    if "EXPLAIN AI" in text[:10] or text.startswith("CREATE TABLE"):
        return  # the query inside keeps its comments
    spaced = "/* ; */ -- '\n".join(text[token.start : token.end] for token in tokenize(text))
    assert parse(spaced) == statement


@profile
@given(texts)
def test_any_text_survives_as_a_string_and_as_a_name(text: str) -> None:
    (token, _) = tokenize(quote_string(text))
    assert (token.kind, token.text) == (TokenKind.STRING, text)
    assert parse(f"COMMENT ON MODEL m IS {quote_string(text)}") == SetComment(ModelName(("m",)), text)


@profile
@given(texts)
def test_a_key_comes_back_when_it_is_asked_for_and_only_then(key: str) -> None:
    try:
        statement = parse(f"ALTER MODEL m SET api.key = {quote_string(key)}")
    except LanguageError:
        return
    assert isinstance(statement, SetProperties)
    shown = render(statement)
    revealed = render(statement, reveal=True)
    again = parse(revealed)
    assert again is not None
    assert render(again, reveal=True) == revealed
    assert shown in ("ALTER MODEL m SET PROPERTIES ('api.key' = '******')", revealed)
