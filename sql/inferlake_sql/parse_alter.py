"""ALTER MODEL: one reader for each verb."""

from __future__ import annotations

import re
from typing import Final

from inferlake_sql.clauses import (
    PROPERTY_LISTS,
    WrittenProperties,
    read_assignments,
    read_clauses,
    read_key,
    read_name,
    read_property_list,
    read_version,
)
from inferlake_sql.cursor import Cursor
from inferlake_sql.errors import InvalidTraffic, UnknownProperty
from inferlake_sql.names import ModelName
from inferlake_sql.properties import check_new, check_unset
from inferlake_sql.statements import (
    AddVersion,
    DropVersion,
    RenameModel,
    Rollback,
    SetAlias,
    SetComment,
    SetEnabled,
    SetProperties,
    SetTraffic,
    SetVersion,
    Statement,
    TrafficShare,
    UnsetAlias,
    UnsetProperties,
    UnsetTraffic,
)
from inferlake_sql.tokens import TokenKind

_WHOLE: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_ENABLING: Final = {"ENABLE": True, "RESUME": True, "DISABLE": False, "PAUSE": False}


def parse_alter(cursor: Cursor) -> Statement:
    """Read ``ALTER MODEL [IF EXISTS] name`` and what it is to become."""
    cursor.expect("ALTER", "MODEL")
    if_exists = cursor.accept("IF", "EXISTS")
    name = read_name(cursor)
    if cursor.accept("ADD", "VERSION"):
        return _add_version(cursor, name, if_exists)
    if cursor.accept("SET"):
        return _set(cursor, name, if_exists)
    if cursor.accept("UNSET"):
        return _unset(cursor, name, if_exists)
    if cursor.accept("RESET"):
        return _unset_list(cursor, name, if_exists)
    if cursor.accept("RENAME", "TO"):
        return RenameModel(name, read_name(cursor), if_exists)
    if cursor.accept("VERSION"):
        return _version_alias(cursor, name, if_exists)
    if cursor.accept("ROLLBACK"):
        version = read_version(cursor) if cursor.accept("TO", "VERSION") else None
        return Rollback(name, version, if_exists)
    if cursor.accept("DROP", "VERSION"):
        quiet = cursor.accept("IF", "EXISTS")
        return DropVersion(name, read_version(cursor), quiet, if_exists)
    if verb := cursor.accept_one(*_ENABLING):
        return SetEnabled(name, _ENABLING[verb], if_exists)
    cursor.fail()


def _add_version(cursor: Cursor, name: ModelName, if_exists: bool) -> AddVersion:
    version = read_version(cursor)
    clauses = read_clauses(cursor, "USING", "LOCATION", "PROPERTIES", "COMMENT")
    return AddVersion(name, version, clauses.location, clauses.provider, clauses.properties, clauses.comment, if_exists)


def _set(cursor: Cursor, name: ModelName, if_exists: bool) -> Statement:
    if cursor.accept("ACTIVE", "VERSION") or cursor.accept_one("VERSION", "DEFAULT_VERSION"):
        version = read_version(cursor)
        clauses = read_clauses(cursor, "LOCATION", "PROPERTIES")
        return SetVersion(name, version, clauses.location, clauses.properties, if_exists)
    if cursor.accept("TRAFFIC"):
        return SetTraffic(name, _read_shares(cursor), if_exists)
    if cursor.accept("COMMENT"):
        cursor.accept_equals()
        comment = None if cursor.accept("NULL") else cursor.expect_string()
        return SetComment(name, comment, if_exists)
    return _set_definition(cursor, name, if_exists)


