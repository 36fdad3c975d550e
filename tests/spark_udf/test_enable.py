"""A session is switched on once, passes on what is not ours, and can be switched off again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyspark.sql.functions
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession
from spark_fixtures import Lake

import inferlake
from inferlake import functions
from inferlake.connection import current
from inferlake.errors import NotEnabled, RegistryOutOfReach
from inferlake.session import _check_reach
from inferlake_registry.contract.problems import ModelNotFound, RegistryUnreachable
from inferlake_sql.errors import LanguageError


def test_enabling_again_changes_nothing(lake: Lake) -> None:
    before = SparkSession.sql
    connection = current()
    assert inferlake.enable(lake.spark, registry=lake.client.url) is lake.spark
    assert SparkSession.sql is before
    assert current().registry is connection.registry


def test_disabling_undoes_everything(lake: Lake) -> None:
    assert pyspark.sql.functions.ai_function is functions.ai_function  # type: ignore[attr-defined]
    inferlake.disable(lake.spark)
    assert not hasattr(pyspark.sql.functions, "ai_function")
    with pytest.raises(ParseException):
        lake.spark.sql("SHOW MODELS")
    with pytest.raises(AnalysisException):
        lake.spark.sql("SELECT ai_function('m', 'x')")
    with pytest.raises(NotEnabled):
        functions.ai_function("m", "x")


def test_workers_write_early_unless_somebody_chose_a_size(lake: Lake) -> None:
    setting = "spark.sql.execution.pandas.udf.buffer.size"
    assert lake.spark.conf.get(setting) == "256"
    inferlake.disable(lake.spark)
    assert lake.spark.conf.get(setting) == "65536"
    lake.spark.conf.set(setting, "10000")
    inferlake.enable(lake.spark, registry=lake.client.url)
    inferlake.disable(lake.spark)
    assert lake.spark.conf.get(setting) == "10000"
    lake.spark.conf.unset(setting)


def test_patching_can_be_left_out(lake: Lake) -> None:
    inferlake.disable(lake.spark)
    inferlake.enable(lake.spark, registry=lake.client.url, patch=False)
    assert not hasattr(pyspark.sql.functions, "ai_function")
    assert lake.spark.range(1).select(functions.ai_function(lake.model, pyspark.sql.functions.lit("x"))).count() == 1


def test_a_model_statement_is_a_frame_with_types(lake: Lake) -> None:
    frame = lake.spark.sql(f"SHOW MODELS LIKE '{lake.model}'")
    types = dict(frame.dtypes)
    assert types["name"] == "string"
    assert types["enabled"] == "boolean"
    assert [(row.name, row.enabled) for row in frame.collect()] == [(lake.model, True)]
    history = lake.spark.sql(f"DESCRIBE HISTORY MODEL {lake.model}")
    assert "timestamp" in dict(history.dtypes).values()
    assert history.count() == 1


def test_a_statement_without_rows_keeps_its_columns(lake: Lake) -> None:
    frame = lake.spark.sql("SHOW MODELS LIKE 'there_is_no_such_model'")
    assert frame.count() == 0
    assert "name" in frame.columns


def test_describe_model_is_ours_unless_there_is_such_a_table(lake: Lake) -> None:
    described = lake.spark.sql(f"DESCRIBE MODEL {lake.model}")
    assert described.columns[0] == "name"
    lake.spark.range(1).selectExpr(f"id AS {lake.model}").createOrReplaceTempView("model")
    assert lake.spark.sql(f"DESCRIBE model {lake.model}").columns == ["info_name", "info_value"]
    assert lake.spark.sql(f"DESCRIBE MODEL EXTENDED {lake.model}").columns[0] == "name"
    assert lake.spark.sql(f"DESCRIBE TABLE model {lake.model}").columns == ["info_name", "info_value"]


def test_arguments_reach_both_sides(lake: Lake) -> None:
    spark = lake.spark
    assert spark.sql("SELECT :a + 1 AS n", args={"a": 41}).first() == (42,)
    assert spark.sql("SELECT ? || 'b' AS t", args=["a"]).first() == ("ab",)
    assert spark.sql("SELECT n FROM {frame} WHERE n > {least}", frame=spark.range(5).toDF("n"), least=3).first() == (4,)
    name = f"{lake.model}_by_marker"
    spark.sql(f"CREATE MODEL {name} LOCATION :place", args={"place": lake.stub.url})
    assert spark.sql("SELECT ai_function(:m, :t) AS a", args={"m": name, "t": "hi"}).first() == ("hi",)
    assert spark.sql("SELECT ai_function(?, ?) AS a", args=[name, "hi"]).first() == ("hi",)
    frame = spark.createDataFrame([("one",)], "t string")
    assert spark.sql(f"SELECT ai_function('{name}', t) AS a FROM {{frame}}", frame=frame).first() == ("one",)


def test_a_string_that_looks_like_a_statement_is_left_alone(lake: Lake) -> None:
    text = "CREATE MODEL m USING 'x'"
    assert lake.spark.sql(f'SELECT "{text}" AS t -- DROP MODEL m').first() == (text,)


def test_a_malformed_statement_shows_its_place(lake: Lake) -> None:
    with pytest.raises(LanguageError) as caught:
        lake.spark.sql("CREATE MODEL m\n  LOCATOIN 'http://127.0.0.1:1/'")
    assert (caught.value.fields["line"], caught.value.fields["column"]) == (2, 3)
    assert "^" in str(caught.value)


def test_a_location_that_is_no_address_is_refused(lake: Lake) -> None:
    with pytest.raises(LanguageError) as caught:
        lake.spark.sql("CREATE MODEL m LOCATION 'llm-server'")
    assert caught.value.code == "INVALID_LOCATION"


def test_the_session_of_a_newly_made_python_object_is_patched_too(lake: Lake) -> None:
    other = SparkSession(lake.spark.sparkContext, lake.spark._jsparkSession)
    assert other.sql("SHOW MODELS").count() >= 1


def test_a_registry_that_is_down_is_one_clear_error(spark: SparkSession) -> None:
    with pytest.raises(RegistryUnreachable) as caught:
        inferlake.enable(spark, registry="http://127.0.0.1:9")
    assert "inferlake registry serve" in caught.value.message


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]", "spark://127.0.0.1:7077"])
def test_a_loopback_registry_is_in_reach_of_executors_here(master: str) -> None:
    _check_reach(_session(master), "http://127.0.0.1:8085")


@pytest.mark.parametrize("master", ["yarn", "spark://master:7077", "k8s://https://k8s:443"])
def test_a_loopback_registry_is_refused_for_executors_elsewhere(master: str) -> None:
    with pytest.raises(RegistryOutOfReach) as caught:
        _check_reach(_session(master), "http://localhost:8085")
    assert "--host 0.0.0.0" in caught.value.message
    _check_reach(_session(master), "http://registry.internal:8085")


def _session(master: str) -> SparkSession:
    return cast(SparkSession, SimpleNamespace(sparkContext=SimpleNamespace(master=master)))


def test_the_token_is_in_the_workers_environment_and_in_no_plan(spark: SparkSession, start_registry: Any) -> None:
    token = "canary-6b1f0e"
    registry = start_registry("--no-probes", token=token)
    inferlake.enable(spark, registry=registry.url, token=token)
    try:
        assert spark.sql("SHOW MODELS").count() == 0

        def of_the_worker(rows: Any) -> Any:
            yield os.environ["INFERLAKE_REGISTRY_TOKEN"]

        assert spark.sparkContext.parallelize([1], 1).mapPartitions(of_the_worker).collect() == [token]
        with registry.client(token) as client:
            client.execute("CREATE MODEL guarded LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
        column = functions.ai_function("guarded", "t")
        frame = spark.createDataFrame([("x",)], "t string").select(column)
        plan = frame._jdf.queryExecution().toString()
        assert token not in plan + str(column) + frame.schema.json() + str(spark.sparkContext.getConf().getAll())
    finally:
        inferlake.disable(spark)
        spark.sparkContext.environment.pop("INFERLAKE_REGISTRY_TOKEN", None)


DRIVER = """
import json, sys, time
import inferlake.embedded as embedded
registry = embedded.embedded_registry()
assert embedded.embedded_registry() is registry
print(json.dumps({"url": registry.url, "pid": registry._process.pid}), flush=True)
if sys.argv[1] == "die":
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("ending", ["return", "die"])
def test_the_embedded_registry_ends_with_its_driver(tmp_path: Path, ending: str) -> None:
    home = tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, ending],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "INFERLAKE_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        timeout=90,
    )
    started = json.loads(done.stdout)
    assert started["url"].startswith("http://127.0.0.1:")
    assert f"{started['url']} (its data: {home})" in done.stderr
    assert (home / "registry.db").exists()
    deadline = time.monotonic() + 15
    while Path(f"/proc/{started['pid']}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{started['pid']}").exists()


def test_an_unknown_model_has_near_names(lake: Lake) -> None:
    lake.client.execute(f"CREATE MODEL sentiment_of_reviews LIKE {lake.model}")
    with pytest.raises(ModelNotFound) as caught:
        functions.ai_function("sentiment_of_reveiws", "t")
    assert cast(list[str], caught.value.fields["near"])[0] == "sentiment_of_reviews"
