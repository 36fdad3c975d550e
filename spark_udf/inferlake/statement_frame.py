"""The registry's answer to a statement as a DataFrame with its column types."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from inferlake.connection import log
from inferlake_registry.contract.statements import Column, ColumnType, Scalar, StatementResult

_TYPES: Final[dict[ColumnType, DataType]] = {
    ColumnType.STRING: StringType(),
    ColumnType.BIGINT: LongType(),
    ColumnType.DOUBLE: DoubleType(),
    ColumnType.BOOLEAN: BooleanType(),
    ColumnType.TIMESTAMP: TimestampType(),
}


def as_frame(spark: SparkSession, result: StatementResult) -> DataFrame:
    """Return the rows; what the registry has to say beside them is logged, so that assumptions are never silent."""
    for notice in result.notices:
        log.warning("%s", notice)
    schema = StructType([StructField(column.name, _TYPES[column.type]) for column in result.columns])
    rows = [tuple(map(_value, result.columns, row)) for row in result.rows]
    return spark.createDataFrame(rows, schema)


def _value(column: Column, value: Scalar) -> object:
    if column.type is ColumnType.TIMESTAMP and isinstance(value, str):
        return datetime.fromisoformat(value)
    return value
