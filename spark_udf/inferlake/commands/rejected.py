"""``inferlake rejected``: rows whose answer did not pass, as the registry keeps them for people to look at."""

from __future__ import annotations

import click

from inferlake.commands.connection import json_option, uses_registry
from inferlake_registry.client import Client


@click.group()
def rejected() -> None:
    """Look at rows whose answer did not pass the checks."""
