"""CREATE MODEL and DROP MODEL."""

from __future__ import annotations

from inferlake_sql.clauses import read_clauses, read_name
from inferlake_sql.cursor import Cursor
from inferlake_sql.errors import ConflictingClauses
from inferlake_sql.statements import CreateModel, CreateModelLike, DropModel, IfPresent


def parse_create(cursor: Cursor) -> CreateModel | CreateModelLike:
    """Read ``CREATE [OR REPLACE] [TEMPORARY] MODEL [IF NOT EXISTS] name …``."""
    cursor.expect("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    temporary = cursor.accept_one("TEMPORARY", "TEMP") is not None
    cursor.expect("MODEL")
    start = cursor.here
    keep = cursor.accept("IF", "NOT", "EXISTS")
    if replace and keep:
        with cursor.located(start):
            raise ConflictingClauses("OR REPLACE", "IF NOT EXISTS")
    if_present = IfPresent.REPLACE if replace else IfPresent.KEEP if keep else IfPresent.ERROR
    name = read_name(cursor)
    if cursor.accept("LIKE"):
        source = read_name(cursor)
        comment = read_clauses(cursor, "COMMENT").comment
        return CreateModelLike(name, source, comment, if_present, temporary)
    clauses = read_clauses(cursor, "USING", "LOCATION", "PROPERTIES", "VERSION", "COMMENT", "INPUT", "OUTPUT")
    if clauses.location is None:
        cursor.fail()  # LOCATION is among what was tried last
    return CreateModel(
        name=name,
        location=clauses.location,
        provider=clauses.provider,
        properties=clauses.properties,
        version=clauses.version,
        comment=clauses.comment,
        input=clauses.input,
        output=clauses.output,
        if_present=if_present,
        temporary=temporary,
    )


def parse_drop(cursor: Cursor) -> DropModel:
    """Read ``DROP [TEMPORARY] MODEL [IF EXISTS] name``."""
    cursor.expect("DROP")
    temporary = cursor.accept_one("TEMPORARY", "TEMP") is not None
    cursor.expect("MODEL")
    if_exists = cursor.accept("IF", "EXISTS")
    return DropModel(read_name(cursor), if_exists, temporary)
