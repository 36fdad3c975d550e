"""Calling and judging in one stage: the same as two stages, row by row, and rows are written as they are answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf
from spark_fixtures import Lake

import inferlake
from inferlake import functions as F
from inferlake.routing.job import Job, answer_column
from inferlake.routing.judged import judged
from inferlake.schema import check_schema
from inferlake.testing import Received, Reply, chat, error

SCHEMA = '{"type": "object", "properties": {"label": {"enum": ["normal", "abnormal"]}}, "required": ["label"]}'
# What differs between two calls of one row.
_OF_ONE_CALL = ("latency_ms", "request_id", "rejected_at")


def answer(received: Received) -> Reply:
    """Answer by the number in the prompt: accepted, against the schema, no JSON, an error; accepted without any."""
    number = int(received.prompt.rpartition(" ")[2] or 0)
    return (chat('{"label": "normal"}'), chat('{"label": "odd"}'), chat("ä\u2028 no"), error(400))[number % 4]


def rows(lake: Lake, count: int = 60) -> DataFrame:
    """Return rows of which every tenth has no text."""
    lake.stub.script = answer
    text = sf.when(sf.col("id") % 10 != 9, sf.concat(sf.lit("row "), "id")).alias("text")
    return lake.spark.range(count, numPartitions=2).select("id", text, (sf.col("id") % 3).alias("key"))


def stages(frame: DataFrame, column: str = "out") -> int:
    """Return in how many stages of Python a frame's answers are called and judged."""
    is_struct, lineage = answer_column(frame, column)
    job = Job("run", column, check_schema(SCHEMA), (), lineage, is_struct, datetime.now(UTC))
    planned: Any = judged(frame, job).frame
    return str(planned._jdf.queryExecution().executedPlan().toString()).count("ArrowEvalPython")


@contextmanager
def setting(lake: Lake, name: str, value: str) -> Iterator[None]:
    lake.spark.conf.set(name, value)
    yield
    lake.spark.conf.unset(name)


def routed_rows(frame: DataFrame, place: Path, **options: Any) -> tuple[list[dict[str, Any]], ...]:
    """Return the accepted and the rejected rows, and the figures, without what differs between two calls of a row."""
    routed = inferlake.route_rejected(frame, "out", SCHEMA, keys="id", run="r", location=str(place), **options)
    summary = {name: getattr(routed.summary, name) for name in ("rows", "accepted", "rejected", "calls", "from_cache")}
    summary |= {"reasons": dict(routed.summary.rejected_by_reason), "tokens": routed.summary.prompt_tokens}
    assert [(field.name, field.dataType, field.metadata) for field in routed.accepted.schema] == [
        (field.name, field.dataType, field.metadata) for field in frame.schema
    ]
    return _comparable(routed.accepted.orderBy("id")), _comparable(routed.rejected.orderBy("row_key")), [summary]


def _comparable(frame: DataFrame) -> list[dict[str, Any]]:
    return [_without(row) for row in frame.collect()]


def _without(row: Row) -> dict[str, Any]:
    document = row.asDict(recursive=True)
    for part in (document, document.get("out")):
        if isinstance(part, dict):
            for name in _OF_ONE_CALL:
                part.pop(name, None)
    return document


@pytest.mark.parametrize("returns", ["struct", "value"])
def test_one_stage_gives_what_two_stages_give(lake: Lake, tmp_path: Path, returns: str) -> None:
    def called(system: str) -> DataFrame:  # so that neither uses the answers of the other
        out = F.ai_function(lake.model, "text", prompt="say {text}", returns=returns, system=system)
        return rows(lake).withColumn("out", out)

    frame, apart = called("one"), called("two").where(sf.lit(True))
    assert (stages(frame), stages(apart)) == (1, 2)
    with setting(lake, "spark.sql.execution.arrow.maxRecordsPerBatch", "7"):  # other batches than the answers come in
        one = routed_rows(frame, tmp_path / "one")
    assert lake.stub.calls == 54
    two = routed_rows(apart, tmp_path / "two")
    assert lake.stub.calls == 108
    assert one == two
    accepted, rejected, (summary,) = one
    assert [row["id"] for row in accepted] == [number for number in range(0, 60, 4) if number % 10 != 9]
    failed = "bad_request" if returns == "struct" else "no_output"
    assert summary["reasons"] == {"schema": 12, "not_json": 15, failed: 12, "null_input": 6}
    shown = {row["row_key"]: row["input"] for row in rejected}
    assert (shown["1"], shown["58"], shown["59"]) == ("say row 1", "say row 58", None)


