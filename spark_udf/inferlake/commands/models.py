"""``inferlake models``: what is registered, or one model in full."""

from __future__ import annotations

import click

from inferlake.commands.connection import json_option, uses_registry
from inferlake.commands.literals import name, text
from inferlake.commands.tables import show
from inferlake_registry.client import Client


@click.command()
@click.argument("model", required=False)
@click.option("--like", metavar="PATTERN", help="Only models whose name fits; * stands for any text, | for or.")
@json_option
@uses_registry
def models(client: Client, model: str | None, like: str | None, as_json: bool) -> None:
    """List the registered models, or describe MODEL with every property and where its value comes from."""
    if model is not None:
        statement = f"DESCRIBE MODEL {name(model)}"
    elif like is not None:
        statement = f"SHOW MODELS LIKE {text(like)}"
    else:
        statement = "SHOW MODELS"
    show(client.execute(statement), as_json=as_json)