def _set_definition(cursor: Cursor, name: ModelName, if_exists: bool) -> SetProperties:
    """Read SET LOCATION, SET USING, SET PROPERTIES (…), SET (…) or SET key = value, …."""
    if cursor.sees("LOCATION") or cursor.sees("USING"):
        clauses = read_clauses(cursor, "LOCATION", "USING", "PROPERTIES")
        return SetProperties(name, clauses.properties, clauses.location, clauses.provider, if_exists)
    listed = cursor.here.text == "(" or (cursor.here.text.upper() in PROPERTY_LISTS and cursor.ahead(1).text == "(")
    if listed:
        cursor.accept_one(*PROPERTY_LISTS)
        written = read_property_list(cursor)
        if written == WrittenProperties():
            cursor.index -= 1  # the closing bracket: a list that sets nothing is a mistake
            cursor.tried("a property key")
            cursor.fail()
    else:
        written = read_assignments(cursor)
    return SetProperties(name, written.properties, written.location, None, if_exists)


def _read_shares(cursor: Cursor) -> tuple[TrafficShare, ...]:
    start = cursor.here
    cursor.expect_mark("(")
    shares: list[TrafficShare] = []
    while True:
        version = read_version(cursor)
        if not cursor.accept_equals():
            cursor.fail()
        shares.append(TrafficShare(version, _read_percent(cursor)))
        if not cursor.accept_mark(","):
            break
    cursor.expect_mark(")")
    versions = [share.version for share in shares]
    total = sum(share.percent for share in shares)
    with cursor.located(start):
        if len(set(versions)) < len(versions):
            raise InvalidTraffic("A version is named twice.")
        if total != 100:
            raise InvalidTraffic(f"The shares sum to {total}.")
    return tuple(shares)


def _read_percent(cursor: Cursor) -> int:
    start = cursor.here
    text = cursor.accept_string("a whole percentage")
    if text is None:
        text = cursor.accept_glued(".+-", "a whole percentage")
    if text is None:
        cursor.fail()
    if not cursor.accept("PERCENT"):
        cursor.accept_mark("%")
    if not _WHOLE.fullmatch(text) or int(text) > 100:
        with cursor.located(start):
            raise InvalidTraffic("A share is no whole percentage.")
    return int(text)


def _unset(cursor: Cursor, name: ModelName, if_exists: bool) -> Statement:
    if cursor.accept("TRAFFIC"):
        return UnsetTraffic(name, if_exists)
    if cursor.accept("ALIAS"):
        return UnsetAlias(name, read_version(cursor, "alias"), None, if_exists)
    if cursor.accept("COMMENT"):
        return SetComment(name, None, if_exists)
    return _unset_list(cursor, name, if_exists)


def _unset_list(cursor: Cursor, name: ModelName, if_exists: bool) -> UnsetProperties:
    """Read ``[PROPERTIES] [IF EXISTS] ('k', …)``, brackets optional."""
    if cursor.here.kind is TokenKind.WORD and cursor.ahead(1).text not in (".", "-"):
        cursor.accept_one(*PROPERTY_LISTS)
    quiet = cursor.accept("IF", "EXISTS")
    bracket = cursor.accept_mark("(")
    keys: list[str] = []
    seen: dict[str, str] = {}
    while True:
        start = cursor.here
        written = read_key(cursor)
        with cursor.located(start):
            key = _unset_key(written, quiet)
            check_new(seen, key, written)
        keys.append(key)
        if not cursor.accept_mark(","):
            break
    if bracket:
        cursor.expect_mark(")")
    return UnsetProperties(name, tuple(keys), quiet, if_exists)


def _unset_key(written: str, quiet: bool) -> str:
    """Return the canonical key; IF EXISTS lets an unknown one pass as it was written."""
    try:
        return check_unset(written)
    except UnknownProperty:
        if quiet and written.strip():
            return written.strip()
        raise


def _version_alias(cursor: Cursor, name: ModelName, if_exists: bool) -> SetAlias | UnsetAlias:
    version = read_version(cursor)
    if cursor.accept("SET", "ALIAS"):
        return SetAlias(name, version, read_version(cursor, "alias"), if_exists)
    if cursor.accept("UNSET", "ALIAS"):
        return UnsetAlias(name, read_version(cursor, "alias"), version, if_exists)
    cursor.fail()
