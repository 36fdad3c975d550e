"""What is sent for values of every Spark type is, to the letter, what Spark's own ``to_json`` makes of them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from spark_fixtures import Lake

from inferlake import functions as F

T = TypeVar("T")

TIME_ZONE = "spark.sql.session.timeZone"
TIME_TYPE = "spark.sql.timeType.enabled"  # off in Spark 4.3, but for literals
KEEP_NULLS = {"ignoreNullFields": "false"}

CASES = {
    "boolean": "true",
    "tinyint": "cast(-128 AS tinyint)",
    "smallint": "cast(-32768 AS smallint)",
    "int": "-2147483648",
    "bigint_least": "-9223372036854775808",
    "bigint_greatest": "9223372036854775807L",
    "float_nan": "float('NaN')",
    "float_infinity": "float('Infinity')",
    "float_minus_zero": "float('-0.0')",
    "float_1e21": "cast(1e21 AS float)",
    "float_1e_7": "cast(1e-7 AS float)",
    "float_greatest": "cast(3.4028235e38 AS float)",
    "float_least": "cast(1.4e-45 AS float)",
    "float_tenth": "cast(0.1 AS float)",
    "double_nan": "double('NaN')",
    "double_minus_infinity": "double('-Infinity')",
    "double_minus_zero": "double('-0.0')",
    "double_1e21": "1e21D",
    "double_1e_7": "1e-7D",
    "double_greatest": "1.7976931348623157E308D",
    "double_least": "4.9E-324D",
    "double_least_normal": "2.2250738585072014E-308D",
    "double_plain": "123456.789D",
    "decimal": "cast(1.10 AS decimal(10,2))",
    "decimal_negative": "cast('-1234567890.1200' AS decimal(20,4))",
    "decimal_small": "cast(-0.000000000000000001 AS decimal(38,18))",
    "decimal_zero": "cast(0 AS decimal(38,18))",
    "decimal_widest": "cast('99999999999999999999999999999999999999' AS decimal(38,0))",
    "decimal_finest": "cast('0.00000000000000000000000000000000000001' AS decimal(38,38))",
    "decimal_of_zeros": "cast('123.45' AS decimal(38,30))",
    "string": r"'quote \" back \\ slash / tab \t line \n return \r'",
    "string_empty": "''",
    "string_control": "concat(" + ", ".join(f"char({code})" for code in (*range(1, 32), 127, 128, 159, 8232)) + ")",
    "string_control_spelled": r"'\\u001f is no escape, \\\\ nor this' || char(31)",
    "string_nul": "decode(X'610062', 'utf-8')",
    "string_emoji": "'🙂 日本語 é'",
    "string_surrogate": "cast(X'61EDA08062' AS string)",
    "string_not_utf8": "cast(X'FF41C0AFE28241F09F98' AS string)",
    "string_collated": "'x' COLLATE UNICODE_CI",
    "char": "cast('ab' AS char(5))",
    "varchar": "cast('ab' AS varchar(5))",
    "binary": "X'00FF10'",
    "binary_empty": "X''",
    "date": "date'2024-02-29'",
    "date_first": "date'0001-01-01'",
    "date_999": "date'0999-12-31'",
    "date_10000": "date'+10000-01-01'",
    "date_before_christ": "date'-0044-03-15'",
    "date_greatest": "date_from_unix_date(2147483647)",
    "date_least": "date_from_unix_date(-2147483648)",
    "timestamp": "timestamp'2024-07-01 12:34:56.123456'",
    "timestamp_before_1970": "timestamp'1899-12-31 23:59:59.999999'",
    "timestamp_10000": "timestamp'+10000-01-01 00:00:00'",
    "timestamp_greatest": "timestamp_micros(9223372036854775807L)",
    "timestamp_least": "timestamp_micros(-9223372036854775808)",
    "timestamp_ntz": "timestamp_ntz'2024-07-01 12:34:56.123456'",
    "timestamp_ntz_first": "timestamp_ntz'0001-01-01 00:00:00'",
    "timestamp_ntz_before_christ": "timestamp_ntz'-0044-03-15 01:02:03'",
    "time": "time'12:34:56.5'",
    "time_midnight": "time'00:00:00'",
    "time_of_seconds": "cast(time'12:34:56.5' AS time(0))",
    "time_last": "time'23:59:59.999999'",
    "day_to_second": "interval '1 02:03:04.5' day to second",
    "day_to_second_negative": "interval '-1 02:03:04.5' day to second",
    "day_to_second_greatest": "interval '106751991 04:00:54.775807' day to second",
    "day_to_second_least": "interval '-106751991 04:00:54.775808' day to second",
    "day_to_hour": "interval '1 02' day to hour",
    "minute_to_second": "interval '05:06.000001' minute to second",
    "calendar_interval": "make_interval(1, 2, 3, 4, 5, 6, 7.5)",
    "calendar_interval_negative": "make_interval(-1, -2, 0, -4, 5, 6, -7.5)",
    "calendar_interval_zero": "make_interval(0, 0, 0, 0, 0, 0, 0)",
    "array": "array(1, null, 3)",
    "array_empty": "array()",
    "array_nested": "array(array('a', null), null, array())",
    "array_of_dates": "array(date'+10000-01-01', null)",
    "array_of_months": "array(interval '-1-2' year to month, null)",
    "map": "map('a', 1, 'q\"', null)",
    "map_empty": "map_filter(map('a', 1), (k, v) -> v > 1)",
    "map_void": "map('a', null)",
    "map_int": "map(1, 'x')",
    "map_boolean": "map(true, 1)",
    "map_decimal": "map(cast(1.50 AS decimal(5,2)), 1)",
    "map_double": "map(1.5D, 1, double('NaN'), 2)",
    "map_array": "map(array(1, 2), 1)",
    "map_broken_text": "map(cast(X'FF' AS string), cast(X'FF' AS string))",
    "map_nested": "map('a', map('b', array(null, date'2024-01-01')))",
    "map_date": "map(date'2024-01-01', 1)",
    "map_timestamp": "map(timestamp'2024-07-01 12:34:56.123456', 1)",
    "map_timestamp_ntz": "map(timestamp_ntz'2024-07-01 12:34:56.123456', 1)",
    "map_time": "map(time'12:34:56.5', 1)",
    "map_day_to_second": "map(interval '1' day, 1)",
    "map_months": "map(interval '1-2' year to month, 1)",
    "map_binary": "map(X'00FF', 1)",
    "map_struct": "map(named_struct('a', 1), 1)",
    "struct": r"""named_struct('odd "name', 1, '日本', 2, 'a.b', 3, '', 4, 'with space', null, 'tab\t', 5)""",
    "struct_of_nulls": "named_struct('a', cast(null AS struct<b: int>), 'c', cast(null AS array<int>))",
    "struct_like_a_variant": "named_struct('value', X'01', 'metadata', X'02')",
    "struct_of_month": "named_struct('years', interval '1-2' year to month)",
    "void": "null",
    "array_of_void": "array(null)",
    "variant_object": """parse_json('{"b":1,"a":[1,2.50,null,"é",true,{}],"z":null,"n":{},"f":false}')""",
    "variant_null": "parse_json('null')",
    "variant_large_integer": "parse_json('100000000000000000000')",
    "variant_double": "parse_json('1e30')",
    "variant_text": r"""parse_json('"a\\"b\\u0001/"')""",
    "variant_long_text": "cast(repeat('long ', 30) AS variant)",
    "variant_broken_text": "cast(cast(X'61EDA080FF' AS string) AS variant)",
    "variant_integers": "to_variant_object(array(1, 300, 70000, 5000000000))",
    "variant_decimals": "to_variant_object(array(cast(0 AS decimal(38,18)), -1.5, cast(100 AS decimal(38,10))))",
    "variant_doubles": "to_variant_object(array(1e7D, double('-0.0'), double('Infinity'), double('NaN')))",
    "variant_floats": "to_variant_object(array(cast(0.1 AS float), cast(1e10 AS float), float('NaN')))",
    "variant_binary": "cast(X'00FF' AS variant)",
    "variant_dates": "to_variant_object(array(date'2024-01-02', date'+10000-01-01', date'-0044-03-15'))",
    "variant_timestamps": "to_variant_object(array(timestamp'2024-07-01 12:34:56.12', timestamp'+10000-01-01'))",
    "variant_timestamps_ntz": "to_variant_object(array(timestamp_ntz'2024-07-01 12:34:56', timestamp_ntz'0001-01-01'))",
    "variant_inside": "array(named_struct('v', parse_json('{\"a\":1}')), null)",
}

# Where what is sent is not what ``to_json`` says. The manual gives the reasons.
EXCEPTIONS = {
    "day_to_hour": "\"INTERVAL '1 02:00:00' DAY TO SECOND\"",
    "minute_to_second": "\"INTERVAL '0 00:05:06.000001' DAY TO SECOND\"",
    "map_date": '{"2024-01-01":1}',
    "map_timestamp": '{"2024-07-01T12:34:56.123Z":1}',
    "map_timestamp_ntz": '{"2024-07-01T12:34:56.123":1}',
    "map_time": '{"12:34:56.5":1}',
    "map_day_to_second": "{\"INTERVAL '1 00:00:00' DAY TO SECOND\":1}",
    "map_months": "{\"INTERVAL '1-2' YEAR TO MONTH\":1}",
    "map_binary": '{"AP8=":1}',
    "map_array": '{"[1,2]":1}',
    "map_struct": '{"{\\"a\\":1}":1}',
}


SENT = ("sent", "sent_struct")


def members(text: str) -> dict[str, str]:
    """Return the members of a JSON object as they are written, with their names as they are written."""
    read = json.JSONDecoder(strict=True).raw_decode
    found, at = {}, 0
    while text[at] != "}":
        _, end = read(text, at + 1)
        name = text[at + 1 : end]
        assert text[end] == ":"
        _, at = read(text, end + 1)
        found[name] = text[end + 1 : at]
    assert "{" + ",".join(f"{name}:{value}" for name, value in found.items()) + "}" == text
    return found


def sent(lake: Lake, frame: DataFrame, names: Sequence[str]) -> list[Row]:
    """Send each row as columns and as one struct; return it beside the texts that Spark makes of the same."""
    whole = sf.struct(*names)
    rows = frame.select(
        sf.to_json(whole, KEEP_NULLS).alias("spark"),
        F.ai_function(lake.model, list(names)).alias("sent"),
        sf.to_json(sf.struct(whole.alias("s")), KEEP_NULLS).alias("spark_struct"),
        F.ai_function(lake.model, [whole.alias("s")]).alias("sent_struct"),
    ).collect()
    # The endpoint echoes, so an answer is a prompt; that nothing else was sent is seen there.
    assert {request.prompt for request in lake.stub.requests} == {row[kind] for row in rows for kind in SENT}
    return rows


def differences(rows: Sequence[Row], same: Callable[[str, str, str], bool]) -> dict[str, tuple[str, str]]:
    """Return, by the row's key and member, Spark's text and ours where they are not the same."""
    found = {}
    for number, row in enumerate(rows):
        for spark, ours in (
            (members(row.spark), members(row.sent)),
            (members(members(row.spark_struct)['"s"']), members(members(row.sent_struct)['"s"'])),
        ):
            assert list(spark) == list(ours)
            for name in spark:
                if not same(name.strip('"'), spark[name], ours[name]):
                    found[f"{number}.{name}"] = (spark[name], ours[name])
    return found


def same_number(spark: str, ours: str, format_: str) -> bool:
    """Tell whether texts are equal, or the same number ("d" or "f") in no more digits, as in Java since 19."""
    if spark == ours:
        return True
    numbers = [struct.pack(format_, float(text)) for text in (spark, ours)]
    return ours[-1].isdigit() and numbers[0] == numbers[1] and len(ours) <= len(spark)


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Give the session another setting for the length of a ``with``."""
    before = spark.conf.get(key)
    assert before is not None
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, before)


