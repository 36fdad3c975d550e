"""``inferlake bench``: the call engine against what people use today, from a clone of the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from inferlake.commands.connection import json_option
from inferlake.commands.errors import NeedsCheckout

_FOLDER: Final = Path(__file__).resolve().parents[3] / "tests" / "benchmarks" / "engine"


@click.command()
@click.option("--only", multiple=True, metavar="SCENARIO", help="One scenario; may be given several times.")
@click.option("--out", default="artifacts/bench", show_default=True, help="Folder for the table, plot and profile.")
@json_option
@click.pass_context
def bench(ctx: click.Context, only: tuple[str, ...], out: str, as_json: bool) -> None:
    """Measure the call engine against its peers in one run, and print the ratios.

    Takes about a quarter of an hour on two quiet cores, and needs nginx with its Lua module. The status is 1 when a
    figure is not reached.
    """
    if not _FOLDER.is_dir():
        raise NeedsCheckout("bench")
    command = [sys.executable, str(_FOLDER), "--out", out, *(["--json"] if as_json else [])]
    for scenario in only:
        command += ["--only", scenario]
    ctx.exit(subprocess.run(command, check=False).returncode)
