"""Names of models, and references to them in calls."""

from __future__ import annotations

import pytest

from inferlake_sql.errors import InvalidName, InvalidReference
from inferlake_sql.names import ModelName, ModelReference, make_name, near, parse_name, parse_reference
from inferlake_sql.parse import parse
from inferlake_sql.statements import DropModel


def name(*parts: str) -> ModelName:
    return ModelName(parts)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("m", ("m",)),
        ("cat.db.m", ("cat", "db", "m")),
        ("`a.b`", ("a.b",)),
        ("`a.b`.c", ("a.b", "c")),
        ("`gpt-4o`", ("gpt-4o",)),
        ("`Qwen/Qwen3-8B`", ("Qwen/Qwen3-8B",)),
        ("`a``b`", ("a`b",)),
        ("modèle", ("modèle",)),
        ("模型", ("模型",)),
        ("7b", ("7b",)),
        ("select", ("select",)),
        ("`if`", ("if",)),
        ("if", ("if",)),
    ],
)
def test_a_name_in_a_statement(written: str, parts: tuple[str, ...]) -> None:
    assert parse(f"DROP MODEL {written}") == DropModel(ModelName(parts))


def test_two_spellings_have_one_key_and_keep_their_letters() -> None:
    upper, lower = name("DB", "Modèle"), name("db", "modèle")
    assert upper.key == lower.key == "db.modèle"
    assert (upper.display, lower.display) == ("DB.Modèle", "db.modèle")


def test_a_name_is_brought_to_nfc() -> None:
    assert make_name(("mode\u0300le",)).parts == ("modèle",)


def test_a_dot_inside_a_part_is_not_a_dot_between_parts() -> None:
    assert name("a.b").key != name("a", "b").key
    assert name("a.b").display == "`a.b`"
    assert (name("c", "a.b").namespace, name("c", "a.b").last) == ("c", "a.b")


def test_a_name_that_is_a_word_of_the_language_is_printed_in_backquotes() -> None:
    assert name("if").display == "`if`"
    assert name("Version").display == "`Version`"
    assert name("Version").key == "version"


@pytest.mark.parametrize(
    "parts", [(), ("a", "b", "c", "d"), ("",), (" ",), ("a\nb",), ("a\u2028b",), ("a" * 256,), ("a" * 200, "b" * 55)]
)
def test_a_name_that_cannot_be_used(parts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidName):
        make_name(parts)


def test_a_name_may_be_255_characters_long() -> None:
    assert make_name(("a" * 255,)).parts == ("a" * 255,)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("m", ModelReference(name("m"))),
        ("db.m", ModelReference(name("db", "m"), verbatim=name("db.m"))),
        ("m@champion", ModelReference(name("m"), alias="champion")),
        ("m:2.1", ModelReference(name("m"), version="2.1")),
        ("db.m:2.10", ModelReference(name("db", "m"), version="2.10", verbatim=name("db.m"))),
        ("gpt-4o", ModelReference(name("gpt-4o"))),
        ("Qwen/Qwen3-8B", ModelReference(name("Qwen/Qwen3-8B"))),
        ("gpt-4.1", ModelReference(name("gpt-4", "1"), verbatim=name("gpt-4.1"))),
        ("a-1.2.3.4", ModelReference(name("a-1.2.3.4"), verbatim=name("a-1.2.3.4"))),
        ("`a@b:c`", ModelReference(name("a@b:c"))),
        ("`a@b`@x", ModelReference(name("a@b"), alias="x")),
        ("db.`a.b`:1", ModelReference(name("db", "a.b"), version="1")),
    ],
)
def test_a_reference_in_a_call(text: str, reference: ModelReference) -> None:
    assert parse_reference(text) == reference
    assert parse_reference(text).pinned is (reference.version is not None or reference.alias is not None)


@pytest.mark.parametrize(
    "text", ["", "@x", ":1", "m@", "m:", "m@a:1", "m:1@a", "m$x", "m..n", "`a", " m", "m@`a`", "."]
)
def test_a_reference_that_is_none(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_reference(text)


def test_a_name_outside_a_statement_takes_no_version() -> None:
    assert parse_name("db.m") == name("db", "m")
    with pytest.raises(InvalidName):
        parse_name("m:1")


def test_near_names_come_closest_first_and_at_most_three() -> None:
    known = ["intent", "intents", "Intention", "intend", "weather"]
    assert near("Intent", known) == ("intent", "intents", "intend")
    assert near("zzz", known) == ()