def test_every_type_looks_as_spark_shows_it_and_null_is_null(lake: Lake) -> None:
    def same(name: str, spark: str, ours: str) -> bool:
        if name in EXCEPTIONS and spark != "null":
            return ours == EXCEPTIONS[name] != spark
        return spark == ours

    with setting(lake.spark, TIME_TYPE, "true"):
        frame = lake.spark.range(2).selectExpr(
            "id", *(f"IF(id = 0, {expression}, NULL) AS {name}" for name, expression in CASES.items())
        )
        full, empty = sorted(sent(lake, frame, ["id", *CASES]), key=lambda row: members(row.spark)['"id"'])
    assert differences([full, empty], same) == {}
    assert set(members(full.sent)) == {f'"{name}"' for name in ("id", *CASES)}
    assert [name for name, text in members(full.sent).items() if text == "null"] == ['"void"', '"variant_null"']
    assert set(members(empty.sent).values()) == {"1", "null"}


def test_an_old_java_writes_some_numbers_with_more_digits(lake: Lake) -> None:
    frame = lake.spark.range(1).selectExpr("2E23D AS a", "1.0E23D AS b", "cast(1.17549435E-38 AS float) AS c")
    rows = sent(lake, frame, ["a", "b", "c"])
    assert differences(rows, lambda name, spark, ours: same_number(spark, ours, "f" if name == "c" else "d")) == {}
    assert rows[0].sent == '{"a":2.0E23,"b":1.0E23,"c":1.1754944E-38}'


