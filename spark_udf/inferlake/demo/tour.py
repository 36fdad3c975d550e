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
from inferlake.demo import article, job, local_spark, report, services
from inferlake.demo.children import Children
from inferlake.demo.errors import EndpointLost, NoProbeStored, NotReconciled
from inferlake.demo.reconcile import Counts, claims
from inferlake.demo.report import Run
from inferlake.demo.screen import Screen
from inferlake.demo.served import Served
from inferlake_registry.client import Client

_PROBE_SECONDS: Final = 90.0  # a model is probed once a minute
_LOOK_SECONDS: Final = 0.5  # between two looks at how far a run is


def take(screen: Screen, children: Children, folder: Path, model: str | None, *, as_json: bool) -> None:
    """Go through it all. Raises an error of the family where something is not as it should be."""
    screen.title("Inferlake", "a model, a registry and Spark, all on this machine")
    with screen.waiting((services.REGISTRY, services.SPARK, services.SERVED)) as ready:
        up = services.start(children, folder, model, ready)
    spark = inferlake.enable(up.spark, registry=up.registry_url)
    served = Served(up.model_url)

    screen.heading(1, "Register the model")
    _statement(screen, spark, article.create_model(f"{up.model_url}/v1/chat/completions"))
    screen.heading(2, "Call it from SQL")
    _statement(screen, spark, article.FIRST_CALL)

    screen.heading(3, "Label every session log, keep what passes the checks")
    sessions = job.read_sessions(spark)
    screen.say(_about(sessions))
    screen.statement(article.PIPELINE, "python")
    runs = [_run(screen, sessions, served, "first")]

    if runs[0].complete:
        screen.heading(4, "A new version, and the same logs again")
        _statement(screen, spark, article.SET_VERSION)
        runs.append(_run(screen, sessions, served, "second"))

    screen.heading(5, "What came out")
    screen.show(report.figures(runs))
    _check(screen, runs, folder)
    _show_rows(screen, runs[-1])

    screen.heading(6, "In the browser")
    _show_pages(screen, up.registry_url, folder)
    if as_json:
        click.echo(report.as_document(runs))
    local_spark.stop(spark)
    if not runs[-1].complete:
        last = runs[-1].report
        failed = last.rejected_by_reason.get("network", 0)
        raise EndpointLost(last.rows - failed, failed, folder / "model.log")


def _statement(screen: Screen, spark: SparkSession, statement: str) -> None:
    """Show a statement, run it, show its first row."""
    screen.statement(f"{statement};")
    row = spark.sql(statement).first()
    values = () if row is None else tuple(str(value) for value in row if value is not None)
    screen.answer(" · ".join(values) or "null")


def _about(sessions: job.Input) -> str:
    return (
        f"{sessions.rows} session logs in eight languages. {sessions.null_rows} are empty and will cost nothing, the "
        f"others are {sessions.different} different requests. One half asks the endpoint to keep to the schema "
        f"([italic]response_schema=schema[/]), the other leaves the model free and warm, so the checks have work."
    )


def _run(screen: Screen, sessions: job.Input, served: Served, name: str) -> Run:
    """Run the job once, with the endpoint's count before and after."""
    labelled = job.label(sessions.sessions)
    before = served.requests()
    with (
        screen.counting("asking the model", sessions.different) as at,
        _watched(lambda: at((served.requests() or 0) - (before or 0))),
    ):
        routed = job.route(labelled, f"demo-{name}")
    after = served.requests()
    counts = Counts(
        rows=sessions.rows,
        accepted=routed.summary.accepted,
        rejected=routed.summary.rejected,
        null_rows=sessions.null_rows,
        different=sessions.different,
        again=job.asked_again(sessions.sessions, routed),
        served=(after or 0) - (before or 0),
        reachable=before is not None and after is not None,
    )
    return Run(
        report=routed.summary,
        complete=counts.reachable,
        halves=job.halves(sessions.sessions, routed.accepted),
        agreement=job.agreement(routed.accepted),
        claims=tuple(claims(counts)),
        accepted=job.some_accepted(routed.accepted),
        rejected=job.some_rejected(routed.rejected),
    )


@contextmanager
def _watched(look: Callable[[], None]) -> Iterator[None]:
    """Look at something again and again while the block runs."""
    done = Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            look()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        look()


def _check(screen: Screen, runs: Sequence[Run], folder: Path) -> None:
    """Show every sum with whether it holds, then fail for the first that does not."""
    for run in runs:
        screen.say(f"[bold]version {run.report.model_version}[/]")
        for claim in run.claims:
            screen.claim(claim.sentence, holds=claim.holds)
        if not run.complete:
            screen.warn("The endpoint was gone before the run ended; its own count went with it.")
    for claim in (claim for run in runs for claim in run.claims if not claim.holds):
        raise NotReconciled(claim.sentence, claim.left, claim.right, folder / "demo.log")


def _show_rows(screen: Screen, run: Run) -> None:
    screen.say(f"\n[bold]Five accepted rows[/], from the table {job.ACCEPTED_TABLE}")
    screen.show(report.accepted_table(run.accepted))
    screen.say(f"[bold]Five rejected rows[/], from the table {job.REJECTED_TABLE}")
    screen.show(report.rejected_table(run.rejected))


def _show_pages(screen: Screen, registry_url: str, folder: Path) -> None:
    """Wait until the registry has probed the model by itself, then say where everything is to be seen."""
    _await_probe(registry_url, folder)
    screen.card(
        "Where to look next",
        (
            ("health", f"{registry_url}/models/{article.MODEL}"),
            ("rejected rows", f"{registry_url}/rejected"),
            ("runs", f"{registry_url}/runs"),
            ("statements", f"./run sql --registry {registry_url}"),
            ("manual", "docs/architecture.md, and what README.md lists below it"),
        ),
    )


def _await_probe(registry_url: str, folder: Path) -> None:
    deadline = time.monotonic() + _PROBE_SECONDS
    with Client(registry_url) as client:
        while time.monotonic() < deadline:
            health = client.execute("SHOW MODEL HEALTH")
            names = [column.name for column in health.columns]
            rows = [dict(zip(names, row, strict=True)) for row in health.rows]
            if all(row["last_probe"] is not None for row in rows):
                return
            time.sleep(_LOOK_SECONDS)
    raise NoProbeStored(article.MODEL, _PROBE_SECONDS, folder / "registry.log")
