"""Where a query ends and its VALIDATE clause begins."""

from __future__ import annotations

from inferlake_sql.scan import Lexeme, Shape, lexemes
from inferlake_sql.vocabulary import CONNECTING


def find_routing(text: str) -> int | None:
    """Return the offset of VALIDATE in ``VALIDATE column AGAINST 'schema'`` outside of brackets; None without it.

    The schema may be a parameter marker. The last such place counts. Time is linear in the text.
    """
    lowered = text.lower()
    if "validate" not in lowered or "against" not in lowered:
        return None
    found: int | None = None
    depth = 0
    window: list[Lexeme] = []  # the last four pieces outside of brackets
    for lexeme in lexemes(text):
        if lexeme.shape in (Shape.SPACE, Shape.COMMENT):
            continue
        mark = text[lexeme.start] if lexeme.shape is Shape.MARK else ""
        if mark and mark in "([{":
            depth += 1
        elif mark and mark in ")]}":
            depth -= 1
        if depth:
            window.clear()
            continue
        window = [*window[-3:], lexeme]
        if len(window) == 4 and _is_routing(text, window):
            found = window[0].start
    return found


def _is_routing(text: str, window: list[Lexeme]) -> bool:
    validate, column, against, schema = window
    if _word(text, validate) != "VALIDATE" or _word(text, against) != "AGAINST":
        return False
    word = _word(text, column)
    named = text[column.start] in '`"' or (word != "" and word not in CONNECTING)
    return named and (schema.shape is Shape.STRING or text[schema.start] in ":?")


def _word(text: str, lexeme: Lexeme) -> str:
    return text[lexeme.start : lexeme.end].upper() if lexeme.shape is Shape.WORD else ""
