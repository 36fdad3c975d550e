"""Exact figures: one Spark job renders the requests of all calls of a query, sends none, and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as sf

from inferlake.calling import EXPLAINING_PROPERTY
from inferlake.explain.figures import Figures
from inferlake.explain.inputs import NeedsAnswers, free_input
from inferlake.explain.planned_calls import PlannedCall
from inferlake.explain.rendered_requests import REQUEST_DDL, rendered_requests
from inferlake.explain.sources import Source, evaluations, sources
from inferlake.iterator_udf import iterator_udf
from inferlake.plan_tree import Jvm
from inferlake.task_property import told_to_tasks
from inferlake.worker.errors import CalledWhileExplaining
from inferlake_sql.errors import NotSupported

_COUNTED: Final = "A Spark job over the query's input counted rows and requests; tokens are estimated."
_DIFFERS: Final = "The input differs each time it is read, so a run may count otherwise."


def counted(spark: SparkSession, calls: Sequence[PlannedCall]) -> list[Figures]:
    """Return the figures of each call. Raises NotSupported when the input comes from calls that no plan shows."""
    jvm = Jvm(spark)
    found = [sources(jvm, call) for call in calls]
    needed: dict[int, NeedsAnswers] = {}
    frames: list[DataFrame] = []
    for at, (call, of_call) in enumerate(zip(calls, found, strict=True)):
        try:
            frames += [_keys(spark, at, call, frame) for frame in [_free(jvm, source) for source in of_call]]
        except NeedsAnswers as needs:
            needed[at] = needs
    sums = _collected(spark, frames) if frames else {}
    return [
        _unknown(call, of_call, needed[at]) if at in needed else _figures(call, of_call, sums.get(at))
        for at, (call, of_call) in enumerate(zip(calls, found, strict=True))
    ]


def _free(jvm: Jvm, source: Source) -> Any:
    plan = free_input(jvm, source.place)
    return source.frame if plan is source.place.input else jvm.selected(plan, source.place.arguments)


def _keys(spark: SparkSession, at: int, call: PlannedCall, frame: Any) -> DataFrame:
    arguments = DataFrame(frame, spark)
    request = iterator_udf(rendered_requests(call.callee, call.snapshot), REQUEST_DDL)
    return arguments.select(sf.lit(at).alias("call"), request(*arguments.columns).alias("request"))


def _collected(spark: SparkSession, frames: Sequence[DataFrame]) -> dict[int, Row]:
    """Return the counts by call. A request that several calls ask for is paid by the first of them."""
    requests = reduce(DataFrame.unionAll, frames).select("call", "request.*")
    tokens = sf.first("prompt_tokens").alias("tokens")
    distinct = requests.groupBy("call", "key").agg(sf.count("*").alias("rows"), tokens)
    pays = sf.col("key").isNotNull() & (sf.col("call") == sf.col("payer"))
    sums = (
        distinct.withColumn("payer", sf.min("call").over(Window.partitionBy("key")))
        .groupBy("call")
        .agg(
            sf.sum("rows").alias("rows"),
            sf.count("key").alias("distinct"),
            sf.count_if(pays).alias("requests"),
            sf.coalesce(sf.sum(sf.when(pays, sf.col("tokens"))), sf.lit(0)).alias("tokens"),
        )
    )
    with told_to_tasks(spark, EXPLAINING_PROPERTY):  # forbids calls to whatever runs
        try:
            return {row["call"]: row for row in sums.collect()}
        except PythonException as error:
            if CalledWhileExplaining.code not in str(error):
                raise
            raise NotSupported(
                "EXPLAIN AI over rows that calls of models have still to bring",
                "Save the frame that the query reads as a table first.",
            ) from error


def _figures(call: PlannedCall, of_call: Sequence[Source], sums: Row | None) -> Figures:
    repeated = evaluations(call, of_call)
    if sums is None:
        return Figures(repeated, 0, 0, 0, (_COUNTED,) if of_call else ())
    remarks = [_COUNTED]
    if shared := sums["distinct"] - sums["requests"]:
        remarks.append(f"{shared} more requests are those of a call above, and are paid there.")
    if not all(source.place.input.deterministic() for source in of_call):
        remarks.append(_DIFFERS)
    return Figures(repeated, sums["rows"], sums["requests"], sums["tokens"], tuple(remarks))


def _unknown(call: PlannedCall, of_call: Sequence[Source], needs: NeedsAnswers) -> Figures:
    models = ", ".join(sorted(needs.models))
    remark = f"Not counted: what reaches this call depends on answers of {models}."
    return Figures(evaluations(call, of_call), None, None, None, (remark,))
