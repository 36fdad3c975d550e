"""`python -m inferlake_registry`, the same as `inferlake registry`."""

import sys

import click

from inferlake_registry.cli import registry
from inferlake_sql.errors import InferlakeError

if __name__ == "__main__":
    try:
        registry(prog_name="python -m inferlake_registry")
    except InferlakeError as error:
        click.echo(f"error {error}", err=True)
        sys.exit(1)
