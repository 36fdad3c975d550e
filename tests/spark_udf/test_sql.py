"""The functions in SQL text: checked and pinned before Spark sees them, and named as they were written."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import functions as sf
from spark_fixtures import Lake

from inferlake.errors import InvalidArgument, InvalidSchema
from inferlake.testing import chat, error
from inferlake_registry.contract.problems import ModelNotFound, RegistryUnreachable
from inferlake_sql.errors import InvalidReference, ModelNotConstant


def prompts(lake: Lake) -> list[str]:
    return [request.prompt for request in lake.stub.requests]


def test_a_call_without_from(lake: Lake) -> None:
    frame = lake.spark.sql(f"SELECT ai_function('{lake.model}', 'test input')")
    assert frame.columns == [f"ai_function({lake.model}, test input)"]
    assert frame.collect() == [("test input",)]
    assert lake.stub.calls == 1


def test_names_stay_as_written_everywhere_in_a_query(lake: Lake) -> None:
    calls = f"upper(ai_function('{lake.model}', t)), try_ai_function('{lake.model}', t) AS a"
    query = f"SELECT {calls} FROM VALUES ('x') AS v(t)"
    assert lake.spark.sql(query).columns == [f"upper(ai_function({lake.model}, t))", "a"]


def test_several_inputs_have_the_names_of_their_columns(lake: Lake) -> None:
    lake.spark.createDataFrame([(1, "x", None)], "id int, t string, u string").createOrReplaceTempView("v")
    lake.spark.sql(f"SELECT ai_function('{lake.model}', v.id, `t`, upper(t), u, 'lit', NULL) FROM v").collect()
    assert json.loads(prompts(lake)[0]) == {"id": 1, "t": "x", "col3": "X", "u": None, "col5": "lit", "col6": None}


def test_a_last_map_of_options_is_options_and_any_other_is_data(lake: Lake) -> None:
    options = "map('prompt', 'Say {t}', 'request.max_tokens', 5, 'system', 'Be kind')"
    lake.spark.sql(f"SELECT ai_function('{lake.model}', t, {options}) FROM VALUES ('hi') AS v(t)").collect()
    body = lake.stub.requests[0].json
    assert (lake.stub.requests[0].prompt, body["max_tokens"]) == ("Say hi", 5)
    assert body["messages"][0]["content"] == "Be kind"
    lake.spark.sql(f"SELECT ai_function('{lake.model}', t, map('colour', 'red')) FROM VALUES ('hi') AS v(t)").collect()
    assert json.loads(prompts(lake)[1]) == {"t": "hi", "col2": {"colour": "red"}}


def test_options_may_be_computed_but_must_not_vary_by_row(lake: Lake) -> None:
    computed = "map('timeout_ms', 2 * 10000, 'request.max_tokens', :most)"
    query = f"SELECT ai_function('{lake.model}', t, {computed}) AS a FROM VALUES ('hi') AS v(t)"
    assert lake.spark.sql(query, args={"most": 7}).collect() == [("hi",)]
    assert (prompts(lake), lake.stub.requests[0].json["max_tokens"]) == (["hi"], 7)
    varying = f"SELECT ai_function('{lake.model}', t, map('system', t)) AS a FROM VALUES ('hi') AS v(t)"
    assert lake.spark.sql(varying).collect() == [('{"t":"hi","col2":{"system":"hi"}}',)]
    with pytest.raises(InvalidArgument, match=":name"):
        lake.spark.sql(f"SELECT ai_function('{lake.model}', 'x', map('timeout_ms', ?))", args=[1])
    with pytest.raises(InvalidArgument, match="timeout_ms"):
        lake.spark.sql(f"SELECT ai_function('{lake.model}', 'x', map('timeout_ms', 1 - 1))")
    rows = lake.spark.createDataFrame([("a",), ("b",)], "t string").coalesce(1)
    with pytest.raises(PythonException, match=r"(?s)INVALID_ARGUMENT.*the same in every row"):
        rows.selectExpr(f"ai_function('{lake.model}', 'x', map('system', t))").collect()
    assert lake.stub.calls == 2


def test_dedupe_in_sql(lake: Lake) -> None:
    rows = "FROM VALUES ('x'), ('x'), ('y') AS v(t)"
    lake.spark.sql(f"SELECT ai_function('{lake.model}', t) {rows}").collect()
    assert sorted(prompts(lake)) == ["x", "y"]
    lake.spark.sql(f"SELECT ai_function('{lake.model}', t, map('dedupe', false)) {rows}").collect()
    assert sorted(prompts(lake)[2:]) == ["x", "x", "y"]


def test_what_spark_cannot_do_with_a_function_of_pythons_it_says_itself(lake: Lake) -> None:
    with pytest.raises(AnalysisException, match="NAMED_PARAMETERS_NOT_SUPPORTED"):
        lake.spark.sql(f"SELECT ai_function('{lake.model}', request => 'x')")
    with pytest.raises(AnalysisException, match="LAMBDA_FUNCTION_WITH_PYTHON_UDF"):
        lake.spark.sql(f"SELECT transform(array('x'), t -> ai_function('{lake.model}', t))").collect()
    assert lake.stub.calls == 0


def test_the_struct_form(lake: Lake) -> None:
    lake.stub.script = error(400)
    call = f"ai_function('{lake.model}', 'x', map('returns', 'struct'))"
    query = f"SELECT r.error_code, r.version FROM (SELECT {call} AS r)"
    assert lake.spark.sql(query).collect() == [("bad_request", "1")]


def test_nulls(lake: Lake) -> None:
    values = "VALUES ('a', 'b'), (NULL, 'b'), (NULL, NULL) AS v(x, y)"
    calls = f"ai_function('{lake.model}', x) AS one, ai_function('{lake.model}', x, y) AS two"
    frame = lake.spark.sql(f"SELECT {calls} FROM {values}")
    assert frame.collect() == [("a", '{"x":"a","y":"b"}'), (None, '{"x":null,"y":"b"}'), (None, None)]
    assert lake.spark.sql(f"SELECT ai_function('{lake.model}', NULL)").collect() == [(None,)]
    assert lake.stub.calls == 3


def test_where_join_and_group_by(lake: Lake) -> None:
    lake.spark.range(6).select("id", (sf.col("id") % 2).cast("string").alias("t")).createOrReplaceTempView("v")
    call = f"ai_function('{lake.model}', t)"
    assert lake.spark.sql(f"SELECT count(*) AS n FROM v WHERE {call} = '1'").first() == (3,)
    grouped = lake.spark.sql(f"SELECT {call} AS a, count(*) AS n FROM v GROUP BY {call} ORDER BY a").collect()
    assert grouped == [("0", 3), ("1", 3)]
    joined = f"SELECT count(*) AS n FROM v JOIN (SELECT DISTINCT t AS u FROM v) ON {call} = u"
    assert lake.spark.sql(joined).first() == (6,)
    assert lake.stub.calls == 2


def test_an_unknown_model_is_refused_before_spark_sees_the_query(lake: Lake) -> None:
    for function in ("ai_function", "try_ai_function", "ai_query"):
        with pytest.raises(ModelNotFound):
            lake.spark.sql(f"SELECT {function}('there_is_no_such_model', t) FROM no_such_table")
    with pytest.raises(ModelNotFound):
        lake.spark.sql("CREATE TEMPORARY VIEW w AS SELECT ai_function('there_is_no_such_model', 'x') AS a")
    with pytest.raises(InvalidReference):
        lake.spark.sql("SELECT ai_function('', 'x')")


def test_the_model_must_be_constant(lake: Lake) -> None:
    for function in ("ai_function", "try_ai_function", "ai_query"):
        with pytest.raises(ModelNotConstant, match="must be a constant text"):
            lake.spark.sql(f"SELECT {function}(m, 'x') FROM VALUES ('a') AS v(m)")
    folded = f"SELECT ai_function(concat('{lake.model[:3]}', '{lake.model[3:]}'), 'x') AS a"
    assert lake.spark.sql(folded).collect() == [("x",)]
    frame = lake.spark.createDataFrame([(lake.model, "x"), ("other", "x")], "m string, t string").coalesce(1)
    with pytest.raises(PythonException, match="MODEL_NOT_CONSTANT"):
        frame.selectExpr("ai_function(m, t)").collect()


def test_a_call_without_input_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidArgument):
        lake.spark.sql(f"SELECT ai_function('{lake.model}')")
    with pytest.raises(PythonException, match="INVALID_ARGUMENT"):
        lake.spark.range(1).selectExpr(f"ai_function('{lake.model}')").collect()


def test_a_query_is_pinned_when_it_is_planned(lake: Lake) -> None:
    query = f"SELECT ai_function('{lake.model}', 'x', map('returns', 'struct')).version AS v"
    frame = lake.spark.sql(query)
    lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
    assert frame.first() == ("1",)
    assert lake.spark.sql(query).first() == ("2",)


def test_views_expressions_and_select_expr_ask_when_they_run(lake: Lake) -> None:
    spark = lake.spark
    spark.sql(f"CREATE TEMPORARY VIEW w AS SELECT id, ai_function('{lake.model}', concat('v', id)) AS a FROM range(2)")
    assert spark.table("w").orderBy("id").collect() == [(0, "v0"), (1, "v1")]
    lake.stub.script = chat("second")
    lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
    assert [row.a for row in spark.sql("SELECT a FROM w").collect()] == ["second", "second"]
    frame = spark.range(1).selectExpr(f"ai_function('{lake.model}', 'x', map('prompt', '<{{input}}>')) AS a")
    assert frame.collect() == [("second",)]
    assert prompts(lake)[-1] == "<x>"
    limited = f"ai_function('{lake.model}', 'x', map('timeout_ms', 20000, 'request.max_tokens', 3))"
    assert spark.range(1).selectExpr(limited).collect() == [("second",)]
    assert lake.stub.requests[-1].json["max_tokens"] == 3
    assert spark.range(1).select(sf.expr(f"try_ai_function('{lake.model}', 'y')")).collect() == [("second",)]


def test_two_models_in_one_query_that_asks_when_it_runs_are_two(lake: Lake) -> None:
    other = f"{lake.model}_brief"
    lake.client.execute(f"CREATE MODEL {other} LIKE {lake.model}")
    lake.client.execute(f"ALTER MODEL {other} SET prompt.system = 'be brief'")
    lake.spark.range(1).selectExpr(f"ai_function('{lake.model}', 'x')", f"ai_function('{other}', 'x')").collect()
    assert sorted(len(request.json["messages"]) for request in lake.stub.requests) == [1, 2]


@pytest.mark.parametrize("name", ["gpt-4o", "Qwen/Qwen3-8B", "gpt-4.1"])
def test_names_as_vendors_give_them_need_backquotes_in_statements_only(lake: Lake, name: str) -> None:
    lake.spark.sql(f"CREATE OR REPLACE MODEL `{name}` LIKE {lake.model}")
    query = f"SELECT ai_function('{name}', 'a') AS a, ai_function('`{name}`', 'b') AS b"
    assert lake.spark.sql(query).collect() == [("a", "b")]
    assert lake.spark.range(1).selectExpr(f"ai_function('{name}', 'c') AS c").collect() == [("c",)]
    assert lake.spark.sql(f"DROP MODEL `{name}`").collect()[0][0] == "dropped"


def test_the_struct_form_needs_planning(lake: Lake) -> None:
    frame = lake.spark.range(1).selectExpr(f"ai_function('{lake.model}', 'x', map('returns', 'struct'))")
    with pytest.raises(PythonException, match=r"(?s)INVALID_ARGUMENT.*spark\.sql"):
        frame.collect()


def test_try_ai_function_never_raises(lake: Lake) -> None:
    lake.stub.script = error(400)
    options = "map('on_error', 'raise')"
    with pytest.raises(PythonException, match="ROW_FAILED"):
        lake.spark.sql(f"SELECT ai_function('{lake.model}', 'x', {options})").collect()
    assert lake.spark.sql(f"SELECT try_ai_function('{lake.model}', 'x', {options})").collect() == [(None,)]
    assert lake.spark.range(1).selectExpr(f"try_ai_function('{lake.model}', 'x', {options})").collect() == [(None,)]


def test_ai_query_takes_named_arguments(lake: Lake) -> None:
    query = (
        f"SELECT ai_query('{lake.model}', request => 'q', modelParameters => map('max_tokens', '9'), "
        """responseFormat => '{"type": "object"}', failOnError => false) AS a"""
    )
    assert lake.spark.sql(query).collect() == [("q",)]
    body = lake.stub.requests[0].json
    assert body["max_tokens"] == 9
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    lake.stub.script = error(400)
    with pytest.raises(PythonException, match="ROW_FAILED"):
        lake.spark.sql(f"SELECT ai_query('{lake.model}', 'other')").collect()
    assert lake.spark.sql(f"SELECT ai_query('{lake.model}', 'other', failOnError => false)").collect() == [(None,)]


def test_ai_validate(lake: Lake) -> None:
    schema = '{"type": "array"}'
    query = f"SELECT ai_validate(a, '{schema}').reason AS r FROM VALUES ('[]'), ('{{}}'), (NULL) AS v(a)"
    assert [row.r for row in lake.spark.sql(query).collect()] == [None, "schema", "no_output"]
    with pytest.raises(InvalidSchema):
        lake.spark.sql("SELECT ai_validate(a, '{') FROM no_such_table")
    with pytest.raises(InvalidArgument):
        lake.spark.sql("SELECT ai_validate('{}')")
    varying = lake.spark.createDataFrame([("[]", schema), ("[]", "true")], "a string, s string").coalesce(1)
    with pytest.raises(PythonException, match="MODEL_NOT_CONSTANT"):
        varying.selectExpr("ai_validate(a, s)").collect()


def test_a_table_is_made_from_calls(lake: Lake) -> None:
    lake.spark.sql(f"CREATE TABLE made USING parquet AS SELECT ai_function('{lake.model}', 'x') AS a")
    assert lake.spark.table("made").collect() == [("x",)]
    assert lake.stub.calls == 1


def test_a_registry_that_went_away_is_one_clear_error(lake: Lake, start_registry: object) -> None:
    import inferlake

    registry = start_registry("--no-probes")  # type: ignore[operator]
    inferlake.enable(lake.spark, registry=registry.url)
    registry.stop()
    for statement in ("SHOW MODELS", f"SELECT ai_function('{lake.model}', 'x')"):
        with pytest.raises(RegistryUnreachable):
            lake.spark.sql(statement)
    assert lake.spark.sql("SELECT 1 AS one").collect() == [(1,)]
