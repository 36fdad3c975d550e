"""Rows with their verdicts: what a run's files are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from inferlake.iterator_udf import iterator_udf
from inferlake.routing.fusing import with_calls_judged
from inferlake.routing.job import Job, sent_inputs
from inferlake.routing.layout import quoted
from inferlake.routing.rejecting import ROUTED_DDL, rejecting


@dataclass(frozen=True, slots=True)
class Judged:
    """Every row of the input with its verdict, a struct of ``ROUTED_DDL``.

    ``frame`` has all columns of the input under their names except that of the answers, which is ``answer``.
    """

    frame: DataFrame
    answer: Column
    verdict: Column


def judged(frame: DataFrame, job: Job) -> Judged:
    """Return the rows of a frame with their verdicts; nothing runs.

    Where the plan shows the call whose answers are judged, one Python function calls and judges, so that rows go on as
    they are answered. Elsewhere judging is a stage of its own, and Spark hands it every answer of a task before it
    takes a verdict back.
    """
    name = _free_name("inferlake_verdict", frame.columns)
    called = with_calls_judged(frame, job, name)
    if called is not None:
        return Judged(called, sf.col(f"{name}.answer"), sf.col(name))
    sent = sent_inputs(frame, job.lineage)
    judge = iterator_udf(rejecting(job.schema, sent), ROUTED_DDL)
    columns = [sf.col(quoted([column])) for column in (job.column, *(sent.names if sent else ()))]
    return Judged(frame.withColumn(name, judge(*columns)), columns[0], sf.col(name))


def _free_name(name: str, columns: Sequence[str]) -> str:
    taken = set(map(str.casefold, columns))
    while name in taken:
        name = f"{name}_"
    return name
