"""From text to a statement."""

from __future__ import annotations

from typing import Final, assert_never

from inferlake_sql.cursor import Cursor
from inferlake_sql.grammar import Kind, Recognition, recognise
from inferlake_sql.parameters import Parameters
from inferlake_sql.parse_alter import parse_alter
from inferlake_sql.parse_create import parse_create, parse_drop
from inferlake_sql.parse_query import parse_explain, parse_route
from inferlake_sql.parse_show import (
    parse_comment,
    parse_describe,
    parse_grant,
    parse_history,
    parse_revoke,
    parse_show_create,
    parse_show_health,
    parse_show_models,
    parse_show_properties,
    parse_show_versions,
    parse_test,
    parse_undrop,
    refuse_show,
)
from inferlake_sql.statements import Statement
from inferlake_sql.tokens import DEFAULT_QUOTING, Quoting, check_nesting, tokenize

MAX_DEPTH: Final = 64  # brackets in a statement about a model
MAX_QUERY_DEPTH: Final = 512  # brackets in a query that a statement carries


def parse(text: str, *, args: Parameters | None = None, quoting: Quoting = DEFAULT_QUOTING) -> Statement | None:
    """Return the statement that a text is, or None when it is not about models and belongs to Spark.

    ``args`` are the values of parameter markers, as ``spark.sql`` takes them. A text that is ours and wrong raises a
    LanguageError with its place; nothing else is ever raised. Whether an ambiguous ``DESCRIBE MODEL x`` is ours depends
    on the session: ask ``recognise(text)`` first where a table called ``model`` may exist.
    """
    recognition = recognise(text)
    return None if recognition is None else parse_recognised(text, recognition, args=args, quoting=quoting)


def parse_recognised(
    text: str, recognition: Recognition, *, args: Parameters | None = None, quoting: Quoting = DEFAULT_QUOTING
) -> Statement:
    """Parse a text that ``recognise`` has claimed."""
    tokens = tokenize(text, quoting)
    carries_query = recognition.kind in (Kind.EXPLAIN, Kind.ROUTE)
    check_nesting(text, tokens, MAX_QUERY_DEPTH if carries_query else MAX_DEPTH)
    cursor = Cursor(text, tokens, recognition.syntax, args)
    statement = _parse_kind(cursor, recognition.kind)
    cursor.finish()
    return statement


def _parse_kind(cursor: Cursor, kind: Kind) -> Statement:  # noqa: C901 - one line for each kind of statement
    match kind:
        case Kind.CREATE:
            return parse_create(cursor)
        case Kind.ALTER:
            return parse_alter(cursor)
        case Kind.DROP:
            return parse_drop(cursor)
        case Kind.UNDROP:
            return parse_undrop(cursor)
        case Kind.COMMENT:
            return parse_comment(cursor)
        case Kind.SHOW_MODELS:
            return parse_show_models(cursor)
        case Kind.SHOW_CREATE:
            return parse_show_create(cursor)
        case Kind.SHOW_VERSIONS:
            return parse_show_versions(cursor)
        case Kind.SHOW_HEALTH:
            return parse_show_health(cursor)
        case Kind.SHOW_PROPERTIES:
            return parse_show_properties(cursor)
        case Kind.SHOW_OTHER:
            return refuse_show(cursor)
        case Kind.DESCRIBE:
            return parse_describe(cursor)
        case Kind.HISTORY:
            return parse_history(cursor)
        case Kind.TEST:
            return parse_test(cursor)
        case Kind.EXPLAIN:
            return parse_explain(cursor)
        case Kind.GRANT:
            return parse_grant(cursor)
        case Kind.REVOKE:
            return parse_revoke(cursor)
        case Kind.ROUTE:
            return parse_route(cursor)
        case _:
            assert_never(kind)
