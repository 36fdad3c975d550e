"""``inferlake sql``: model statements from the command line, a file, a pipe or a prompt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from inferlake.commands.connection import json_option, uses_registry
from inferlake.commands.errors import NotAModelStatement, UnreadableScript
from inferlake.commands.tables import show
from inferlake_registry.client import Client
from inferlake_sql.errors import InferlakeError
from inferlake_sql.script import ScriptStatement, is_complete, split_script
from inferlake_sql.strays import refuse_strays

_PROMPT: Final = "inferlake> "
_MORE: Final = "        -> "
_LEAVING: Final = ("exit", "quit")


@click.command()
@click.option("-e", "statements", multiple=True, metavar="STATEMENT", help="Run this statement; may be repeated.")
@click.option("-f", "file", metavar="FILE", help="Run the statements of a file; - is standard input.")
@click.argument("loose", nargs=-1, metavar="")
@click.option("--dry-run", is_flag=True, help="Only say what would be changed.")
@json_option
@uses_registry
def sql(
    client: Client, statements: Sequence[str], file: str | None, loose: Sequence[str], dry_run: bool, as_json: bool
) -> None:
    """Run statements about models: CREATE MODEL, ALTER MODEL, SHOW MODELS and all the others of the manual.

    Without -e or -f it reads what is piped into it, or asks. Statements end with a semicolon. With --json each
    statement gives one line.
    """

    if loose:
        # Without a word of what was given: it may hold a key.
        raise click.UsageError("A statement goes behind -e: inferlake sql -e 'SHOW MODELS'.")

    def run(statement: ScriptStatement) -> None:
        if statement.recognition is None:
            refuse_strays(statement.text)
            raise NotAModelStatement(statement.text)
        show(client.execute(statement.text, dry_run=dry_run), as_json=as_json)

    if statements or file is not None:
        for source, text in _sources(statements, file):
            _run_all(source, text, run)
    elif sys.stdin.isatty():
        _converse(client, run)
    else:
        _run_all("standard input", _read("-"), run)


def _sources(statements: Sequence[str], file: str | None) -> Iterator[tuple[str | None, str]]:
    for text in statements:
        yield None, text
    if file is not None:
        yield file, _read(file)


def _run_all(source: str | None, text: str, run: Callable[[ScriptStatement], None]) -> None:
    """Run the statements in order and stop at the first that fails, saying where in its source it began."""
    for statement in split_script(text):
        try:
            run(statement)
        except InferlakeError:
            if source is not None:
                click.echo(f"in the statement at line {statement.line} of {source}:", err=True)
            raise


def _read(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UnreadableScript(file, getattr(error, "strerror", None) or "this is no path") from None
    text = content.decode("utf-8-sig", errors="replace")
    if "\ufffd" in text and "\ufffd".encode() not in content:
        raise UnreadableScript(file, "it holds bytes that are none")
    return text


def _converse(client: Client, run: Callable[[ScriptStatement], None]) -> None:
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
        if text.strip(" ;\n").lower() in _LEAVING:
            return
        try:
            _run_all(None, text, run)
        except InferlakeError as error:
            click.echo(f"{click.style('error', fg='red', bold=True)} {error}", err=True)


def _reader(client: Client) -> Callable[[], str]:
    """Return what asks for one statement: a prompt with editing, or line by line where a terminal allows no more."""
    if os.environ.get("TERM", "dumb") != "dumb":
        try:
            from inferlake.commands.prompt import statement_reader
        except ModuleNotFoundError:
            return _read_lines  # prompt-toolkit comes with the registry's extra
        return statement_reader(client)
    return _read_lines


def _read_lines() -> str:
    text = ""
    while not is_complete(text) and text.strip().lower() not in _LEAVING:
        text += input(_MORE if text.strip() else _PROMPT) + "\n"
    return text
