"""How often Spark evaluates a function over 100 rows, and that each row is paid once whatever Spark does.

The rows that reach a function are Spark's own habit, counted here with a function that only counts: a release of Spark
that changes it shows up here first. The calls are counted at the endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_fixtures import Lake

from inferlake.iterator_udf import iterator_udf

ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class Calls:
    """The function of a query as SQL: with its plain result, and with one that has the fields error and response."""

    spark: SparkSession
    value: str
    struct: str

    def sql(self, query: str) -> DataFrame:
        return self.spark.sql(query.format(f=self.value, s=self.struct))


def written(calls: Calls, *, persisted: bool) -> None:
    """Write the good rows, then the others."""
    labelled = calls.sql("SELECT id, {f} AS a FROM rows")
    if persisted:
        labelled.persist()
    labelled.filter("a NOT LIKE '%7'").write.format("noop").mode("overwrite").save()
    labelled.filter("a LIKE '%7'").write.format("noop").mode("overwrite").save()
    labelled.unpersist()


def viewed_twice(calls: Calls) -> None:
    """Ask a view two times; its text is kept, so the model is found by the workers."""
    calls.sql("CREATE OR REPLACE TEMPORARY VIEW labelled AS SELECT id, {f} AS a FROM rows")
    for _ in range(2):
        calls.spark.table("labelled").collect()


def collected(query: str) -> Callable[[Calls], object]:
    return lambda calls: calls.sql(query).collect()


@dataclass(frozen=True, slots=True)
class Measured:
    """What a query does, how many rows reach the function, and how many calls are paid."""

    run: Callable[[Calls], Any]
    reach: int
    paid: int


QUERIES: Final[dict[str, Measured]] = {
    "select the column": Measured(collected("SELECT id, {f} AS a FROM rows"), 100, 100),
    "filter on the output": Measured(
        # The eleven rows that pass are evaluated again.
        collected("SELECT * FROM (SELECT id, {f} AS a FROM rows) WHERE a LIKE 'row 1%'"),
        111,
        100,
    ),
    "two fields of the struct": Measured(
        collected("SELECT r.response FROM (SELECT {s} AS r FROM rows) WHERE r.error IS NULL"), 200, 100
    ),
    "good rows, then the others": Measured(lambda calls: written(calls, persisted=False), 300, 100),
    "the same, persisted before": Measured(lambda calls: written(calls, persisted=True), 100, 100),
    "joined with itself on the output": Measured(
        collected("WITH w AS (SELECT id, {f} AS a FROM rows) SELECT x.id FROM w x JOIN w y ON x.a = y.a"), 400, 100
    ),
    "a view asked twice": Measured(viewed_twice, 200, 100),
    "the same call twice": Measured(collected("SELECT {f} AS a, upper({f}) AS b FROM rows"), 100, 100),
    "in a CASE that needs ten rows": Measured(collected("SELECT CASE WHEN id < 10 THEN {f} END FROM rows"), 100, 100),
    "in a COALESCE behind a constant": Measured(collected("SELECT coalesce('none', {f}) FROM rows"), 0, 0),
    "in a COALESCE that needs none": Measured(collected("SELECT coalesce(nullif(text, ''), {f}) FROM rows"), 100, 100),
    "filter on another column above it": Measured(
        collected("SELECT * FROM (SELECT id, {f} AS a FROM rows) WHERE id < 10"), 10, 10
    ),
    "filter on another column beside it": Measured(
        collected("SELECT id FROM rows WHERE id < 10 AND {f} LIKE '%7'"), 10, 10
    ),
    "LIMIT 5": Measured(collected("SELECT {f} FROM rows LIMIT 5"), 5, 5),
    "take(1)": Measured(lambda calls: calls.sql("SELECT {f} AS a FROM rows").take(1), 1, 1),
    "show(5)": Measured(lambda calls: calls.sql("SELECT {f} AS a FROM rows").show(5), 6, 6),
    "ORDER BY id LIMIT 5": Measured(collected("SELECT id, {f} FROM rows ORDER BY id LIMIT 5"), 100, 100),
    "count(*)": Measured(collected("SELECT count(*) FROM (SELECT {f} FROM rows)"), 0, 0),
    "spread by ranges of the output": Measured(
        # Spark takes a sample of the output first, to find the ranges.
        collected("SELECT /*+ REPARTITION_BY_RANGE(3, a) */ * FROM (SELECT {f} AS a FROM rows)"),
        200,
        100,
    ),
    "distinct inputs": Measured(
        collected("SELECT t, {f} FROM (SELECT DISTINCT concat('row ', id % 4) AS text, id % 4 AS t FROM rows)"), 4, 4
    ),
    "GROUP BY the output": Measured(collected("SELECT {f} AS a, count(*) FROM rows GROUP BY {f}"), 100, 100),
    "in a JOIN condition": Measured(
        collected("SELECT rows.id FROM rows JOIN (SELECT text AS u FROM rows) ON {f} = u"), 100, 100
    ),
}


@pytest.fixture
def counted(lake: Lake, tmp_path: Path) -> Iterator[tuple[Calls, Callable[[], int]]]:
    """Give functions that count the rows they get, and the count."""
    # A file, since a task that is stopped by a LIMIT never gives its accumulators back.
    file = tmp_path / "counted"
    file.touch()

    def seen(batch: pa.Array) -> None:
        with file.open("a") as counts:
            counts.write(f"{len(batch)}\n")

    def value(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            seen(batch)
            yield batch

    def struct(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            seen(batch)
            yield pa.StructArray.from_arrays([batch, pa.nulls(len(batch), pa.string())], names=["response", "error"])

    for function in (value, struct):
        function.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    lake.spark.udf.register("counted", iterator_udf(value, "string"))
    lake.spark.udf.register("counted_struct", iterator_udf(struct, "response string, error string"))
    yield Calls(lake.spark, "counted(text)", "counted_struct(text)"), lambda: sum(map(int, file.read_text().split()))
    for name in ("counted", "counted_struct"):
        lake.spark.sql(f"DROP TEMPORARY FUNCTION {name}").collect()


@pytest.mark.parametrize("query", QUERIES)
def test_a_row_is_paid_once_however_often_spark_evaluates_it(
    lake: Lake, counted: tuple[Calls, Callable[[], int]], query: str
) -> None:
    lake.spark.range(ROWS, numPartitions=2).selectExpr("id", "concat('row ', id) AS text").createOrReplaceTempView(
        "rows"
    )
    measured = QUERIES[query]
    counting, reached = counted
    measured.run(counting)
    ours = Calls(
        lake.spark,
        f"ai_function('{lake.model}', text)",
        f"ai_function('{lake.model}', text, map('returns', 'struct'))",
    )
    measured.run(ours)
    assert (reached(), lake.stub.calls) == (measured.reach, measured.paid)
    assert len({request.prompt for request in lake.stub.requests}) == lake.stub.calls
