"""Splitting a script into statements, by tokens: a semicolon in a string, a name or a comment does not split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inferlake_sql.errors import UnreadableText
from inferlake_sql.grammar import Recognition, recognise
from inferlake_sql.redact import place_at
from inferlake_sql.scan import Shape, lexemes


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement of a script: its text without the semicolon, where it begins, and whether it is ours."""

    text: str
    line: int  # 1-based, of its first word
    recognition: Recognition | None


def split_script(text: str) -> Iterator[ScriptStatement]:
    """Yield the statements of a script in order; empty ones and lone comments are left out.

    Comments inside and in front of a statement stay with it. Raises UnreadableText at a quote or comment without its
    end, after the statements before it were yielded. Scripting blocks (BEGIN … END) are not
    known: each semicolon splits.
    """
    start, has_words = 0, False
    line, counted = 1, 0
    for lexeme in lexemes(text):
        if lexeme.shape is Shape.UNCLOSED:
            raise UnreadableText("a quote or comment has no end").located(place_at(text, lexeme.start))
        if lexeme.shape in (Shape.SPACE, Shape.COMMENT):
            continue
        if lexeme.shape is Shape.MARK and text[lexeme.start] == ";":
            if has_words:
                yield _statement(text[start : lexeme.start], line)
            start, has_words = lexeme.end, False
        elif not has_words:
            line += text.count("\n", counted, lexeme.start)
            has_words, counted = True, lexeme.start
    if has_words:
        yield _statement(text[start:], line)


def is_complete(text: str) -> bool:
    """Whether a prompt may run the text: all quotes are closed and the last thing outside comments is ``;``."""
    last = ""
    for lexeme in lexemes(text):
        if lexeme.shape is Shape.UNCLOSED:
            return False
        if lexeme.shape not in (Shape.SPACE, Shape.COMMENT):
            last = text[lexeme.start : lexeme.end]
    return last == ";"


def _statement(text: str, line: int) -> ScriptStatement:
    piece = text.strip()
    return ScriptStatement(piece, line, recognise(piece))
