"""The one frame that a run evaluates and writes: every row of the input with its outcome and what is kept of it.

An accepted row keeps the input's columns, a rejected one the columns of the rejected table. Both are columns of the
same files; those of the other outcome are null and take no room. Answers that are structs are there for both: a run's
figures are those of all calls, and they are observed here, where nothing comes behind but the files. (Observed any
earlier they split the code that Spark generates in two: half a second of CPU for 100,000 rows.)
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from inferlake.routing.columns import storable
from inferlake.routing.job import Job
from inferlake.routing.judged import Judged
from inferlake.routing.layout import ACCEPTED, OUTCOME, REJECTED, quoted


def written_frame(rows: Judged, schema: StructType, job: Job, stored: Mapping[str, str]) -> DataFrame:
    """Return the frame to write. ``schema`` is the input's, ``stored`` the names of its columns in the files."""
    valid = rows.verdict["valid"]
    values = {name: rows.answer if name == job.column else sf.col(quoted([name])) for name in schema.names}
    accepted = {stored[field.name]: _storable(values[field.name], field.dataType) for field in schema}
    rejected = _rejected(rows, values, job)
    columns = []
    for name, value in accepted.items():
        other = rejected.pop(name.casefold(), None)  # a name that both outcomes have is one column of the files
        kept = value if job.is_struct and name == stored[job.column] else sf.when(valid, value)
        columns.append((kept if other is None else kept.otherwise(other)).alias(name))
    columns += [sf.when(~valid, value).alias(name) for name, value in rejected.items()]
    outcome = sf.when(valid, sf.lit(ACCEPTED)).otherwise(sf.lit(REJECTED)).alias(OUTCOME)
    return rows.frame.select(*columns, outcome)


def _rejected(rows: Judged, values: Mapping[str, Column], job: Job) -> dict[str, Column]:
    answer, verdict = rows.answer, rows.verdict
    lineage = job.lineage
    text = answer["response"] if job.is_struct else answer
    model, version = sf.lit(lineage.model if lineage else None), sf.lit(lineage.version if lineage else None)
    source = _as_json({name: value for name, value in values.items() if name != job.column})
    row_key = _row_key({name: values[name] for name in job.keys}, source)
    return {
        "rejected_id": sf.substring(sf.sha2(sf.concat_ws("\n", sf.lit(job.run), row_key, source), 256), 1, 32),
        "row_key": row_key,
        "model": sf.coalesce(answer["model"], model) if job.is_struct else model.cast("string"),
        "model_version": sf.coalesce(answer["version"], version) if job.is_struct else version.cast("string"),
        "request_id": answer["request_id"] if job.is_struct else _null("string"),
        "attempts": answer["attempts"] if job.is_struct else _null("int"),
        "reason": verdict["reason"],
        "errors": verdict["errors"],
        "schema_hash": sf.lit(job.schema.digest),
        "ai_output": text,
        "input": verdict["input"],
        "source": source,
        "replay_of": _null("string"),
        "rejected_at": sf.lit(job.started),
    }


def _row_key(keys: Mapping[str, Column], source: Column) -> Column:
    if not keys:
        return sf.substring(sf.sha2(source, 256), 1, 32)
    if len(keys) == 1:
        return sf.coalesce(*(key.cast("string") for key in keys.values()), sf.lit(""))
    return _as_json(keys)


def _as_json(values: Mapping[str, Column]) -> Column:
    if not values:
        return sf.lit("{}")
    named = [value.alias(name) for name, value in values.items()]
    return sf.to_json(sf.struct(*named), {"ignoreNullFields": "false"})


def _storable(column: Column, type_: DataType) -> Column:
    return column if storable(type_) == type_ else column.cast(storable(type_))


def _null(type_: str) -> Column:
    return sf.lit(None).cast(type_)
