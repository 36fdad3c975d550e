"""``inferlake health``: which models can be called right now, as the registry's probes saw it."""

from __future__ import annotations

import click

from inferlake.commands.connection import json_option, uses_registry
from inferlake.commands.literals import text
from inferlake.commands.tables import show
from inferlake_registry.client import Client


@click.command()
@click.argument("model", required=False)
@json_option
@uses_registry
def health(client: Client, model: str | None, as_json: bool) -> None:
    """Show the health of every model, or of the ones that MODEL fits (* stands for any text).

    What is shown was stored by the registry's own probes; this command calls no endpoint.
    """
    pattern = f" LIKE {text(model)}" if model is not None else ""
    show(client.execute(f"SHOW MODEL HEALTH{pattern}"), as_json=as_json)
