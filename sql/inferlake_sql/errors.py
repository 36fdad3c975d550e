"""The root error of the project and the errors of the language.

    InferlakeError                    code, status, message, fields
    └── LanguageError                 INVALID_STATEMENT: not understood or not allowed; carries its place in the text
        ├── StatementSyntaxError      SYNTAX_ERROR           found, expected, syntax
        ├── UnreadableText            UNREADABLE_TEXT
        ├── MultipleStatements        MULTIPLE_STATEMENTS
        ├── NestingTooDeep            NESTING_TOO_DEEP
        ├── ConflictingClauses        CONFLICTING_CLAUSES
        ├── InvalidName               INVALID_NAME
        ├── InvalidParameter          INVALID_PARAMETER
        ├── InvalidTraffic            INVALID_TRAFFIC
        ├── InvalidLocation           INVALID_LOCATION       reason
        ├── InvalidReference          INVALID_REFERENCE
        ├── ModelNotConstant          MODEL_NOT_CONSTANT
        ├── NotSupported              NOT_SUPPORTED
        └── PropertyError             INVALID_PROPERTY
            ├── UnknownProperty       UNKNOWN_PROPERTY       key, near
            ├── DuplicateKey          DUPLICATE_KEY
            ├── InvalidValue          INVALID_VALUE          key, wanted, unit, allowed
            ├── ReservedKey           RESERVED_KEY
            ├── RequiredProperty      REQUIRED_PROPERTY
            └── SecretPlaceholder     SECRET_PLACEHOLDER

The registry adds its own branch in ``inferlake_registry.contract.problems``, the Spark side in ``inferlake.errors``.
A message is built inside its class from typed arguments, so a call site is one line and the wording cannot drift.
Every error can be pickled (Spark carries it from worker to driver) and rebuilt from a problem document (HTTP).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a statement something is wrong: 1-based line and column, and that line with a caret below it.

    The snippet is cut from a masked copy of the text (``inferlake_sql.redact``), so it can be logged.
    """

    line: int
    column: int
    snippet: str


class LanguageError(InferlakeError):
    """A statement that cannot be understood or is not allowed; its place, when known, is among the fields."""

    code = "INVALID_STATEMENT"
    status = 400

    def located(self, place: Place) -> Self:
        """Return the same error with its place in the text; a place it already has is kept."""
        if "line" in self.fields:
            return self
        where: dict[str, JsonValue] = {"line": place.line, "column": place.column, "snippet": place.snippet}
        return self.rebuild(self.message, {**self.fields, **where})

    def __str__(self) -> str:
        text = InferlakeError.__str__(self)
        if "line" not in self.fields:
            return text
        return f"{text} (line {self.fields['line']}, column {self.fields['column']})\n{self.fields['snippet']}"


class StatementSyntaxError(LanguageError):
    """Another word than the grammar wants; ``expected`` lists what would have been right, ``syntax`` the whole form."""

    code = "SYNTAX_ERROR"

    def __init__(self, found: str, expected: Sequence[str], syntax: str = "") -> None:
        wanted = expected[0] if len(expected) == 1 else f"one of {', '.join(expected)}"
        form = f" The form is: {syntax}" if syntax else ""
        super().__init__(
            f"Expected {wanted}, found {found}.{form}", found=found, expected=list(expected), syntax=syntax
        )


class UnreadableText(LanguageError):
    """Text that does not even fall into words: a quote or comment without its end, a control character."""

    code = "UNREADABLE_TEXT"

    def __init__(self, what: str) -> None:
        super().__init__(f"The text cannot be read: {what}.", what=what)


class MultipleStatements(LanguageError):
    """More than one statement in a text that takes one."""

    code = "MULTIPLE_STATEMENTS"

    def __init__(self) -> None:
        super().__init__("One statement at a time: text follows the ';'. `inferlake sql -f FILE` runs scripts.")


class NestingTooDeep(LanguageError):
    """Brackets inside brackets beyond the depth that is read."""

    code = "NESTING_TOO_DEEP"

    def __init__(self, limit: int) -> None:
        super().__init__(f"Brackets are nested more than {limit} deep. Flatten the value.", limit=limit)


class ConflictingClauses(LanguageError):
    """Two parts of a statement that exclude each other, or one given twice."""

    code = "CONFLICTING_CLAUSES"

    def __init__(self, first: str, second: str) -> None:
        twice = first == second
        message = (
            f"{first} is given twice; keep one." if twice else f"{first} and {second} exclude each other; keep one."
        )
        super().__init__(message, first=first, second=second)


class InvalidName(LanguageError):
    """A model, version or alias name that cannot be used."""

    code = "INVALID_NAME"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"This is no usable {what}: {reason}.", what=what, reason=reason)


