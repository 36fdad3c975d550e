"""Finding calls of our functions in queries."""

from __future__ import annotations

import pytest

from inferlake_sql.calls import Constancy, find_calls, replace_models, require_constant_models
from inferlake_sql.errors import InvalidParameter, ModelNotConstant
from inferlake_sql.names import ModelName, ModelReference


def only(text: str, **options: object) -> tuple[str, Constancy, str | None]:
    (call,) = find_calls(text, **options)  # type: ignore[arg-type]
    return call.function, call.constancy, call.model


@pytest.mark.parametrize(
    ("argument", "constancy", "model"),
    [
        ("'m'", Constancy.LITERAL, "m"),
        ('"m:2.1"', Constancy.LITERAL, "m:2.1"),
        ("'it''s'", Constancy.LITERAL, "it's"),
        ("r'm'", Constancy.LITERAL, "m"),
        ("('m')", Constancy.LITERAL, "m"),
        ("'m' 'n'", Constancy.LITERAL, "mn"),
        ("'m' || ':1'", Constancy.LITERAL, "m:1"),
        ("model => 'm'", Constancy.LITERAL, "m"),
        ("concat('m', ':', 1)", Constancy.FOLDABLE, None),
        ("CAST('m' AS STRING)", Constancy.FOLDABLE, None),
        ("CASE WHEN TRUE THEN 'm' ELSE NULL END", Constancy.FOLDABLE, None),
        ("current_user()", Constancy.FOLDABLE, None),
        (":model", Constancy.FOLDABLE, None),
        ("col", Constancy.NAMES, None),
        ("`col`", Constancy.NAMES, None),
        ("t.col", Constancy.NAMES, None),
        ("concat('m', col)", Constancy.NAMES, None),
        ("(SELECT max(m) FROM x)", Constancy.NAMES, None),
        ("concat('m', CAST(rand() AS STRING))", Constancy.NAMES, None),
        ("uuid()", Constancy.NAMES, None),
    ],
)
def test_what_a_model_argument_is(argument: str, constancy: Constancy, model: str | None) -> None:
    assert only(f"SELECT ai_function({argument}, text) FROM t") == ("ai_function", constancy, model)


@pytest.mark.parametrize("function", ["ai_function", "TRY_AI_FUNCTION", "Ai_Query"])
def test_each_function_that_takes_a_model(function: str) -> None:
    assert only(f"SELECT {function} /* why */ ('m', text)") == (function.lower(), Constancy.LITERAL, "m")


def test_ai_validate_takes_no_model() -> None:
    assert only("SELECT ai_validate(o, '{}')") == ("ai_validate", Constancy.MISSING, None)


def test_named_arguments_in_any_order() -> None:
    text = "SELECT ai_query(request => concat(a, ','), model => 'm', failOnError => false)"
    (call,) = find_calls(text)
    assert call.model == "m"
    assert [argument.name for argument in call.arguments] == ["request", "model", "failonerror"]
    assert [text[argument.start : argument.end] for argument in call.arguments] == ["concat(a, ',')", "'m'", "false"]


def test_inner_calls_come_before_outer_ones() -> None:
    text = "SELECT ai_function('a', ai_function('b', t), map('k', ai_function('c', t)))"
    assert [call.model for call in find_calls(text)] == ["b", "c", "a"]
    assert [text[call.start : call.start + 16] for call in find_calls(text)] == [
        "ai_function('b',",
        "ai_function('c',",
        "ai_function('a',",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'ai_function(''m'', t)'",
        "SELECT 1 -- ai_function('m', t)",
        "SELECT my.ai_function('m', t)",
        "SELECT ai_function FROM ai_query",
        "CREATE TEMPORARY FUNCTION ai_function(a STRING) RETURN a",
        "SELECT ai_functions('m', t)",
        "SELECT 'ai_function(",
        "SELECT 1 -- on \\\n, ai_function('m', t)",
        "INSERT INTO ai_function (a) VALUES (1)",
        "INSERT OVERWRITE ai_query (a) VALUES (1)",
        "CREATE TABLE t (a INT REFERENCES ai_function (id))",
        "WITH ai_function (a) AS (SELECT 1), ai_query(b) AS (SELECT 2) SELECT a FROM ai_function",
        "WITH RECURSIVE ai_function (a) MAX RECURSION LEVEL 3 AS (SELECT 1) SELECT a FROM ai_function",
        "SELECT a FROM x AS ai_function(a)",
        "SELECT a FROM (SELECT 1) ai_function(a)",
        "",
    ],
)
def test_what_only_looks_like_a_call(text: str) -> None:
    assert find_calls(text) == ()


@pytest.mark.parametrize(
    "before",
    ["", "/*+ BROADCAST(x) */ ", "(a), ", "-- a comment\r", "-- a comment\r\n", "'-- no comment \\\n', ", "'as', "],
)
def test_what_may_stand_before_a_call(before: str) -> None:
    text = f"SELECT {before}ai_function('m', t)"
    (call,) = find_calls(text)
    assert text[call.start : call.end] == "ai_function('m', t)"


def test_a_call_qualified_by_the_session_is_ours() -> None:
    assert only("SELECT session.ai_function('m', t)") == ("ai_function", Constancy.LITERAL, "m")


def test_a_call_without_arguments() -> None:
    (call,) = find_calls("SELECT ai_function()")
    assert (call.arguments, call.constancy) == ((), Constancy.MISSING)


def test_markers_take_their_values() -> None:
    text = "SELECT ? AS x, ai_function(?, ?)"
    assert only(text, args=["x", "m", "t"]) == ("ai_function", Constancy.LITERAL, "m")
    assert only("SELECT ai_function(:m, t)", args={"m": "m:1"}) == ("ai_function", Constancy.LITERAL, "m:1")
    with pytest.raises(InvalidParameter):
        find_calls("SELECT ai_function(:m, t)", args={})


def test_a_model_that_depends_on_the_row_is_refused_with_its_place() -> None:
    text = "SELECT ai_function('m', t),\n  ai_function(col, t)"
    with pytest.raises(ModelNotConstant) as raised:
        require_constant_models(text, find_calls(text))
    assert (raised.value.fields["line"], raised.value.fields["column"]) == (2, 15)
    assert "CASE" in raised.value.message
    require_constant_models("", find_calls("SELECT ai_function(concat('m', '1'), t)"))


def test_pinning_replaces_only_the_model_arguments() -> None:
    text = (
        "SELECT ai_function( 'm' /* x */, 'm'), ai_query(request => 'm', model => ('m')), ai_function(concat('m'), 'm')"
    )
    pinned = replace_models(text, {call: f"{call.model}:2.1" for call in find_calls(text) if call.model})
    assert pinned == (
        "SELECT ai_function( 'm:2.1' /* x */, 'm'), ai_query(request => 'm', model => 'm:2.1'), "
        "ai_function(concat('m'), 'm')"
    )


def test_the_reference_of_a_call() -> None:
    (call,) = find_calls("SELECT ai_function('m@champion', t)")
    assert call.reference == ModelReference(ModelName(("m",)), alias="champion")


@pytest.mark.parametrize(
    "text",
    ["ai_function(" * 20_000, "ai_function(" * 20_000 + "'m'" + ")" * 20_000, "ai_function(?," * 20_000 + ")" * 20_000],
)
def test_thousands_of_nested_calls_are_no_problem(text: str) -> None:
    assert len(find_calls("SELECT " + text)) in (0, 20_000)
