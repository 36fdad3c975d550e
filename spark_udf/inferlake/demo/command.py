"""``inferlake demo``: what happens around the tour. Signals, errors, the log, and the end of every process."""

from __future__ import annotations

import logging
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from inferlake.demo import interrupts
from inferlake.demo.children import Children
from inferlake.demo.errors import ServiceDied, Unexpected, WorkFolder
from inferlake.demo.screen import Screen
from inferlake_sql.errors import InferlakeError

_FOLDER: Final = ".demo"

_log: Final = logging.getLogger("inferlake.demo")


@click.command()
@click.option("--once", is_flag=True, help="Stop everything at the end instead of leaving the services up.")
@click.option("--model", metavar="ID_OR_PATH", help="Serve this model, from the hub or a folder, not the small one.")
@click.option(
    "--work-dir",
    metavar="DIR",
    default=_FOLDER,
    show_default=True,
    help="Where tables, database and logs go, in a folder of their own for each start.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON; all else goes to standard error.")
def demo(once: bool, model: str | None, work_dir: str, as_json: bool) -> None:
    """Run the whole product on this machine: serve a model, register it, label session logs with it in Spark.

    It starts a registry, Ray Serve with vLLM, and Spark, on free ports of the loopback address. Afterwards registry and
    model stay up until Ctrl-C; then no process is left.
    """
    folder = _new_folder(Path(work_dir))
    _keep_a_log(folder / "demo.log")
    screen = Screen(Console(stderr=as_json))
    children = Children(folder)
    status = 0
    interrupts.arm()
    try:
        try:
            _take(screen, children, folder, model, as_json=as_json)
            status = 0 if once else _stay_up(screen, children)
        except interrupts.Interrupted as stop:
            status = stop.exit_status
        finally:
            interrupts.calm()
    finally:
        # Reached whatever happened above, a signal during the two lines before included.
        children.stop(screen.stopping)
        screen.stopped(folder)
    sys.exit(status)


def _take(screen: Screen, children: Children, folder: Path, model: str | None, *, as_json: bool) -> None:
    """Take the tour; an error of the family stays as it is, a foreign one becomes a line that says where it is told."""
    from inferlake.demo import tour  # imports Spark, which a wrong option should not wait for

    try:
        tour.take(screen, children, folder, model, as_json=as_json)
    except InferlakeError:
        _log.exception("while %s", screen.doing)
        raise
    except Exception as error:  # the tour runs other people's libraries: whatever they raise ends it with one line
        _log.exception("while %s", screen.doing)
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Unexpected(screen.doing, said, folder / "demo.log") from error


def _stay_up(screen: Screen, children: Children) -> int:
    """Wait for Ctrl-C, which is how this is meant to end; a service that dies meanwhile is an error."""
    screen.say("[bold]The services are up.[/] Ctrl-C stops them.")
    try:
        while True:
            for child in children.dead():
                raise ServiceDied(child.name, child.process.returncode, child.log)
            time.sleep(0.5)
    except interrupts.Interrupted:
        return 0


def _new_folder(parent: Path) -> Path:
    """Make and return a folder that no other start uses."""
    folder = parent.absolute() / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise WorkFolder(parent, error.strerror or str(error)) from error
    return folder


def _keep_a_log(path: Path) -> None:
    """Send warnings and log records of every library to a file: the terminal belongs to the tour."""
    logging.captureWarnings(True)
    logging.basicConfig(
        filename=path, encoding="utf-8", level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
