"""Spark's variant type as JSON text: a value and its dictionary of names, both in the open binary variant format.

The format is that of the Apache Parquet project ("Variant Binary Encoding"): a header byte whose low two bits tell
primitive, short string, object or array, all numbers little-endian. Numbers show the digits that they have.
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
import uuid
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from inferlake.worker.java_dates import date_text, local_time
from inferlake.worker.java_intervals import fraction_text
from inferlake.worker.java_numbers import java_double, java_float
from inferlake.worker.json_tokens import json_number, json_string
from inferlake.worker.plain_values import decoded

_PER_SECOND: Final = 1_000_000
_DECIMAL_BYTES: Final = {8: 4, 9: 8, 10: 16}
_INTEGER_BYTES: Final = {3: 1, 4: 2, 5: 4, 6: 8}


def is_variant(type_: pa.StructType) -> bool:
    """Tell whether a struct column is Spark's way of passing a variant: two binaries, the second marked as such."""
    if type_.num_fields != 2 or {field.name for field in type_} != {"value", "metadata"}:
        return False
    marks = type_.field("metadata").metadata or {}
    return marks.get(b"variant") == b"true"


def variant_json(value: dict[str, Any]) -> str:
    """Return the JSON text of a variant given as its two binaries."""
    return _Reader(value["value"], _names(value["metadata"])).text(0)


def _names(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    count = _unsigned(metadata, 1, width)
    starts = [_unsigned(metadata, 1 + width * (at + 1), width) for at in range(count + 1)]
    base = 1 + width * (count + 2)
    return [metadata[base + start : base + end].decode() for start, end in pairwise(starts)]


def _unsigned(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


class _Reader:
    def __init__(self, data: bytes, names: list[str]) -> None:
        self._data = data
        self._names = names

    def text(self, at: int) -> str:
        header = self._data[at]
        kind, info = header & 3, header >> 2
        match kind:
            case 0:
                return self._primitive(info, at + 1)
            case 1:
                return _string(self._data[at + 1 : at + 1 + info])
            case 2:
                return self._object(info, at + 1)
            case _:
                return self._array(info, at + 1)

    def _object(self, info: int, at: int) -> str:
        offset_width, id_width = (info & 3) + 1, (info >> 2 & 3) + 1
        count, at = self._count(info >> 4 & 1, at)
        offsets = at + count * id_width
        base = offsets + (count + 1) * offset_width
        members = []
        for member in range(count):
            name = self._names[_unsigned(self._data, at + member * id_width, id_width)]
            start = base + _unsigned(self._data, offsets + member * offset_width, offset_width)
            members.append(f"{_string(name.encode())}:{self.text(start)}")
        return "{" + ",".join(members) + "}"

    def _array(self, info: int, at: int) -> str:
        width = (info & 3) + 1
        count, at = self._count(info >> 2 & 1, at)
        base = at + (count + 1) * width
        items = (self.text(base + _unsigned(self._data, at + item * width, width)) for item in range(count))
        return "[" + ",".join(items) + "]"

    def _count(self, is_large: int, at: int) -> tuple[int, int]:
        width = 4 if is_large else 1
        return _unsigned(self._data, at, width), at + width

    def _primitive(self, kind: int, at: int) -> str:
        if kind < 3:
            return ("null", "true", "false")[kind]
        if kind in _INTEGER_BYTES:
            return str(self._signed(at, _INTEGER_BYTES[kind]))
        if kind in _DECIMAL_BYTES:
            return self._decimal(at, _DECIMAL_BYTES[kind])
        return self._other(kind, at)

    def _decimal(self, at: int, width: int) -> str:
        # Spark drops trailing zeros of a variant's decimals and never uses an exponent.
        plain = f"{Decimal(self._signed(at + 1, width)).scaleb(-self._data[at]):f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain

    def _other(self, kind: int, at: int) -> str:
        match kind:
            case 7:
                return json_number(java_double(struct.unpack_from("<d", self._data, at)[0]))
            case 11:
                return f'"{date_text(self._signed(at, 4))}"'
            case 12 | 13:
                return f'"{_moment(self._signed(at, 8))}{"+00:00" if kind == 12 else ""}"'
            case 14:
                return json_number(java_float(struct.unpack_from("<f", self._data, at)[0]))
            case 15:
                size = _unsigned(self._data, at, 4)
                return f'"{base64.b64encode(self._data[at + 4 : at + 4 + size]).decode()}"'
            case 16:
                size = _unsigned(self._data, at, 4)
                return _string(self._data[at + 4 : at + 4 + size])
            case 20:
                return f'"{uuid.UUID(bytes=self._data[at : at + 16])}"'
            case _:
                raise ValueError(f"unknown variant type {kind}")

    def _signed(self, at: int, width: int) -> int:
        return int.from_bytes(self._data[at : at + width], "little", signed=True)


def _string(data: bytes) -> str:
    return json_string(decoded(data))


def _moment(micros: int) -> str:
    """Return a moment's date and time; one with a zone is shown in UTC, since neither variant nor Arrow tells it."""
    seconds, part = divmod(micros, _PER_SECOND)
    text, _ = local_time(seconds, dt.UTC)
    return text.replace("T", " ") + fraction_text(part, _PER_SECOND)
