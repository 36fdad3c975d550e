"""The statement EXPLAIN AI [APPROXIMATE] query: a row for each model call of the query, and no call."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from inferlake.connection import Connection
from inferlake.errors import NoModelCall
from inferlake.explain.counting import counted
from inferlake.explain.estimate import ESTIMATE, estimate
from inferlake.explain.places import find_places
from inferlake.explain.planned_calls import planned_calls
from inferlake.explain.statistics import approximated
from inferlake.query_planning import PlannedQuery
from inferlake.session_kind import is_connect
from inferlake_sql.errors import NotSupported
from inferlake_sql.scan import leading_words

_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})


def require_explainable(spark: SparkSession, query: str) -> None:
    """Raise NotSupported for what cannot be explained: a session without a plan at hand, or no query."""
    if is_connect(spark):
        raise NotSupported(
            "EXPLAIN AI in a Spark Connect session",
            "Run it in a classic session. Here the input's distinct rows are the calls that it takes at most.",
        )
    if leading_words(query, 1).strip() not in _QUERIES:
        raise NotSupported("EXPLAIN AI of anything but a query", "Write the SELECT alone: EXPLAIN AI SELECT … FROM ….")


def as_query(text: str) -> str:
    """Return a text that Spark takes only if it is a query: a command would be carried out when it is analysed."""
    return f"SELECT * FROM (\n{text}\n)"


def explain(
    spark: SparkSession, connection: Connection, planned: PlannedQuery, query: DataFrame, *, approximate: bool
) -> DataFrame:
    """Return a row of ``ESTIMATE`` for each call. ``query`` is the frame of the planned query, not evaluated.

    Raises NoModelCall, ModelNotConstant, and NotSupported for a stream and for frames whose calls are still to come.
    """
    if query.isStreaming:
        raise NotSupported("EXPLAIN AI of a stream", "Explain the same query over a batch of it.")
    frame: Any = query
    plan = frame._jdf.queryExecution().optimizedPlan()
    calls = planned_calls(spark, connection, planned.calls, find_places(plan))
    if not calls:
        raise NoModelCall
    figures = approximated(spark, calls) if approximate else counted(spark, calls)
    rows = [estimate(call, of_call)._asdict() for call, of_call in zip(calls, figures, strict=True)]
    # From Arrow, since showing such a frame runs no job either.
    return spark.createDataFrame(pa.Table.from_pylist(rows, ESTIMATE))
