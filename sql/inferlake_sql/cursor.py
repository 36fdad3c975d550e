"""Reading tokens one after another, and saying what would have been right when they are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from inferlake_sql.errors import LanguageError, MultipleStatements, StatementSyntaxError
from inferlake_sql.parameters import Parameters, named_value, positional_value
from inferlake_sql.redact import place_at, redact
from inferlake_sql.tokens import Token, TokenKind

_LONGEST_SHOWN = 40  # characters of a word in a message
_WORDY = (TokenKind.WORD, TokenKind.NUMBER)


@dataclass(slots=True)
class Cursor:
    """A position in a list of tokens; every failed look is remembered and becomes the error's ``expected``."""

    text: str
    tokens: list[Token]
    syntax: str
    args: Parameters | None = None
    index: int = 0
    _tried: list[str] = field(default_factory=list)
    _placeholders: int = 0  # markers '?' that were passed, those in a query included

    @property
    def here(self) -> Token:
        """The token to be read next; END at the end."""
        return self.tokens[self.index]

    def ahead(self, count: int) -> Token:
        """Return the token ``count`` places on, END beyond the end."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token, whatever it is."""
        token = self.here
        if token.kind is not TokenKind.END:
            self.index += 1
        if token.kind is TokenKind.MARK and token.text == "?":
            self._placeholders += 1
        self._tried.clear()
        return token

    def sees(self, *words: str) -> bool:
        """Whether these keywords are next, without taking them."""
        return all(is_word(self.ahead(i), word) for i, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Take these keywords, all or none."""
        if not self.sees(*words):
            self._tried.append(" ".join(words))
            return False
        for _ in words:
            self.advance()
        return True

    def accept_one(self, *choices: str) -> str | None:
        """Take one keyword of several and return it as given; None for another token."""
        return next((choice for choice in choices if self.accept(choice)), None)

    def expect(self, *words: str) -> None:
        """Take these keywords or raise."""
        if not self.accept(*words):
            self.fail()

    def accept_mark(self, mark: str) -> bool:
        """Take a punctuation mark."""
        if self.here.kind is TokenKind.MARK and self.here.text == mark:
            self.advance()
            return True
        self._tried.append(f"'{mark}'")
        return False

    def accept_dot(self) -> bool:
        """Take a dot inside a name; it is not worth mentioning among what could have followed."""
        dot = self.here.kind is TokenKind.MARK and self.here.text == "."
        if dot:
            self.advance()
        return dot

    def accept_equals(self) -> bool:
        """Take ``=`` or ``==``, which Spark reads alike."""
        return self.accept_mark("=") or self.accept_mark("==")

    def expect_mark(self, mark: str) -> None:
        """Take a punctuation mark or raise."""
        if not self.accept_mark(mark):
            self.fail()

    def accept_string(self, what: str = "a string") -> str | None:
        """Take a string literal or a parameter marker and return its text."""
        if self.here.kind is TokenKind.STRING:
            return self.advance().text
        marker = self._accept_marker()
        if marker is None:
            self._tried.append(what)
        return marker

    def expect_string(self, what: str = "a string") -> str:
        """Take a string literal or a parameter marker, or raise."""
        value = self.accept_string(what)
        return value if value is not None else self.fail()

    def _accept_marker(self) -> str | None:
        token, following = self.here, self.ahead(1)
        if token.kind is not TokenKind.MARK:
            return None
        if token.text == "?":
            with self.located(token):
                value = positional_value(self.args, self._placeholders)
        elif token.text == ":" and following.kind is TokenKind.WORD and following.start == token.end:
            with self.located(token):
                value = named_value(self.args, following.text)
            self.advance()
        else:
            return None
        self.advance()
        return value

    def accept_glued(self, marks: str, what: str) -> str | None:
        """Take words, numbers and ``marks`` that touch each other, as one text: ``qps.limit``, ``2.1.0-rc1``."""
        text, index = self.peek_glued(marks)
        if not text:
            self._tried.append(what)
            return None
        self.index = index
        self._tried.clear()
        return text

    def peek_glued(self, marks: str) -> tuple[str, int]:
        """Return what ``accept_glued`` would take, empty for nothing, and the index behind it."""
        start, index = self.here.start, self.index
        end = start
        while self.tokens[index].start == end and self._glues(self.tokens[index], marks):
            end = self.tokens[index].end
            index += 1
        return self.text[start:end], index

    @staticmethod
    def _glues(token: Token, marks: str) -> bool:
        return token.kind in _WORDY or (token.kind is TokenKind.MARK and token.text in marks)

    def finish(self) -> None:
        """Expect the end, behind at most some semicolons."""
        if self.accept_mark(";"):
            while self.accept_mark(";"):
                pass
            if self.here.kind is not TokenKind.END:
                raise MultipleStatements().located(place_at(self.text, self.here.start))
        if self.here.kind is not TokenKind.END:
            self._tried.append("the end of the statement")
            self.fail()

    def tried(self, what: str) -> None:
        """Note something else that would have been right here."""
        self._tried.append(what)

    def fail(self) -> NoReturn:
        """Raise StatementSyntaxError at the next token."""
        expected = list(dict.fromkeys(self._tried)) or ["something else"]
        error = StatementSyntaxError(self._found(), expected, self.syntax)
        raise error.located(place_at(self.text, self.here.start))

    def _found(self) -> str:
        """Describe the next token without showing anything that could be a secret."""
        token = self.here
        match token.kind:
            case TokenKind.END:
                return "the end of the text"
            case TokenKind.STRING:
                return "a string"
            case TokenKind.QUOTED:
                return "a name in backquotes"
            case _:
                shown = redact(self.text, token.end)[token.start : token.end]
                hidden = shown != token.text or len(shown) > _LONGEST_SHOWN
                return "a word" if hidden else f"'{shown}'"

    @contextmanager
    def located(self, token: Token) -> Iterator[None]:
        """Give errors raised inside the place of a token."""
        try:
            yield
        except LanguageError as error:
            raise error.located(place_at(self.text, token.start)) from None


def is_word(token: Token, word: str) -> bool:
    """Whether a token is this keyword, in any case."""
    return token.kind is TokenKind.WORD and token.text.upper() == word
