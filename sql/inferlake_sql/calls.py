"""Calls of our functions in a query of Spark's: where they are, and which model each names.

The query is not parsed, only its tokens are read, in one pass: a query that Spark cannot parse is for Spark to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from inferlake_sql.errors import ModelNotConstant, UnreadableText
from inferlake_sql.names import ModelReference, parse_reference
from inferlake_sql.parameters import Parameters, named_value, positional_value
from inferlake_sql.redact import place_at
from inferlake_sql.render import quote_string
from inferlake_sql.tokens import DEFAULT_QUOTING, Quoting, Token, TokenKind, tokenize

MODEL_FUNCTIONS: Final = frozenset({"ai_function", "try_ai_function", "ai_query"})
FUNCTIONS: Final = MODEL_FUNCTIONS | {"ai_validate"}


class Constancy(Enum):
    """What the text says about a model argument."""

    LITERAL = auto()  # its value is known
    FOLDABLE = auto()  # no column in sight; Spark can compute it while planning
    NAMES = auto()  # it refers to a column, or to something that changes by row
    MISSING = auto()  # there is no such argument, or the function takes no model


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, ``text[start:end]``; ``name`` when it was written ``name => value``."""

    start: int
    end: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One call of one of our functions."""

    function: str  # lower case
    start: int  # of the function's name
    end: int  # behind the closing bracket
    arguments: tuple[Argument, ...]
    constancy: Constancy = Constancy.MISSING
    model: str | None = None  # value of the model argument, when it is a literal
    model_argument: Argument | None = None

    @property
    def reference(self) -> ModelReference | None:
        """The model argument read as m, m@alias or m:version; raises InvalidReference for a literal that is none."""
        return None if self.model is None else parse_reference(self.model)


def may_call(text: str) -> bool:
    """Say whether a text holds the name of one of our functions anywhere; without one it has no calls."""
    lowered = text.lower()
    return any(name in lowered for name in FUNCTIONS)


def find_calls(
    text: str, *, args: Parameters | None = None, quoting: Quoting = DEFAULT_QUOTING
) -> tuple[FunctionCall, ...]:
    """Return the calls in a query in the order of their closing brackets, so that inner calls come before outer ones.

    Empty for a text whose quotes are not closed: Spark refuses it itself. Raises InvalidParameter when a model argument
    is a marker without a value. Time is linear in the text.
    """
    if not may_call(text):
        return ()
    try:
        tokens = tokenize(text, quoting)
    except UnreadableText:
        return ()
    return tuple(_Finder(text, tokens, args).run())


def require_constant_models(text: str, calls: Sequence[FunctionCall]) -> None:
    """Raise ModelNotConstant at the first call whose model depends on the row."""
    for call in calls:
        if call.constancy is Constancy.NAMES and call.model_argument is not None:
            raise ModelNotConstant(call.function).located(place_at(text, call.model_argument.start))


def replace_models(text: str, models: Mapping[FunctionCall, str]) -> str:
    """Return the query with the models of some calls replaced by literals, which is how a version is pinned."""
    edits = [(call.model_argument, model) for call, model in models.items() if call.model_argument is not None]
    pieces: list[str] = []
    position = 0
    for argument, model in sorted(edits, key=lambda edit: edit[0].start):
        pieces += [text[position : argument.start], quote_string(model)]
        position = argument.end
    return "".join([*pieces, text[position:]])


@dataclass(slots=True)
class _Frame:
    """An open bracket: of one of our calls, or of anything else."""

    function: str = ""
    name_at: int = 0
    first: int = 0  # index of the first token of the argument that is being read
    arguments: list[tuple[int, int]] = field(default_factory=list)  # token ranges


@dataclass(slots=True)
class _Finder:
    text: str
    tokens: list[Token]
    args: Parameters | None
    placeholders: dict[int, int] = field(default_factory=dict)  # index of a token '?' -> which marker it is

    def run(self) -> list[FunctionCall]:
        calls: list[FunctionCall] = []
        frames: list[_Frame] = []
        for index, token in enumerate(self.tokens):
            if token.kind is not TokenKind.MARK:
                continue
            if token.text == "?":
                self.placeholders[index] = len(self.placeholders)
            elif token.text in ("(", "[", "{"):
                frames.append(self._open(index))
            elif token.text == "," and frames:
                frames[-1].arguments.append((frames[-1].first, index))
                frames[-1].first = index + 1
            elif token.text in (")", "]", "}") and frames:
                frame = frames.pop()
                if frame.function and not self._names_query(index):
                    calls.append(self._close(frame, index))
        return calls

    def _open(self, index: int) -> _Frame:
        function = self._function_before(index)
        return _Frame(function, self.tokens[index - 1].start if function else 0, index + 1)

    def _function_before(self, bracket: int) -> str:
        if bracket == 0 or self.tokens[bracket].text != "(":
            return ""
        token = self.tokens[bracket - 1]
        name = token.text.lower()
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED) or name not in FUNCTIONS:
            return ""
        before = [other.text.lower() for other in self.tokens[max(0, bracket - 3) : bracket - 1]]
        elsewhere = before[-1:] == ["."] and before != ["session", "."]
        is_name = bool(before) and before[-1] in _BEFORE_NAMES
        return "" if elsewhere or is_name else name

    def _names_query(self, bracket: int) -> bool:
        """Say whether ``AS (`` follows, as in ``WITH a AS (…), ai_query(b) AS (SELECT …)``."""
        following = self.tokens[bracket + 1 : bracket + 3]
        return [token.text.upper() for token in following] == ["AS", "("]

    def _close(self, frame: _Frame, bracket: int) -> FunctionCall:
        ranges = [*frame.arguments, (frame.first, bracket)] if bracket > frame.first or frame.arguments else []
        arguments = tuple(self._argument(first, last) for first, last in ranges)
        call = FunctionCall(frame.function, frame.name_at, self.tokens[bracket].end, arguments)
        if frame.function not in MODEL_FUNCTIONS:
            return call
        chosen = next((i for i, argument in enumerate(arguments) if argument.name == "model"), None)
        if chosen is None and arguments and arguments[0].name is None:
            chosen = 0
        if chosen is None:
            return call
        first, last = ranges[chosen]
        skip = 2 if arguments[chosen].name else 0
        constancy, model = self._judge(first + skip, last)
        return FunctionCall(call.function, call.start, call.end, arguments, constancy, model, arguments[chosen])

    def _argument(self, first: int, last: int) -> Argument:
        name = None
        if last - first > 2 and self.tokens[first + 1].text == "=>" and self.tokens[first].kind is TokenKind.WORD:
            name = self.tokens[first].text.lower()
            first += 2
        start = self.tokens[first].start
        return Argument(start, max(start, self.tokens[last - 1].end if last > first else start), name)

    def _judge(self, first: int, last: int) -> tuple[Constancy, str | None]:
        while (
            2 < last - first <= _LONGEST_CONSTANT
            and self.tokens[first].text == "("
            and self.tokens[last - 1].text == ")"
        ):
            first, last = first + 1, last - 1
        if first >= last:
            return Constancy.MISSING, None
        if last - first > _LONGEST_CONSTANT:
            return Constancy.NAMES, None
        value = self._literal(first, last)
        if value is not None:
            return Constancy.LITERAL, value
        varies = any(self._varies(index) for index in range(first, last))
        return (Constancy.NAMES if varies else Constancy.FOLDABLE), None

    def _literal(self, first: int, last: int) -> str | None:
        """Return the value of ``'m'``, of ``'a' 'b'`` and ``'a' || 'b'``, which are one text, and of a marker."""
        tokens = self.tokens[first:last]
        pieces = [token for token in tokens if token.text != "||" or token.kind is TokenKind.STRING]
        if pieces and all(token.kind is TokenKind.STRING for token in pieces):
            return "".join(token.text for token in pieces)
        if len(tokens) == 1 and tokens[0].text == "?" and tokens[0].kind is TokenKind.MARK and self.args is not None:
            return positional_value(self.args, self.placeholders[first])
        if len(tokens) == 2 and tokens[0].text == ":" and tokens[1].kind is TokenKind.WORD and self.args is not None:
            return named_value(self.args, tokens[1].text)
        return None

    def _varies(self, index: int) -> bool:
        token, following = self.tokens[index], self.tokens[index + 1]
        if token.kind is TokenKind.QUOTED:
            return following.text != "("
        if token.kind is not TokenKind.WORD:
            return False
        word = token.text.upper()
        if following.text == "(" and following.kind is TokenKind.MARK:
            return word in _VARYING_FUNCTIONS or word in ("SELECT", "IN")
        is_parameter = self.tokens[index - 1].text == ":" and self.tokens[index - 1].end == token.start
        return not is_parameter and word not in _CONSTANT_WORDS


# A name behind one of these, with a bracket behind it, is that of a function, table or query, with its columns.
_BEFORE_NAMES: Final = frozenset(
    {"function", "exists", "table", "view", "into", "overwrite", "references", "with", "recursive", "as", ")"}
)
_LONGEST_CONSTANT: Final = 256  # tokens; keeps a query of calls nested in model arguments linear
_VARYING: Final = "RAND RANDN RANDOM UUID SHUFFLE MONOTONICALLY_INCREASING_ID SPARK_PARTITION_ID INPUT_FILE_NAME"
_VARYING_FUNCTIONS: Final = frozenset(_VARYING.split())
_CONSTANT: Final = """
AND AS BETWEEN BIGINT BOOLEAN CASE DATE DECIMAL DOUBLE ELSE END FALSE FLOAT INT IS NOT NULL OR STRING THEN TIMESTAMP
TRUE VARCHAR WHEN
"""
_CONSTANT_WORDS: Final = frozenset(_CONSTANT.split())
