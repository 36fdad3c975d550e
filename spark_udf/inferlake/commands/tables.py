"""The answer to a statement on the terminal and as JSON: the same columns, in the same order."""

from __future__ import annotations

import json
from typing import Final

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from inferlake_registry.contract.statements import ColumnType, Scalar, StatementResult

_NUMBERS: Final = (ColumnType.BIGINT, ColumnType.DOUBLE)
_NAMES: Final = ("model", "name")
_WHOLE_NAME: Final = 40  # characters up to which a name is kept in one line, at the cost of other columns
_STATES: Final = {
    "healthy": "green",
    "degraded": "yellow",
    "unhealthy": "red",
    "misconfigured": "red",
    "unknown": "dim",
}


def show(result: StatementResult, *, as_json: bool) -> None:
    """Print a result on standard output; its notices go to standard error, so that a pipe gets the rows alone."""
    if as_json:
        click.echo(to_json(result))
        return
    console = Console()
    if not result.rows:
        console.print(Text(f"no rows ({', '.join(column.name for column in result.columns)})", style="dim"))
    else:
        console.print(to_table(result))
    for notice in result.notices:
        Console(stderr=True).print(Text(notice, style="dim"))


def to_json(result: StatementResult) -> str:
    """Return one JSON document: the rows as objects, and the notices."""
    names = [column.name for column in result.columns]
    document = {"rows": [dict(zip(names, row, strict=True)) for row in result.rows], "notices": list(result.notices)}
    return json.dumps(document, ensure_ascii=False)


def to_table(result: StatementResult) -> Table:
    """Return the rows as a table; long values fold instead of being cut, so that what is shown can be copied."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    for at, column in enumerate(result.columns):
        numeric = column.type in _NUMBERS
        longest = max(len(str(row[at])) for row in result.rows) if column.name in _NAMES and result.rows else 0
        table.add_column(
            column.name,
            justify="right" if numeric else "left",
            overflow="fold",
            min_width=min(longest, _WHOLE_NAME) or None,
        )
    for row in result.rows:
        table.add_row(*(cell(value) for value in row))
    return table


def cell(value: Scalar) -> Text:
    """Return one value; a null is visible, and a state of health has its colour beside its word."""
    match value:
        case None:
            return Text("null", style="dim")
        case bool():
            return Text("yes" if value else "no")
        case float():
            return Text(f"{value:,.3f}".rstrip("0").rstrip("."))
        case int():
            return Text(str(value))
        case str():
            return Text(value, style=_STATES.get(value, ""))
