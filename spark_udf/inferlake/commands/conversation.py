"""The conversation of ``inferlake sql`` with a person: one statement after the other, and on after an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import click

from inferlake_registry.client import Client
from inferlake_sql.errors import InferlakeError
from inferlake_sql.script import is_complete

PROMPT: Final = "inferlake> "
MORE: Final = "        -> "
_LEAVING: Final = frozenset({"exit", "quit"})


def converse(client: Client, run: Callable[[str], None]) -> None:
    """Ask for statements until the end of input; an error is shown and the conversation goes on."""
    click.echo(f"Connected to {client.url}. A statement ends with ; and Ctrl-D ends this.")
    read = _reader(client)
    while True:
        try:
            text = read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if ends_it(text):
            return
        try:
            run(text)
        except InferlakeError as error:
            click.echo(f"{click.style('error', fg='red', bold=True)} {error}", err=True)


def ends_it(text: str) -> bool:
    """Tell whether somebody wants to leave."""
    return text.strip(" ;\n").lower() in _LEAVING


def _reader(client: Client) -> Callable[[], str]:
    """Return what asks for one statement: a prompt with editing, or line by line where a terminal allows no more."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return _read_lines
    try:
        from inferlake.commands.prompt import statement_reader
    except ModuleNotFoundError:
        return _read_lines  # prompt-toolkit comes with the registry's extra
    return statement_reader(client)


def _read_lines() -> str:
    text = ""
    while not is_complete(text) and not ends_it(text):
        text += input(MORE if text.strip() else PROMPT) + "\n"
    return text
