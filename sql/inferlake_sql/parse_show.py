"""The statements that show, explain or grant, and the short ones."""

from __future__ import annotations

from typing import NoReturn

from inferlake_sql.clauses import read_key, read_name, read_version
from inferlake_sql.cursor import Cursor
from inferlake_sql.properties import canonical_key
from inferlake_sql.statements import (
    DescribeHistory,
    DescribeModel,
    Grant,
    Privilege,
    Revoke,
    SetComment,
    ShowCreateModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
    TestModel,
    UndropModel,
)
from inferlake_sql.tokens import TokenKind


def parse_undrop(cursor: Cursor) -> UndropModel:
    """Read ``UNDROP MODEL name``."""
    cursor.expect("UNDROP", "MODEL")
    return UndropModel(read_name(cursor))


def parse_comment(cursor: Cursor) -> SetComment:
    """Read ``COMMENT ON MODEL name IS 'text'``; NULL takes the comment away."""
    cursor.expect("COMMENT", "ON", "MODEL")
    name = read_name(cursor)
    cursor.expect("IS")
    return SetComment(name, None if cursor.accept("NULL") else cursor.expect_string())


def parse_show_models(cursor: Cursor) -> ShowModels:
    """Read ``SHOW MODELS [IN namespace] [LIKE 'pattern']``."""
    cursor.expect("SHOW", "MODELS")
    namespace = read_name(cursor, "a namespace") if cursor.accept_one("FROM", "IN") else None
    return ShowModels(namespace, _read_pattern(cursor))


def parse_show_health(cursor: Cursor) -> ShowHealth:
    """Read ``SHOW MODEL HEALTH [LIKE 'pattern']``."""
    cursor.expect("SHOW", "MODEL")
    cursor.accept_one("HEALTH", "STATUS")
    return ShowHealth(_read_pattern(cursor))


def _read_pattern(cursor: Cursor) -> str | None:
    return cursor.expect_string() if cursor.accept("LIKE") else cursor.accept_string("a pattern in quotes")


def parse_show_create(cursor: Cursor) -> ShowCreateModel:
    """Read ``SHOW CREATE MODEL name [VERSION 'v']``."""
    cursor.expect("SHOW", "CREATE", "MODEL")
    return ShowCreateModel(read_name(cursor), _read_version_clause(cursor))


def parse_show_versions(cursor: Cursor) -> ShowVersions:
    """Read ``SHOW VERSIONS IN MODEL name`` or ``SHOW MODEL VERSIONS name``."""
    cursor.expect("SHOW")
    if cursor.accept("MODEL", "VERSIONS"):
        cursor.accept_one("IN", "FROM")
        return ShowVersions(read_name(cursor))
    cursor.expect("VERSIONS")
    if cursor.accept_one("IN", "FROM") is None:
        cursor.fail()
    cursor.expect("MODEL")
    return ShowVersions(read_name(cursor))


def parse_show_properties(cursor: Cursor) -> ShowProperties:
    """Read ``SHOW MODEL PROPERTIES name [('key')]``."""
    cursor.expect("SHOW", "MODEL", "PROPERTIES")
    name = read_name(cursor)
    if not cursor.accept_mark("("):
        return ShowProperties(name)
    start = cursor.here
    written = read_key(cursor)
    with cursor.located(start):
        key = canonical_key(written)
    cursor.expect_mark(")")
    return ShowProperties(name, key)


def refuse_show(cursor: Cursor) -> NoReturn:
    """Say what can follow ``SHOW MODEL``."""
    cursor.expect("SHOW", "MODEL")
    for word in ("HEALTH", "PROPERTIES", "VERSIONS"):
        cursor.tried(word)
    cursor.fail()


def parse_describe(cursor: Cursor) -> DescribeModel:
    """Read ``DESCRIBE MODEL [EXTENDED] name [VERSION 'v']``; EXTENDED may also stand before MODEL, as Spark has it."""
    if cursor.accept_one("DESCRIBE", "DESC") is None:
        cursor.fail()
    extended = cursor.accept_one("EXTENDED", "FORMATTED") is not None
    cursor.expect("MODEL")
    named_extended = cursor.ahead(1).kind is TokenKind.END or cursor.ahead(1).text in (".", ";")
    if not named_extended and cursor.accept_one("EXTENDED", "FORMATTED"):
        extended = True
    return DescribeModel(read_name(cursor), extended, _read_version_clause(cursor))


def parse_history(cursor: Cursor) -> DescribeHistory:
    """Read ``DESCRIBE HISTORY MODEL name``."""
    if cursor.accept_one("DESCRIBE", "DESC") is None:
        cursor.fail()
    cursor.expect("HISTORY", "MODEL")
    return DescribeHistory(read_name(cursor))


def parse_test(cursor: Cursor) -> TestModel:
    """Read ``TEST MODEL name [VERSION 'v'] [WITH 'text']``."""
    cursor.expect("TEST", "MODEL")
    name = read_name(cursor)
    version = _read_version_clause(cursor)
    return TestModel(name, version, cursor.expect_string() if cursor.accept("WITH") else None)


def _read_version_clause(cursor: Cursor) -> str | None:
    return read_version(cursor) if cursor.accept("VERSION") else None


def parse_grant(cursor: Cursor) -> Grant:
    """Read ``GRANT USE ON MODEL name TO principal``."""
    cursor.expect("GRANT")
    privilege = _read_privilege(cursor)
    cursor.expect("ON", "MODEL")
    name = read_name(cursor)
    cursor.expect("TO")
    return Grant(privilege, name, _read_principal(cursor))


def parse_revoke(cursor: Cursor) -> Revoke:
    """Read ``REVOKE USE ON MODEL name FROM principal``."""
    cursor.expect("REVOKE")
    privilege = _read_privilege(cursor)
    cursor.expect("ON", "MODEL")
    name = read_name(cursor)
    cursor.expect("FROM")
    return Revoke(privilege, name, _read_principal(cursor))


def _read_privilege(cursor: Cursor) -> Privilege:
    if cursor.accept_one("USE", "USAGE", "EXECUTE"):
        return Privilege.USE
    if cursor.accept("ALTER"):
        return Privilege.ALTER
    if cursor.accept("ALL"):
        cursor.accept("PRIVILEGES")
        return Privilege.ALL
    cursor.fail()


def _read_principal(cursor: Cursor) -> str:
    if cursor.here.kind in (TokenKind.WORD, TokenKind.QUOTED):
        return cursor.advance().text
    return cursor.expect_string("a principal")
