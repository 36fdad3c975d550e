"""A text with everything masked that could be a secret, letter for letter, so that positions stay right."""

from __future__ import annotations

import re
from typing import Final

from inferlake_sql.errors import Place
from inferlake_sql.scan import Lexeme, Shape, lexemes
from inferlake_sql.vocabulary import PLAIN_WORD, VOCABULARY

# Where a text mentions one of these, a value may stand anywhere, even outside quotes when a quote is missing. A
# definition is suspicious without such a word too: the slip may have hit the word itself, as in api.k'ey='…'.
_SUSPICIOUS: Final = re.compile(
    r"key|token|secret|passw|auth|bearer|header|credential|cookie|sk-|\b(?:create|alter)\b.{0,200}?\bmodel\b",
    re.IGNORECASE | re.DOTALL,
)
_VALUES_FOLLOW: Final = frozenset({"PROPERTIES", "TBLPROPERTIES", "OPTIONS", "WITH", "SET", "LOCATION"})
_NAME_FOLLOWS: Final = frozenset({"MODEL", "EXISTS", "LIKE", "TO", "."})
_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,6}", re.ASCII)
_SNIPPET_WIDTH: Final = 120


def redact(text: str, upto: int | None = None) -> str:
    """Return the text with the content of strings and comments masked by ``*``, at equal length.

    With ``upto`` it may end anywhere behind that offset.

    When the text defines a model or mentions keys or tokens, words are masked as well: from the first value or quote on
    every one that is not part of the language (a lost quote turns strings inside out and must not uncover what stood in
    them), before it those that are neither a name nor plain letters.
    """
    suspicious = mentions_secrets(text)
    pieces: list[str] = []
    values_follow = False
    before = ""
    for lexeme in lexemes(text):
        if upto is not None and lexeme.start > upto:
            break
        piece = text[lexeme.start : lexeme.end]
        pieces.append(_mask(lexeme, piece, hide_word=suspicious and not _is_harmless(piece, before, values_follow)))
        values_follow = values_follow or _starts_values(lexeme, piece)
        if lexeme.shape not in (Shape.SPACE, Shape.COMMENT):
            before = piece.upper()
    return "".join(pieces)


def mentions_secrets(text: str) -> bool:
    """Whether a text defines a model or speaks of keys, so that a word of it may be one."""
    return _SUSPICIOUS.search(text) is not None


def _is_harmless(piece: str, before: str, values_follow: bool) -> bool:
    """Whether a word cannot be a secret, by itself and by what stands before it."""
    if piece.upper() in VOCABULARY or _SHORT_NUMBER.fullmatch(piece):
        return True
    return not values_follow and (before in _NAME_FOLLOWS or PLAIN_WORD.fullmatch(piece) is not None)


def _starts_values(lexeme: Lexeme, piece: str) -> bool:
    quoted = lexeme.shape in (Shape.STRING, Shape.UNCLOSED)
    return quoted or piece in ("=", "(") or piece.upper() in _VALUES_FOLLOW


def _mask(lexeme: Lexeme, piece: str, *, hide_word: bool) -> str:
    match lexeme.shape:
        case Shape.STRING:
            opening = 2 if piece[0] in "rR" else 1
            return piece[:opening] + _stars(piece[opening:-1]) + piece[-1]
        case Shape.UNCLOSED:
            return piece[0] + _stars(piece[1:])
        case Shape.COMMENT:
            return piece[:2] + _stars(piece[2:])
        case Shape.QUOTED:
            return piece[0] + _stars(piece[1:-1]) + piece[-1] if hide_word else piece
        case Shape.WORD:
            return _stars(piece) if hide_word else piece
        case Shape.SPACE | Shape.MARK:
            return piece


def _stars(text: str) -> str:
    return "".join(character if character in "\r\n" else "*" for character in text)


def place_at(text: str, offset: int) -> Place:
    """Return the place of an offset, with a snippet of its line that shows no secret and a caret below it."""
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    shown_from = max(line_start, offset - _SNIPPET_WIDTH // 2)
    shown_to = min(line_end, shown_from + _SNIPPET_WIDTH)
    shown = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", " ", redact(text, shown_to)[shown_from:shown_to])
    return Place(
        line=text.count("\n", 0, offset) + 1,
        column=offset - line_start + 1,
        snippet=f"{shown}\n{' ' * (offset - shown_from)}^",
    )
