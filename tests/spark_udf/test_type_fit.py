"""Which types may be given for a column of INPUT, and how the types that a worker meets are spelled."""

from __future__ import annotations

import pyarrow as pa
import pytest

from inferlake.type_fit import fits
from inferlake.worker.spark_types import spark_type

INTEGERS = ["tinyint", "smallint", "int", "bigint"]
SIMPLE = ["boolean", *INTEGERS, "float", "double", "date", "timestamp", "timestamp_ntz", "string"]


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT", "tinyint"),
        ("SMALLINT", "tinyint smallint"),
        ("INT", "tinyint smallint int"),
        ("BIGINT", "tinyint smallint int bigint"),
        ("FLOAT", "tinyint smallint int bigint float decimal(2,1)"),
        ("DOUBLE", "tinyint smallint int bigint float double decimal(2,1)"),
        ("DATE", "date"),
        ("TIMESTAMP", "date timestamp timestamp_ntz"),
        ("TIMESTAMP_NTZ", "date timestamp timestamp_ntz"),
        ("STRING", " ".join([*SIMPLE, "decimal(2,1)"])),
        ("BINARY", "binary"),
        ("VARIANT", "variant"),
        ("DECIMAL(10, 2)", "tinyint smallint decimal(2,1)"),
        ("DECIMAL(12, 2)", "tinyint smallint int decimal(2,1)"),
    ],
)
def test_a_type_fits_when_it_is_the_same_or_widens(wanted: str, given: str) -> None:
    simple = [*SIMPLE, "binary", "variant", "decimal(2,1)", "array<int>"]
    assert [name for name in simple if fits(wanted, name)] == sorted(given.split(), key=simple.index)
    assert fits(wanted, "void")


@pytest.mark.parametrize(
    ("wanted", "given", "fitting"),
    [
        ("DECIMAL(5, 2)", "decimal(5,2)", True),
        ("DECIMAL(5, 2)", "decimal(4,1)", True),
        ("DECIMAL(5, 2)", "decimal(5,1)", False),
        ("DECIMAL(5, 2)", "decimal(5,3)", False),
        ("STRING", "string collate UTF8_LCASE", True),
        ("STRING", "interval day to second", True),
        ("STRING", "array<string>", False),
        ("ARRAY<BIGINT>", "array<int>", True),
        ("ARRAY<INT>", "array<bigint>", False),
        ("ARRAY<INT>", "int", False),
        ("MAP<STRING, DOUBLE>", "map<string,int>", True),
        ("MAP<STRING, INT>", "map<string,string>", False),
        ("STRUCT<a: INT, b: STRING>", "struct<a:int,b:string>", True),
        ("STRUCT<a: INT, b: STRING>", "struct<b:string,a:int>", False),
        ("STRUCT<a: INT, b: STRING>", "struct<a:int>", False),
        ("STRUCT<a: INT>", "struct<a:int,b:string>", False),
        ("ARRAY<STRUCT<`a.b c`: STRING, at: TIMESTAMP>>", "array<struct<a.b c:string,at:timestamp>>", True),
        ("ARRAY<STRUCT<`a.b c`: STRING>>", "array<struct<axb c:string>>", False),
        ("STRUCT<m: MAP<STRING, ARRAY<DECIMAL(3, 1)>>>", "struct<m:map<string,array<decimal(2,1)>>>", True),
    ],
)
def test_nested_types_fit_by_what_they_hold(wanted: str, given: str, fitting: bool) -> None:
    assert fits(wanted, given) is fitting


def test_arrow_types_are_spelled_as_spark_spells_its_own() -> None:
    row = pa.struct([("at", pa.timestamp("us", "UTC")), ("n", pa.list_(pa.int8())), ("d", pa.decimal128(5, 2))])
    assert spark_type(row) == "struct<at:timestamp,n:array<tinyint>,d:decimal(5,2)>"
    assert spark_type(pa.map_(pa.large_string(), pa.timestamp("us"))) == "map<string,timestamp_ntz>"
    variant = pa.struct(
        [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={"variant": "true"})]
    )
    assert [spark_type(type_) for type_ in (variant, pa.null(), pa.date32(), pa.float32(), pa.binary())] == [
        "variant",
        "void",
        "date",
        "float",
        "binary",
    ]
