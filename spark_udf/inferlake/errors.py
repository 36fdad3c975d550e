"""Errors that a Spark user meets on the driver: each says what to do next.

InferlakeError
└── SessionError
    ├── NotEnabled              NOT_ENABLED
    ├── RegistryNotStarted      REGISTRY_NOT_STARTED     the embedded registry did not come up
    ├── RegistryOutOfReach      REGISTRY_OUT_OF_REACH    loopback registry, executors elsewhere
    ├── InvalidArgument         INVALID_ARGUMENT         argument, reason
    ├── InvalidSchema           INVALID_SCHEMA           path
    ├── UnknownOption           UNKNOWN_OPTION           option, near
    ├── NoModelCall             NO_MODEL_CALL            nothing for EXPLAIN AI to explain
    ├── InputCountDiffers       INPUT_COUNT_DIFFERS      model, expected, given
    ├── InputTypeDiffers        INPUT_TYPE_DIFFERS       model, number, column, expected, given
    └── RoutingError            ROUTING_ERROR
        ├── RowsLost            ROWS_LOST                rows, accepted, rejected
        ├── RunDiffers          RUN_DIFFERS              run id used before for something else
        ├── TableDiffers        TABLE_DIFFERS            an existing table cannot take the rows
        └── TooManyRejected     TOO_MANY_REJECTED        after everything was written

Errors that a worker raises are in ``inferlake.worker.errors``.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferlake_sql.errors import InferlakeError


class SessionError(InferlakeError):
    """Something on the driver is not as it must be."""

    code = "SESSION_ERROR"
    status = 400


class NotEnabled(SessionError):
    """A function was used before ``enable``."""

    code = "NOT_ENABLED"

    def __init__(self) -> None:
        super().__init__("No registry is known yet. Call inferlake.enable(spark) first.")


class RegistryNotStarted(SessionError):
    """The embedded registry's process ended or said nothing."""

    code = "REGISTRY_NOT_STARTED"
    status = 503

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(
            f"The embedded registry did not start: {reason}. All it said is in {log}. To use a registry that runs "
            f"elsewhere, give inferlake.enable(spark, registry='http://…') or INFERLAKE_REGISTRY_URL.",
            reason=reason,
            log=log,
        )


class RegistryOutOfReach(SessionError):
    """Executors on other hosts cannot reach a registry on this machine's loopback."""

    code = "REGISTRY_OUT_OF_REACH"

    def __init__(self, url: str, where: str) -> None:
        super().__init__(
            f"The registry {url} listens on this machine's loopback only, and {where}. Start it where they can reach "
            f"it (`inferlake registry serve --host 0.0.0.0`, with INFERLAKE_REGISTRY_TOKEN set) and give its address: "
            f"inferlake.enable(spark, registry='http://HOST:8085', token=…).",
            url=url,
            where=where,
        )


class InvalidArgument(SessionError):
    """An argument of one of our functions cannot be used."""

    code = "INVALID_ARGUMENT"

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}", argument=argument, reason=reason)


class InvalidSchema(SessionError):
    """What was given as a JSON Schema is none; ``path`` is a JSON pointer into it."""

    code = "INVALID_SCHEMA"

    def __init__(self, reason: str, path: str = "") -> None:
        where = f" at {path}" if path else ""
        super().__init__(f"This is no usable JSON Schema{where}: {reason}", reason=reason, path=path)


class UnknownOption(SessionError):
    """A call has no option of that name."""

    code = "UNKNOWN_OPTION"

    def __init__(self, option: str, near: Sequence[str], known: Sequence[str]) -> None:
        hint = f"Did you mean {', '.join(near)}?" if near else f"Options: {', '.join(known)}, request.*"
        super().__init__(f"There is no option {option!r}. {hint}", option=option, near=list(near))


class InputCountDiffers(SessionError):
    """A call gives a model another number of inputs than its INPUT has columns."""

    code = "INPUT_COUNT_DIFFERS"

    def __init__(self, model: str, expected: Sequence[str], given: int) -> None:
        super().__init__(
            f"Model {model} takes {len(expected)} input{'s' * (len(expected) != 1)} ({', '.join(expected)}), and the "
            f"call gives {given}. Give one for each column of the model's INPUT, in that order; DESCRIBE MODEL shows "
            "it. (A last map is options only when all its keys are options.)",
            model=model,
            expected=list(expected),
            given=given,
        )


class InputTypeDiffers(SessionError):
    """An input of a call is of a type that does not fit the model's INPUT."""

    code = "INPUT_TYPE_DIFFERS"

    def __init__(self, model: str, number: int, column: str, expected: str, given: str) -> None:
        super().__init__(
            f"Input {number} ({column}) of model {model} is {expected}, and the call gives {given}, which Spark does "
            f"not widen to it by itself. Cast it: CAST(… AS {expected}).",
            model=model,
            number=number,
            column=column,
            expected=expected,
            given=given,
        )


class NoModelCall(SessionError):
    """EXPLAIN AI of a query that calls no model."""

    code = "NO_MODEL_CALL"

    def __init__(self) -> None:
        super().__init__(
            "This query calls no model, so there is nothing to explain. EXPLAIN AI wants a query with ai_function('m', "
            "…), try_ai_function or ai_query, of its own or from a view; for Spark's own plan, write EXPLAIN."
        )


class RoutingError(SessionError):
    """Routing accepted and rejected rows did not end as it must."""

    code = "ROUTING_ERROR"


class RowsLost(RoutingError):
    """The files hold another number of rows than went in."""

    code = "ROWS_LOST"
    status = 500

    def __init__(self, run: str, rows: int, accepted: int, rejected: int, location: str) -> None:
        super().__init__(
            f"Run {run!r}: {rows} rows went in, {accepted} accepted + {rejected} rejected were written to {location}. "
            f"Nothing was made visible. Is the input the same each time it is read? Cache or save it and run again.",
            run=run,
            rows=rows,
            accepted=accepted,
            rejected=rejected,
        )


class RunDiffers(RoutingError):
    """A run id that a run with another schema or column has already."""

    code = "RUN_DIFFERS"

    def __init__(self, run: str, what: str, before: str, now: str) -> None:
        super().__init__(
            f"Run {run!r} was done before with another {what} ({before}, now {now}), so it cannot be continued as this "
            f"one. Give another run id.",
            run=run,
            what=what,
        )


class TableDiffers(RoutingError):
    """An existing table that cannot take what a run has to put into it."""

    code = "TABLE_DIFFERS"

    def __init__(self, table: str, reason: str, location: str) -> None:
        super().__init__(
            f"Table {table} cannot take the run: {reason}. The run's rows are written and lie in {location}; name "
            f"another table and repeat the same run id, nothing is called again.",
            table=table,
            reason=reason,
            location=location,
        )


class TooManyRejected(RoutingError):
    """More rows were rejected than ``max_rejected_ratio`` allows; everything has been written before."""

    code = "TOO_MANY_REJECTED"

    def __init__(self, run: str, rows: int, rejected: int, ratio: float, table: str) -> None:
        super().__init__(
            f"Run {run!r}: {rejected} of {rows} rows were rejected, more than max_rejected_ratio={ratio:g} allows. All "
            f"rows are written; look at the reasons in {table}.",
            run=run,
            rows=rows,
            rejected=rejected,
        )
