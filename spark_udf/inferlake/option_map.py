"""The options of a call in SQL text: a last ``map`` whose keys are all options and whose values are constant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from inferlake.call_options import are_options
from inferlake.errors import InvalidArgument
from inferlake.text_edits import Edit
from inferlake_sql.tokens import Quoting, Token, TokenKind, tokenize


@dataclass(frozen=True, slots=True)
class OptionMap:
    """``map('key', value, …)`` at the place ``start`` of a query; the values are expressions, as token lists."""

    text: str
    start: int
    values: Mapping[str, Sequence[Token]]

    @classmethod
    def find(cls, query: str, start: int, end: int, quoting: Quoting) -> OptionMap | None:
        """Return the map that ``query[start:end]`` is; None for other expressions, and for maps that are data."""
        text = query[start:end]
        tokens = tokenize(text, quoting)[:-1]
        if len(tokens) < 4 or tokens[0].text.lower() != "map" or tokens[1].text != "(" or tokens[-1].text != ")":
            return None
        pieces = list(_split(tokens[2:-1]))
        keys = [piece[0].text for piece in pieces[::2] if len(piece) == 1 and piece[0].kind is TokenKind.STRING]
        if len(pieces) % 2 or len(keys) * 2 != len(pieces) or not are_options(keys):
            return None
        return cls(text, start, dict(zip(keys, pieces[1::2], strict=True)))

    def pairs(self, spark: SparkSession, args: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, str] | None:
        """Return keys and values; None when a value varies by row, which makes the map data.

        Values that are no literals are given to Spark to compute, in one query for all of them.
        """
        literals = {key: _literal(value) for key, value in self.values.items()}
        wanted = {key: self._expression(self.values[key]) for key, text in literals.items() if text is None}
        computed = _computed(spark, list(wanted.values()), args) if wanted else ()
        if computed is None:
            return None
        values = dict(zip(wanted, computed, strict=True))
        return {key: values[key] if text is None else text for key, text in literals.items()}

    def edits(self) -> Iterator[Edit]:
        """Yield what makes texts of its numbers and booleans: Spark's maps have values of one type."""
        for value in self.values.values():
            if len(value) == 1 and value[0].kind is not TokenKind.STRING and _literal(value) is not None:
                token = value[0]
                yield Edit(self.start + token.start, self.start + token.end, f"'{token.text}'")

    def _expression(self, value: Sequence[Token]) -> str:
        if any(token.kind is TokenKind.MARK and token.text == "?" for token in value):
            raise InvalidArgument("options", "a parameter inside of them needs a name: write :name, not ?.")
        return self.text[value[0].start : value[-1].end]


def _split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield what stands between the commas that are in no brackets."""
    depth = first = 0
    for at, token in enumerate(tokens):
        if token.kind is TokenKind.MARK:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if token.text == "," and depth == 0:
                yield tokens[first:at]
                first = at + 1
    yield tokens[first:]


def _literal(value: Sequence[Token]) -> str | None:
    if len(value) != 1:
        return None
    token = value[0]
    is_word = token.kind is TokenKind.WORD and token.text.upper() in ("TRUE", "FALSE")
    return token.text if is_word or token.kind in (TokenKind.STRING, TokenKind.NUMBER) else None


def _computed(
    spark: SparkSession, expressions: Sequence[str], args: Mapping[str, Any] | Sequence[Any] | None
) -> Sequence[str] | None:
    columns = ", ".join(f"string({expression})" for expression in expressions)
    try:
        row = spark.sql(f"SELECT {columns}", dict(args) if isinstance(args, Mapping) else None).first()
    except AnalysisException:
        return None  # a column of the query; what is wrong in itself Spark will say of the query
    if row is None or None in row:
        raise InvalidArgument("options", "an option has a value; leave it out where it is NULL.")
    return tuple(row)
