"""What a Spark worker runs to judge answers: a column of answers in, a column of verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from inferlake.errors import InvalidArgument
from inferlake.judge import Judge, Reason, Verdict
from inferlake.schema import Schema, check_schema
from inferlake.worker.row_json import is_string
from inferlake_sql.errors import ModelNotConstant

EXPLANATION: Final = pa.struct([("path", pa.string()), ("keyword", pa.string()), ("message", pa.string())])
VERDICT: Final = pa.struct(
    [("valid", pa.bool_()), ("value", pa.string()), ("reason", pa.string()), ("errors", pa.list_(EXPLANATION))]
)
VERDICT_DDL: Final = (
    "valid boolean, value string, reason string, errors array<struct<path string, keyword string, message string>>"
)


def validating(schema: Schema) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return the function that ``ai_validate`` with a known schema is made of."""

    def ai_validate(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        judge = Judge(schema)
        for batch in batches:
            yield verdict_array([verdict_of(judge, text, code) for text, code in answers(batch)])

    ai_validate.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return ai_validate


def validating_by_argument() -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """Return the function that SQL's ``ai_validate(answer, schema)`` is made of."""

    def ai_validate(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        judges: dict[str, Judge] = {}
        for column, schemas in batches:
            texts = set(schemas.to_pylist())
            if len(texts | judges.keys()) > 1 or None in texts:
                raise ModelNotConstant("ai_validate")
            for text in texts - judges.keys():
                judges[text] = Judge(check_schema(text))
            judge = next(iter(judges.values()))
            yield verdict_array([verdict_of(judge, text, code) for text, code in answers(column)])

    ai_validate.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return ai_validate


def answers(column: pa.Array) -> Iterator[tuple[str | None, str | None]]:
    """Yield text and error code of each row of a plain output or of the fixed struct. Raises InvalidArgument."""
    if pa.types.is_struct(column.type) and column.type.get_field_index("error_code") >= 0:
        yield from zip(column.field("response").to_pylist(), column.field("error_code").to_pylist(), strict=True)
    elif not (is_string(column.type) or pa.types.is_null(column.type)):
        raise InvalidArgument(
            "ai_validate",
            f"an answer as text, or the struct of ai_function, not {column.type}. Where the model's "
            "OUTPUT makes such a value, ask with returns='struct' (or output_type='string').",
        )
    else:
        for text in column.to_pylist():
            yield text, None


def verdict_of(judge: Judge, text: str | None, error_code: str | None) -> Verdict | NoAnswer:
    """Return the verdict on a row; one without an answer keeps the call's own error code as its reason."""
    return judge.judge(text) if text is not None else NoAnswer(error_code or Reason.NO_OUTPUT.value)


class NoAnswer:
    """The verdict on a row that has nothing to judge."""

    __slots__ = ("reason",)

    valid: Final = False
    value: Final = None
    errors: Final = ()

    def __init__(self, reason: str) -> None:
        self.reason = reason


def verdict_array(verdicts: Sequence[Verdict | NoAnswer]) -> pa.StructArray:
    """Return verdicts as one array of ``VERDICT``."""
    columns: list[list[Any]] = [
        [verdict.valid for verdict in verdicts],
        [verdict.value for verdict in verdicts],
        [None if verdict.reason is None else str(verdict.reason) for verdict in verdicts],
        [
            [{"path": e.path, "keyword": e.keyword, "message": e.message} for e in verdict.errors]
            for verdict in verdicts
        ],
    ]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, VERDICT, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(VERDICT))
