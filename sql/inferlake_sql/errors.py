"""The root error of the project and the errors of the language.

    InferlakeError                    code, status, message, fields
    └── LanguageError                 text that cannot be understood or is not allowed; carries a Position

The registry adds its own branch in ``inferlake_registry.contract.problems``, the Spark side in ``inferlake.errors``.
A message is built inside its class from typed arguments, so a call site is one line and the wording cannot drift.
Every error can be pickled (Spark carries it from worker to driver) and rebuilt from a problem document (HTTP).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, TypeAlias

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"


class InferlakeError(Exception):
    """Root of the family: a stable ``code``, the HTTP ``status`` it maps to, a message, and its facts as data."""

    code: str = "INTERNAL_ERROR"
    status: int = 500

    message: str
    fields: Mapping[str, JsonValue]

    def __init__(self, message: str, **fields: JsonValue) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"

    @classmethod
    def rebuild(cls, message: str, fields: Mapping[str, JsonValue]) -> Self:
        """Make the error again from its parts, without running the subclass's own constructor."""
        error = cls.__new__(cls)
        InferlakeError.__init__(error, message, **fields)
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, dict(self.fields)))


def _rebuild(cls: type[InferlakeError], message: str, fields: dict[str, JsonValue]) -> InferlakeError:
    return cls.rebuild(message, fields)


class LanguageError(InferlakeError):
    """A statement that cannot be understood or is not allowed."""

    code = "INVALID_STATEMENT"
    status = 400
