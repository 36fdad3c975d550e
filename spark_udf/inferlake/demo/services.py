"""The demo's services: the registry and the served model as processes, Spark in this one, all started side by side."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from inferlake.demo import local_spark
from inferlake.demo.article import MODEL
from inferlake.demo.children import Child, Children
from inferlake.demo.errors import ServiceFailed

T = TypeVar("T")

REGISTRY: Final = "registry"
SPARK: Final = "Spark"
SERVED: Final = "model"

# The model takes about a minute on two quiet cores, nearly all of it imports.
_START_SECONDS: Final = 300.0
_INFERLAKE: Final = (sys.executable, "-m", "inferlake.cli")


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that is up."""

    registry_url: str
    model_url: str
    served: Child
    spark: SparkSession


def start(children: Children, folder: Path, model: str | None, ready: Callable[[str, str], None]) -> Services:
    """Start all three at once and wait for the slowest; ``ready`` hears of each with what there is to know about it.

    The first that fails ends the wait. The caller stops what is up then.
    """
    seconds = float(os.environ.get("INFERLAKE_DEMO_START_SECONDS", _START_SECONDS))
    registry = children.start(REGISTRY, (*_INFERLAKE, "registry", "serve", *_keeping(folder)))
    served = children.start(SERVED, (*_INFERLAKE, "serve", "up", *_serving(model)), {"INFERLAKE_HOME": str(folder)})

    def registry_ready() -> str:
        url = _announced_url(registry, seconds)
        ready(REGISTRY, url)
        return url

    def model_ready() -> str:
        url = _announced_url(served, seconds)
        ready(SERVED, url)
        return url

    def spark_ready() -> SparkSession:
        session = local_spark.start(folder)
        ready(SPARK, f"{session.version}, two task slots")
        return session

    at_registry, at_model, at_spark = _begin(registry_ready), _begin(model_ready), _begin(spark_ready)
    parts: list[Future[Any]] = [at_registry, at_model, at_spark]
    done, _ = wait(parts, return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()
    return Services(at_registry.result(), at_model.result(), served, at_spark.result())


def _serving(model: str | None) -> Sequence[str]:
    chosen = ("--model", model) if model is not None else ()
    return ("--name", MODEL, *chosen, "--port", "0", "--foreground", "--json")


def _keeping(folder: Path) -> Sequence[str]:
    return ("--port", "0", "--database", f"sqlite:///{folder / 'registry.db'}", "--json")


def _begin(work: Callable[[], T]) -> Future[T]:
    """Run something in a thread that never holds up the end of this process, as an executor's threads would."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the future is asked
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def _announced_url(child: Child, seconds: float) -> str:
    """Return the address in the line of JSON that a service prints when it is up."""
    line = child.first_line(seconds)
    try:
        return str(json.loads(line)["url"])
    except (ValueError, KeyError, TypeError):
        raise ServiceFailed(child.name, child.process.poll() or 0, f"unexpected line {line!r}", child.log) from None
