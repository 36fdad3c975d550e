"""INPUT and OUTPUT of a model are a contract: calls are checked by it before a task starts, answers take its type."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.errors.exceptions import captured
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType
from spark_fixtures import Lake

import inferlake
from inferlake import functions as F
from inferlake.errors import InputCountDiffers, InputTypeDiffers, InvalidArgument
from inferlake.testing import chat


def model(lake: Lake, contract: str) -> str:
    """Register a model with INPUT and OUTPUT clauses at the lake's endpoint."""
    name = f"{lake.model}_typed"
    lake.spark.sql(f"CREATE MODEL {name} {contract} LOCATION '{lake.stub.url}' PROPERTIES ('model.type' = 'chat')")
    return name


def started_jobs(lake: Lake, work: Callable[[], object]) -> int:
    """Count the Spark jobs that a piece of work starts."""
    tracker = lake.spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    work()
    return len(tracker.getJobIdsForGroup(None)) - before


def test_the_number_of_inputs_is_checked_when_a_call_is_planned(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING, n INT)")
    for plan in (
        lambda: F.ai_function(name, "text"),
        lambda: F.ai_function(name, ["text", "n", "more"]),
        lambda: lake.spark.sql(f"SELECT ai_function('{name}', 'x') FROM no_such_table"),
        lambda: lake.spark.sql(f"SELECT try_ai_function('{name}', 'x', 1, map('no option', '1'))"),
    ):
        with pytest.raises(InputCountDiffers) as caught:
            plan()
        assert caught.value.code == "INPUT_COUNT_DIFFERS"
        assert caught.value.fields["model"] == name
        assert caught.value.fields["expected"] == ["text STRING", "n INT"]
    assert caught.value.fields["given"] == 3
    assert lake.stub.calls == 0


def test_the_types_of_a_columns_inputs_are_checked_while_spark_analyses(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING, n INT)")
    frame = lake.spark.range(3).select("id", sf.concat(sf.lit("row "), "id").alias("text"))
    asked = F.ai_function(name, ["text", "id"])

    def build() -> None:
        with pytest.raises(InputTypeDiffers) as caught:
            frame.select(sf.upper(asked))
        assert caught.value.fields == {
            "model": name,
            "number": 2,
            "column": "n",
            "expected": "INT",
            "given": "bigint",
        }
        assert "CAST(… AS INT)" in caught.value.message

    assert started_jobs(lake, build) == 0
    assert lake.stub.calls == 0
    fitting = F.ai_function(name, ["text", sf.col("id").cast("smallint").alias("n")])
    assert frame.select(fitting).count() == 3
    assert json.loads(frame.select(fitting.alias("a")).collect()[1].a) == {"text": "row 1", "n": 1}
    assert lake.stub.calls == 3


def test_a_check_that_passes_leaves_nothing_in_the_plan(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING)")
    frame = lake.spark.range(1).select(F.ai_function(name, "id"))
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert "date_part" not in plan and "typeof" not in plan and "CASE" not in plan


def test_the_types_of_a_querys_inputs_are_checked_before_it_runs(lake: Lake) -> None:
    name = model(lake, "INPUT (events ARRAY<STRUCT<at: TIMESTAMP, `a.b`: STRING>>)")
    lake.spark.sql("SELECT array(named_struct('at', current_timestamp(), 'a.b', 1)) AS e").createOrReplaceTempView("v")
    assert lake.spark.sql(f"SELECT ai_function('{name}', e) AS a FROM v").count() == 1
    wrong = {
        f"SELECT ai_function('{name}', 'text')": "string",
        f"WITH w AS (SELECT e[0] AS x FROM v) SELECT ai_function('{name}', x) FROM w": "struct<at:timestamp,a.b:int>",
        f"SELECT id FROM range(2) WHERE ai_function('{name}', id) IS NULL": "bigint",
        f"SELECT max(ai_function('{name}', n)) FROM (SELECT collect_list(id) AS n FROM range(2))": "array<bigint>",
        f"CREATE TABLE never USING parquet AS SELECT try_ai_function('{name}', 1.5) AS a": "decimal(2,1)",
    }
    for query, given in wrong.items():
        with pytest.raises(InputTypeDiffers) as caught:
            lake.spark.sql(query)
        assert (caught.value.fields["given"], caught.value.fields["column"]) == (given, "events")
    assert not lake.spark.catalog.tableExists("never")
    assert lake.stub.calls == 0


