"""The routing form of SQL: CREATE TABLE … AS query VALIDATE column AGAINST schema REJECTED INTO table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from inferlake.errors import TableDiffers
from inferlake.planning import Lineage
from inferlake.routing.layout import quoted
from inferlake.routing.route import route_rejected
from inferlake_sql.statements import RouteQuery

_FIGURES: Final = "run_id string, rows bigint, accepted bigint, rejected bigint, rejected_by_reason map<string, bigint>"


def run_routing(spark: SparkSession, statement: RouteQuery, query: DataFrame, lineages: Sequence[Lineage]) -> DataFrame:
    """Carry the statement out and return its figures: one row. ``query`` is the statement's query, not yet evaluated.

    ``lineages`` are those of its model calls: where there is one, it is the one of the column that is judged.
    """
    table = quoted(statement.table.parts)
    if spark.catalog.tableExists(table):
        if statement.if_not_exists:
            return spark.createDataFrame([], _FIGURES)
        raise TableDiffers(table, "it is there already; CREATE TABLE makes a new one", "nowhere: nothing was called")
    if len(set(lineages)) == 1 and statement.column in query.columns:
        query = query.withMetadata(statement.column, {**lineages[0].metadata()})
    routed = route_rejected(
        query,
        statement.column,
        statement.schema,
        rejected_table=quoted(statement.rejected_table.parts),
        accepted_table=table,
    )
    summary = routed.summary
    row = (summary.run_id, summary.rows, summary.accepted, summary.rejected, dict(summary.rejected_by_reason))
    return spark.createDataFrame([row], _FIGURES)
