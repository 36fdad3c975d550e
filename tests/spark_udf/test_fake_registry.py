"""The fake registry is enough for a whole job of a user's own tests, and says what it is not for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import inferlake
from inferlake import functions as F
from inferlake.errors import InputCountDiffers, InputTypeDiffers
from inferlake.fake_registry import FakeRegistry
from inferlake.testing import StubEndpoint, chat
from inferlake_registry.contract.problems import ModelNotFound
from inferlake_sql.errors import NotSupported
from inferlake_sql.statements import ContractColumn


@pytest.fixture
def fake(spark: SparkSession) -> Iterator[FakeRegistry]:
    """Give a fake registry that the session is enabled with."""
    with FakeRegistry() as registry:
        inferlake.enable(spark, registry=registry.url)
        yield registry
        inferlake.disable(spark)


def test_a_job_runs_on_it(spark: SparkSession, fake: FakeRegistry) -> None:
    with StubEndpoint(lambda received: chat(json.dumps({"label": received.prompt}))) as stub:
        fake.add_model("m", stub.url, version="7", api_key="sk-fake")
        frame = spark.createDataFrame([("good",), ("bad",)], "t string")
        called = frame.select("t", F.ai_function("m", "t", returns="struct").alias("out"))
        schema = {"properties": {"label": {"const": "good"}}}
        routed = inferlake.route_rejected(called, "out", schema, keys="t", run="on-a-fake")
        assert {request.headers["authorization"] for request in stub.requests} == {"Bearer sk-fake"}
    assert fake.resolved == ["m"]
    assert fake.runs == {"on-a-fake": routed.summary}
    assert (routed.summary.accepted, routed.summary.rejected, routed.summary.model_version) == (1, 1, "7")
    assert [(sample.row_key, sample.reason) for sample in fake.rejected.values()] == [("bad", "schema")]


def test_it_names_what_it_has_and_what_it_has_not(spark: SparkSession, fake: FakeRegistry) -> None:
    fake.add_model("sentiment", "http://127.0.0.1:9/v1/chat/completions")
    assert spark.sql("SHOW MODELS").collect() == [("sentiment",)]
    with pytest.raises(ModelNotFound) as caught:
        F.ai_function("sentimnt", "t")
    assert caught.value.fields["near"] == ["sentiment"]
    with pytest.raises(NotSupported):
        spark.sql("DROP MODEL sentiment")


def test_a_query_asks_for_a_model_once_however_often_it_calls_it(spark: SparkSession, fake: FakeRegistry) -> None:
    fake.add_model("m", "http://127.0.0.1:9/v1/chat/completions")
    spark.sql("SELECT ai_function('m', t) AS a, try_ai_function('m', upper(t)) AS b FROM VALUES ('x') AS v(t)")
    assert fake.resolved == ["m"]


def test_a_model_may_have_a_contract(spark: SparkSession, fake: FakeRegistry) -> None:
    columns = (ContractColumn("text", "STRING"), ContractColumn("n", "INT"))
    fake.add_model("m", "http://127.0.0.1:9/v1/chat/completions", inputs=columns, outputs=columns[1:])
    with pytest.raises(InputCountDiffers):
        F.ai_function("m", "t")
    with pytest.raises(InputTypeDiffers):
        spark.sql("SELECT ai_function('m', 'x', 'y')")
    assert spark.sql("SELECT ai_function('m', 'x', 1) AS a").dtypes == [("a", "int")]