def test_names_stay_as_written_for_a_model_with_a_contract(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING) OUTPUT (label STRING, score DOUBLE)")
    query = f"SELECT ai_function('{name}', t), ai_function('{name}', ')').score, t FROM VALUES ('(') AS v(t)"
    assert lake.spark.sql(query).columns == [f"ai_function({name}, t)", f"ai_function({name}, )).score", "t"]


def test_calls_inside_calls_and_parameters_are_checked_too(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING) OUTPUT (words ARRAY<STRING>)")
    lake.stub.script = chat('["a"]')
    with pytest.raises(InputTypeDiffers) as caught:
        lake.spark.sql(f"SELECT ai_function('{name}', ai_function('{name}', 'x'))")
    assert caught.value.fields["given"] == "array<string>"
    inner = f"SELECT ai_function('{name}', concat_ws(' ', ai_function('{name}', ?))) AS a, ? AS b"
    assert lake.spark.sql(inner, args=["x", 5]).collect() == [(["a"], 5)]
    named = f"SELECT ai_function('{name}', :t) AS a"
    assert lake.spark.sql(named, args={"t": "x"}).collect() == [(["a"],)]
    assert lake.stub.calls == 2


def test_what_planning_does_not_see_is_refused_by_the_worker_once(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING, n INT)")
    frame = lake.spark.range(50, numPartitions=1).select("id", sf.col("id").cast("string").alias("t"))
    for wrong, text in (
        (f"ai_function('{name}', t, id)", r"(?s)INPUT_TYPE_DIFFERS.*Input 2 \(n\).*is INT.*gives bigint"),
        (f"try_ai_function('{name}', t)", r"(?s)INPUT_COUNT_DIFFERS.*takes 2 inputs.*gives 1"),
    ):
        with pytest.raises(PythonException, match=text):
            frame.selectExpr(wrong).collect()
    lake.spark.sql(f"CREATE TEMPORARY VIEW w AS SELECT ai_function('{name}', 'x', 'y') AS a")
    with pytest.raises(PythonException, match="INPUT_TYPE_DIFFERS"):
        lake.spark.table("w").collect()
    with pytest.raises(PythonException, match="INPUT_TYPE_DIFFERS"):
        lake.spark.sql(f"SELECT ai_function('{name}', 'x', ?)", args=["y"]).collect()
    assert lake.stub.calls == 0
    assert frame.selectExpr(f"ai_function('{name}', t, int(id)) AS a").collect()[7].a == '{"col1":"7","col2":7}'


@pytest.mark.parametrize(
    ("output", "answer", "type_text", "value"),
    [
        ("label STRING", "plain text", "string", "plain text"),
        ("score DOUBLE", "0.5", "double", 0.5),
        ("price DECIMAL(10,2)", "12.25", "decimal(10,2)", Decimal("12.25")),
        ("words ARRAY<STRING>", '["a", null]', "array<string>", ["a", None]),
        (
            "label STRING, scores MAP<STRING, DOUBLE>",
            '{"label": "x", "scores": {"a": 1}}',
            "struct<label:string,scores:map<string,double>>",
            ("x", {"a": 1.0}),
        ),
    ],
)
def test_output_is_the_type_of_a_call_that_asks_for_none(
    lake: Lake, output: str, answer: str, type_text: str, value: object
) -> None:
    name = model(lake, f"OUTPUT ({output})")
    lake.stub.script = chat(answer)
    column = lake.spark.range(1).select(F.ai_function(name, sf.lit("x")).alias("a"))
    query = lake.spark.sql(f"SELECT ai_function('{name}', 'x') AS a")
    assert [frame.schema["a"].dataType.simpleString() for frame in (column, query)] == [type_text] * 2
    assert [frame.collect() for frame in (column, query)] == [[(value,)]] * 2
    assert lake.stub.calls == 1
    assert ("response_format" in lake.stub.requests[0].json) == (type_text != "string")


