"""``inferlake sql``: model statements from the command line, a file, a pipe or a prompt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from inferlake.commands.connection import json_option, uses_registry
from inferlake.commands.conversation import converse
from inferlake.commands.errors import NotAModelStatement, UnreadableScript
from inferlake.commands.tables import show
from inferlake_registry.client import Client
from inferlake_sql.errors import InferlakeError
from inferlake_sql.script import ScriptStatement, split_script
from inferlake_sql.strays import refuse_strays


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
        converse(client, lambda text: _run_all(None, text, run))
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
