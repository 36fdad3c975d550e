"""The tour: everything the product does, in the order in which one would do it, each step with what came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

import click
from pyspark.sql import SparkSession

import inferlake
from inferlake.demo import article, job, local_spark, look, report, services
from inferlake.demo.children import Children
from inferlake.demo.errors import NoProbeStored, NotReconciled
from inferlake.demo.job import Input
from inferlake.demo.reconcile import Counts, claims
from inferlake.demo.screen import Screen
from inferlake.demo.served import Served
from inferlake_registry.client import Client

_PROBE_SECONDS: Final = 90.0  # a model is probed every minute
_LOOK_SECONDS: Final = 0.5  # how often progress is looked at


def take(screen: Screen, children: Children, folder: Path, model: str | None, *, as_json: bool) -> None:
    """Go through it all. Raises an error of the family where something is not as it should be."""
    screen.title("Inferlake", "a model, a registry and Spark, all on this machine")
    with screen.waiting((services.REGISTRY, services.SPARK, services.SERVED)) as ready:
        up = services.start(children, folder, model, ready)
    spark = inferlake.enable(up.spark, registry=up.registry_url)
    served = Served(up.model_url)

    screen.heading(1, "Register the model")
    _statement(screen, spark, article.create_model(up.model_url))
    screen.heading(2, "Call it from SQL")
    _statement(screen, spark, article.FIRST_CALL)

    screen.heading(3, "Label every session log, keep what passes the checks")
    sessions = job.read_sessions(spark)
    screen.say(_about(sessions))
    screen.statement(article.PIPELINE, "python")
    runs = [_run(screen, spark, sessions, served)]

    screen.heading(4, "A new version of the model, and the same logs again")
    _statement(screen, spark, article.SET_VERSION)
    runs.append(_run(screen, spark, sessions, served))

    screen.heading(5, "What came out")
    screen.show(report.figures(runs))
    _check(screen, runs, folder)
    _show_rows(screen, spark, runs[-1])

    screen.heading(6, "Health and rejected rows in the browser")
    _show_pages(screen, up.registry_url, folder)
    local_spark.stop(spark)
    if as_json:
        click.echo(report.as_document(runs))


def _statement(screen: Screen, spark: SparkSession, statement: str) -> None:
    """Show a statement, run it, show its first row."""
    screen.statement(f"{statement};")
    row = spark.sql(statement).first()
    screen.answer(" · ".join(str(value) for value in row if value is not None) if row is not None else "no row")


def _about(sessions: Input) -> str:
    return (
        f"{sessions.rows} session logs in eight languages. {sessions.null_rows} are empty and cost nothing; the others "
        f"are {sessions.different} different requests. Half of them ask for an answer that fits the schema, half leave "
        f"the model free."
    )
