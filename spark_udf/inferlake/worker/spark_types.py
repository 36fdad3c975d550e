"""The types of Spark that a worker meets as Arrow, spelled as Spark's ``typeof`` spells them.

Arrow does not tell all of them apart: a collated string is a string here, every day-time interval is of one type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from inferlake.worker.variant import is_variant


def spark_type(type_: pa.DataType) -> str:
    """Return the spelling; a type that Spark does not have keeps Arrow's name."""
    if pa.types.is_struct(type_):
        fields = (f"{field.name}:{spark_type(field.type)}" for field in type_)
        return "variant" if is_variant(type_) else f"struct<{','.join(fields)}>"
    if pa.types.is_map(type_):
        return f"map<{spark_type(type_.key_type)},{spark_type(type_.item_type)}>"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{spark_type(type_.value_type)}>"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp_ntz" if type_.tz is None else "timestamp"
    return next((name for name, is_type in _SIMPLE if is_type(type_)), str(type_))


_SIMPLE: Final[tuple[tuple[str, Callable[[pa.DataType], bool]], ...]] = (
    ("void", pa.types.is_null),
    ("boolean", pa.types.is_boolean),
    ("tinyint", pa.types.is_int8),
    ("smallint", pa.types.is_int16),
    ("int", pa.types.is_int32),
    ("bigint", pa.types.is_int64),
    ("float", pa.types.is_float32),
    ("double", pa.types.is_float64),
    ("date", pa.types.is_date),
    ("time(6)", pa.types.is_time),
    ("interval day to second", pa.types.is_duration),
    ("interval year to month", pa.types.is_interval),
    ("string", pa.types.is_string),
    ("string", pa.types.is_large_string),
    ("string", pa.types.is_string_view),
    ("binary", pa.types.is_binary),
    ("binary", pa.types.is_large_binary),
    ("binary", pa.types.is_binary_view),
)
