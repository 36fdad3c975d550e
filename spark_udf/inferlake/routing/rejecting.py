"""What a Spark worker runs when rows are routed: the verdict on each answer, and for rejected rows what was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa

from inferlake.judge import Explanation, Judge, Reason
from inferlake.judging import answers, verdict_of
from inferlake.schema import Schema
from inferlake.worker.arrow_columns import arrow_column
from inferlake.worker.plain_values import plain_values
from inferlake.worker.prompt import Render, compile_prompt

ROUTED_DDL: Final = "valid boolean, reason string, errors string, input string"
_ROUTED: Final = pa.struct(
    [("valid", pa.bool_()), ("reason", pa.string()), ("errors", pa.string()), ("input", pa.string())]
)


@dataclass(frozen=True, slots=True)
class Sent:
    """How the inputs of a row became what was sent."""

    names: tuple[str, ...]
    prompt: str | None


@dataclass(frozen=True, slots=True)
class Rejecting:
    """Judges one batch of rows: the answers, and behind them the input columns when these are still there."""

    schema: Schema
    sent: Sent | None

    def verdicts(self, batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.StructArray]:
        """Yield valid, reason, errors as JSON text, and input for the rows that are rejected."""
        judge = Judge(self.schema)
        for batch in batches:
            yield self.judged(judge, batch)

    def judged(self, judge: Judge, batch: tuple[pa.Array, ...]) -> pa.StructArray:
        """Return the verdicts on one batch."""
        inputs = batch[1:]
        render: Render | None = None
        values: list[list[Any]] = []
        valid: list[bool] = []
        reasons: list[str | None] = []
        errors: list[str | None] = []
        sent: list[str | None] = []
        for at, (text, code) in enumerate(answers(batch[0])):
            verdict = verdict_of(judge, text, code)
            valid.append(verdict.valid)
            if verdict.valid:
                reasons.append(None)
                errors.append(None)
                sent.append(None)
                continue
            shown = None
            if self.sent is not None:
                if render is None:  # most batches have no row that is rejected
                    render = self._compile(self.sent, inputs)
                    values = [plain_values(column) for column in inputs]
                shown = render(tuple(column[at] for column in values))
            unasked = self.sent is not None and shown is None and text is None and code is None
            reasons.append(Reason.NULL_INPUT.value if unasked else str(verdict.reason))
            errors.append(_as_json(verdict.errors) if code is None else _failure(code, batch[0].field("error")[at]))
            sent.append(shown)
        columns = [
            arrow_column(valid, pa.bool_()),
            arrow_column(reasons, pa.string()),
            arrow_column(errors, pa.string()),
            arrow_column(sent, pa.string()),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(_ROUTED))

    def _compile(self, sent: Sent, inputs: tuple[pa.Array, ...]) -> Render:
        return compile_prompt(sent.names, [column.type for column in inputs], sent.prompt)


def _as_json(errors: Sequence[Explanation]) -> str:
    return orjson.dumps([{"path": e.path, "keyword": e.keyword, "message": e.message} for e in errors]).decode()


def _failure(code: str, message: pa.StringScalar) -> str:
    """Return what is wrong with a call that failed: its own error."""
    said = {"message": message.as_py()} if message.is_valid else {}
    return orjson.dumps([{"path": "", "keyword": code, **said}]).decode()


def rejecting(schema: Schema, sent: Sent | None) -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """Return the function that routing's iterator ``arrow_udf`` is made of."""
    work = Rejecting(schema, sent)

    def route_rejected(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return work.verdicts(batch if isinstance(batch, tuple) else (batch,) for batch in batches)

    route_rejected.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return route_rejected
