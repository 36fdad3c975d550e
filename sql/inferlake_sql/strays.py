"""Definitions of models that no statement begins with: misspelt, behind something else, or in the middle of a script.

Spark cannot read them either, and must not be asked: its error repeats the text, and a Connect server notes the text
before it reads it. The text may hold a key.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate, islice
from typing import Final

from inferlake_sql.errors import LanguageError, MultipleStatements, StatementSyntaxError, UnreadableText
from inferlake_sql.grammar import FORMS, Kind, recognise
from inferlake_sql.redact import place_at
from inferlake_sql.scan import Lexeme, Shape, find_unclosed, lexemes
from inferlake_sql.vocabulary import CONNECTING

_AROUND: Final = r"(?:(?:OR|REPLACE|UPDATE|GLOBAL|LOCAL|TEMP|TEMPORARY|EXTERNAL|IF|NOT|EXISTS|AI|ML) )*+"
_PART: Final = r"""(?:\w+|`|"(?: ")*)"""
# What follows tells a definition from a query that happens to call a column `create` and its alias `model`.
_ANYWHERE: Final = re.compile(
    rf"(?<!\S)(CREATE|ALTER) {_AROUND}MODEL {_AROUND}(?!(?:{'|'.join(sorted(CONNECTING))}) ){_PART}(?: \. {_PART})* "
    r"(?:USING|LOCATION|PROPERTIES|OPTIONS|TBLPROPERTIES|WITH|SET|ADD|VERSION|INPUT|OUTPUT) "
)
_BEGINNING: Final = re.compile(rf"(?:[^\w\s'\"`] )*(\w+) {_AROUND}(\w+) ")
# Spark reads whatever follows as the setting's value, up to a semicolon.
_SETTING: Final = re.compile(r"SET (?!VAR |VARIABLE )(?:`|\w+(?: [.:] \w+)*) = ")
_FUSED: Final = re.compile(r"(?:[^\w\s'\"`] )*(\w+) ")
_LOOK_AHEAD: Final = 16  # words in which a misspelt beginning must lie
_ALIKE: Final = 0.72  # MODLE, MODELL and ALTR are, NODE and CREATED_AT are not
_VERBS: Final = {"CREATE": Kind.CREATE, "ALTER": Kind.ALTER}
_SYNTAX: Final = {form.kind: form.syntax for form in FORMS}


def refuse_strays(text: str) -> None:
    """Raise StatementSyntaxError or MultipleStatements for a text, not recognised as ours, that was meant to be.

    No text that Spark understands is refused. Costs next to nothing for a text without the word MODEL.
    """
    first = list(islice(_pieces(text), _LOOK_AHEAD))
    error = _beginning(text, first) or _in_quotes(text, first)
    if error is None and "MODEL" in text.upper() and not _is_setting(text, first):
        error = _anywhere(text, list(_pieces(text)))
    if error is not None:
        raise error


def _is_setting(text: str, first: list[Lexeme]) -> bool:
    return _SETTING.match(_words(text, first)) is not None and ";" not in text.rstrip("; \n")


def _pieces(text: str) -> Iterator[Lexeme]:
    return (lexeme for lexeme in lexemes(text) if lexeme.shape not in (Shape.SPACE, Shape.COMMENT))


def _in_quotes(text: str, first: list[Lexeme]) -> LanguageError | None:
    """Return the error of a text that is quoted as a whole, or swallowed by a quote or comment without its end."""
    quoted = first[2:3] if _words(text, first[:2]) == "EXECUTE IMMEDIATE " else first[:1]
    insides = [(piece.start, piece.end) for piece in quoted if piece.shape not in (Shape.WORD, Shape.MARK)]
    unclosed = find_unclosed(text)
    if unclosed is not None:
        insides.append((unclosed, len(text)))
    for start, end in insides:
        inside = text[start + 1 : end].lstrip("*'\"")
        if recognise(inside) or _is_stray(inside):
            return UnreadableText("a statement stands inside quotes or a comment").located(place_at(text, start))
    return None


def _is_stray(text: str) -> bool:
    try:
        refuse_strays(text)
    except LanguageError:
        return True
    return False


def _beginning(text: str, pieces: list[Lexeme]) -> LanguageError | None:
    """Return the error of a text that begins almost as a definition does."""
    words = _words(text, pieces)
    if match := _BEGINNING.match(words):
        verb = _nearest(match[1])
        if verb is not None and _likeness(match[2], "MODEL") >= _ALIKE:
            return _misspelt(text, pieces[0], verb)
    if match := _FUSED.match(words):
        for verb in _VERBS:
            if _likeness(match[1], f"{verb}MODEL") > _ALIKE and match[1].endswith("L"):
                return _misspelt(text, pieces[0], verb)
    return None


def _anywhere(text: str, pieces: list[Lexeme]) -> LanguageError | None:
    """Return the error of a text that holds a definition behind something else."""
    words = _words(text, pieces)
    match = _ANYWHERE.search(words)
    if match is None:
        return None
    starts = list(accumulate((len(word) + 1 for word in words.split(" ")), initial=0))
    at = pieces[bisect_right(starts, match.start()) - 1]
    if ";" in words[: match.start()].split():
        return MultipleStatements().located(place_at(text, at.start))
    return _misspelt(text, at, match[1])


def _words(text: str, pieces: list[Lexeme]) -> str:
    """Return the pieces in upper case with a space after each; one in quotes is its quote only."""
    return "".join(f"{_word(text, lexeme)} " for lexeme in pieces)


def _word(text: str, lexeme: Lexeme) -> str:
    # A letter may become several in upper case, but never a space.
    piece = text[lexeme.start : lexeme.end]
    return piece.upper() if lexeme.shape in (Shape.WORD, Shape.MARK) else piece[0]


def _nearest(word: str) -> str | None:
    return next((verb for verb in _VERBS if _likeness(word, verb) >= _ALIKE), None)


def _likeness(word: str, wanted: str) -> float:
    return 0.0 if len(word) > 2 * len(wanted) else SequenceMatcher(None, word, wanted).ratio()


def _misspelt(text: str, at: Lexeme, verb: str) -> LanguageError:
    wanted = f"{verb} MODEL at the beginning of the statement"
    error = StatementSyntaxError("something else before it or in its place", [wanted], _SYNTAX[_VERBS[verb]])
    return error.located(place_at(text, at.start))
