"""Values of every Spark type as JSON text, as Spark's ``to_json`` shows them, with nulls kept.

A writer is made once per column type from its Arrow type and takes the Python value that ``to_pylist`` gives; null is
handled by whoever calls it. Three differences from ``to_json``, all where its text is of no use to a model: a null
member is written as ``null`` and not left out; keys of maps look like values of their type and not like Spark's
internal numbers (a date is ``2024-01-01`` and not ``19723``); a day-time interval is always written ``DAY TO
SECOND``, since Arrow does not tell which fields the type had.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa

from inferlake.worker.errors import UnsupportedColumn
from inferlake.worker.java_numbers import java_double, java_float
from inferlake.worker.variant import is_variant, variant_json

JsonWriter: TypeAlias = Callable[[Any], str]

_DAY: Final = dt.timedelta(days=1)


def json_string(text: str) -> str:
    """Return the text as a JSON string."""
    return orjson.dumps(text).decode()


def json_writer(type_: pa.DataType) -> JsonWriter:
    """Return the function that writes a value of this type as JSON; raise ``UnsupportedColumn`` if there is none."""
    if pa.types.is_struct(type_):
        return variant_json if is_variant(type_) else _struct_writer(type_)
    if pa.types.is_map(type_):
        return _map_writer(plain_text(type_.key_type), json_writer(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _list_writer(json_writer(type_.value_type))
    leaf = _leaf_writer(type_)
    return leaf if _is_bare(type_) else _quoted(leaf)


def plain_text(type_: pa.DataType) -> JsonWriter:
    """Return the function that writes a value amid a text: like JSON, but strings and dates without quotes."""
    if is_string(type_):
        return str
    if pa.types.is_nested(type_):
        return json_writer(type_)
    return _leaf_writer(type_)


def is_string(type_: pa.DataType) -> bool:
    """Tell whether a column holds text."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _is_bare(type_: pa.DataType) -> bool:
    """Tell whether the leaf's text is complete JSON: numbers and booleans, and what quotes itself (NaN)."""
    bare = (
        pa.types.is_integer,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
        pa.types.is_floating,
    )
    return any(is_type(type_) for is_type in bare)


def _quoted(leaf: JsonWriter) -> JsonWriter:
    return lambda value: json_string(leaf(value))


def _leaf_writer(type_: pa.DataType) -> JsonWriter:
    if is_string(type_):
        return str
    if pa.types.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if pa.types.is_integer(type_) or pa.types.is_null(type_):
        return str
    if pa.types.is_float64(type_):
        return java_double
    if pa.types.is_floating(type_):
        return java_float
    if pa.types.is_decimal(type_):
        return _decimal
    if pa.types.is_date(type_):
        return dt.date.isoformat
    if pa.types.is_timestamp(type_):
        return _timestamp
    if pa.types.is_time(type_):
        return _time
    if pa.types.is_duration(type_):
        return _day_time_interval
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return lambda value: base64.b64encode(value).decode()
    raise UnsupportedColumn(str(type_))


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


def _decimal(value: Decimal) -> str:
    return str(value)


def _timestamp(value: dt.datetime) -> str:
    text = value.isoformat(timespec="milliseconds")
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _time(value: dt.time) -> str:
    text = value.isoformat()
    return text.rstrip("0") if "." in text else text


def _day_time_interval(value: dt.timedelta) -> str:
    sign, rest = ("-", -value) if value < dt.timedelta(0) else ("", value)
    seconds, micros = divmod(rest % _DAY // dt.timedelta(microseconds=1), 1_000_000)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"
    return f"INTERVAL '{sign}{rest // _DAY} {clock}' DAY TO SECOND"
