"""The titled texts of tests/fixtures: what is accepted and how it is printed, what is refused, what is not ours."""

from __future__ import annotations

import pytest
from statement_fixtures import Block, read_blocks

from inferlake_sql.errors import LanguageError
from inferlake_sql.grammar import is_model_statement
from inferlake_sql.parse import parse
from inferlake_sql.render import render


@pytest.mark.parametrize("block", read_blocks("statements.sql"), ids=str)
def test_accepted_text_has_its_canonical_form_which_means_the_same(block: Block) -> None:
    statement = parse(block.text)
    assert statement is not None
    canonical = render(statement)
    assert canonical == (block.expected or block.text)
    assert parse(canonical) == statement


@pytest.mark.parametrize("block", read_blocks("refused_statements.sql"), ids=str)
def test_refused_text_gets_its_code_and_a_place_that_fits(block: Block) -> None:
    assert is_model_statement(block.text)
    with pytest.raises(LanguageError) as raised:
        parse(block.text)
    error = raised.value
    assert error.code == block.expected
    line, column = error.fields["line"], error.fields["column"]
    assert isinstance(line, int) and isinstance(column, int)
    lines = block.text.split("\n")
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1
    shown, caret = str(error.fields["snippet"]).split("\n")
    assert len(caret) <= len(shown) + 1
    assert caret.strip() == "^"


@pytest.mark.parametrize("block", read_blocks("not_ours.sql"), ids=str)
def test_text_that_is_not_ours_is_told_apart(block: Block) -> None:
    assert not is_model_statement(block.text)
    assert parse(block.text) is None
