"""``route_rejected``: judges a column of answers, writes every row once, and shows accepted and rejected rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as sf

from inferlake.calling import ROUTING_PROPERTY
from inferlake.connection import Connection, current, log
from inferlake.errors import InvalidArgument, RowsLost, TooManyRejected
from inferlake.routing.columns import input_names
from inferlake.routing.frame import written_frame
from inferlake.routing.job import Job, answer_column
from inferlake.routing.judged import judged
from inferlake.routing.layout import (
    OUTCOME,
    RunPlace,
    base_folder,
    check_run,
    quoted,
    table_parts,
)
from inferlake.routing.marker import Marker, read_marker, write_marker
from inferlake.routing.reporting import report
from inferlake.routing.summary import count_written, observed_figures, read_figures
from inferlake.routing.tables import show_accepted, show_rejected
from inferlake.schema import SchemaLike, check_schema
from inferlake.task_property import told_to_tasks
from inferlake_registry.contract.runs import RunReport

_WRITERS: Final = "spark.sql.maxConcurrentOutputFileWriters"
# One open file for each outcome, and one more, as Spark starts to sort by outcome, and so to hold all rows of a task
# back, when it has opened so many.
_OPEN_FILES: Final = "3"


@dataclass(frozen=True, slots=True)
class Routed:
    """What came of a run. Both frames read files that are final: nothing is called or judged again."""

    accepted: DataFrame
    rejected: DataFrame
    summary: RunReport


def route_rejected(
    df: DataFrame,
    column: str,
    schema: SchemaLike,
    *,
    rejected_table: str = "ai_output_rejected",
    accepted_table: str | None = None,
    keys: Sequence[str] | str | None = None,
    run: str | None = None,
    max_rejected_ratio: float | None = None,
    location: str | None = None,
) -> Routed:
    """Judge ``column`` (the text of ``ai_function``, or its struct) by a JSON Schema and route every row, eagerly.

    The input is evaluated exactly once. Rows that fail become visible in ``rejected_table``, each with its reason; the
    others are ``Routed.accepted`` and, if wanted, a table. ``keys`` name the columns that identify a row. ``run`` makes
    the call repeatable: the same id again does nothing twice. Files lie below ``location``, else below Spark's
    warehouse. Failed calls never end the job; ``max_rejected_ratio`` raises TooManyRejected once all is written.

    Raises InvalidArgument, InvalidSchema, RunDiffers and TableDiffers. RowsLost: what was written is not what went in.
    """
    connection = current()
    spark = df.sparkSession
    checked = check_schema(schema)
    is_struct, lineage = answer_column(df, column)
    names = _keys(df, keys)
    if max_rejected_ratio is not None and not 0 <= max_rejected_ratio <= 1:
        raise InvalidArgument("max_rejected_ratio", "a number from 0 to 1.")
    table = table_parts(rejected_table)
    wanted = table_parts(accepted_table) if accepted_table is not None else None
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir"))
    place = RunPlace(base_folder(location, warehouse, table), _run_id(run))
    started = datetime.now(UTC)
    job = Job(place.run, column, checked, names, lineage, is_struct, started)

    marker = read_marker(spark, place) if run is not None else None
    if marker is None:
        marker = _carry_out(connection, df, job, place, quoted(table))
    else:
        marker.check_same(column, checked)
        log.warning("Run %s was done at %s; nothing is called or written again.", place.run, marker.report.started_at)
    show_rejected(spark, table, place.base, marker)
    if wanted is not None:
        show_accepted(spark, wanted, base_folder(location, warehouse, wanted), marker)
    routed = Routed(marker.accepted(spark), marker.rejected(spark), marker.report)
    report(connection.registry, marker.report, routed.rejected)
    if max_rejected_ratio is not None and marker.report.rejected > max_rejected_ratio * marker.report.rows:
        raise TooManyRejected(
            place.run, marker.report.rows, marker.report.rejected, max_rejected_ratio, marker.report.rejected_table
        )
    return routed


def _run_id(run: str | None) -> str:
    if run is not None:
        return check_run(run)
    made = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    log.warning("This is run %s. To make a repetition the same run, which does nothing twice, give run=….", made)
    return made


def _keys(df: DataFrame, keys: Sequence[str] | str | None) -> tuple[str, ...]:
    names = (keys,) if isinstance(keys, str) else tuple(keys or ())
    for name in names:
        if name not in df.columns:
            raise InvalidArgument("keys", f"{name!r} is none of {', '.join(df.columns)}.")
    return names


def _carry_out(connection: Connection, df: DataFrame, job: Job, place: RunPlace, table: str) -> Marker:
    """Evaluate and write the input once, prove that nothing was lost, and set the marker."""
    began = monotonic()
    attempt = place.attempt(uuid.uuid4().hex)
    stored = input_names(df.schema)
    observed = Observation()
    figures_of = sf.col(quoted([stored[job.column]])) if job.is_struct else None
    written = written_frame(judged(df, job), df.schema, job, stored).observe(observed, *observed_figures(figures_of))
    spark = df.sparkSession
    # However many calls fail, a routed job goes on, and each row has its reason. In Connect max_error_ratio decides.
    with _writing_as_they_come(spark), told_to_tasks(spark, ROUTING_PROPERTY):
        written.write.partitionBy(OUTCOME).parquet(attempt)
    figures = read_figures(observed.get, _written(spark, attempt))
    if figures.rows != figures.accepted + figures.rejected:
        raise RowsLost(job.run, figures.rows, figures.accepted, figures.rejected, attempt)
    lineage = job.lineage
    summary = RunReport(
        run_id=job.run,
        model=lineage.model if lineage else None,
        model_version=figures.version or (lineage.version if lineage else None),
        application_id=connection.application_id,
        started_at=job.started.isoformat(),
        seconds=monotonic() - began,
        rows=figures.rows,
        accepted=figures.accepted,
        rejected=figures.rejected,
        rejected_by_reason=figures.rejected_by_reason,
        calls=figures.calls,
        from_cache=figures.from_cache,
        prompt_tokens=figures.prompt_tokens,
        completion_tokens=figures.completion_tokens,
        latency_p50_ms=figures.latency_p50_ms,
        latency_p95_ms=figures.latency_p95_ms,
        location=attempt,
        rejected_table=table.replace("`", ""),
    )
    marker = Marker(summary, job.column, job.schema.digest, df.schema.json())
    other = read_marker(spark, place)
    if other is not None:  # somebody else did the same run meanwhile, and was first
        return other
    write_marker(spark, place, marker)
    return marker


def _written(spark: SparkSession, attempt: str) -> list[Row]:
    return count_written(spark.read.schema(f"reason string, {OUTCOME} string").parquet(attempt))


@contextmanager
def _writing_as_they_come(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(_WRITERS, None)
    spark.conf.set(_WRITERS, _OPEN_FILES)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_WRITERS)
        else:
            spark.conf.set(_WRITERS, before)
