"""Embeddings in Spark: a column of array<float> by itself, in PySpark and in SQL."""

from __future__ import annotations

from spark_fixtures import Lake

from inferlake import functions as AF


def test_an_embedding_model_answers_arrays_of_floats(lake: Lake) -> None:
    lake.client.execute(f"CREATE MODEL {lake.model}_e LOCATION '{lake.stub.origin}/v1/embeddings'")
    frame = lake.spark.createDataFrame([("a",), ("bcd",), (None,)], "text string")
    vectors = frame.select(AF.ai_function(f"{lake.model}_e", "text").alias("v"))
    assert vectors.schema["v"].dataType.simpleString() == "array<float>"
    assert [row.v for row in vectors.collect()] == [[1.0, 1.0], [3.0, 1.0], None]
    frame.createOrReplaceTempView("texts")
    found = lake.spark.sql(f"SELECT ai_function('{lake.model}_e', text)[0] AS first FROM texts WHERE text IS NOT NULL")
    assert sorted(row.first for row in found.collect()) == [1.0, 3.0]
    given = [received.json["input"] for received in lake.stub.requests]
    sent = [text for inputs in given for text in (inputs if isinstance(inputs, list) else [inputs])]
    assert sorted(sent) == ["a", "bcd"], "both queries together pay for each text once"
