"""What can be wrong with a command on this machine.

InferlakeError
└── CommandError
    ├── MissingExtra                  MISSING_EXTRA
    ├── NeedsCheckout                 NEEDS_CHECKOUT
    ├── NotAModelStatement            NOT_A_MODEL_STATEMENT
    └── UnreadableScript              UNREADABLE_SCRIPT
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlake_sql.errors import InferlakeError
from inferlake_sql.redact import redact


class CommandError(InferlakeError):
    """A command cannot do its work here."""

    code = "COMMAND_ERROR"
    status = 400


class MissingExtra(CommandError):
    """A command whose packages are not installed."""

    code = "MISSING_EXTRA"

    def __init__(self, command: str, extras: Sequence[str], module: str) -> None:
        install = f"pip install 'inferlake[{','.join(extras)}]'"
        super().__init__(
            f"`inferlake {command}` needs the package {module!r}, which comes with an extra: {install}.",
            command=command,
            extras=list(extras),
            module=module,
            install=install,
        )


class UnreadableScript(CommandError):
    """A file of statements that is not there, or is no UTF-8 text."""

    code = "UNREADABLE_SCRIPT"

    def __init__(self, path: str, cause: str) -> None:
        # A statement may have been given in the path's place.
        shown = redact(path)
        super().__init__(f"{shown} cannot be read as UTF-8 text: {cause}.", path=shown)


class NotAModelStatement(CommandError):
    """SQL that is Spark's own, which the registry does not run."""

    code = "NOT_A_MODEL_STATEMENT"

    def __init__(self, statement: str) -> None:
        first = " ".join(redact(statement).split()[:3])
        super().__init__(
            f"This is no statement about models: {first} … A query runs in Spark: give its session to "
            f"inferlake.enable(spark) and the query to spark.sql.",
            statement=first,
        )


class NeedsCheckout(CommandError):
    """A command that works on the repository's own files, in an installation without them."""

    code = "NEEDS_CHECKOUT"

    def __init__(self, command: str) -> None:
        super().__init__(
            f"`inferlake {command}` runs files of the repository that are not part of the package: run it as "
            f"`./run {command}` in a clone of the repository.",
            command=command,
        )
