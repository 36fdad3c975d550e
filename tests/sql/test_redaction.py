"""What an error or a log may show of a text."""

from __future__ import annotations

import pytest
from statement_fixtures import Block, read_blocks

from inferlake_sql.errors import InferlakeError
from inferlake_sql.parse import parse
from inferlake_sql.redact import place_at, redact
from inferlake_sql.render import render
from inferlake_sql.statements import CreateModel

CANARY = "sk-canary-7f3a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ALTER MODEL m SET qps.limit = 5", "ALTER MODEL m SET qps.limit = 5"),
        ("ALTER MODEL m SET COMMENT 'x y'", "ALTER MODEL m SET COMMENT '***'"),
        ("DROP MODEL m -- note", "DROP MODEL m --*****"),
        ("DROP MODEL m /* a\nb */", "DROP MODEL m /***\n****"),
        ("ALTER MODEL m SET api.key = sk-abc", "ALTER MODEL m SET api.key = **-***"),
        ("ALTER MODEL m SET `api.key` = `abc`", "ALTER MODEL m SET `*******` = `***`"),
        ("ALTER MODEL m SET api.key = 'abc", "ALTER MODEL m SET api.key = '***"),
        ("SELECT r'abc', \"d\"", "SELECT r'***', \"*\""),
    ],
)
def test_masking_keeps_length_and_lines(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert len(redact(text)) == len(text)


STATEMENT = (
    f"CREATE MODEL m USING 'ray-serve' LOCATION 'https://h/v1' PROPERTIES ('api.key' = '{CANARY}', 'qps.limit' = 5)"
)


def _broken() -> list[str]:
    """Every way to drop or double one character of a statement that holds a key."""
    dropped = [STATEMENT[:i] + STATEMENT[i + 1 :] for i in range(len(STATEMENT))]
    doubled = [STATEMENT[:i] + STATEMENT[i] + STATEMENT[i:] for i in range(len(STATEMENT))]
    marked = [STATEMENT[:i] + mark + STATEMENT[i:] for i in range(len(STATEMENT)) for mark in "'\"`;(),\0"]
    return dropped + doubled + marked


def test_no_typo_uncovers_the_key() -> None:
    fragments = {CANARY[i : i + 5] for i in range(len(CANARY) - 4)}
    for text in _broken():
        try:
            shown = repr(parse(text))
        except InferlakeError as error:
            shown = f"{error}{error!r}{error.fields}{error.args}"
        assert not any(fragment in shown for fragment in fragments), text


@pytest.mark.parametrize("block", read_blocks("refused_statements.sql"), ids=str)
def test_no_refused_text_shows_a_string(block: Block) -> None:
    text = block.text.replace("'https://h/v1'", f"'https://h/{CANARY}'")
    with pytest.raises(InferlakeError) as raised:
        parse(text)
    assert CANARY not in str(raised.value) + str(raised.value.fields)


def test_a_secret_is_not_in_what_is_printed() -> None:
    statement = parse(STATEMENT)
    assert isinstance(statement, CreateModel)
    assert CANARY not in repr(statement)
    assert "'api.key' = '******'" in render(statement)


def test_a_place_in_a_long_line_shows_its_surroundings() -> None:
    text = "x" * 10_000 + " y\nz"
    place = place_at(text, 10_001)
    assert (place.line, place.column) == (1, 10_002)
    shown, caret = place.snippet.split("\n")
    assert len(shown) < 130
    assert shown[caret.index("^")] == "y"


def test_a_place_at_the_end_of_the_text() -> None:
    assert place_at("", 0).snippet == "\n^"
    assert (place_at("a\nb", 3).line, place_at("a\nb", 3).column) == (2, 2)
