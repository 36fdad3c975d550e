"""Errors that a worker raises into Spark. Errors of single rows are not here: those are data (``inferlake.result``).

InferlakeError
└── CallError
    ├── BadTemplate            400  BAD_TEMPLATE
    ├── RowFailed              502  ROW_FAILED            on_error = raise
    ├── TooManyErrors          502  TOO_MANY_ERRORS       max_error_ratio
    ├── UnsupportedColumn      400  UNSUPPORTED_COLUMN
    ├── ModelUnusable          409  MODEL_UNUSABLE
    ├── CalledWhileExplaining  409  CALLED_WHILE_EXPLAINING
    └── ReuseUnusable          500  REUSE_UNUSABLE        the folder of answers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inferlake_sql.errors import InferlakeError


class CallError(InferlakeError):
    """A query with a model call cannot go on."""

    code = "CALL_ERROR"
    status = 502


class BadTemplate(CallError):
    """A prompt template names something that is no input column."""

    code = "BAD_TEMPLATE"
    status = 400

    def __init__(self, place: str, columns: Sequence[str]) -> None:
        known = ", ".join("{" + name + "}" for name in columns)
        super().__init__(
            f"The prompt has the place {{{place}}}, which is none of the input columns. Places that exist: {known}. "
            "Write a literal brace twice: {{ or }}.",
            place=place,
            columns=list(columns),
        )


class UnsupportedColumn(CallError):
    """An input column has a type that cannot be shown as JSON."""

    code = "UNSUPPORTED_COLUMN"
    status = 400

    def __init__(self, type_name: str) -> None:
        super().__init__(
            f"An input column of the Arrow type {type_name} cannot be shown to a model. Cast it to a string.",
            type=type_name,
        )


class RowFailed(CallError):
    """A row has no answer and the call was made with on_error = raise."""

    code = "ROW_FAILED"

    def __init__(self, model: str, error_code: str, error: str) -> None:
        super().__init__(
            f"A call of {model!r} failed ({error_code}): {error} Answers so far are kept and cost nothing when "
            "the query runs again; on_error='null' or returns='struct' let it go on.",
            model=model,
            error_code=error_code,
        )


class TooManyErrors(CallError):
    """More rows of a task failed than ``max_error_ratio`` allows."""

    code = "TOO_MANY_ERRORS"

    def __init__(self, model: str, failed: int, rows: int, ratio: float, by_code: Mapping[str, int]) -> None:
        reasons = ", ".join(f"{code}: {count}" for code, count in sorted(by_code.items(), key=lambda item: -item[1]))
        super().__init__(
            f"{failed} of {rows} calls of {model!r} failed ({reasons}), more than max_error_ratio={ratio:g} allows. "
            "Answers so far are kept and cost nothing when the query runs again; max_error_ratio=1 lets it go on.",
            model=model,
            failed=failed,
            rows=rows,
            by_code=dict(by_code),
        )


class ModelUnusable(CallError):
    """The model has no version that could be called."""

    code = "MODEL_UNUSABLE"
    status = 409

    def __init__(self, model: str, reason: str) -> None:
        super().__init__(f"Model {model!r} cannot be called: {reason}.", model=model)


class CalledWhileExplaining(CallError):
    """A job that must not call anything came to a call that no plan shows."""

    code = "CALLED_WHILE_EXPLAINING"
    status = 409

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The rows of this query come from calls of {model!r} that have not been made: it reads a cached frame or "
            "an RDD whose rows are not there yet. Save that frame as a table first, then explain what is built on it.",
            model=model,
        )


class ReuseUnusable(CallError):
    """The folder that answers should be kept in cannot be read or written."""

    code = "REUSE_UNUSABLE"
    status = 500

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(
            f"The folder reuse={location!r} cannot be used by the workers: {reason}. Give a path that every "
            "executor can read and write.",
            location=location,
            reason=reason,
        )
