"""The article's own statements and code, word for word; only the endpoint's address is another one."""

from __future__ import annotations

import logging

import pytest
from pyspark.sql import SparkSession
from spark_fixtures import Lake

import inferlake
from inferlake.testing import chat

CREATE = """\
CREATE MODEL llm_intent_classifier
USING 'ray-serve'
LOCATION 'http://ray-serve:8000/v1/chat/completions'
PROPERTIES (
'model.type' = 'chat',
'api.key' = 'sk-xxx',
'timeout.ms' = '30000'
);"""

PIPELINE = """\
from pyspark.sql import functions as F
from pyspark.sql.types import StringType
df_with_labels = df.select(
"session_id",
F.col("events"),
F.col("media_url"),
F.ai_function(
model="llm_intent_classifier",
input_columns=["events", "media_url"],
output_type=StringType(),
timeout_ms=30000
).alias("ai_output")
)
"""

SCHEMA = '{"type": "object", "properties": {"label": {"enum": ["normal", "abnormal", "pending"]}}}'
SESSIONS = "session_id string, events array<struct<at string, action string>>, media_url string"


@pytest.fixture
def spark_of_the_article(lake: Lake) -> SparkSession:
    """Give a session whose registry knows the article's model, served by the stub."""
    lake.client.execute("DROP MODEL IF EXISTS llm_intent_classifier")
    lake.spark.sql(CREATE.replace("http://ray-serve:8000/v1/chat/completions", lake.stub.url))
    return lake.spark


def test_the_article_runs_as_printed(spark_of_the_article: SparkSession, lake: Lake) -> None:
    spark = spark_of_the_article
    lake.stub.script = chat('{"label": "normal"}')

    assert spark.sql("ALTER MODEL llm_intent_classifier SET VERSION 2.1").collect()[0].version == "2.1"
    spark.sql("ALTER MODEL llm_intent_classifier SET qps.limit=500")
    properties = {row[0]: row[1] for row in spark.sql("DESCRIBE MODEL llm_intent_classifier").collect()}
    assert properties["qps.limit"] == "500"
    assert "sk-xxx" not in str(properties)

    (answer,) = spark.sql("SELECT ai_function('llm_intent_classifier', 'test input')").collect()
    assert answer[0] == '{"label": "normal"}'
    assert lake.stub.requests[0].prompt == "test input"
    assert lake.stub.requests[0].headers["authorization"] == "Bearer sk-xxx"

    df = spark.createDataFrame([("s1", [("08:00", "登录")], "oss://raw/1.png"), ("s2", None, None)], SESSIONS)
    scope: dict[str, object] = {"df": df}
    exec(PIPELINE, scope)
    df_with_labels = scope["df_with_labels"]
    assert isinstance(df_with_labels, type(df))
    assert df_with_labels.columns == ["session_id", "events", "media_url", "ai_output"]
    answers = {row.session_id: row.ai_output for row in df_with_labels.collect()}
    assert answers == {"s1": '{"label": "normal"}', "s2": None}
    assert lake.stub.requests[1].prompt == '{"events":[{"at":"08:00","action":"登录"}],"media_url":"oss://raw/1.png"}'
    assert lake.stub.calls == 2

    from pyspark.sql import functions as F

    judged = df_with_labels.select("session_id", F.ai_validate("ai_output", SCHEMA).alias("v"))  # type: ignore[attr-defined]
    assert {row.session_id: row.v.valid for row in judged.collect()} == {"s1": True, "s2": False}
    routed = inferlake.route_rejected(df_with_labels, "ai_output", SCHEMA, keys="session_id", run=lake.model)
    assert (routed.summary.accepted, routed.summary.rejected) == (1, 1)
    rejected = spark.table("ai_output_rejected").where(F.col("run_id") == lake.model).collect()
    assert [(row.row_key, row.reason, row.model_version) for row in rejected] == [("s2", "null_input", "2.1")]
    assert lake.stub.calls == 2


def test_the_key_is_not_shown_by_spark(
    spark_of_the_article: SparkSession, lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        frame = spark_of_the_article.sql("SELECT ai_function('llm_intent_classifier', 'x')")
        frame.collect()
        shown = spark_of_the_article.sql("SHOW CREATE MODEL llm_intent_classifier").collect()[0][0]
    assert "sk-xxx" not in shown + frame._jdf.queryExecution().toString() + caplog.text
