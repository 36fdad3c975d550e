"""The options that say which registry a command talks to, the same on every command."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from inferlake_registry.client import DEFAULT_URL, Client
from inferlake_sql.secret import Secret


def uses_registry(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--registry`` and a token, and hand it a client that is closed afterwards.

    The token comes from the environment alone: what is typed on a command line can be read by every user of a machine.
    """

    @click.option(
        "--registry",
        "registry_url",
        envvar="INFERLAKE_REGISTRY_URL",
        show_envvar=True,
        default=DEFAULT_URL,
        show_default=True,
        metavar="URL",
        help="Address of the registry.",
    )
    @click.option("--token", "token", envvar="INFERLAKE_REGISTRY_TOKEN", hidden=True)
    @functools.wraps(command)
    def connected(registry_url: str, token: str | None, **options: Any) -> None:
        with Client(registry_url, Secret(token) if token else None) as client:
            command(client, **options)

    return connected


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
