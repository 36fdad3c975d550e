"""What a run of routing is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructType

from inferlake.errors import InvalidArgument
from inferlake.planning import Lineage
from inferlake.routing.rejecting import Sent
from inferlake.schema import Schema


@dataclass(frozen=True, slots=True)
class Job:
    """One run: which column is judged by which schema, and what the rejected rows say of it."""

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


def sent_inputs(frame: DataFrame, lineage: Lineage | None) -> Sent | None:
    """Return what was sent, if the columns that it was made of are still in the frame under their names."""
    if lineage is None or not set(lineage.inputs) <= set(frame.columns):
        return None
    return Sent(lineage.inputs, lineage.prompt)