def test_a_place_is_what_spark_holds_of_it(lake: Lake) -> None:
    # to_json itself fails on these.
    point = "X'0101000000000000000000F03F0000000000000040'"
    frame = lake.spark.range(1).selectExpr(f"st_geomfromwkb({point}) AS a", f"st_geogfromwkb({point}) AS b")
    answer = frame.select(F.ai_function(lake.model, ["a", "b"])).first()
    wkb = "AQEAAAAAAAAAAADwPwAAAAAAAABA"
    assert answer == (f'{{"a":{{"srid":0,"wkb":"{wkb}"}},"b":{{"srid":4326,"wkb":"{wkb}"}}}}',)


def test_a_map_without_types_is_refused(lake: Lake) -> None:
    for expression in ("map() AS m", "named_struct('m', map(), 's', 'x') AS m"):
        frame = lake.spark.range(1).selectExpr(expression)
        with pytest.raises(PythonException, match=r"UNSUPPORTED_COLUMN.*map<null, null>"):
            frame.select(F.ai_function(lake.model, "m")).collect()
    assert lake.stub.calls == 0


def test_a_column_of_months_is_refused_with_a_way_out(lake: Lake) -> None:
    frame = lake.spark.range(1).selectExpr("interval '1-2' year to month AS m")
    with pytest.raises(PythonException, match=r"(?s)UNSUPPORTED_COLUMN.*month_interval.*Cast it to a string"):
        frame.select(F.ai_function(lake.model, "m")).collect()
    as_text = frame.select(F.ai_function(lake.model, sf.col("m").cast("string")))
    assert as_text.first() == ("INTERVAL '1-2' YEAR TO MONTH",)
    assert lake.stub.calls == 1


