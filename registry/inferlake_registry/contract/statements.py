"""The answer to a statement: a small typed table, the same over HTTP, in the terminal and as a Spark DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Scalar = None | bool | int | float | str


class ColumnType(StrEnum):
    """Type of a result column, by the name that Spark's DDL gives it. A timestamp travels as ISO 8601 text in UTC."""

    STRING = "string"
    BIGINT = "bigint"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """Name and type of one result column."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What a statement did or shows.

    A statement that changes something answers one row ``action, model, version, message``; ``action`` is a verb in the
    past tense (created, replaced, activated, altered, dropped, unchanged …). One that shows something answers its
    table.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    notices: tuple[str, ...] = ()  # sentences for people: what was assumed, what to do next