class InvalidParameter(LanguageError):
    """A parameter marker without a value, or a value that cannot stand where its marker stands."""

    code = "INVALID_PARAMETER"

    def __init__(self, marker: str, reason: str) -> None:
        super().__init__(f"Parameter {marker}: {reason}.", marker=marker, reason=reason)


class NotSupported(LanguageError):
    """A statement of the language that this version understands and does not carry out."""

    code = "NOT_SUPPORTED"
    status = 501

    def __init__(self, feature: str, instead: str) -> None:
        super().__init__(f"{feature} is not supported. {instead}", feature=feature, instead=instead)


class InvalidTraffic(LanguageError):
    """Shares of traffic that are no whole percentages, do not sum to 100, or name a version twice."""

    code = "INVALID_TRAFFIC"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} Shares are whole numbers from 0 to 100 that sum to 100.", reason=reason)


class PropertyError(LanguageError):
    """A property that the catalogue does not allow as it is written."""

    code = "INVALID_PROPERTY"


# Short words without digits, and no 'sk-': where a value was written in the key's place, it must not be repeated.
_LOOKS_LIKE_A_KEY = re.compile(r"(?!sk-)[a-z]{1,14}(?:[._-]{1,2}[a-z]{1,14}){0,7}", re.IGNORECASE | re.ASCII)


class UnknownProperty(PropertyError):
    """No property of that key; ``near`` holds up to three keys that look alike."""

    code = "UNKNOWN_PROPERTY"

    def __init__(self, key: str, near: Sequence[str] = ()) -> None:
        hint = f"Did you mean {', '.join(near)}?" if near else "SHOW MODEL PROPERTIES lists the keys."
        free = "Free keys begin with request., header., tag. or x-."
        shown = key if _LOOKS_LIKE_A_KEY.fullmatch(key) else "(not shown: it could be a misplaced value)"
        super().__init__(f"There is no property {shown!r}. {hint} {free}", key=shown, near=list(near))


class DuplicateKey(PropertyError):
    """One key twice in one list, compared without case and after aliases."""

    code = "DUPLICATE_KEY"

    def __init__(self, key: str, first: str, second: str) -> None:
        spelled = f" (written {first!r} and {second!r})" if first != second else ""
        super().__init__(f"The key {key!r} is given twice{spelled}; keep one.", key=key, first=first, second=second)


class InvalidValue(PropertyError):
    """A value of another type or outside the range; the value itself is never repeated, it could be a misplaced key."""

    code = "INVALID_VALUE"

    def __init__(self, key: str, wanted: str, *, unit: str = "", allowed: str = "", hint: str = "") -> None:
        message = f"{key!r} wants {wanted}." + (f" {hint}" if hint else "")
        super().__init__(message, key=key, wanted=wanted, unit=unit, allowed=allowed)


class ReservedKey(PropertyError):
    """A body member that is made from the row or the model and so cannot be set by a property."""

    code = "RESERVED_KEY"

    def __init__(self, key: str, instead: str) -> None:
        super().__init__(f"{key!r} is set by the call itself. {instead}", key=key)


class RequiredProperty(PropertyError):
    """UNSET of a property that a model cannot do without, or CREATE without it."""

    code = "REQUIRED_PROPERTY"

    def __init__(self, key: str, missing: str = "") -> None:
        super().__init__(
            f"{key!r} is needed and not given. {missing}"
            if missing
            else f"{key!r} cannot be unset; SET it to another value.",
            key=key,
        )


class SecretPlaceholder(PropertyError):
    """The mask that stands for a secret in printed statements, given as if it were the secret."""

    code = "SECRET_PLACEHOLDER"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The value of {key!r} is the mask of a printed statement, not a value. Put the real one in its place, "
            f"or a reference: secret://scope/key, env:NAME or file:/path.",
            key=key,
        )


class InvalidLocation(LanguageError):
    """An address that must not be called, or is none; ``reason`` is one of ``location.Refusal``."""

    code = "INVALID_LOCATION"

    def __init__(self, reason: str, explanation: str) -> None:
        super().__init__(f"LOCATION is refused: {explanation}", reason=reason)


class InvalidReference(LanguageError):
    """A model reference of a call that is not m, m@alias or m:version."""

    code = "INVALID_REFERENCE"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"{reason} A model is named 'm', 'm@alias' or 'm:version'; a name that holds @, : or $ goes in backquotes.",
            reason=reason,
        )


class ModelNotConstant(LanguageError):
    """A model argument that depends on the row."""

    code = "MODEL_NOT_CONSTANT"

    def __init__(self, function: str) -> None:
        super().__init__(
            f"The first argument of {function} must be a constant text: permissions and limits are settled when the "
            f"query is planned. To choose by row, write one call per model and pick the result with CASE.",
            function=function,
        )
