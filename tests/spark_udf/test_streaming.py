"""A streaming query asks for its model at each micro-batch, or stays with the one of its start."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery
from spark_fixtures import Lake

from inferlake import functions as F


def texts_in(lake: Lake, folder: Path) -> DataFrame:
    """Return a stream of the lines of files that come into a folder, a file a micro-batch."""
    folder.mkdir()
    return lake.spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))


def started(frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
    writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime="0 seconds").start()


def put(query: StreamingQuery, folder: Path, *lines: str) -> None:
    """Let a file come in, and wait until its micro-batch is done."""
    draft = folder.with_name(f"{folder.name}.draft")
    draft.write_text("\n".join(lines))
    draft.rename(folder / f"{lines[0]}.txt")
    query.processAllAvailable()


def versions(lake: Lake, name: str) -> dict[str, str]:
    return {row.value: row.version for row in lake.spark.table(name).select("value", "r.version").collect()}


@pytest.mark.parametrize("way", ["column", "text"])
def test_each_micro_batch_is_answered_by_what_serves_then(lake: Lake, tmp_path: Path, way: str) -> None:
    stream = texts_in(lake, tmp_path / "in")
    if way == "column":
        answered = stream.select("value", F.ai_function(lake.model, "value", returns="struct").alias("r"))
    else:
        stream.createOrReplaceTempView("incoming")
        call = f"ai_function('{lake.model}', value, map('returns', 'struct'))"
        answered = lake.spark.sql(f"SELECT value, {call} AS r FROM incoming")
    query = started(answered, f"answered_{way}", tmp_path / "checkpoint")
    try:
        put(query, tmp_path / "in", "a", "b")
        lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
        put(query, tmp_path / "in", "c")
        lake.client.execute(f"ALTER MODEL {lake.model} ROLLBACK")
        put(query, tmp_path / "in", "d")
    finally:
        query.stop()
    assert versions(lake, f"answered_{way}") == {"a": "1", "b": "1", "c": "2", "d": "1"}
    assert lake.stub.calls == 4


def test_a_pinned_query_stays_with_the_version_of_its_start(lake: Lake, tmp_path: Path) -> None:
    lake.client.execute(f"ALTER MODEL {lake.model} SET pin.on.start = TRUE")
    stream = texts_in(lake, tmp_path / "in")
    answered = stream.select("value", F.ai_function(lake.model, "value", returns="struct").alias("r"))
    query = started(answered, "answered_pinned", tmp_path / "checkpoint")
    try:
        put(query, tmp_path / "in", "a")
        lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
        put(query, tmp_path / "in", "b")
    finally:
        query.stop()
    assert versions(lake, "answered_pinned") == {"a": "1", "b": "1"}


def test_a_disabled_model_ends_the_query_at_the_next_micro_batch(lake: Lake, tmp_path: Path) -> None:
    stream = texts_in(lake, tmp_path / "in")
    answered = stream.select("value", F.ai_function(lake.model, "value", returns="struct").alias("r"))
    query = started(answered, "answered_disabled", tmp_path / "checkpoint")
    try:
        put(query, tmp_path / "in", "a")
        lake.client.execute(f"ALTER MODEL {lake.model} DISABLE")
        with pytest.raises(Exception, match="MODEL_DISABLED"):
            put(query, tmp_path / "in", "b")
    finally:
        query.stop()
    assert lake.stub.calls == 1
