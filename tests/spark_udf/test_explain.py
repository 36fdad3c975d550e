"""EXPLAIN AI: what it says of a query is what the run then asks of the endpoint, and it asks nothing itself."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf
from spark_fixtures import Lake

from inferlake import functions as F
from inferlake.errors import NoModelCall
from inferlake.explain.prompt_tokens import estimated_tokens
from inferlake_registry.contract.problems import ModelNotFound
from inferlake_sql.errors import ModelNotConstant, NotSupported

ROWS = 40  # id from 0; t is one of 7 texts, and null in every tenth row


@pytest.fixture
def reviews(lake: Lake) -> DataFrame:
    """Give the table ``reviews`` as a view."""
    text = sf.when(sf.col("id") % 10 == 0, None).otherwise(sf.concat(sf.lit("text "), sf.col("id") % 7))
    frame = lake.spark.range(ROWS).select("id", text.alias("t"))
    frame.createOrReplaceTempView("reviews")
    return frame


def explained(lake: Lake, query: str, how: str = "") -> list[Row]:
    return lake.spark.sql(f"EXPLAIN AI {how} {query.format(m=lake.model)}").collect()


def figures(rows: list[Row]) -> list[tuple[int, int, float]]:
    return [(row.rows, row.requests, row.evaluations_per_row) for row in rows]


DUPLICATES = "SELECT id, ai_function('{m}', t) AS a FROM reviews"
FILTERED = "SELECT t, a FROM (SELECT t, ai_function('{m}', t) AS a FROM reviews WHERE id < 4) WHERE a <> 'text 3'"
GROUPED = "SELECT ai_function('{m}', t) AS a, count(*) AS n FROM reviews WHERE t IS NOT NULL GROUP BY 1 ORDER BY n"
TWICE = """
WITH c AS (SELECT id, ai_function('{m}', id % 3, t) AS a FROM reviews)
SELECT x.id, y.id FROM c AS x LEFT JOIN c AS y ON x.a = y.a WHERE x.id < 5
"""
SEVERAL = """
SELECT ai_function('{m}', t) AS a, try_ai_function('{m}', t) AS b, ai_function('{m}', t, map('system', 'Be kind')) AS c
FROM reviews WHERE id < 20
"""
UNITED = "SELECT ai_function('{m}', t) AS a FROM (SELECT t FROM reviews UNION ALL SELECT 'more' FROM range(3)) AS v"
SAMPLED = "SELECT ai_function('{m}', t, map('dedupe', 'false')) AS a FROM reviews"
NESTED_QUERY = """
SELECT id FROM reviews
WHERE length(t) < (SELECT max(length(ai_function('{m}', t))) FROM reviews WHERE id BETWEEN 1 AND 3)
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(DUPLICATES, [(40, 7, 1)], id="duplicates"),
        pytest.param(FILTERED, [(4, 3, 2)], id="filter on the answer"),
        pytest.param(GROUPED, [(36, 7, 1)], id="group by"),
        pytest.param(TWICE, [(45, 23, 1.5)], id="a CTE used twice"),
        pytest.param(SEVERAL, [(20, 7, 1), (20, 0, 1), (20, 7, 1)], id="calls that share requests"),
        pytest.param(UNITED, [(43, 8, 1)], id="union"),
        pytest.param(SAMPLED, [(40, 36, 1)], id="every row for itself"),
        pytest.param(NESTED_QUERY, [(3, 3, 1)], id="subquery"),
    ],
)
def test_it_says_what_the_run_then_asks(
    lake: Lake, reviews: DataFrame, query: str, expected: list[tuple[int, int, float]]
) -> None:
    rows = explained(lake, query)
    assert lake.stub.calls == 0
    assert figures(rows) == expected
    lake.spark.sql(query.format(m=lake.model)).collect()
    assert lake.stub.calls == sum(row.requests for row in rows)