def test_a_moment_in_a_variant_is_shown_in_utc(lake: Lake) -> None:
    with setting(lake.spark, TIME_ZONE, "Europe/Paris"):
        frame = lake.spark.range(1).selectExpr("cast(timestamp'2024-07-01 12:34:56.12' AS variant) AS v")
        row = sent(lake, frame, ["v"])[0]
    assert (row.spark, row.sent) == ('{"v":"2024-07-01 12:34:56.12+02:00"}', '{"v":"2024-07-01 10:34:56.12+00:00"}')


def generated(strategy: st.SearchStrategy[T], count: int = 300) -> list[T]:
    """Return so many values of a strategy, for one query over all of them."""
    values: list[T] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
        deadline=None,
    )
    @given(strategy)
    def collect(value: T) -> None:
        values.append(value)

    collect()
    return values


BIGINTS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.fixed_dictionaries(
    {
        "double": st.floats(),
        "float": st.floats(width=32),
        "bigint": BIGINTS,
        "decimal": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda units: Decimal(f"{units}e-10")),
        "small": st.integers(-(10**18) + 1, 10**18 - 1).map(lambda units: Decimal(f"{units}e-18")),
    }
)
TEXTS = st.fixed_dictionaries(
    {
        "text": st.text(),
        "low": st.text(st.characters(max_codepoint=160)),
        "bytes": st.binary(),
        "broken": st.text(max_size=3).flatmap(
            lambda text: st.binary(min_size=1, max_size=4).map(
                lambda junk: text.encode() + junk + text.encode("utf-16", "surrogatepass")
            )
        ),
        "surrogates": st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010, categories=None)).map(
            lambda text: text.encode("utf-8", "surrogatepass")
        ),
    }
)
# A third in all of Spark's time, a third where clocks had odd rules, a third near a change of the clocks.
MICROS = st.one_of(
    st.integers(-(2**63) + 10**11, 2**63 - 10**11),  # a day from the ends, so that every zone has a local time
    st.integers(-5_364_662_400_000_000, 4_102_444_800_000_000),  # 1800 to 2100
    st.integers(-3_600_000_000, 3_600_000_000).map(lambda micros: 1_729_989_000_000_000 + micros),
)


