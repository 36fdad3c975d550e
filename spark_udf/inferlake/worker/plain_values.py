"""Arrow columns as plain Python values: numbers for dates and moments, bytes for texts.

Python's own values are narrower than Spark's: ``datetime`` ends with the year 9999, ``str`` cannot hold broken UTF-8,
and an interval of months has no class at all. A single such value would end the whole task, so none is ever made; the
writers of ``row_json`` know from the type what a number means.
"""

from __future__ import annotations

import codecs
from typing import Any, Final

import pyarrow as pa

INTERVAL_MONTHS: Final = 21  # Arrow's number of the type of year-month intervals; PyArrow has nothing else for it
_REPLACED_AS_JAVA_DOES: Final = "inferlake-replaced"


def plain_values(column: pa.Array) -> list[Any]:
    """Return the column's values; structs are dicts, maps are lists of pairs, decimals are ``Decimal``.

    The type is one that ``json_writer`` takes.
    """
    plain = _plain_type(column.type)
    values: list[Any] = (column if plain == column.type else column.view(plain)).to_pylist()
    return values


def decoded(text: bytes) -> str:
    """Return the text of a string value; bytes that are no UTF-8 become U+FFFD, as many as Spark shows."""
    return text.decode("utf-8", _REPLACED_AS_JAVA_DOES)


def is_months(type_: pa.DataType) -> bool:
    """Tell whether a column is a year-month interval."""
    return bool(type_.id == INTERVAL_MONTHS)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the same memory that says less about it."""
    if pa.types.is_struct(type_):
        # A field that is never null is so all the same where its whole struct is null.
        return pa.struct([(field.name, _plain_type(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(_plain_type(type_.value_type))
    if pa.types.is_large_list(type_):
        return pa.large_list(_plain_type(type_.value_type))
    if pa.types.is_string(type_):
        return pa.binary()
    if pa.types.is_large_string(type_):
        return pa.large_binary()
    if pa.types.is_string_view(type_):
        return pa.binary_view()
    if pa.types.is_date32(type_) or is_months(type_):
        return pa.int32()
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return type_


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Take an encoded surrogate, which Python counts as three errors, for one as Java does."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start, end = error.object, error.start, error.end
    if data[start] == 0xED and 0xA0 <= int.from_bytes(data[start + 1 : start + 2], "big") <= 0xBF:
        third = data[start + 2 : start + 3]
        end = start + (3 if third and 0x80 <= third[0] <= 0xBF else 2)
    return "\ufffd", end


codecs.register_error(_REPLACED_AS_JAVA_DOES, _replaced)
