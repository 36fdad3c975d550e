"""Columns of Python values as Arrow arrays, made of their buffers.

``pyarrow.array`` imports pandas the first time it is called, wherever it is installed: a quarter of a second and 40 MB
of each worker process, for nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

import pyarrow as pa

Buffers: TypeAlias = "list[pa.Buffer | None]"


def arrow_column(values: Sequence[object], type_: pa.DataType) -> pa.Array:
    """Return the values as an array of a type; None is null. Raises KeyError for a type that no column here has."""
    missing = values.count(None)
    if missing == len(values):
        return pa.nulls(len(values), type_)
    valid = None if missing == 0 else _bits([value is not None for value in values])
    return pa.Array.from_buffers(type_, len(values), [valid, *_DATA[type_](values)], missing)


def _texts(values: Sequence[object]) -> Buffers:
    encoded = [b"" if value is None else str(value).encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    return [pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]


def _numbers(code: str) -> Callable[[Sequence[Any]], Buffers]:
    return lambda values: [pa.py_buffer(array(code, [0 if value is None else value for value in values]))]


def _truths(values: Sequence[object]) -> Buffers:
    return [_bits(values)]


def _bits(values: Sequence[object]) -> pa.Buffer:
    """Return truths as bits, the first one lowest."""
    digits = "".join(["1" if value else "0" for value in reversed(values)])
    return pa.py_buffer(int(digits, 2).to_bytes((len(values) + 7) // 8, "little"))


_DATA: Final[Mapping[pa.DataType, Callable[[Sequence[object]], Buffers]]] = {
    pa.string(): _texts,
    pa.int32(): _numbers("i"),
    pa.int64(): _numbers("q"),
    pa.float64(): _numbers("d"),
    pa.bool_(): _truths,
}