def test_all_that_a_call_is_given_reaches_it(lake: Lake, tmp_path: Path) -> None:
    def called(**more: Any) -> DataFrame:
        out = F.ai_function(
            lake.model, ["text", "key"], prompt="{key} {text}", where="id < 40", returns="struct", **more
        )
        return rows(lake).withColumn("out", out)

    frame = called(sample_key="key", split_key="id")
    assert stages(frame) == 1
    one = routed_rows(frame, tmp_path / "one")
    calls = lake.stub.calls
    # Rows that were answered are not asked for again, whichever way; the eight with an error are.
    two = routed_rows(frame.where(sf.lit(True)), tmp_path / "two")
    assert (calls, lake.stub.calls) == (39, 47)
    assert [row["row_key"] for row in one[1]] == [row["row_key"] for row in two[1]]
    assert [row["input"] for row in one[1]] == [row["input"] for row in two[1]]
    assert {request.prompt for request in lake.stub.requests} >= {"1 row 1", "2 row 38"}


def test_what_was_sent_is_shown_from_the_columns_of_the_frame(lake: Lake, tmp_path: Path) -> None:
    shouted = sf.upper(sf.col("text"))
    frames = {
        "as another column": rows(lake).select(
            "id", shouted.alias("text"), F.ai_function(lake.model, "text").alias("out")
        ),
        "gone": rows(lake).select("id", F.ai_function(lake.model, "text").alias("out")),
        "as itself": rows(lake).select("id", F.ai_function(lake.model, shouted.alias("text")).alias("out"), "text"),
    }
    for name, frame in frames.items():
        assert stages(frame) == 1
        apart = frame.where(sf.lit(True))
        one, two = routed_rows(frame, tmp_path / f"{name} 1"), routed_rows(apart, tmp_path / f"{name} 2")
        shown = {row["row_key"]: row["input"] for row in one[1]}
        assert shown == {row["row_key"]: row["input"] for row in two[1]}
        assert shown["1"] == {"as another column": "ROW 1", "gone": None, "as itself": "row 1"}[name]


def test_columns_with_names_of_ours_and_keys_of_any_kind(lake: Lake) -> None:
    named = {"inferlake_verdict": sf.lit(7), "a.`b": sf.lit(8)}
    frame = rows(lake, 4).withColumns({**named, "out": F.ai_function(lake.model, "text")})
    assert stages(frame) == 1
    routed = inferlake.route_rejected(frame, "out", SCHEMA, keys=["id", "out"], run=lake.model)
    assert [row.inferlake_verdict for row in routed.accepted.collect()] == [7]
    rejected = routed.rejected.collect()
    assert {json.loads(row.row_key)["out"] for row in rejected} == {'{"label": "odd"}', "ä\u2028 no", None}
    assert json.loads(rejected[0].source)["a.`b"] == 8


def test_columns_may_be_chosen_named_and_added_behind_the_call(lake: Lake, tmp_path: Path) -> None:
    first = F.ai_function(lake.model, "text", system="one")
    called = rows(lake).withColumn("first", first).withColumnRenamed("first", "out")
    frame = called.withColumn("text", sf.upper("text")).drop("key").select("out", "id", "text", sf.lit(1).alias("one"))
    assert stages(frame) == 1
    accepted, rejected, (summary,) = routed_rows(frame, tmp_path / "one")
    assert (accepted[0]["text"], accepted[0]["one"], summary["accepted"]) == ("ROW 0", 1, 15)
    assert (rejected[0]["row_key"], rejected[0]["input"]) == ("1", "ROW 1")