def test_a_type_that_is_asked_for_wins_over_output(lake: Lake) -> None:
    name = model(lake, "OUTPUT (label STRING, score DOUBLE)")
    lake.stub.script = chat("7")
    types: tuple[Any, ...] = (StringType(), "string", "int")
    for type_, value in zip(types, ("7", "7", 7), strict=True):
        assert lake.spark.range(1).select(F.ai_function(name, sf.lit("x"), type_).alias("a")).collect() == [(value,)]
    assert "response_format" not in lake.stub.requests[0].json
    assert lake.stub.calls == 2


def test_an_answer_that_does_not_fit_output_is_a_decode_error(lake: Lake) -> None:
    name = model(lake, "OUTPUT (label STRING, score DOUBLE)")
    lake.stub.script = chat('{"label": "x"}')
    call = f"ai_function('{name}', 'x', map('returns', 'struct'))"
    assert lake.spark.sql(f"SELECT {call}.error_code, {call}.response").collect() == [("decode", None)]
    assert lake.spark.sql(f"SELECT ai_function('{name}', 'x')").collect() == [(None,)]
    with pytest.raises(PythonException, match=r"(?s)ROW_FAILED.*decode"):
        lake.spark.sql(f"SELECT ai_function('{name}', 'x', map('on_error', 'raise'))").collect()
    assert lake.stub.calls == 1


def test_what_judges_an_answer_gets_its_text(lake: Lake) -> None:
    name = model(lake, "OUTPUT (label STRING, score DOUBLE)")
    lake.stub.script = chat('{"label": "x"}')
    schema = '{"required": ["score"]}'
    query = f"SELECT ai_validate(ai_function('{name}', 'x'), '{schema}').reason AS r"
    assert lake.spark.sql(query).collect() == [("schema",)]
    routed = f"CREATE TABLE routed AS SELECT id, ai_function('{name}', string(id)) AS a FROM range(2) "
    figures = lake.spark.sql(f"{routed} VALIDATE a AGAINST '{schema}' REJECTED INTO turned_down").first()
    assert figures is not None
    assert (figures.accepted, figures.rejected_by_reason) == (0, {"schema": 2})
    assert {row.ai_output for row in lake.spark.table("turned_down").collect()} == {'{"label": "x"}'}


def test_a_typed_value_is_no_text_to_judge(lake: Lake) -> None:
    lake.stub.script = chat('{"label": "x", "score": 1}')
    asked = F.ai_function(model(lake, "OUTPUT (label STRING, score DOUBLE)"), sf.lit("x"))
    with pytest.raises(PythonException, match=r"(?s)INVALID_ARGUMENT.*returns='struct'"):
        lake.spark.range(1).select(F.ai_validate(asked, {})).collect()


def test_a_view_gives_the_text_whatever_output_says(lake: Lake) -> None:
    name = model(lake, "OUTPUT (score DOUBLE)")
    lake.stub.script = chat("0.5")
    assert lake.spark.range(1).selectExpr(f"ai_function('{name}', 'x') AS a").collect() == [("0.5",)]


def test_a_call_with_a_contract_is_explained_like_any_other(lake: Lake) -> None:
    name = model(lake, "INPUT (text STRING) OUTPUT (score DOUBLE)")
    query = f"SELECT ai_function('{name}', t) AS a FROM VALUES ('x'), ('x'), ('y') AS v(t)"
    explained = lake.spark.sql(f"EXPLAIN AI {query}").first()
    assert explained is not None
    assert (explained.model, explained.rows, explained.requests) == (name, 3, 2)
    assert lake.stub.calls == 0


def test_stars_are_refused_since_they_hide_what_is_sent(lake: Lake) -> None:
    for star in ("*", "v.*"):
        with pytest.raises(InvalidArgument, match="name the input columns"):
            lake.spark.sql(f"SELECT ai_function('{lake.model}', {star}) FROM VALUES (1, 2) AS v(x, y)")


def test_sparks_own_errors_stay_its_own(lake: Lake) -> None:
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        lake.spark.range(1).select(F.ai_function(model(lake, "INPUT (text STRING)"), "nowhere"))
    assert hasattr(captured.convert_exception, "__wrapped__")
    inferlake.disable(lake.spark)
    assert not hasattr(captured.convert_exception, "__wrapped__")
