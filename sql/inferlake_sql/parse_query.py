"""The statements that carry a query of Spark's: EXPLAIN AI and routing. The query's text is not read, only cut out."""

from __future__ import annotations

from inferlake_sql.cursor import Cursor, is_word
from inferlake_sql.errors import InvalidValue, MultipleStatements, NotSupported
from inferlake_sql.json_text import NotJson, read_json
from inferlake_sql.redact import place_at
from inferlake_sql.routing import find_routing
from inferlake_sql.statements import ExplainAi, RouteQuery, TableName
from inferlake_sql.tokens import TokenKind


def parse_explain(cursor: Cursor) -> ExplainAi:
    """Read ``EXPLAIN AI [APPROXIMATE] query``."""
    cursor.expect("EXPLAIN", "AI")
    approximate = cursor.accept("APPROXIMATE")
    return ExplainAi(_take_query(cursor, len(cursor.text)), approximate)


def parse_route(cursor: Cursor) -> RouteQuery:
    """Read ``CREATE TABLE [IF NOT EXISTS] t AS query VALIDATE column AGAINST 'schema' REJECTED INTO t2``."""
    cursor.expect("CREATE")
    with cursor.located(cursor.here):
        if cursor.accept("OR", "REPLACE"):
            raise NotSupported("OR REPLACE with VALIDATE", "Rejected rows are only ever added: drop the table first.")
    cursor.expect("TABLE")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    table = _read_table(cursor)
    cursor.expect("AS")
    query = _take_query(cursor, find_routing(cursor.text) or len(cursor.text))
    cursor.expect("VALIDATE")
    column = _read_column(cursor)
    cursor.expect("AGAINST")
    schema = _read_schema(cursor)
    cursor.expect("REJECTED")
    cursor.expect("INTO")
    return RouteQuery(table, query, column, schema, _read_table(cursor), if_not_exists)


def _take_query(cursor: Cursor, end: int) -> str:
    """Take everything up to an offset, without a final semicolon, and return its text."""
    first = last = cursor.here
    while cursor.here.kind is not TokenKind.END and cursor.here.start < end:
        if cursor.here.text == ";" and cursor.here.kind is TokenKind.MARK:
            following = cursor.ahead(1)
            if following.kind is not TokenKind.END and following.text != ";":
                raise MultipleStatements().located(place_at(cursor.text, following.start))
            break
        last = cursor.advance()
    if last.end == first.start or first is cursor.here:
        cursor.tried("a query")
        cursor.fail()
    return cursor.text[first.start : last.end]


def _read_table(cursor: Cursor) -> TableName:
    parts = [_read_column(cursor, "a table name")]
    while cursor.accept_dot():
        parts.append(_read_column(cursor, "a table name"))
    return TableName(tuple(parts))


def _read_column(cursor: Cursor, what: str = "a column name") -> str:
    if cursor.here.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.here.text and not is_word(cursor.here, "AS"):
        return cursor.advance().text
    cursor.tried(what)
    cursor.fail()


def _read_schema(cursor: Cursor) -> str:
    start = cursor.here
    text = cursor.expect_string("a JSON Schema in quotes")
    with cursor.located(start):
        try:
            schema = read_json(text)
        except NotJson:
            raise InvalidValue("AGAINST", "a JSON Schema: the text is no JSON") from None
        if not isinstance(schema.load(), dict | bool):
            raise InvalidValue("AGAINST", "a JSON Schema: a JSON object, or true or false")
    return schema.text
