"""Statements as canonical SQL, the text that SHOW CREATE MODEL prints and that ``parse`` reads back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import assert_never

from inferlake_sql.json_text import JsonText
from inferlake_sql.names import quote_part
from inferlake_sql.properties import Property, show_value
from inferlake_sql.quantities import plain
from inferlake_sql.secret import MASK, Secret, SecretReference
from inferlake_sql.statements import (
    AddVersion,
    ContractColumn,
    CreateModel,
    CreateModelLike,
    DescribeHistory,
    DescribeModel,
    DropModel,
    DropVersion,
    ExplainAi,
    Grant,
    IfPresent,
    RenameModel,
    Revoke,
    Rollback,
    RouteQuery,
    SetAlias,
    SetComment,
    SetEnabled,
    SetProperties,
    SetTraffic,
    SetVersion,
    ShowCreateModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
    Statement,
    TableName,
    TestModel,
    UndropModel,
    UnsetAlias,
    UnsetProperties,
    UnsetTraffic,
)


def render(statement: Statement, *, reveal: bool = False) -> str:
    """Return the statement as one line of canonical SQL (a query inside keeps its lines), without a semicolon.

    A literal secret is printed as ``'******'``, which ``parse`` refuses; with ``reveal`` as it is, for tests only.
    A reference to a secret is printed as a reference.
    """
    return " ".join(_Renderer(reveal).clauses(statement))


def render_pretty(statement: CreateModel) -> str:
    """Return a CREATE MODEL with one clause and one property a line, as SHOW CREATE MODEL shows it."""
    renderer = _Renderer(reveal=False)
    head, *rest = renderer.create_clauses(statement)
    lines = [head, *rest]
    if statement.properties:
        index = next(i for i, line in enumerate(lines) if line.startswith("PROPERTIES"))
        pairs = ",\n  ".join(renderer.pair(item) for item in statement.properties)
        lines[index] = f"PROPERTIES (\n  {pairs}\n)"
    return "\n".join(lines)


def quote_string(text: str) -> str:
    """Return a text as a SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class _Renderer:
    def __init__(self, reveal: bool) -> None:
        self._reveal = reveal

    def clauses(self, statement: Statement) -> Iterable[str]:  # noqa: C901 - one line for each kind of statement
        match statement:
            case CreateModel():
                return self.create_clauses(statement)
            case CreateModelLike():
                return (_create_head(statement), f"LIKE {statement.source.display}", *_comment(statement.comment))
            case DropModel():
                exists = "IF EXISTS " if statement.if_exists else ""
                return (f"DROP{_temporary(statement.temporary)} MODEL {exists}{statement.name.display}",)
            case UndropModel():
                return ("UNDROP MODEL", statement.name.display)
            case Grant():
                return (f"GRANT {statement.privilege} ON MODEL {statement.name.display}", f"TO {_principal(statement)}")
            case Revoke():
                return (
                    f"REVOKE {statement.privilege} ON MODEL {statement.name.display}",
                    f"FROM {_principal(statement)}",
                )
            case ExplainAi():
                return ("EXPLAIN AI APPROXIMATE" if statement.approximate else "EXPLAIN AI", statement.query)
            case RouteQuery():
                return _route(statement)
            case ShowModels() | ShowHealth() | ShowCreateModel() | ShowVersions() | ShowProperties():
                return _show(statement)
            case DescribeModel():
                extended = "EXTENDED " if statement.extended else ""
                return (f"DESCRIBE MODEL {extended}{statement.name.display}", *_version(statement.version))
            case DescribeHistory():
                return ("DESCRIBE HISTORY MODEL", statement.name.display)
            case TestModel():
                text = () if statement.text is None else (f"WITH {quote_string(statement.text)}",)
                return (f"TEST MODEL {statement.name.display}", *_version(statement.version), *text)
            case _:
                exists = "IF EXISTS " if statement.if_exists else ""
                return (f"ALTER MODEL {exists}{statement.name.display}", *self.alter_clauses(statement))

    def create_clauses(self, statement: CreateModel) -> Iterable[str]:
        """Yield the clauses of CREATE MODEL in canonical order."""
        yield _create_head(statement)
        yield from _version(statement.version)
        yield from self._definition(statement)
        yield from _columns("INPUT", statement.input)
        yield from _columns("OUTPUT", statement.output)
        yield from self._properties(statement.properties)
        yield from _comment(statement.comment)

    def alter_clauses(  # noqa: C901 - one case for each verb
        self,
        statement: AddVersion
        | SetVersion
        | SetProperties
        | UnsetProperties
        | SetComment
        | RenameModel
        | SetAlias
        | UnsetAlias
        | SetTraffic
        | UnsetTraffic
        | Rollback
        | DropVersion
        | SetEnabled,
    ) -> Iterable[str]:
        """Yield what follows the name in ALTER MODEL."""
        match statement:
            case AddVersion():
                yield f"ADD VERSION {quote_string(statement.version)}"
                yield from self._definition(statement)
                yield from self._properties(statement.properties)
                yield from _comment(statement.comment)
            case SetVersion():
                yield f"SET VERSION {quote_string(statement.version)}"
                yield from _location(statement)
                yield from self._properties(statement.properties)
            case SetProperties():
                yield "SET"
                yield from self._definition(statement)
                yield from self._properties(statement.properties)
            case UnsetProperties():
                yield "UNSET PROPERTIES IF EXISTS" if statement.keys_if_exist else "UNSET PROPERTIES"
                yield f"({', '.join(map(quote_string, statement.keys))})"
            case SetComment():
                yield "SET COMMENT"
                yield "NULL" if statement.comment is None else quote_string(statement.comment)
            case RenameModel():
                yield f"RENAME TO {statement.new_name.display}"
            case SetAlias():
                yield f"VERSION {quote_string(statement.version)} SET ALIAS {quote_string(statement.alias)}"
            case UnsetAlias():
                yield from _version(statement.version)
                yield f"UNSET ALIAS {quote_string(statement.alias)}"
            case SetTraffic():
                shares = ", ".join(f"{quote_string(share.version)} = {share.percent}" for share in statement.shares)
                yield f"SET TRAFFIC ({shares})"
            case UnsetTraffic():
                yield "UNSET TRAFFIC"
            case Rollback():
                yield (
                    "ROLLBACK"
                    if statement.version is None
                    else f"ROLLBACK TO VERSION {quote_string(statement.version)}"
                )
            case DropVersion():
                exists = "IF EXISTS " if statement.version_if_exists else ""
                yield f"DROP VERSION {exists}{quote_string(statement.version)}"
            case SetEnabled():
                yield "ENABLE" if statement.enabled else "DISABLE"
            case _:
                assert_never(statement)

    def _definition(self, statement: CreateModel | AddVersion | SetProperties) -> Iterable[str]:
        if statement.provider is not None:
            yield f"USING {quote_string(statement.provider)}"
        yield from _location(statement)

    def _properties(self, properties: tuple[Property, ...]) -> Iterable[str]:
        if properties:
            yield f"PROPERTIES ({', '.join(map(self.pair, properties))})"

    def pair(self, item: Property) -> str:
        """Return ``'key' = value``."""
        return f"{quote_string(item.key)} = {self._value(item)}"

    def _value(self, item: Property) -> str:
        match item.value:
            case Secret():
                return quote_string(item.value.reveal() if self._reveal else MASK)
            case bool():
                return "TRUE" if item.value else "FALSE"
            case int():
                return str(item.value)
            case float():
                return plain(item.value)
            case JsonText():
                return quote_string(_json_literal(item.value))
            case str() | SecretReference():
                return quote_string(show_value(item.value))
            case _:
                assert_never(item.value)


