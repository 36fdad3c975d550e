"""The outermost shape of a text: words, quoted pieces, comments. Never fails, linear in the text, and lazy.

This is what decides whether a statement is ours, before anything reads it as a whole, and what masks a text that could
not be read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple


class Shape(Enum):
    """What a lexeme looks like."""

    SPACE = auto()
    COMMENT = auto()
    STRING = auto()  # in single or double quotes
    QUOTED = auto()  # in backquotes
    WORD = auto()  # letters, digits, underscores
    MARK = auto()  # any other single character
    UNCLOSED = auto()  # a quote or comment without its end; reaches to the end of the text


class Lexeme(NamedTuple):
    """One piece of a text, ``text[start:end]``; a tuple, because texts have thousands of them."""

    shape: Shape
    start: int
    end: int


# Possessive quantifiers keep a missing end quote from making the search quadratic.
_CLOSED: Final = r"""
        (?P<SPACE>\s++)
      | (?P<COMMENT>--(?:\\\n|[^\r\n])*+)
      | (?P<STRING>[rR]'[^']*+' | [rR]"[^"]*+" | '(?:[^'\\]++|\\.)*+' | "(?:[^"\\]++|\\.)*+")
      | (?P<QUOTED>`(?:[^`]++|``)*+`)
      | (?P<WORD>\w++)
      | (?P<MARK>(?!/\*)[^'"`])
"""
_LEXEME: Final = re.compile(rf"{_CLOSED} | (?P<OPEN>/\*) | (?P<UNCLOSED>['\"`])", re.VERBOSE | re.DOTALL)
# Without names: a group inside a possessive repeat raises SystemError in Python 3.11.
_UNNAMED: Final = re.sub(r"\?P<\w+>", "?:", _CLOSED)
_CLOSED_RUN: Final = re.compile(rf"(?:{_UNNAMED})*+", re.VERBOSE | re.DOTALL)
_SHAPES: Final = {shape.name: shape for shape in Shape}
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")


def lexemes(text: str) -> Iterator[Lexeme]:
    """Yield the pieces of a text in order; together they are the text."""
    position = 0
    while match := _LEXEME.match(text, position):
        group = match.lastgroup or "MARK"
        if group == "OPEN":
            end = _end_of_block(text, match.end())
            lexeme = Lexeme(Shape.COMMENT if end else Shape.UNCLOSED, position, end or len(text))
        elif group == "UNCLOSED":
            lexeme = Lexeme(Shape.UNCLOSED, position, len(text))
        else:
            lexeme = Lexeme(_SHAPES[group], position, match.end())
        yield lexeme
        position = lexeme.end


def find_unclosed(text: str) -> int | None:
    """Return where a quote or comment without its end begins; the same as the place of UNCLOSED in ``lexemes``."""
    position = 0
    while match := _CLOSED_RUN.match(text, position):
        start = match.end()
        if start == len(text):
            return None
        end = _end_of_block(text, start + 2) if text.startswith("/*", start) else None
        if end is None:
            return start
        position = end
    return None


def _end_of_block(text: str, position: int) -> int | None:
    """Return where a block comment ends that was opened before ``position``; they nest, as in Spark."""
    depth = 1
    for edge in _BLOCK_EDGE.finditer(text, position):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def leading_words(text: str, limit: int) -> str:
    """Return the first ``limit`` pieces in upper case with one space after each; comments and spaces are skipped.

    A piece in quotes is its opening quote only, so that no content of a string can look like a keyword.
    """
    words: list[str] = []
    for lexeme in lexemes(text):
        if lexeme.shape in (Shape.SPACE, Shape.COMMENT):
            continue
        piece = text[lexeme.start : lexeme.end]
        words.append(piece.upper() if lexeme.shape in (Shape.WORD, Shape.MARK) else piece[0])
        if len(words) == limit:
            break
    return "".join(f"{word} " for word in words)
