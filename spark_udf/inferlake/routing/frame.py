"""The one frame that a run evaluates and writes: every row of the input with its outcome and what is kept of it.

An accepted row keeps the input's columns, a rejected one the columns of the rejected table. Both are columns of the
same files; those of the other outcome are null and take no room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructType

from inferlake.errors import InvalidArgument
from inferlake.iterator_udf import iterator_udf
from inferlake.planning import Lineage
from inferlake.routing.columns import storable
from inferlake.routing.layout import ACCEPTED, CALL, CALL_DDL, OUTCOME, REJECTED, quoted
from inferlake.routing.rejecting import ROUTED_DDL, Sent, rejecting
from inferlake.schema import Schema

_VERDICT: Final = "inferlake_verdict"


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is asked to do."""

    run: str
    column: str
    schema: Schema
    keys: tuple[str, ...]
    lineage: Lineage | None
    is_struct: bool
    started: datetime


def answer_column(frame: DataFrame, column: str) -> tuple[bool, Lineage | None]:
    """Return whether the column is the fixed struct, and where its answers come from. Raises InvalidArgument."""
    fields = {field.name: field for field in frame.schema.fields}
    if column not in fields:
        raise InvalidArgument("column", f"{column!r} is none of {', '.join(fields)}.")
    type_ = fields[column].dataType
    lineage = Lineage.read(fields[column].metadata)
    if isinstance(type_, StringType):
        return False, lineage
    if isinstance(type_, StructType) and {"response", "error_code", "model", "version"} <= set(type_.names):
        return True, lineage
    raise InvalidArgument(
        "column",
        f"{column!r} is a {type_.simpleString()}; routing judges the text of ai_function, or its struct.",
    )


def judged_frame(frame: DataFrame, job: Job, stored: Mapping[str, str]) -> DataFrame:
    """Return the frame to write."""
    answer = _column(job.column)
    sent = _sent(frame.columns, job.lineage)
    judge = iterator_udf(rejecting(job.schema, sent), ROUTED_DDL)
    verdict = judge(answer, *[_column(name) for name in (sent.names if sent else ())])
    judged = frame.withColumn(_VERDICT, verdict)
    valid = sf.col(f"{_VERDICT}.valid")
    accepted = {stored[name]: _storable(frame, name) for name in frame.columns}
    rejected = _rejected(frame.columns, job)
    columns = []
    for name, value in accepted.items():
        other = rejected.pop(name.casefold(), None)  # a name that both outcomes have is one column of the files
        kept = sf.when(valid, value)
        columns.append((kept if other is None else kept.otherwise(other)).alias(name))
    columns += [sf.when(~valid, value).alias(name) for name, value in rejected.items()]
    outcome = sf.when(valid, sf.lit(ACCEPTED)).otherwise(sf.lit(REJECTED)).alias(OUTCOME)
    return judged.select(*columns, _call(job).alias(CALL), outcome)


def _sent(columns: Sequence[str], lineage: Lineage | None) -> Sent | None:
    """Return what was sent, if the columns that it was made of are still in the frame under their names."""
    if lineage is None or not set(lineage.inputs) <= set(columns):
        return None
    return Sent(lineage.inputs, lineage.prompt)


def _rejected(columns: Sequence[str], job: Job) -> dict[str, Column]:
    answer = _column(job.column)
    lineage = job.lineage
    text = answer["response"] if job.is_struct else answer
    model, version = sf.lit(lineage.model if lineage else None), sf.lit(lineage.version if lineage else None)
    source = _as_json([name for name in columns if name != job.column])
    row_key = _row_key(job.keys, source)
    return {
        "rejected_id": sf.substring(sf.sha2(sf.concat_ws("\n", sf.lit(job.run), row_key, source), 256), 1, 32),
        "row_key": row_key,
        "model": sf.coalesce(answer["model"], model) if job.is_struct else model.cast("string"),
        "model_version": sf.coalesce(answer["version"], version) if job.is_struct else version.cast("string"),
        "request_id": answer["request_id"] if job.is_struct else _null("string"),
        "attempts": answer["attempts"] if job.is_struct else _null("int"),
        "reason": sf.col(f"{_VERDICT}.reason"),
        "errors": _errors(job),
        "schema_hash": sf.lit(job.schema.digest),
        "ai_output": text,
        "input": sf.col(f"{_VERDICT}.input"),
        "source": source,
        "replay_of": _null("string"),
        "rejected_at": sf.lit(job.started),
    }


def _errors(job: Job) -> Column:
    """Return what is wrong as JSON text; for a call that failed, the call's own error."""
    errors = sf.col(f"{_VERDICT}.errors")
    if not job.is_struct:
        return errors
    answer = _column(job.column)
    failed = sf.array(
        sf.struct(sf.lit("").alias("path"), answer["error_code"].alias("keyword"), answer["error"].alias("message"))
    )
    return sf.when(answer["error_code"].isNotNull(), sf.to_json(failed)).otherwise(errors)


def _row_key(keys: Sequence[str], source: Column) -> Column:
    if not keys:
        return sf.substring(sf.sha2(source, 256), 1, 32)
    if len(keys) == 1:
        return sf.coalesce(_column(keys[0]).cast("string"), sf.lit(""))
    return _as_json(keys)


def _as_json(columns: Sequence[str]) -> Column:
    if not columns:
        return sf.lit("{}")
    return sf.to_json(sf.struct(*map(_column, columns)), {"ignoreNullFields": "false"})


def _call(job: Job) -> Column:
    if not job.is_struct:
        return _null(f"struct<{_type(CALL_DDL)}>")
    answer = _column(job.column)
    names = [item.split()[0] for item in CALL_DDL.split(", ")]
    return sf.struct(*[answer[name].alias(name) for name in names])


def _storable(frame: DataFrame, name: str) -> Column:
    type_ = frame.schema[name].dataType
    return _column(name) if storable(type_) == type_ else _column(name).cast(storable(type_))


def _column(name: str) -> Column:
    return sf.col(quoted([name]))


def _null(type_: str) -> Column:
    return sf.lit(None).cast(type_)


def _type(ddl: str) -> str:
    return ", ".join(":".join(item.split()) for item in ddl.split(", "))