def _json_literal(value: JsonText) -> str:
    """Return the JSON text, or the bare text of a JSON string that cannot be mistaken for other JSON."""
    text = value.load()
    if not isinstance(text, str) or not text.strip():
        return value.text
    try:
        json.loads(text)
    except ValueError:
        return text
    return value.text


def _create_head(statement: CreateModel | CreateModelLike) -> str:
    replace = " OR REPLACE" if statement.if_present is IfPresent.REPLACE else ""
    keep = "IF NOT EXISTS " if statement.if_present is IfPresent.KEEP else ""
    return f"CREATE{replace}{_temporary(statement.temporary)} MODEL {keep}{statement.name.display}"


def _temporary(temporary: bool) -> str:
    return " TEMPORARY" if temporary else ""


def _location(statement: CreateModel | AddVersion | SetVersion | SetProperties) -> Iterable[str]:
    return () if statement.location is None else (f"LOCATION {quote_string(statement.location.url)}",)


def _version(version: str | None) -> Iterable[str]:
    return () if version is None else (f"VERSION {quote_string(version)}",)


def _comment(comment: str | None) -> Iterable[str]:
    return () if comment is None else (f"COMMENT {quote_string(comment)}",)


def _columns(clause: str, columns: tuple[ContractColumn, ...]) -> Iterable[str]:
    inner = ", ".join(f"{quote_part(column.name)} {column.type}" for column in columns)
    return (f"{clause} ({inner})",) if columns else ()


def _show(statement: ShowModels | ShowHealth | ShowCreateModel | ShowVersions | ShowProperties) -> Iterable[str]:
    match statement:
        case ShowModels():
            namespace = () if statement.namespace is None else (f"IN {statement.namespace.display}",)
            return ("SHOW MODELS", *namespace, *_pattern(statement.pattern))
        case ShowHealth():
            return ("SHOW MODEL HEALTH", *_pattern(statement.pattern))
        case ShowCreateModel():
            return (f"SHOW CREATE MODEL {statement.name.display}", *_version(statement.version))
        case ShowVersions():
            return ("SHOW VERSIONS IN MODEL", statement.name.display)
        case ShowProperties():
            key = () if statement.key is None else (f"({quote_string(statement.key)})",)
            return (f"SHOW MODEL PROPERTIES {statement.name.display}", *key)
        case _:
            assert_never(statement)


def _pattern(pattern: str | None) -> Iterable[str]:
    return () if pattern is None else (f"LIKE {quote_string(pattern)}",)


def _principal(statement: Grant | Revoke) -> str:
    return quote_part(statement.principal)


def _route(statement: RouteQuery) -> Iterable[str]:
    keep = "IF NOT EXISTS " if statement.if_not_exists else ""
    yield f"CREATE TABLE {keep}{_table(statement.table)} AS"
    yield statement.query
    yield f"VALIDATE {quote_part(statement.column)} AGAINST {quote_string(statement.schema)}"
    yield f"REJECTED INTO {_table(statement.rejected_table)}"


def _table(table: TableName) -> str:
    return ".".join(map(quote_part, table.parts))
