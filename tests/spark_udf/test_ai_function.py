"""``ai_function`` as a column: what is sent, what comes back, and exactly how often the endpoint is called."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import cast

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType
from spark_fixtures import Lake

from inferlake import functions as F
from inferlake.errors import InvalidArgument, InvalidSchema
from inferlake.result import STRUCT_DDL
from inferlake.testing import Reply, chat, error
from inferlake.worker.errors import BadTemplate
from inferlake_registry.contract.problems import ModelDisabled, ModelNotFound, VersionNotFound
from inferlake_sql.errors import NotSupported, ReservedKey

FIELDS = [
    "response",
    "error",
    "error_code",
    "http_status",
    "finish_reason",
    "model",
    "version",
    "attempts",
    "latency_ms",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost",
    "request_id",
    "from_cache",
]


def numbers(lake: Lake, rows: int = 20) -> DataFrame:
    return lake.spark.range(rows, numPartitions=2).select("id", sf.concat(sf.lit("row "), "id").alias("text"))


def test_one_text_is_sent_as_it_is(lake: Lake) -> None:
    texts = ["plain", '日本語 🙂 "quoted" \\ \n', "{not a place}", ""]
    frame = lake.spark.createDataFrame([(text,) for text in texts], "t string")
    answered = frame.select("t", F.ai_function(lake.model, "t").alias("a")).collect()
    assert {row.t: row.a for row in answered if row.t} == {text: text for text in texts if text}
    assert {request.prompt for request in lake.stub.requests} == set(texts)


def test_several_columns_are_sent_as_one_object_with_nested_arrays(lake: Lake) -> None:
    frame = lake.spark.createDataFrame(
        [([("08:00", "click", None), (None, "スクロール", 1.5)], "http://m/1.png")],
        "events array<struct<at string, action string, weight double>>, media_url string",
    )
    frame.select(F.ai_function(lake.model, ["events", sf.upper("media_url").alias("address")])).collect()
    assert json.loads(lake.stub.requests[0].prompt) == {
        "events": [
            {"at": "08:00", "action": "click", "weight": None},
            {"at": None, "action": "スクロール", "weight": 1.5},
        ],
        "address": "HTTP://M/1.PNG",
    }


def test_a_template_puts_columns_in_their_places(lake: Lake) -> None:
    frame = lake.spark.createDataFrame([("Ann", 3, Decimal("1.50"))], "name string, n int, price decimal(5,2)")
    asked = F.ai_function(
        lake.model, ["name", "n", "price"], prompt="{{x}} {name} bought {n} at {price}", system="Be kind"
    )
    assert frame.select(asked).first() == ("{x} Ann bought 3 at 1.50",)
    body = lake.stub.requests[0].json
    assert body["messages"][0] == {"role": "system", "content": "Be kind"}


def test_options_and_schema_are_in_the_request(lake: Lake) -> None:
    asked = F.ai_function(
        lake.model, "text", options={"max_tokens": 7, "stop": ["\n"]}, response_schema={"type": "array"}
    )
    numbers(lake, 1).select(asked).collect()
    body = lake.stub.requests[0].json
    assert (body["max_tokens"], body["stop"], body["temperature"]) == (7, ["\n"], 0)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "array"}


def test_rows_of_nulls_cost_nothing(lake: Lake) -> None:
    rows = [("a", "b"), (None, "b"), (None, None)]
    frame = lake.spark.createDataFrame(rows, "x string, y string")
    answers = [row.a for row in frame.select(F.ai_function(lake.model, ["x", "y"]).alias("a")).collect()]
    assert answers == ['{"x":"a","y":"b"}', '{"x":null,"y":"b"}', None]
    assert lake.stub.calls == 2
    templated = frame.select(F.ai_function(lake.model, ["x", "y"], prompt="<{x}|{y}>").alias("a"))
    assert [row.a for row in templated.collect()] == ["<a|b>", "<|b>", None]
    assert lake.stub.calls == 4


def test_where_says_which_rows_are_asked(lake: Lake) -> None:
    for number, where in enumerate(("id < 5", sf.col("id") < 5)):
        asked = F.ai_function(lake.model, "text", where=where, system=str(number)).alias("a")
        rows = numbers(lake).select("id", asked).collect()
        assert [row.id for row in rows if row.a is not None] == [0, 1, 2, 3, 4]
    assert lake.stub.calls == 10


def test_equal_rows_cost_one_call_unless_asked_otherwise(lake: Lake) -> None:
    frame = lake.spark.range(12).select((sf.col("id") % 3).cast("string").alias("t"), "id")
    frame.select(F.ai_function(lake.model, "t")).collect()
    assert lake.stub.calls == 3
    frame.select(F.ai_function(lake.model, "t", dedupe=False)).collect()
    assert lake.stub.calls == 3 + 12
    frame.select(F.ai_function(lake.model, "t", sample_key=sf.col("id") % 2)).collect()
    assert lake.stub.calls == 3 + 12 + 6


def test_the_struct_has_fixed_fields_and_types(lake: Lake) -> None:
    frame = numbers(lake, 3).select("id", F.ai_function(lake.model, "text", returns="struct").alias("r"))
    assert frame.schema["r"].dataType == StructType.fromDDL(STRUCT_DDL)
    assert frame.select("r.*").columns == FIELDS
    row = next(row.r for row in frame.collect() if row.id == 0)
    assert (row.response, row.error, row.error_code, row.http_status) == ("row 0", None, None, 200)
    assert (row.model, row.version, row.attempts, row.from_cache) == (lake.model, "1", 1, False)
    assert (row.prompt_tokens, row.completion_tokens, row.finish_reason) == (20, 6, "stop")


def test_errors_are_data_in_the_struct_and_null_in_the_value(lake: Lake) -> None:
    lake.stub.script = lambda received: error(400) if received.prompt == "row 1" else chat("fine")
    rows = numbers(lake, 3).select("id", F.ai_function(lake.model, "text", returns="struct").alias("r")).collect()
    assert {row.id: row.r.error_code for row in rows} == {0: None, 1: "bad_request", 2: None}
    values = numbers(lake, 3).select("id", F.ai_function(lake.model, "text").alias("a")).collect()
    assert {row.id: row.a for row in values} == {0: "fine", 1: None, 2: "fine"}


def test_fields_have_their_types_even_when_all_rows_are_null(lake: Lake) -> None:
    nulls = lake.spark.range(2).select(sf.lit(None).cast("string").alias("t"))
    frame = nulls.select(F.ai_function(lake.model, "t", returns="struct").alias("r")).select("r.*")
    assert frame.schema == StructType.fromDDL(STRUCT_DDL)
    assert [(row.response, row.error_code, row.prompt_tokens) for row in frame.collect()] == [
        (None, "null_input", None)
    ] * 2
    assert lake.stub.calls == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (chat(None, finish_reason="content_filter"), "content_filter"),
        (chat(""), "empty"),
        (chat(None), "empty"),
        (chat("half a sent", finish_reason="length"), "truncated"),
        (error(401), "auth"),
        (error(404), "not_found"),
    ],
)
def test_what_is_no_answer_has_a_code_of_its_own_and_is_never_a_value(lake: Lake, answer: Reply, code: str) -> None:
    lake.stub.script = answer
    for on_error in ("null", "raise"):  # in a struct errors are data, whatever on_error says
        asked = F.ai_function(lake.model, "text", returns="struct", on_error=on_error).alias("r")
        assert numbers(lake, 1).select(asked).select("r.response", "r.error_code").collect() == [(None, code)]
    with pytest.raises(PythonException, match=rf"(?s)ROW_FAILED.*{code}"):
        numbers(lake, 1).select(F.ai_function(lake.model, "text", on_error="raise")).collect()


def test_too_many_errors_stop_a_job_and_keep_what_was_paid(lake: Lake) -> None:
    lake.stub.script = lambda received: error(400) if int(received.prompt.split()[1]) % 3 else chat("fine")
    frame = numbers(lake, 300).coalesce(1)
    with pytest.raises(PythonException, match=r"(?s)TOO_MANY_ERRORS.*200 of 300.*bad_request"):
        frame.select(F.ai_function(lake.model, "text")).collect()
    assert lake.stub.calls == 300
    assert frame.select(F.ai_function(lake.model, "text", max_error_ratio=0.7).alias("a")).dropna().count() == 100
    assert lake.stub.calls == 300 + 200


def test_on_error_raise_ends_the_query_with_a_clear_text(lake: Lake) -> None:
    lake.stub.script = error(400)
    with pytest.raises(PythonException, match=r"(?s)ROW_FAILED.*bad_request"):
        numbers(lake, 1).select(F.ai_function(lake.model, "text", on_error="raise")).collect()


@pytest.mark.parametrize(
    ("output_type", "answer", "value"),
    [
        ("struct<label: string, n: int>", '{"label": "x", "n": 3}', ("x", 3)),
        (StructType().add("label", "string"), '{"label": null}', (None,)),
        ("array<double>", "[1, 2.5]", [1.0, 2.5]),
        (ArrayType(IntegerType()), "[1, null]", [1, None]),
        ("map<string, int>", '{"a": 1}', {"a": 1}),
        ("int", "42", 42),
        ("boolean", "true", True),
        ("decimal(10,2)", "12.25", Decimal("12.25")),
        (StringType(), "text", "text"),
    ],
)
def test_typed_output_is_asked_for_and_parsed(lake: Lake, output_type: str, answer: str, value: object) -> None:
    lake.stub.script = chat(answer)
    row = numbers(lake, 1).select(F.ai_function(lake.model, "text", output_type=output_type).alias("a")).first()
    assert row is not None
    assert row.a == value
    assert ("response_format" in lake.stub.requests[0].json) == (output_type != StringType())


@pytest.mark.parametrize(
    ("output_type", "answer"),
    [
        ("struct<label: string>", "normal"),
        ("struct<label: string>", "{}"),
        ("struct<label: string>", '{"label": 1}'),
        ("struct<label: string>", '{"label": "a", "more": 1}'),
        ("int", "99999999999"),
        ("array<int>", "[1.5]"),
    ],
)
def test_an_answer_of_another_type_is_an_error_and_never_a_silent_null(
    lake: Lake, output_type: str, answer: str
) -> None:
    lake.stub.script = chat(answer)
    asked = F.ai_function(lake.model, "text", output_type=output_type, returns="struct").alias("r")
    row = numbers(lake, 1).select(asked).first()
    assert row is not None
    assert (row.r.response, row.r.error_code) == (None, "decode")
    with pytest.raises(PythonException, match=r"(?s)ROW_FAILED.*decode"):
        numbers(lake, 1).select(F.ai_function(lake.model, "text", output_type=output_type, on_error="raise")).collect()


def test_answers_of_another_type_count_as_errors(lake: Lake) -> None:
    lake.stub.script = chat("no number")
    with pytest.raises(PythonException, match=r"(?s)TOO_MANY_ERRORS.*decode"):
        numbers(lake, 250).coalesce(1).select(F.ai_function(lake.model, "text", output_type="int")).collect()
    data = F.ai_function(lake.model, "text", output_type="int", returns="struct", on_error="raise").alias("r")
    assert numbers(lake, 1).select(data).select("r.error_code").collect() == [("decode",)]
    assert lake.stub.calls == 250


def test_types_that_a_model_cannot_answer_are_refused(lake: Lake) -> None:
    with pytest.raises(InvalidArgument, match="output_type"):
        F.ai_function(lake.model, "text", output_type="binary")


@pytest.mark.parametrize(
    ("arguments", "error_class"),
    [
        ({"input_columns": []}, InvalidArgument),
        ({"input_columns": ["text", "text"]}, InvalidArgument),
        ({"input_columns": [3]}, InvalidArgument),
        ({"prompt": "{other}"}, BadTemplate),
        ({"timeout_ms": 0}, InvalidArgument),
        ({"max_error_ratio": 2.0}, InvalidArgument),
        ({"returns": "dict"}, InvalidArgument),
        ({"on_error": "skip"}, InvalidArgument),
        ({"options": {"model": "other"}}, ReservedKey),
        ({"options": {"x": float("nan")}}, InvalidArgument),
        ({"response_schema": "{"}, InvalidSchema),
        ({"media_columns": ["text"]}, NotSupported),
    ],
)
def test_a_wrong_argument_is_refused_when_the_column_is_built(
    lake: Lake, arguments: dict[str, object], error_class: type[Exception]
) -> None:
    with pytest.raises(error_class):
        F.ai_function(lake.model, **{"input_columns": ["text"], **arguments})  # type: ignore[arg-type]
    assert lake.stub.calls == 0


def test_model_references(lake: Lake) -> None:
    lake.client.execute(f"ALTER MODEL {lake.model} ADD VERSION '2.1'")
    lake.client.execute(f"ALTER MODEL {lake.model} VERSION '2.1' SET ALIAS champion")
    for reference, version in ((lake.model, "1"), (f"{lake.model}:2.1", "2.1"), (f"{lake.model}@champion", "2.1")):
        asked = F.ai_function(reference, "text", returns="struct")["version"].alias("v")
        assert numbers(lake, 1).select(asked).first() == (version,)
    with pytest.raises(ModelNotFound):
        F.ai_function("there_is_no_such_model", "text")
    with pytest.raises(VersionNotFound):
        F.ai_function(f"{lake.model}:9", "text")
    lake.client.execute(f"ALTER MODEL {lake.model} DISABLE")
    with pytest.raises(ModelDisabled):
        F.ai_function(lake.model, "text")


def test_a_column_keeps_the_model_that_it_was_built_with(lake: Lake) -> None:
    asked = F.ai_function(lake.model, "text", returns="struct")["version"].alias("v")
    frame = numbers(lake, 1).select(asked)
    lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
    assert frame.first() == ("1",)


def test_views_and_unions_carry_the_call(lake: Lake) -> None:
    labelled = numbers(lake).select("id", F.ai_function(lake.model, "text").alias("a"))
    labelled.createOrReplaceTempView("labelled")
    assert lake.spark.sql("SELECT count(a) AS n FROM labelled WHERE id % 2 = 0").first() == (10,)
    both = lake.spark.table("labelled").unionByName(labelled).collect()
    assert [row.a for row in both if row.id == 7] == ["row 7", "row 7"]
    assert lake.stub.calls == 20


def test_empty_partitions_and_empty_frames(lake: Lake) -> None:
    assert numbers(lake, 0).select(F.ai_function(lake.model, "text")).collect() == []
    assert numbers(lake, 1).repartition(5).select(F.ai_function(lake.model, "text")).count() == 1


def test_ai_validate_is_a_struct_of_fixed_form(lake: Lake) -> None:
    rows = [('{"label": "normal"}',), ('{"label": "odd"}',), ("```{}```",), (None,)]
    schema = '{"properties": {"label": {"enum": ["normal"]}}, "required": ["label"]}'
    frame = lake.spark.createDataFrame(rows, "a string").select(F.ai_validate("a", schema).alias("v"))
    assert frame.schema["v"].dataType.simpleString() == (
        "struct<valid:boolean,value:string,reason:string,errors:array<struct<path:string,keyword:string,message:string>>>"
    )
    verdicts = [row.v for row in frame.collect()]
    assert [(v.valid, v.value, v.reason) for v in verdicts] == [
        (True, '{"label":"normal"}', None),
        (False, '{"label":"odd"}', "schema"),
        (False, None, "code_fence"),
        (False, None, "no_output"),
    ]
    assert [(e.path, e.keyword) for e in verdicts[1].errors] == [("/label", "enum")]


def test_ai_validate_judges_the_struct_and_keeps_its_error_code(lake: Lake) -> None:
    lake.stub.script = lambda received: error(400) if received.prompt == "row 1" else chat("[1]")
    called = F.ai_function(lake.model, "text", returns="struct")
    rows = numbers(lake, 2).select("id", F.ai_validate(called, {"type": "array"}).alias("v")).collect()
    assert {row.id: (row.v.valid, row.v.reason) for row in rows} == {0: (True, None), 1: (False, "bad_request")}


def test_ai_validate_refuses_what_is_no_schema(lake: Lake) -> None:
    with pytest.raises(InvalidSchema) as caught:
        F.ai_validate("a", '{"type": "objekt"}')
    assert cast(str, caught.value.fields["path"]) == "/type"
