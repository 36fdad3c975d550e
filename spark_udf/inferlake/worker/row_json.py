"""Values of every Spark type as JSON text, as Spark's ``to_json`` shows them, with nulls kept.

A writer is made once per column type from its Arrow type and takes the value that ``plain_values`` gives; null is
handled by whoever calls it. ``docs/spark.md`` lists where the text differs from that of ``to_json``, and why.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa

from inferlake.worker.errors import UnsupportedColumn
from inferlake.worker.java_dates import date_text, find_zone, local_time
from inferlake.worker.java_intervals import calendar_interval, clock_text, day_time_interval, year_month_interval
from inferlake.worker.java_numbers import java_double, java_float
from inferlake.worker.json_tokens import json_number, json_string
from inferlake.worker.plain_values import decoded, is_months
from inferlake.worker.variant import is_variant, variant_json

JsonWriter: TypeAlias = Callable[[Any], str]

_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def json_writer(type_: pa.DataType) -> JsonWriter:
    """Return the function that writes a value of this type as JSON; raise ``UnsupportedColumn`` if there is none."""
    if pa.types.is_nested(type_):
        return _nested_writer(type_)
    leaf = plain_text(type_)
    if pa.types.is_floating(type_):
        return lambda value: json_number(leaf(value))
    return leaf if _is_bare(type_) else lambda value: json_string(leaf(value))


def plain_text(type_: pa.DataType) -> JsonWriter:
    """Return the function that writes a value amid a text: like JSON, but strings and dates without quotes."""
    if pa.types.is_nested(type_):
        return _nested_writer(type_)
    return _number_writer(type_) or _text_writer(type_) or _time_writer(type_) or _unsupported(type_)


def is_string(type_: pa.DataType) -> bool:
    """Tell whether a column holds text."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_bare(type_: pa.DataType) -> bool:
    """Tell whether the leaf's text is complete JSON."""
    bare = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(is_type(type_) for is_type in bare)


def _unsupported(type_: pa.DataType) -> JsonWriter:
    raise UnsupportedColumn(str(type_))


def _number_writer(type_: pa.DataType) -> JsonWriter | None:
    if pa.types.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if pa.types.is_integer(type_) or pa.types.is_null(type_) or pa.types.is_decimal(type_):
        return str
    if pa.types.is_float64(type_):
        return java_double
    return java_float if pa.types.is_floating(type_) else None


def _text_writer(type_: pa.DataType) -> JsonWriter | None:
    if is_string(type_):
        return decoded
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return lambda value: base64.b64encode(value).decode()
    return None


def _time_writer(type_: pa.DataType) -> JsonWriter | None:
    if pa.types.is_date32(type_):
        return date_text
    if pa.types.is_timestamp(type_):
        return _timestamp_writer(type_)
    if pa.types.is_time64(type_):
        return partial(clock_text, per_second=_PER_SECOND[type_.unit])
    if is_months(type_):
        return year_month_interval
    if pa.types.is_duration(type_) and type_.unit == "us":
        return day_time_interval
    return (lambda value: calendar_interval(*value)) if pa.types.is_interval(type_) else None


def _timestamp_writer(type_: pa.TimestampType) -> JsonWriter:
    """Write to the millisecond as ``to_json`` does; what has no time zone has no offset."""
    per_second, is_zoned = _PER_SECOND[type_.unit], type_.tz is not None
    zone = find_zone(type_.tz or "UTC")
    if zone is None:
        raise UnsupportedColumn(str(type_))

    def write(value: int) -> str:
        seconds, part = divmod(value, per_second)
        text, offset = local_time(seconds, zone)
        return f"{text}.{part * 1_000 // per_second:03d}{offset if is_zoned else ''}"

    return write


def _nested_writer(type_: pa.DataType) -> JsonWriter:
    if pa.types.is_struct(type_):
        return variant_json if is_variant(type_) else _struct_writer(type_)
    # Arrow ends the process when it views a map<void, void> inside a struct; Spark gives that type to a bare map().
    if pa.types.is_map(type_) and not pa.types.is_null(type_.key_type):
        return _map_writer(plain_text(type_.key_type), json_writer(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _list_writer(json_writer(type_.value_type))
    return _unsupported(type_)


def _struct_writer(type_: pa.StructType) -> JsonWriter:
    members = [(json_string(field.name) + ":", field.name, json_writer(field.type)) for field in type_]

    def write(value: dict[str, Any]) -> str:
        return "{" + ",".join(head + _or_null(writer, value[name]) for head, name, writer in members) + "}"

    return write


def _map_writer(key: JsonWriter, item: JsonWriter) -> JsonWriter:
    def write(value: list[tuple[Any, Any]]) -> str:
        return "{" + ",".join(f"{json_string(key(name))}:{_or_null(item, member)}" for name, member in value) + "}"

    return write


def _list_writer(item: JsonWriter) -> JsonWriter:
    return lambda value: "[" + ",".join(_or_null(item, member) for member in value) + "]"


def _or_null(writer: JsonWriter, value: Any) -> str:
    return "null" if value is None else writer(value)