def _parsed(called: Column) -> Column:
    return sf.to_json(sf.from_json(called, "label string"))


@pytest.mark.parametrize(
    "made",
    [
        lambda frame, out: frame.select("*", out.alias("out")).where("id < 3"),
        lambda frame, out: frame.select("*", _parsed(out).alias("out")),
        lambda frame, out: frame.select("*", out.alias("out"), out.alias("again")),
        lambda frame, out: frame.select("*", out.alias("out")).withColumn("length", sf.length("out")),
        lambda frame, out: frame.select("id", out.alias("out"), sf.rand().cast("string").alias("text")),
        lambda frame, out: frame.select("id", out.alias("text")).select("id", sf.col("text").alias("out")).limit(3),
    ],
    ids=["filtered", "computed", "twice", "needed elsewhere", "random", "limited"],
)
def test_what_does_not_show_its_call_is_judged_in_a_stage_of_its_own(
    lake: Lake, made: Callable[[DataFrame, Column], DataFrame]
) -> None:
    frame = made(rows(lake), F.ai_function(lake.model, "text"))
    assert stages(frame) == 2


def test_a_cached_frame_is_not_called_again(lake: Lake) -> None:
    cached = rows(lake).withColumn("out", F.ai_function(lake.model, "text")).cache()
    assert cached.count() == 60
    calls = lake.stub.calls
    for number, frame in enumerate((cached, cached.withColumn("more", sf.lit(1)))):
        summary = inferlake.route_rejected(frame, "out", SCHEMA, run=f"{lake.model} {number}").summary
        assert (summary.rows, summary.accepted) == (60, 15)
    cached.unpersist()
    assert (calls, lake.stub.calls) == (54, 54)  # although an error is never stored


def test_the_sql_form_calls_and_judges_in_one_stage(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from inferlake.routing import route

    found: list[int] = []

    def noted(frame: DataFrame, job: Job) -> Any:
        found.append(stages(frame, job.column))
        return judged(frame, job)

    monkeypatch.setattr(route, "judged", noted)
    rows(lake, 20).createOrReplaceTempView("texts")
    done = lake.spark.sql(
        f"CREATE TABLE labels AS SELECT id, text, ai_function('{lake.model}', text) AS out FROM texts "
        f"VALIDATE out AGAINST '{SCHEMA}' REJECTED INTO ai_output_rejected"
    ).collect()
    assert [(row.rows, row.accepted) for row in done] == [(20, 5)]
    assert found == [1]


def test_rows_are_written_while_others_are_still_asked_for(lake: Lake, tmp_path: Path) -> None:
    last = "row 799"
    over = threading.Event()
    sizes: dict[str, int] = {}

    def script(received: Received) -> Reply:
        number = int(received.prompt.rpartition(" ")[2])
        text = json.dumps({"label": "normal" if number % 2 else "odd", "note": f"{number} {hash(received.prompt)}" * 9})
        # A worker's last few bytes leave it with the next rows: so there have to be next rows.
        return chat(text, delay_s=3.5 if received.prompt == last else 1.0 if number > 600 else 0.0)

    def watch() -> None:
        while not over.wait(0.05):
            if lake.stub.in_flight:  # the last answer is still to come
                sizes.update({path.parent.name: path.stat().st_size for path in tmp_path.rglob("part-*")})

    frame = lake.spark.range(800, numPartitions=1).select("id", sf.concat(sf.lit("row "), "id").alias("text"))
    lake.stub.script = script
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with setting(lake, "parquet.block.size", "4096"):  # else a file is written when 128 MB are there, or at the end
            called = frame.withColumn("out", F.ai_function(lake.model, "text"))
            routed = inferlake.route_rejected(called, "out", SCHEMA, run="r", location=str(tmp_path))
    finally:
        over.set()
        watcher.join()
    assert (routed.summary.accepted, routed.summary.rejected) == (400, 400)
    assert set(sizes) == {"outcome=accepted", "outcome=rejected"}
    assert min(sizes.values()) > 4_096
