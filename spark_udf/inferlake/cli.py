"""The command ``inferlake``: it finds its subcommands and turns every error of the family into one clear line.

Subcommands that need no more than the base are listed here. The registry and the serve apps add theirs through the
entry-point group ``inferlake.commands``, so this file imports neither of them, and a machine that lacks their extra
still has every other command.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import click

from inferlake.commands.errors import MissingExtra
from inferlake_registry.contract.problems import to_problem
from inferlake_sql.errors import InferlakeError
from inferlake_sql.redact import mentions_secrets, redact

GROUP: Final = "inferlake.commands"

_OWN: Final = {
    "bench": "inferlake.commands.bench:bench",
    "demo": "inferlake.demo.command:demo",
    "health": "inferlake.commands.health:health",
    "models": "inferlake.commands.models:models",
    "rejected": "inferlake.commands.rejected:rejected",
    "sql": "inferlake.commands.sql:sql",
}
# The command's own name is the extra's name, but for these.
_EXTRAS: Final = {"bench": ("spark", "registry", "cpu", "dev"), "demo": ("spark", "registry", "cpu")}
_PACKAGES: Final = ("inferlake", "inferlake_registry", "inferlake_serve", "inferlake_sql")


class Failure(click.ClickException):
    """An error of the family as the terminal shows it: one line for people, a problem document for programs."""

    def __init__(self, error: InferlakeError, *, as_json: bool) -> None:
        super().__init__(error.message)
        self.error = error
        self.as_json = as_json

    def show(self, file: Any = None) -> None:
        """Write to standard error, so that standard output stays clean for whoever reads it."""
        if self.as_json:
            click.echo(json.dumps(to_problem(self.error), ensure_ascii=False), err=True)
        else:
            click.echo(f"{click.style('error', fg='red', bold=True)} {self.error}", err=True)


class Commands(click.Group):
    """Loads a subcommand when it is asked for, so that one which cannot be loaded harms no other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the base and of the installed packages, sorted."""
        return sorted({*_OWN, *(point.name for point in entry_points(group=GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, or one that says which extra is missing, or None for a name nobody knows."""
        try:
            command = _load(cmd_name)
        except ModuleNotFoundError as error:
            return _placeholder(_missing_extra(cmd_name, error))
        return command if isinstance(command, click.Command) else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember whether JSON was asked for, since an error may come before the subcommand has parsed anything."""
        ctx.meta[GROUP] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; an error of the family ends it with its message and status 1."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            # click repeats what it did not expect, and that may be a statement with a key in it.
            if mentions_secrets(error.message):
                raise click.UsageError(redact(error.message), error.ctx) from None
            raise
        except InferlakeError as error:
            raise Failure(error, as_json=bool(ctx.meta[GROUP])) from error
        except ModuleNotFoundError as error:
            missing = _missing_extra(ctx.invoked_subcommand or "", error)
            raise Failure(missing, as_json=bool(ctx.meta[GROUP])) from error


def _load(name: str) -> object:
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        return getattr(import_module(module), attribute)
    found = entry_points(group=GROUP, name=name)
    return next(iter(found)).load() if found else None


def _missing_extra(name: str, error: ModuleNotFoundError) -> MissingExtra:
    """Return the error for users; a module of our own that is missing is a fault of ours and raised as it is."""
    module = (error.name or "").partition(".")[0]
    if module in _PACKAGES:
        raise error
    declared: tuple[str, ...] = ()
    for point in entry_points(group=GROUP, name=name):
        declared = _declared_extras(point)
    return MissingExtra(name, _EXTRAS.get(name) or declared or (name,), module)


def _declared_extras(point: EntryPoint) -> tuple[str, ...]:
    return tuple(point.extras)


def _placeholder(error: MissingExtra) -> click.Command:
    def complain() -> None:
        raise error

    # Whatever was typed after the name is taken, so that the answer is the missing extra and not "no such option".
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(
        str(error.fields["command"]),
        callback=complain,
        short_help=f"(not installed: {error.fields['install']})",
        context_settings=settings,
        add_help_option=False,
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="inferlake", message="%(package)s %(version)s")
def main() -> None:
    """Call served language models from Spark as if they were functions, and trust what comes back.

    Start with `inferlake demo`: it serves a model, registers it, runs a Spark job over it and shows what came out.
    """


if __name__ == "__main__":
    main()
