"""The JSON Schema of a Spark type: what an endpoint is asked for, and what its answer must be, when output is typed."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from inferlake.errors import InvalidArgument
from inferlake_sql.errors import JsonValue

_INTEGERS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


def type_schema(type_: DataType) -> JsonValue:
    """Return the schema of values that ``from_json`` reads as this type; raises InvalidArgument where it has none.

    Every member of a struct is required, so that a missing one is an error and not a silent null; a nullable member
    may be ``null``. Times are texts.
    """
    match type_:
        case StructType():
            members = {field.name: _nullable(type_schema(field.dataType), field.nullable) for field in type_.fields}
            required: JsonValue = list(members)
            return {"type": "object", "properties": members, "required": required, "additionalProperties": False}
        case ArrayType():
            return {"type": "array", "items": _nullable(type_schema(type_.elementType), type_.containsNull)}
        case MapType() if isinstance(type_.keyType, StringType):
            values = _nullable(type_schema(type_.valueType), type_.valueContainsNull)
            return {"type": "object", "additionalProperties": values}
        case StringType() | DateType() | TimestampType() | TimestampNTZType():
            return {"type": "string"}
        case BooleanType():
            return {"type": "boolean"}
        case DoubleType() | FloatType() | DecimalType():
            return {"type": "number"}
        case _ if type(type_) in _INTEGERS:
            bound = 2 ** (_INTEGERS[type(type_)] - 1)
            return {"type": "integer", "minimum": -bound, "maximum": bound - 1}
        case _:
            raise InvalidArgument("output_type", f"a model cannot answer a {type_.simpleString()}.")


def _nullable(schema: JsonValue, nullable: bool) -> JsonValue:
    return {"anyOf": [schema, {"type": "null"}]} if nullable else schema
