"""The tokens of a statement: sqlglot's Spark tokenizer, with every word a word and every string whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Final, NamedTuple

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken
from sqlglot.tokenizer_core import TokenType

from inferlake_sql.errors import NestingTooDeep, UnreadableText
from inferlake_sql.redact import place_at
from inferlake_sql.scan import Shape, find_unclosed, lexemes


class TokenKind(Enum):
    """What a token is to our grammar."""

    WORD = auto()  # text as written
    QUOTED = auto()  # text without backquotes
    STRING = auto()  # text unescaped
    NUMBER = auto()  # text as written, suffix included
    MARK = auto()  # punctuation, and whatever else there is
    END = auto()  # behind the last token


class Token(NamedTuple):
    """One token and the slice of the source it came from; a tuple, because texts have thousands of them."""

    kind: TokenKind
    text: str
    start: int
    end: int  # exclusive


@dataclass(frozen=True, slots=True)
class Quoting:
    """The two settings of a session that change how quotes are read."""

    escaped_string_literals: bool = False  # spark.sql.parser.escapedStringLiterals: a backslash is a backslash
    double_quoted_identifiers: bool = False  # spark.sql.ansi.doubleQuotedIdentifiers: "x" is a name


DEFAULT_QUOTING: Final = Quoting()


class _Words(Spark.Tokenizer):
    """Spark's tokenizer without keywords: ours are known by place, and none may swallow the rest as a command."""

    KEYWORDS: ClassVar = {
        word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if not word[0].isalpha() and "{" not in word
    }
    COMMANDS: ClassVar[set[TokenType]] = set()


class _AnsiWords(_Words):
    QUOTES: ClassVar = ["'"]
    IDENTIFIERS: ClassVar = ["`", '"']


for _tokenizer in (_Words, _AnsiWords):
    _tokenizer._COMMENTS.pop("{#", None)  # sqlglot adds template comments to every dialect; Spark has none

_KINDS: Final = {
    TokenType.VAR: TokenKind.WORD,
    TokenType.IDENTIFIER: TokenKind.QUOTED,
    TokenType.STRING: TokenKind.STRING,
    TokenType.RAW_STRING: TokenKind.STRING,
    TokenType.NUMBER: TokenKind.NUMBER,
}
_UNUSABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def tokenize(text: str, quoting: Quoting = DEFAULT_QUOTING) -> list[Token]:
    """Return the tokens of a text with an END token behind them.

    Raises UnreadableText for an unclosed quote or comment, for a NUL character and for half a surrogate pair.
    """
    _check_characters(text)
    _check_closed(text)
    raw = _tokenize(text, quoting)
    if isinstance(raw, int):
        # Raised here and not where it was caught: sqlglot's error holds the text and would hang on ours.
        raise UnreadableText("a quote or number is malformed").located(place_at(text, raw))
    tokens = list(_join_doubled_quotes(text, _convert(text, raw, quoting)))
    for token in tokens:
        if token.kind is TokenKind.STRING and "\0" in token.text:
            raise UnreadableText("a string holds a NUL character").located(place_at(text, token.start))
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


def _tokenize(text: str, quoting: Quoting) -> list[SqlglotToken] | int:
    """Return sqlglot's tokens, or the offset of what it cannot read."""
    tokenizer = (_AnsiWords if quoting.double_quoted_identifiers else _Words)(dialect="spark")
    try:
        return tokenizer.tokenize(_with_plain_comments(text))
    except TokenError as error:
        return error.start or 0


def _with_plain_comments(text: str) -> str:
    """Return the text, as long as before, with each line comment ending at a newline, which is how sqlglot reads them.

    To Spark a carriage return ends one too, and behind a backslash it goes on in the next line.
    """
    if "--" not in text or ("\r" not in text and "\\\n" not in text):
        return text
    pieces: list[str] = []
    behind_comment = False
    for lexeme in lexemes(text):
        piece = text[lexeme.start : lexeme.end]
        if behind_comment and piece[0] == "\r":
            piece = f"\n{piece[1:]}"
        behind_comment = lexeme.shape is Shape.COMMENT and piece.startswith("--")
        pieces.append(piece.replace("\n", " ") if behind_comment else piece)
    return "".join(pieces)


def check_nesting(text: str, tokens: list[Token], limit: int) -> None:
    """Raise NestingTooDeep at the bracket that goes beyond ``limit``."""
    depth = 0
    for token in tokens:
        if token.kind is not TokenKind.MARK:
            continue
        if token.text in _OPENING:
            depth += 1
            if depth > limit:
                raise NestingTooDeep(limit).located(place_at(text, token.start))
        elif token.text in _CLOSING:
            depth -= 1


def _check_characters(text: str) -> None:
    if unusable := _UNUSABLE.search(text):
        what = "it holds a NUL character or half a surrogate pair"
        raise UnreadableText(what).located(place_at(text, unusable.start()))


def _check_closed(text: str) -> None:
    start = find_unclosed(text)
    if start is not None:
        what = "comment" if text[start] == "/" else "quote"
        raise UnreadableText(f"a {what} has no end").located(place_at(text, start))


def _convert(text: str, raw: list[SqlglotToken], quoting: Quoting) -> Iterator[Token]:
    position = 0
    for token in raw:
        if token.start < position:  # sqlglot splits 1L into a number, '::' and a type, all at one place
            continue
        position = token.end + 1
        kind = _KINDS.get(token.token_type, TokenKind.MARK)
        content = text[token.start : position]
        if kind is TokenKind.QUOTED:
            content = token.text
        elif kind is TokenKind.STRING:
            raw_string = quoting.escaped_string_literals and token.token_type is TokenType.STRING
            content = content[1:-1] if raw_string else token.text
        yield Token(kind, content, token.start, position)


def _join_doubled_quotes(text: str, tokens: Iterator[Token]) -> Iterator[Token]:
    """Make one string of ``'it''s'``, which sqlglot reads as two that touch."""
    pending: Token | None = None
    for token in tokens:
        if pending and token.kind is pending.kind is TokenKind.STRING and _touch(text, pending, token):
            pending = Token(
                TokenKind.STRING, f"{pending.text}{text[token.start]}{token.text}", pending.start, token.end
            )
            continue
        if pending:
            yield pending
        pending = token
    if pending:
        yield pending


def _touch(text: str, left: Token, right: Token) -> bool:
    return left.end == right.start and text[left.end - 1] == text[right.start] and text[left.start] in "'\""