def test_price_and_time(lake: Lake, reviews: DataFrame) -> None:
    query = "SELECT ai_function('{m}', t, map('request.max_tokens', 50, 'system', 'Be kind')) AS a FROM reviews"
    (row,) = explained(lake, query)
    assert (row.model, row.versions) == (lake.model, "1")
    assert (row.prompt_price, row.answer_price_limit, row.seconds) == (None, None, None)
    prices = "'price.input' = '2', 'price.output' = '8', 'qps.limit' = '4'"
    lake.client.execute(f"ALTER MODEL {lake.model} SET PROPERTIES ({prices})")
    (row,) = explained(lake, query)
    assert row.prompt_tokens_estimated == 7 * math.ceil(len("Be kind" + "text 0") / 3)
    assert row.prompt_price == row.prompt_tokens_estimated * 2 / 1_000_000
    assert row.answer_price_limit == 7 * 50 * 8 / 1_000_000
    assert row.seconds == 7 / 4
    assert row.note.startswith("A Spark job over the query's input counted rows and requests; tokens are estimated.")
    (unlimited,) = explained(lake, DUPLICATES)
    assert (unlimited.prompt_price, unlimited.answer_price_limit) == (7 * 2 * 2 / 1_000_000, None)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 2), ("été", 3), ("日本語", 4), ("ab😀", 2), ("я" * 9, 11)]
)
def test_tokens_are_estimated_from_bytes_and_letters(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_approximate_runs_no_job(lake: Lake, reviews: DataFrame) -> None:
    tracker = lake.spark.sparkContext.statusTracker()
    lake.spark.sparkContext.setJobGroup("approximate", "no job of this group")
    try:
        (row,) = explained(lake, DUPLICATES, "APPROXIMATE")
        assert tracker.getJobIdsForGroup("approximate") == []
        assert figures(explained(lake, DUPLICATES)) == [(40, 7, 1)]
        assert len(tracker.getJobIdsForGroup("approximate")) > 0
    finally:
        lake.spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert (row.rows, row.requests, row.prompt_tokens_estimated) == (40, 40, None)
    assert row.note.startswith("No job was run. Rows are Spark's own estimate;")
    assert lake.stub.calls == 0


def test_approximate_uses_column_statistics(lake: Lake, reviews: DataFrame) -> None:
    reviews.write.saveAsTable("saved")
    query = "SELECT ai_function('{m}', t) AS a FROM saved"
    (guess,) = explained(lake, query, "APPROXIMATE")
    assert guess.rows > 0
    assert "a guess from the size of the input" in guess.note
    lake.spark.sql("ANALYZE TABLE saved COMPUTE STATISTICS FOR ALL COLUMNS").collect()
    lake.spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        (row,) = explained(lake, query, "APPROXIMATE")
    finally:
        lake.spark.conf.unset("spark.sql.cbo.enabled")
    assert (row.rows, row.requests, row.prompt_tokens_estimated) == (40, 7, 14)
    assert "Requests are the distinct values in Spark's column statistics." in row.note


def test_rows_without_input_need_no_call(lake: Lake) -> None:
    query = "SELECT ai_function('{m}', a, b) AS x FROM VALUES (NULL, NULL), (NULL, 'b'), ('a', NULL) AS v(a, b)"
    assert figures(explained(lake, query)) == [(3, 2, 1)]
    assert figures(explained(lake, "SELECT ai_function('{m}', CAST(NULL AS STRING)) AS x FROM range(5)")) == [(5, 0, 1)]
    assert figures(explained(lake, "SELECT ai_function('{m}', 'x') AS x FROM range(5)")) == [(5, 1, 1)]


def test_a_traffic_split_counts_the_requests_of_all_versions(lake: Lake, reviews: DataFrame) -> None:
    lake.client.execute(f"ALTER MODEL {lake.model} SET VERSION 2")
    lake.client.execute(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 50, '2' = 50)")
    query = "SELECT ai_function('{m}', id % 20) AS a FROM reviews"
    (row,) = explained(lake, query)
    assert sorted(row.versions.split(", ")) == ["1 (50 %)", "2 (50 %)"]
    assert (row.rows, row.requests) == (40, 20)
    lake.spark.sql(query.format(m=lake.model)).collect()
    assert lake.stub.calls == 20


def test_calls_that_depend_on_answers_are_not_counted(lake: Lake, reviews: DataFrame) -> None:
    inner, outer = explained(lake, "SELECT ai_function('{m}', concat(ai_function('{m}', t), '!')) AS a FROM reviews")
    assert (inner.rows, inner.requests) == (40, 7)
    assert (outer.rows, outer.requests, outer.prompt_tokens_estimated) == (None, None, None)
    assert outer.note == f"Not counted: what reaches this call depends on answers of {lake.model}."
    deciding = (
        "SELECT ai_function('{m}', id) AS b FROM (SELECT id, ai_function('{m}', t) AS a FROM reviews) WHERE a > 'b'"
    )
    assert sorted(row.rows or 0 for row in explained(lake, deciding)) == [0, 40]
    beside = "SELECT upper(ai_function('{m}', t)) AS a, ai_function('{m}', id) AS b FROM reviews"
    assert figures(explained(lake, beside)) == [(40, 7, 1), (40, 40, 1)]
    assert lake.stub.calls == 0


def test_input_that_differs_each_time_is_said(lake: Lake, reviews: DataFrame) -> None:
    (row,) = explained(lake, "SELECT ai_function('{m}', t) AS a FROM reviews WHERE rand() < id + 2")
    assert (row.rows, row.requests) == (40, 7)
    assert row.note.endswith("The input differs each time it is read, so a run may count otherwise.")


def test_a_call_that_spark_leaves_out(lake: Lake, reviews: DataFrame) -> None:
    (row,) = explained(lake, "SELECT count(*) AS n FROM (SELECT ai_function('{m}', t) AS a FROM reviews)")
    assert (row.rows, row.requests, row.evaluations_per_row) == (0, 0, 0)
    assert row.note.startswith("Spark leaves this call out")


def test_calls_in_views_columns_and_ai_query(lake: Lake, reviews: DataFrame) -> None:
    lake.spark.sql(f"CREATE TEMPORARY VIEW v1 AS SELECT ai_function('{lake.model}', t) AS a FROM reviews")
    assert figures(explained(lake, "SELECT * FROM v1")) == [(40, 7, 1)]
    answers = F.ai_function(lake.model, "t", where=sf.col("id") < 3, sample_key="id")
    reviews.select(answers.alias("a")).createOrReplaceTempView("v2")
    assert figures(explained(lake, "SELECT * FROM v2")) == [(40, 2, 1)]
    asked = "SELECT ai_query('{m}', t, modelParameters => map('max_tokens', '9')) AS a FROM reviews"
    assert figures(explained(lake, asked)) == [(40, 7, 1)]
    (row,) = explained(lake, f"{asked} LIMIT 20", "APPROXIMATE")
    assert row.note.endswith("A LIMIT above the call can end a run before all of its rows are asked.")
    places = lake.spark.sql(f"EXPLAIN AI SELECT ai_function('{lake.model}', t) AS a FROM {{df}}", df=reviews).collect()
    assert figures(places) == [(40, 7, 1)]
    marked = lake.spark.sql(
        "EXPLAIN AI SELECT ai_function(:m, t) AS a FROM reviews WHERE id < :n", {"m": lake.model, "n": 3}
    )
    assert figures(marked.collect()) == [(3, 2, 1)]
    assert lake.stub.calls == 0
    lake.spark.table("v2").collect()
    assert lake.stub.calls == 2


def test_a_frame_whose_calls_are_still_to_come_is_refused(lake: Lake, reviews: DataFrame) -> None:
    cached = reviews.select(F.ai_function(lake.model, "t").alias("a")).cache()
    cached.createOrReplaceTempView("c")
    query = "SELECT ai_function('{m}', a) AS b FROM c"
    with pytest.raises(NotSupported, match="cached frame"):
        explained(lake, query)
    lake.spark.createDataFrame(cached.unpersist().rdd, "a string").createOrReplaceTempView("hidden")
    with pytest.raises(NotSupported, match="have still to bring"):
        explained(lake, "SELECT ai_function('{m}', a) AS b FROM hidden")
    assert lake.stub.calls == 0
    cached.cache().count()
    assert lake.stub.calls == 7
    cached.createOrReplaceTempView("c")
    assert figures(explained(lake, query)) == [(40, 7, 1)]
    cached.unpersist()
    assert lake.stub.calls == 7


def test_what_cannot_be_explained(lake: Lake, reviews: DataFrame) -> None:
    with pytest.raises(NoModelCall):
        explained(lake, "SELECT t FROM reviews")
    with pytest.raises(ModelNotFound):
        explained(lake, "SELECT ai_function('there_is_no_such_model', t) FROM reviews")
    reviews.createOrReplaceTempView("reviews")
    lake.spark.sql("CREATE TEMPORARY VIEW w AS SELECT ai_function(t, t) AS a FROM reviews WHERE t IS NOT NULL")
    with pytest.raises(ModelNotConstant):
        explained(lake, "SELECT * FROM w")
    stream = lake.spark.readStream.format("rate").load()
    stream.createOrReplaceTempView("stream")
    with pytest.raises(NotSupported, match="stream"):
        explained(lake, "SELECT ai_function('{m}', value) AS a FROM stream")
    assert lake.stub.calls == 0


@pytest.mark.parametrize(
    "command",
    [
        "CREATE TABLE made AS SELECT ai_function('{m}', 'x') AS a",
        "INSERT INTO made SELECT ai_function('{m}', 'x') AS a",
    ],
)
def test_a_command_is_refused_and_not_carried_out(lake: Lake, command: str) -> None:
    with pytest.raises(NotSupported, match="EXPLAIN AI SELECT"):
        explained(lake, command)
    assert not lake.spark.catalog.tableExists("made")
    assert lake.stub.calls == 0
