"""Routing: every row once, in one place, with a reason; nothing evaluated twice, nothing done twice."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from spark_fixtures import Lake

import inferlake
from inferlake import functions as F
from inferlake.errors import InvalidArgument, InvalidSchema, RowsLost, RunDiffers, TableDiffers, TooManyRejected
from inferlake.routing.layout import REJECTED_DDL
from inferlake.testing import Received, Reply, chat, error
from inferlake_registry.contract.runs import RunReport

SCHEMA = '{"type": "object", "properties": {"label": {"enum": ["normal", "abnormal"]}}, "required": ["label"]}'


def answer(received: Received) -> Reply:
    """Answer by the number in the prompt: rows 0, 4, 8 … are normal, each of the others is wrong in its own way."""
    number = int(received.prompt.removeprefix("row "))
    match number % 4:
        case 0:
            return chat('{"label": "normal"}')
        case 1:
            return chat('{"label": "odd"}')
        case 2:
            return chat("```json\n{}\n```")
        case _:
            return error(400)


def rows(lake: Lake, count: int = 20) -> DataFrame:
    lake.stub.script = answer
    return lake.spark.range(count, numPartitions=3).select("id", sf.concat(sf.lit("row "), "id").alias("text"))


def labelled(lake: Lake, count: int = 20, returns: str = "struct") -> DataFrame:
    called = F.ai_function(lake.model, "text", returns=returns, max_error_ratio=1.0)
    return rows(lake, count).select("*", called.alias("ai_output"))


def table_of(lake: Lake, *runs: str) -> DataFrame:
    """Return the rejected table's rows of some runs; without any, of those whose id begins with the test's model."""
    table = lake.spark.table("ai_output_rejected")
    return table.where(sf.col("run_id").isin(*runs)) if runs else table.where(sf.col("run_id").startswith(lake.model))


@pytest.mark.parametrize("returns", ["struct", "value"])
def test_every_row_ends_in_one_place_with_a_reason(lake: Lake, returns: str) -> None:
    routed = inferlake.route_rejected(labelled(lake, 20, returns), "ai_output", SCHEMA, keys="id", run=lake.model)
    failed = "bad_request" if returns == "struct" else "no_output"
    summary = routed.summary
    assert (summary.rows, summary.accepted, summary.rejected) == (20, 5, 15)
    assert summary.rejected_by_reason == {"schema": 5, "code_fence": 5, failed: 5}
    assert (summary.model, summary.model_version, summary.run_id) == (lake.model, "1", lake.model)
    assert lake.stub.calls == 20
    assert sorted(row.id for row in routed.accepted.collect()) == [0, 4, 8, 12, 16]
    rejected = {int(row.row_key): row for row in routed.rejected.collect()}
    assert sorted(rejected) == [number for number in range(20) if number % 4]
    assert {rejected[number].reason for number in (3, 7, 11)} == {failed}
    assert all(row.reason and row.rejected_id for row in rejected.values())
    assert lake.stub.calls == 20


def test_the_figures_are_those_of_the_calls(lake: Lake) -> None:
    frame = labelled(lake, 4).unionByName(labelled(lake, 4))
    summary = inferlake.route_rejected(frame, "ai_output", SCHEMA, run=lake.model).summary
    # Three answers are used twice; an error is never stored, so its row is called once for each of the two.
    assert (summary.rows, summary.calls, summary.from_cache) == (8, lake.stub.calls, 3)
    assert lake.stub.calls == 5
    assert (summary.prompt_tokens, summary.completion_tokens) == (3 * 20, 3 * 6)
    assert summary.latency_p50_ms is not None
    assert summary.latency_p95_ms is not None
    assert 0 < summary.latency_p50_ms <= summary.latency_p95_ms
    assert summary.seconds > 0


def test_accepted_rows_are_as_the_input_had_them(lake: Lake) -> None:
    frame = labelled(lake)
    accepted = inferlake.route_rejected(frame, "ai_output", SCHEMA, run=lake.model).accepted
    assert accepted.schema.simpleString() == frame.schema.simpleString()
    row = accepted.where("id = 8").first()
    assert row is not None
    assert (row.text, row.ai_output.response, row.ai_output.model) == ("row 8", '{"label": "normal"}', lake.model)


def test_a_rejected_row_says_all_that_is_known(lake: Lake) -> None:
    before = datetime.now(UTC).replace(tzinfo=None)
    routed = inferlake.route_rejected(labelled(lake, 4), "ai_output", SCHEMA, keys=["id", "text"], run=lake.model)
    found = {json.loads(row.source)["id"]: row for row in routed.rejected.collect()}
    assert routed.rejected.columns[:2] == ["rejected_id", "run_id"]
    assert set(routed.rejected.columns) == {"run_id", *(part.split()[0] for part in REJECTED_DDL.split(", "))}
    wrong, fenced, failed = found[1], found[2], found[3]
    assert json.loads(wrong.row_key) == {"id": 1, "text": "row 1"}
    assert (wrong.run_id, wrong.model, wrong.model_version, wrong.attempts) == (lake.model, lake.model, "1", 1)
    assert (wrong.ai_output, wrong.input, wrong.replay_of) == ('{"label": "odd"}', "row 1", None)
    assert json.loads(wrong.source) == {"id": 1, "text": "row 1"}
    (explained,) = json.loads(wrong.errors)
    assert (explained["path"], explained["keyword"]) == ("/label", "enum")
    assert (fenced.reason, fenced.ai_output) == ("code_fence", "```json\n{}\n```")
    assert (failed.reason, failed.ai_output) == ("bad_request", None)
    assert json.loads(failed.errors)[0]["keyword"] == "bad_request"
    assert "400" in json.loads(failed.errors)[0]["message"]
    assert len({row.schema_hash for row in found.values()}) == 1
    assert before <= wrong.rejected_at <= datetime.now(UTC).replace(tzinfo=None)


def test_rows_without_any_input_are_rejected_for_that(lake: Lake) -> None:
    frame = lake.spark.createDataFrame([(1, "row 0", "x"), (2, None, None)], "id int, a string, b string")
    lake.stub.script = chat('{"label": "normal"}')
    for returns in ("value", "struct"):
        called = F.ai_function(lake.model, ["a", "b"], returns=returns).alias("out")
        routed = inferlake.route_rejected(frame.select("*", called), "out", SCHEMA, keys="id", run=lake.model + returns)
        assert [(row.row_key, row.reason, row.input) for row in routed.rejected.collect()] == [
            ("2", "null_input", None)
        ]
    assert lake.stub.calls == 1


def test_what_was_sent_is_shown_as_it_was_sent(lake: Lake) -> None:
    lake.stub.script = chat("no")
    frame = lake.spark.createDataFrame([("Ann", [("a", None)])], "name string, events array<struct<x string, y int>>")
    by_template = F.ai_function(lake.model, ["name", "events"], prompt="{name}: {events}").alias("out")
    inferlake.route_rejected(frame.select("*", by_template), "out", SCHEMA, run=f"{lake.model}-1")
    as_object = F.ai_function(lake.model, ["name", "events"]).alias("out")
    inferlake.route_rejected(frame.select("*", as_object), "out", SCHEMA, run=f"{lake.model}-2")
    shown = {row.run_id[-1]: row.input for row in table_of(lake).collect()}
    assert {shown["1"], shown["2"]} == {request.prompt for request in lake.stub.requests}
    gone = frame.select(as_object)
    routed = inferlake.route_rejected(gone, "out", SCHEMA, run=f"{lake.model}-3")
    assert [row.input for row in routed.rejected.collect()] == [None]


def test_the_same_run_again_does_nothing_twice(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    first = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, keys="id", run=lake.model)
    calls = lake.stub.calls
    lake.stub.script = chat('{"label": "normal"}')
    with caplog.at_level(logging.WARNING, "inferlake"):
        again = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, keys="id", run=lake.model)
    assert "was done at" in caplog.text
    assert again.summary == first.summary
    assert lake.stub.calls == calls
    assert table_of(lake).count() == 15
    assert sorted(again.rejected.collect()) == sorted(first.rejected.collect())


def test_a_run_without_an_id_says_that_a_repetition_is_another_run(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "inferlake"):
        one = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA)
    other = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA)
    assert one.summary.run_id in caplog.text
    assert one.summary.run_id != other.summary.run_id
    assert table_of(lake, one.summary.run_id, other.summary.run_id).count() == 30


def test_ids_are_the_same_for_the_same_row_of_the_same_run_only(lake: Lake, tmp_path: Path) -> None:
    def ids(run: str, place: str) -> dict[str, str]:
        where = str(tmp_path / place)
        routed = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=run, keys="id", location=where)
        return {row.row_key: row.rejected_id for row in routed.rejected.collect()}

    one, same, other = ids("a", "x"), ids("a", "y"), ids("b", "x")
    assert one == same
    assert len(set(one.values())) == 15
    assert not set(one.values()) & set(other.values())


def test_a_run_id_cannot_be_used_for_something_else(lake: Lake) -> None:
    frame = labelled(lake)
    inferlake.route_rejected(frame, "ai_output", SCHEMA, run=lake.model)
    with pytest.raises(RunDiffers) as caught:
        inferlake.route_rejected(frame, "ai_output", '{"type": "array"}', run=lake.model)
    assert caught.value.fields["what"] == "schema"
    with pytest.raises(RunDiffers):
        inferlake.route_rejected(frame.withColumnRenamed("ai_output", "other"), "other", SCHEMA, run=lake.model)


def test_a_run_that_died_is_done_again_as_a_whole(lake: Lake, tmp_path: Path) -> None:
    late = (sf.col("id") == 18) & sf.col("ai_output.version").isNotNull()
    dying = labelled(lake).coalesce(1).withColumn("late", sf.when(late, sf.raise_error("the job dies")))
    with pytest.raises(PySparkException, match="the job dies"):
        inferlake.route_rejected(dying, "ai_output", SCHEMA, run="died", location=str(tmp_path))
    calls = lake.stub.calls
    routed = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run="died", location=str(tmp_path))
    assert (routed.summary.rows, routed.summary.accepted, routed.summary.rejected) == (20, 5, 15)
    assert lake.spark.table("ai_output_rejected").where("run_id = 'died'").count() == 15
    assert lake.stub.calls - calls == 5  # errors only: the answers had been paid for


def test_an_endpoint_that_is_down_rejects_rows_and_never_loses_them(lake: Lake) -> None:
    frame = rows(lake, 300)
    lake.stub.shut()
    called = F.ai_function(lake.model, "text", timeout_ms=1500, returns="struct").alias("out")
    routed = inferlake.route_rejected(frame.select("*", called), "out", SCHEMA, run=lake.model)
    assert (routed.summary.rows, routed.summary.accepted) == (300, 0)
    assert set(routed.summary.rejected_by_reason) <= {"network", "timeout"}
    assert routed.accepted.count() == 0
    assert routed.accepted.columns == ["id", "text", "out"]


def test_too_many_rejected_raises_when_everything_is_written(lake: Lake) -> None:
    with pytest.raises(TooManyRejected):
        inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model, max_rejected_ratio=0.5)
    assert table_of(lake).count() == 15
    assert inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model, max_rejected_ratio=0.75)


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows_or_none(lake: Lake, count: int) -> None:
    routed = inferlake.route_rejected(labelled(lake, count), "ai_output", SCHEMA, run=lake.model)
    assert (routed.summary.rows, routed.accepted.count(), routed.rejected.count()) == (count, count, 0)
    assert table_of(lake).count() == 0


def test_an_accepted_table(lake: Lake) -> None:
    for number, run in enumerate(("r1", "r2"), 1):
        frame = labelled(lake, 20, "value").where(f"id % 2 = {number - 1}")
        inferlake.route_rejected(frame, "ai_output", SCHEMA, run=f"{run}-{lake.model}", accepted_table="good")
    table = lake.spark.table("good")
    assert table.columns == ["id", "text", "ai_output", "run_id"]
    assert {(row.run_id[:2], row.id) for row in table.collect()} == {("r1", number) for number in (0, 4, 8, 12, 16)}


def test_column_names_that_the_rejected_table_has_too(lake: Lake) -> None:
    odd = {"model": "int", "source": "array<int>", "run_id": "string", "outcome": "string", "Reason": "string"}
    frame = labelled(lake).select("*", *[sf.lit(None).cast(type_).alias(name) for name, type_ in odd.items()])
    frame = frame.withColumn("run_id", sf.col("text")).withColumn("nothing", sf.lit(None))
    routed = inferlake.route_rejected(frame, "ai_output", SCHEMA, run=lake.model, accepted_table="good", keys="run_id")
    row = routed.accepted.where("id = 8").first()
    assert row is not None
    assert (row.run_id, row.model, row.nothing, row.ai_output.version) == ("row 8", None, None, "1")
    assert sorted(row.row_key for row in routed.rejected.collect())[:2] == ["row 1", "row 10"]
    assert lake.spark.table("good").count() == 5
    assert lake.spark.sql("SELECT ai_output.response AS r FROM good WHERE id = 8").first() == ('{"label": "normal"}',)


def test_a_table_of_another_format_gets_the_rows_appended_once(lake: Lake) -> None:
    lake.spark.sql(f"CREATE TABLE my_rejects (run_id string, {REJECTED_DDL}) USING json")
    for _ in range(2):
        inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model, rejected_table="my_rejects")
    assert lake.spark.table("my_rejects").where("reason = 'schema'").count() == 5
    assert lake.spark.table("my_rejects").count() == 15


def test_a_table_that_cannot_take_the_rows_is_named(lake: Lake) -> None:
    lake.spark.sql("CREATE TABLE something_else (a int) USING parquet")
    with pytest.raises(TableDiffers):
        inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model, rejected_table="something_else")


def test_a_session_that_forgot_its_tables_sees_them_again(lake: Lake) -> None:
    inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model)
    lake.spark.sql("DROP TABLE ai_output_rejected")
    inferlake.enable(lake.spark, registry=lake.client.url)
    assert lake.spark.table("ai_output_rejected").where(sf.col("run_id") == lake.model).count() == 15


def test_the_registry_knows_the_run_and_some_of_its_rows(lake: Lake) -> None:
    summary = inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, keys="id", run=lake.model).summary
    assert lake.client.run(lake.model) == summary
    listing = lake.client.rejected(run=lake.model)
    assert listing.matching == 15
    assert {(row.row_key, row.reason) for row in listing.rows} >= {("1", "schema"), ("2", "code_fence")}


def test_a_registry_that_is_away_does_not_undo_a_run(
    lake: Lake, start_registry: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    registry = start_registry("--no-probes")
    inferlake.enable(lake.spark, registry=registry.url)
    with registry.client() as client:
        client.execute(f"CREATE MODEL m LOCATION '{lake.stub.url}'")
    frame = rows(lake).select("*", F.ai_function("m", "text", returns="struct").alias("out"))
    registry.stop()
    with caplog.at_level(logging.WARNING, "inferlake"):
        routed = inferlake.route_rejected(frame, "out", SCHEMA, run=lake.model)
    assert routed.rejected.count() == 15
    assert "the registry does not know of it" in caplog.text


def test_lost_rows_are_noticed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from inferlake.routing import route
    from inferlake.routing.summary import count_written

    monkeypatch.setattr(route, "count_written", lambda written: count_written(written.where("reason IS NULL")))
    with pytest.raises(RowsLost) as caught:
        inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model)
    assert caught.value.fields["rows"] == 20
    monkeypatch.undo()
    assert not lake.spark.catalog.tableExists("ai_output_rejected") or table_of(lake).count() == 0
    assert inferlake.route_rejected(labelled(lake), "ai_output", SCHEMA, run=lake.model).summary.rows == 20


@pytest.mark.parametrize(
    ("arguments", "error_class"),
    [
        ({"column": "nothing"}, InvalidArgument),
        ({"column": "id"}, InvalidArgument),
        ({"schema": "{"}, InvalidSchema),
        ({"keys": ["nothing"]}, InvalidArgument),
        ({"run": ""}, InvalidArgument),
        ({"rejected_table": "a b"}, InvalidArgument),
        ({"accepted_table": "a..b"}, InvalidArgument),
        ({"max_rejected_ratio": 1.5}, InvalidArgument),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_called(
    lake: Lake, arguments: dict[str, Any], error_class: type[Exception]
) -> None:
    given = {"column": "ai_output", "schema": SCHEMA, **arguments}
    with pytest.raises(error_class):
        inferlake.route_rejected(labelled(lake), given.pop("column"), given.pop("schema"), **given)
    assert lake.stub.calls == 0


def test_the_sql_form(lake: Lake) -> None:
    rows(lake).createOrReplaceTempView("texts")
    statement = (
        f"CREATE TABLE labels AS SELECT id, text, ai_function('{lake.model}', text) AS ai_output FROM texts "
        f"VALIDATE ai_output AGAINST '{SCHEMA}' REJECTED INTO ai_output_rejected"
    )
    done = lake.spark.sql(statement).collect()
    assert [(row.rows, row.accepted, row.rejected) for row in done] == [(20, 5, 15)]
    assert lake.spark.table("labels").count() == 5
    rejected = table_of(lake, done[0].run_id).where("reason = 'schema'").orderBy("input").collect()
    assert [(row.model, row.input) for row in rejected][:1] == [(lake.model, "row 1")]
    assert lake.stub.calls == 20
    with pytest.raises(TableDiffers):
        lake.spark.sql(statement)
    lake.spark.sql(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
    assert lake.stub.calls == 20


def test_a_summary_is_a_run_report(lake: Lake) -> None:
    assert inferlake.RunSummary is RunReport


def test_tokens_that_no_answer_reports_are_unknown_and_not_none(lake: Lake) -> None:
    silent = Reply(200, b'{"choices":[{"message":{"content":"{\\"label\\":\\"normal\\"}"},"finish_reason":"stop"}]}')
    frame = labelled(lake, 4)
    lake.stub.script = silent
    routed = inferlake.route_rejected(frame, "ai_output", SCHEMA, run=lake.model)
    assert (routed.summary.rows, routed.summary.accepted, routed.summary.calls) == (4, 4, 4)
    assert (routed.summary.prompt_tokens, routed.summary.completion_tokens) == (None, None)
    assert lake.client.run(lake.model) == routed.summary
    # A run that pays for nothing knows what it used.
    again = inferlake.route_rejected(frame, "ai_output", SCHEMA, run=f"{lake.model}-again").summary
    assert (again.from_cache, again.calls, again.prompt_tokens, again.completion_tokens) == (4, 0, 0, 0)
    assert lake.stub.calls == 4
