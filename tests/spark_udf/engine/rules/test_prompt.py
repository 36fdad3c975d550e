"""How a row becomes a prompt: as it is, as JSON, or through a template; and how values look as JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferlake.worker.errors import BadTemplate, UnsupportedColumn
from inferlake.worker.java_numbers import java_double, java_float
from inferlake.worker.plain_values import plain_values
from inferlake.worker.prompt import compile_prompt
from inferlake.worker.row_json import json_writer

TEXT = pa.string()


def rendering(names: Sequence[str], types: Sequence[pa.DataType], template: str | None) -> Callable[..., str | None]:
    """Return what renders one row of values, which go through Arrow as they do in a worker."""
    render = compile_prompt(names, types, template)

    def rendered(row: Sequence[Any]) -> str | None:
        return render(tuple(plain_values(pa.array([value], type_))[0] for value, type_ in zip(row, types, strict=True)))

    return rendered


def test_one_text_column_is_sent_as_it_is() -> None:
    render = rendering(("t",), (TEXT,), None)
    assert render(('{"not": touched}',)) == '{"not": touched}'
    assert render(("",)) == ""
    assert render((None,)) is None


def test_several_columns_become_one_object_with_nulls_kept() -> None:
    render = rendering(("id", "t"), (pa.int64(), TEXT), None)
    assert render((1, 'say "hi"')) == '{"id":1,"t":"say \\"hi\\""}'
    assert render((None, "x")) == '{"id":null,"t":"x"}'
    assert render((None, None)) is None


def test_one_column_that_is_no_text_becomes_an_object_too() -> None:
    assert rendering(("n",), (pa.int32(),), None)((5,)) == '{"n":5}'


def test_a_template_takes_strings_bare_and_nulls_as_nothing() -> None:
    types = (TEXT, pa.float64(), pa.list_(pa.int32()), pa.date32())
    render = rendering(("t", "x", "l", "d"), types, "{{{t}}} x={x} l={l} d={d}")
    assert render(("a", 1.5, [1, None], dt.date(2024, 2, 29))) == "{a} x=1.5 l=[1,null] d=2024-02-29"
    assert render((None, None, None, dt.date(2024, 2, 29))) == "{} x= l= d=2024-02-29"
    assert render((None, None, None, None)) is None


@pytest.mark.parametrize("template", ["{other}", "{t", "t}", "{}", "{t!r}", "{t.x}", "{0}"])
def test_a_template_with_an_unknown_place_is_refused(template: str) -> None:
    with pytest.raises(BadTemplate) as caught:
        rendering(("t",), (TEXT,), template)
    assert "{t}" in caught.value.message


BERLIN = ZoneInfo("Europe/Berlin")
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", TEXT)])))])


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (pa.bool_(), True, "true"),
        (pa.int8(), -1, "-1"),
        (pa.int64(), 9223372036854775707, "9223372036854775707"),
        (pa.decimal128(10, 2), Decimal("1.10"), "1.10"),
        (pa.decimal128(38, 18), Decimal("0.000000000000000001"), "1E-18"),
        (pa.date32(), dt.date(1, 1, 1), '"0001-01-01"'),
        (
            pa.timestamp("us", "Europe/Berlin"),
            dt.datetime(2024, 7, 1, 12, 34, 56, 123456, tzinfo=BERLIN),
            '"2024-07-01T12:34:56.123+02:00"',
        ),
        (pa.timestamp("us", "UTC"), dt.datetime(2024, 7, 1, tzinfo=dt.UTC), '"2024-07-01T00:00:00.000Z"'),
        (pa.timestamp("us"), dt.datetime(2024, 7, 1, 1, 2, 3), '"2024-07-01T01:02:03.000"'),
        (pa.time64("ns"), dt.time(12, 34, 56, 500000), '"12:34:56.5"'),
        (
            pa.duration("us"),
            dt.timedelta(days=1, seconds=7384, microseconds=500000),
            "\"INTERVAL '1 02:03:04.5' DAY TO SECOND\"",
        ),
        (pa.duration("us"), -dt.timedelta(hours=1), "\"INTERVAL '-0 01:00:00' DAY TO SECOND\""),
        (pa.binary(), b"\x00\xff\x10", '"AP8Q"'),
        (pa.list_(pa.int32()), [1, None], "[1,null]"),
        (pa.map_(TEXT, pa.int32()), [("a", 1), ("b", None)], '{"a":1,"b":null}'),
        (pa.map_(pa.date32(), pa.int32()), [(dt.date(2024, 1, 1), 1)], '{"2024-01-01":1}'),
        (STRUCT, {"a": None, "b": [{"c": None}, None]}, '{"a":null,"b":[{"c":null},null]}'),
        (pa.float64(), float("nan"), '"NaN"'),
        (pa.float32(), float("-inf"), '"-Infinity"'),
    ],
    ids=str,
)
def test_values_look_as_spark_shows_them(type_: pa.DataType, value: Any, expected: str) -> None:
    assert json_writer(type_)(plain_values(pa.array([value], type_))[0]) == expected


def test_no_value_is_too_wide_for_a_worker() -> None:
    values = [
        (pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()), ['"+5881580-07-11"', '"-5877641-06-23"']),
        (
            pa.array([2**63 - 1, -(2**63)], pa.int64()).view(pa.timestamp("us", "Europe/Berlin")),
            ['"+294247-01-10T05:00:54.775+01:00"', '"-290308-12-21T20:52:33.224+00:53:28"'],
        ),
        (pa.array([b"a\xff", b"\xed\xa0\x80b"], pa.binary()).view(TEXT), ['"a\ufffd"', '"\ufffdb"']),
    ]
    for column, expected in values:
        assert [json_writer(column.type)(value) for value in plain_values(column)] == expected


def test_a_type_without_json_is_named() -> None:
    with pytest.raises(UnsupportedColumn, match="sparse_union"):
        json_writer(pa.sparse_union([pa.field("a", TEXT)]))


def test_a_time_zone_that_is_unknown_here_is_named() -> None:
    with pytest.raises(UnsupportedColumn, match="Mars/Olympus"):
        json_writer(pa.timestamp("us", "Mars/Olympus"))


VARIANT = pa.struct([pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={b"variant": b"true"})])


@pytest.mark.parametrize(
    ("value", "metadata", "expected"),
    [
        # {"a":[1,2.50,null,"é"],"b":true} as Spark's parse_json encodes it
        (
            b"\x02\x02\x00\x01\x00\x13\x14\x03\x04\x00\x02\x08\t\x0c\x0c\x01 \x02\xfa\x00\x00\x00\x00\t\xc3\xa9\x04",
            b"\x01\x02\x00\x01\x02ab",
            '{"a":[1,2.5,null,"é"],"b":true}',
        ),
        (b"\x00", b"\x01\x00\x00", "null"),
        (b"\x18\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x01\x00\x00", "9223372036854775807"),
        (b"\x1c\x00\x00\x00\x00\x00\x00\xf8?", b"\x01\x00\x00", "1.5"),
        (b"\x2c\xa7M\x00\x00", b"\x01\x00\x00", '"2024-06-05"'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_variant_is_its_json(value: bytes, metadata: bytes, expected: str) -> None:
    assert json_writer(VARIANT)({"value": value, "metadata": metadata}) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, "1.5"),
        (100.0, "100.0"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (1e-4, "1.0E-4"),
        (0.012, "0.012"),
        (123456789012345680.0, "1.2345678901234568E17"),
        (-0.0, "-0.0"),
        (4.9e-324, "4.9E-324"),  # two digits are the fewest that Java writes, so these are the nearest two
        (2e-323, "2.0E-323"),
        (2e23, "2.0E23"),
    ],
)
def test_doubles_look_as_java_writes_them(value: float, expected: str) -> None:
    assert java_double(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_survives_its_text(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_single_survives_its_text_with_few_digits(value: float) -> None:
    text = java_float(value)
    assert pa.scalar(float(text), pa.float32()).as_py() == value
    assert len(text.partition("E")[0].strip("-").replace(".", "").strip("0")) <= 9


VALUES = st.recursive(
    st.one_of(st.none(), st.text(), st.integers(-(2**63), 2**63 - 1), st.booleans()),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.text(), st.one_of(st.none(), st.text()), st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)))
def test_what_is_written_is_json_and_says_the_same(name: str, text: str | None, number: int | None) -> None:
    if text is None and number is None:
        return
    rendered = rendering((name, name + "2"), (TEXT, pa.int64()), None)((text, number))
    assert rendered is not None
    assert orjson.loads(rendered) == {name: text, name + "2": number}
