"""The columns of an input as a run's files have them."""

from __future__ import annotations

from pyspark.sql.types import DataType, NullType, StringType, StructType

from inferlake.routing.layout import check_names, stored_names


def input_names(schema: StructType) -> dict[str, str]:
    """Return for each column of the input its name in the files. Raises InvalidArgument for a name given twice."""
    check_names(schema.names)
    return stored_names({field.name: storable(field.dataType).simpleString() for field in schema.fields})


def storable(type_: DataType) -> DataType:
    """Return the type that a column has in Parquet, which knows no column of nulls alone."""
    return StringType() if isinstance(type_, NullType) else type_