def _frame(lake: Lake, rows: Sequence[Mapping[str, object]], schema: str) -> DataFrame:
    names = [column.split()[0] for column in schema.split(", ")]
    return lake.spark.createDataFrame([tuple(row[name] for name in names) for row in rows], schema)


def test_numbers_look_as_spark_shows_them(lake: Lake) -> None:
    rows = generated(NUMBERS)
    schema = "double double, float float, bigint bigint, decimal decimal(38,10), small decimal(18,18)"
    frame = _frame(lake, rows, schema)
    shown = sent(lake, frame, frame.columns)
    assert len(shown) == len(rows) >= 300

    def same(name: str, spark: str, ours: str) -> bool:
        return same_number(spark, ours, name[0]) if name in ("double", "float") else spark == ours

    assert differences(shown, same) == {}


def test_texts_look_as_spark_shows_them(lake: Lake) -> None:
    rows = generated(TEXTS)
    schema = "text string, low string, bytes binary, broken binary, surrogates binary"
    raw = _frame(lake, rows, schema)
    frame = raw.selectExpr(
        "text", "low", "bytes", "cast(broken AS string) broken", "cast(surrogates AS string) surrogates"
    )
    shown = sent(lake, frame, frame.columns)
    assert len(shown) == len(rows) >= 300
    assert differences(shown, lambda _, spark, ours: spark == ours) == {}


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Europe/Paris", "Pacific/Apia", "GMT-3:30"])
def test_moments_look_as_spark_shows_them(lake: Lake, zone: str) -> None:
    rows = generated(MICROS)
    with setting(lake.spark, TIME_ZONE, zone):
        raw = lake.spark.createDataFrame([(micros,) for micros in rows], "m bigint")
        frame = raw.selectExpr(
            "timestamp_micros(m) AS ts",
            "array(timestamp_micros(m)) AS inside",
            "cast(timestamp_micros(m) AS timestamp_ntz) AS ntz",
            "cast(timestamp_micros(m) AS date) AS date",
            "m * interval '0.000001' second AS duration",
        ).withColumn("duration", sf.expr("cast(duration AS interval day to second)"))
        shown = sent(lake, frame, frame.columns)
    assert len(shown) == len(rows) >= 300
    assert differences(shown, lambda _, spark, ours: spark == ours) == {}
