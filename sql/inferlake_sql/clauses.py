"""The parts that statements have in common: names, versions, property lists, addresses, columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from inferlake_sql.column_types import read_column_name, read_type
from inferlake_sql.cursor import Cursor
from inferlake_sql.errors import ConflictingClauses, DuplicateKey, InvalidName, InvalidValue
from inferlake_sql.location import Location, check_location
from inferlake_sql.names import ModelName, check_label, make_name
from inferlake_sql.properties import LOCATION_KEYS, Property, check_new, normalise
from inferlake_sql.statements import ContractColumn
from inferlake_sql.tokens import TokenKind

PROPERTY_LISTS: Final = ("PROPERTIES", "OPTIONS", "TBLPROPERTIES", "WITH")
# Possessive, since thousands of digits that turn out to be no number would otherwise take quadratic time.
_NUMBER: Final = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+", re.ASCII)
_PROVIDER: Final = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class WrittenProperties:
    """A property list as read: the properties, and the address when it was given as ``endpoint``."""

    properties: tuple[Property, ...] = ()
    location: Location | None = None


@dataclass(slots=True)
class Clauses:
    """The clauses of a definition, in any order, each at most once."""

    provider: str | None = None
    location: Location | None = None
    properties: tuple[Property, ...] = ()
    version: str | None = None
    comment: str | None = None
    input: tuple[ContractColumn, ...] = ()
    output: tuple[ContractColumn, ...] = ()
    _seen: set[str] = field(default_factory=set)

    def mark(self, cursor: Cursor, clause: str) -> None:
        """Note that a clause was read; raises ConflictingClauses when it was there before."""
        if clause in self._seen:
            with cursor.located(cursor.here):
                raise ConflictingClauses(clause, clause)
        self._seen.add(clause)


def read_clauses(cursor: Cursor, *allowed: str) -> Clauses:
    """Read the allowed ones of USING, LOCATION, PROPERTIES, VERSION, COMMENT, INPUT and OUTPUT until none follows."""
    clauses = Clauses()
    while any(_read_clause(cursor, clauses, clause) for clause in allowed):
        pass
    return clauses


def _read_clause(cursor: Cursor, clauses: Clauses, clause: str) -> bool:
    words = PROPERTY_LISTS if clause == "PROPERTIES" else (clause,)
    if cursor.accept_one(*words) is None:
        return False
    clauses.mark(cursor, clause)
    match clause:
        case "USING":
            clauses.provider = read_provider(cursor)
        case "LOCATION":
            cursor.accept_equals()
            clauses.location = _only_one(cursor, clauses.location, read_location(cursor))
        case "PROPERTIES":
            written = read_property_list(cursor)
            clauses.properties = written.properties
            clauses.location = _only_one(cursor, clauses.location, written.location)
        case "VERSION":
            clauses.version = read_version(cursor)
        case "COMMENT":
            cursor.accept_equals()
            clauses.comment = cursor.expect_string()
        case "INPUT":
            clauses.input = _read_columns(cursor)
        case "OUTPUT":
            clauses.output = _read_columns(cursor)
    return True


def _only_one(cursor: Cursor, first: Location | None, second: Location | None) -> Location | None:
    if first and second:
        with cursor.located(cursor.here):
            raise DuplicateKey("LOCATION", "LOCATION", "endpoint")
    return first or second


def read_name(cursor: Cursor, what: str = "a model name") -> ModelName:
    """Read ``[catalog.][db.]name``, each part bare or in backquotes."""
    start = cursor.here
    parts = [_read_part(cursor, what)]
    while cursor.accept_dot():
        parts.append(_read_part(cursor, what))
    following = cursor.here
    if following.kind is TokenKind.MARK and following.text in ("-", "/", "@", ":", "$") and _touches(cursor):
        with cursor.located(following):
            raise InvalidName("model name", "it has to be in backquotes, as `gpt-4o` or `Qwen/Qwen3-8B` would")
    with cursor.located(start):
        return make_name(tuple(parts))


def _touches(cursor: Cursor) -> bool:
    return cursor.index > 0 and cursor.tokens[cursor.index - 1].end == cursor.here.start


def _read_part(cursor: Cursor, what: str) -> str:
    if cursor.here.kind in (TokenKind.WORD, TokenKind.QUOTED):
        return cursor.advance().text
    cursor.tried(what)
    cursor.fail()


def read_version(cursor: Cursor, what: str = "version") -> str:
    """Read a version or alias: a string, or bare letters and digits whose text is kept (``2.10`` is not ``2.1``)."""
    cursor.accept_equals()
    start = cursor.here
    text = cursor.accept_string(f"a {what}")
    if text is None:
        text = cursor.accept_glued(".-", f"a {what}")
    if text is None:
        cursor.fail()
    with cursor.located(start):
        return check_label(what, text)


def read_location(cursor: Cursor) -> Location:
    """Read and check an address."""
    start = cursor.here
    text = cursor.expect_string("an http:// or https:// address in quotes")
    with cursor.located(start):
        return check_location(text)


def read_provider(cursor: Cursor) -> str:
    """Read the provider, a string or a bare word; ``ray_serve`` and 'Ray-Serve' are ray-serve."""
    cursor.accept_equals()
    start = cursor.here
    text = cursor.accept_string("a provider such as 'ray-serve'")
    if text is None:
        text = cursor.accept_glued("-", "a provider such as 'ray-serve'")
    if text is None:
        cursor.fail()
    name = text.strip().lower().replace("_", "-")
    if not _PROVIDER.fullmatch(name):
        with cursor.located(start):
            raise InvalidValue("USING", "a provider's name of letters, digits and '-', such as 'ray-serve'")
    return name


def read_property_list(cursor: Cursor) -> WrittenProperties:
    """Read ``('key' = 'value', key = 1, …)``; the list may be empty."""
    cursor.expect_mark("(")
    if cursor.accept_mark(")"):
        return WrittenProperties()
    written = read_assignments(cursor)
    cursor.expect_mark(")")
    return written


def read_assignments(cursor: Cursor) -> WrittenProperties:
    """Read ``key = value`` one or several times, with commas between."""
    properties: list[Property] = []
    location: Location | None = None
    seen: dict[str, str] = {}
    while True:
        start = cursor.here
        key = read_key(cursor)
        cursor.accept_equals()
        if key.strip().casefold() in LOCATION_KEYS:
            with cursor.located(start):
                check_new(seen, "LOCATION", key)
            location = read_location(cursor)
        else:
            value = _read_value(cursor)
            with cursor.located(start):
                made = normalise(key, value)
                check_new(seen, made.key, key)
            properties.append(made)
        if not cursor.accept_mark(","):
            return WrittenProperties(tuple(properties), location)


def read_key(cursor: Cursor) -> str:
    """Read a property key: a string, or bare with dots and dashes."""
    if cursor.here.kind in (TokenKind.STRING, TokenKind.QUOTED):
        return cursor.advance().text
    key = cursor.accept_glued(".-", "a property key")
    return key if key is not None else cursor.fail()


def _read_value(cursor: Cursor) -> str:
    """Read a string, a number, TRUE or FALSE; anything else is a syntax error, a bare word as in Spark."""
    value = cursor.accept_string("a string")
    if value is not None:
        return value
    if word := cursor.accept_one("TRUE", "FALSE"):
        return word.lower()
    if _NUMBER.fullmatch(cursor.peek_glued(".+-")[0]) and (number := cursor.accept_glued(".+-", "a number")):
        return number
    cursor.tried("a number")
    cursor.fail()


def _read_columns(cursor: Cursor) -> tuple[ContractColumn, ...]:
    cursor.expect_mark("(")
    columns: list[ContractColumn] = []
    seen: dict[str, str] = {}
    while True:
        start = cursor.here
        name = read_column_name(cursor)
        with cursor.located(start):
            check_new(seen, name, name)
        cursor.accept_mark(":")
        columns.append(ContractColumn(name, read_type(cursor)))
        if not cursor.accept_mark(","):
            break
    cursor.expect_mark(")")
    return tuple(columns)
