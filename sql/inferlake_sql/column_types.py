"""Column types of INPUT and OUTPUT: Spark's DDL, read into one spelling."""

from __future__ import annotations

from typing import Final

from inferlake_sql.cursor import Cursor
from inferlake_sql.errors import NestingTooDeep
from inferlake_sql.names import quote_part
from inferlake_sql.tokens import TokenKind

MAX_TYPE_DEPTH: Final = 32

# Every spelling that Spark 4 reads, and the one we print.
_SIMPLE: Final = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "BYTE": "TINYINT",
    "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "STRING": "STRING",
    "BINARY": "BINARY",
    "VARIANT": "VARIANT",
}
_DECIMAL: Final = ("DECIMAL", "DEC", "NUMERIC")
_MAX_PRECISION: Final = 38


def read_type(cursor: Cursor, depth: int = 0) -> str:
    """Read one type; raises StatementSyntaxError, or NestingTooDeep beyond ``MAX_TYPE_DEPTH``."""
    if depth > MAX_TYPE_DEPTH:
        with cursor.located(cursor.here):
            raise NestingTooDeep(MAX_TYPE_DEPTH)
    token = cursor.here
    word = token.text.upper() if token.kind is TokenKind.WORD else ""
    if word in _SIMPLE:
        cursor.advance()
        return _SIMPLE[word]
    if word in _DECIMAL:
        cursor.advance()
        return _read_decimal(cursor)
    if cursor.accept("ARRAY"):
        cursor.expect_mark("<")
        inner = read_type(cursor, depth + 1)
        return _close(cursor, f"ARRAY<{inner}>")
    if cursor.accept("MAP"):
        cursor.expect_mark("<")
        key = read_type(cursor, depth + 1)
        cursor.expect_mark(",")
        return _close(cursor, f"MAP<{key}, {read_type(cursor, depth + 1)}>")
    if cursor.accept("STRUCT"):
        cursor.expect_mark("<")
        return _close(cursor, f"STRUCT<{_read_fields(cursor, depth)}>")
    cursor.tried("a column type such as STRING")
    cursor.fail()


def _close(cursor: Cursor, text: str) -> str:
    cursor.expect_mark(">")
    return text


def _read_fields(cursor: Cursor, depth: int) -> str:
    fields: list[str] = []
    while True:
        name = read_column_name(cursor)
        cursor.accept_mark(":")
        fields.append(f"{quote_part(name)}: {read_type(cursor, depth + 1)}")
        if not cursor.accept_mark(","):
            return ", ".join(fields)


def read_column_name(cursor: Cursor) -> str:
    """Read the name of a column or field, bare or in backquotes."""
    if cursor.here.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.here.text.strip():
        return cursor.advance().text
    cursor.tried("a column name")
    cursor.fail()


def _read_decimal(cursor: Cursor) -> str:
    if not cursor.accept_mark("("):
        return "DECIMAL(10, 0)"
    precision, scale = _read_digits(cursor), 0
    if cursor.accept_mark(","):
        scale = _read_digits(cursor)
    if not 1 <= precision <= _MAX_PRECISION or scale > precision:
        cursor.tried("DECIMAL(precision up to 38, scale up to the precision)")
        cursor.fail()
    cursor.expect_mark(")")
    return f"DECIMAL({precision}, {scale})"


def _read_digits(cursor: Cursor) -> int:
    text = cursor.here.text
    if cursor.here.kind is TokenKind.NUMBER and text.isascii() and text.isdigit() and len(text) <= 2:
        cursor.advance()
        return int(text)
    cursor.tried("a number")
    cursor.fail()
