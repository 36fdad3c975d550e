"""``inferlake rejected``: rows whose answer did not pass, as the registry keeps them for people to look at."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from inferlake.commands.connection import json_option, uses_registry
from inferlake.commands.tables import cell
from inferlake_registry.client import Client
from inferlake_registry.contract.runs import RejectedListing, RejectedSample

_OUTPUT_CHARACTERS: Final = 80


@click.group()
def rejected() -> None:
    """Look at rows whose answer did not pass the checks."""


@rejected.command("list")
@click.option("--reason", default="", help="Only rows with this reason, e.g. context_length.")
@click.option("--model", default="", help="Only rows of this model.")
@click.option("--version", default="", help="Only rows of this version.")
@click.option("--run", default="", help="Only rows of this run.")
@click.option("--after", default="", metavar="PLACE", help="Go on at this place, which the page before named.")
@json_option
@uses_registry
def list_rows(client: Client, as_json: bool, **wanted: str) -> None:
    """List rejected rows, the latest first, fifty at a time."""
    found = client.rejected(**wanted)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
        return
    console = Console()
    console.print(_table(found))
    console.print(Text(_summary(found), style="dim"))


@rejected.command("show")
@click.argument("rejected_id")
@json_option
@uses_registry
def show_row(client: Client, rejected_id: str, as_json: bool) -> None:
    """Show one rejected row in full: what was sent, what came back, what was wrong with it."""
    row = client.rejected_row(rejected_id)
    if as_json:
        click.echo(json.dumps(asdict(row), ensure_ascii=False))
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in asdict(row).items():
        grid.add_row(name, cell(value))
    Console().print(grid)


def _table(found: RejectedListing) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    for name in ("rejected_id", "row", "model", "reason", "the model said"):
        table.add_column(name, overflow="fold")
    for row in found.rows:
        table.add_row(row.rejected_id, row.row_key, _model(row), Text(row.reason, style="yellow"), _output(row))
    return table


def _model(row: RejectedSample) -> str:
    return ":".join(part for part in (row.model, row.model_version) if part)


def _output(row: RejectedSample) -> Text:
    if row.ai_output is None:
        return Text("nothing", style="dim")
    line = " ".join(row.ai_output.split())
    return Text(line if len(line) <= _OUTPUT_CHARACTERS else f"{line[: _OUTPUT_CHARACTERS - 1]}…")


def _summary(found: RejectedListing) -> str:
    shown = f"{len(found.rows):,} of {found.matching:,} rejected rows."
    if found.following is None:
        return f"{shown} `inferlake rejected show ID` shows one in full."
    return f"{shown} The next page: --after {found.following}"
