"""One measured Spark job in a process of its own; prints one line of JSON.

spark_job.py peer --kind bare --rows 100000 --in-flight 512 --url URL
spark_job.py route --model m --registry URL --rows 100000 [--distinct 10000] [--tasks 8]
spark_job.py queries --model m --registry URL --rows 1000 --origin URL
spark_job.py stream --model m --registry URL --rows 1000000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psutil
from endpoint import BenchEndpoint

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SCHEMA: Final = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
ODD_EVERY: Final = 20  # one row in twenty gets an answer that breaks the schema
_SAMPLE_S: Final = 1.0


@contextmanager
def spark_session(tasks: int) -> Iterator[SparkSession]:
    """Run a Spark of so many task slots; its files go with it."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", category=FutureWarning)
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="inferlake-bench-spark-")
    spark = (
        SparkSession.builder.master(f"local[{tasks}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.local.dir", f"{folder}/local")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def sessions(spark: SparkSession, count: int, distinct: int, tasks: int) -> DataFrame:
    """Return session logs of about sixty bytes, every twentieth an odd one."""
    from pyspark.sql import functions as F

    number = F.col("id") % distinct
    kind = F.when(number % ODD_EVERY == 0, "odd").otherwise("plain")
    text = F.concat(F.lit("user "), number.cast("string"), F.lit(" opened a "), kind, F.lit(" page, error 500, left"))
    return spark.range(count, numPartitions=tasks).select("id", text.alias("text"))


def peer(options: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of a whole job of a peer: it reads the answers and does nothing with them."""
    from peers import PEERS

    with spark_session(2) as spark:
        frame = sessions(spark, options.rows, options.rows, 2)
        frame.limit(4).select(PEERS[options.kind](options.url, 4)("text")).collect()
        answer = PEERS[options.kind](options.url, options.in_flight)
        began = time.monotonic()
        answered = frame.select(answer("text").alias("answer")).where("answer is not null").count()
        seconds = time.monotonic() - began
    assert answered == options.rows, answered
    return {"seconds": seconds}


def route(options: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of a whole job of ours: called, checked, accepted and rejected rows written."""
    import inferlake
    from inferlake import functions as AF

    distinct = options.distinct or options.rows
    with spark_session(options.tasks) as spark:
        inferlake.enable(spark, registry=options.registry)
        frame = sessions(spark, options.rows, distinct, options.tasks)
        warm = frame.limit(4).withColumn(
            "answer", AF.ai_function(options.model, "text", returns="struct", prompt="warm {text}")
        )
        called = frame.withColumn("answer", AF.ai_function(options.model, "text", returns="struct"))
        with tempfile.TemporaryDirectory(prefix="inferlake-bench-run-") as folder:
            inferlake.route_rejected(warm, "answer", SCHEMA, keys="id", run="warm", location=folder)
            at, began = time.time(), time.monotonic()
            routed = inferlake.route_rejected(called, "answer", SCHEMA, keys="id", run="bench", location=folder)
            seconds = time.monotonic() - began
        summary = routed.summary
    assert summary.rows == options.rows, summary
    assert summary.rejected == options.rows // ODD_EVERY, summary
    assert set(summary.rejected_by_reason) == {"schema"}, summary
    return {"seconds": seconds, "began": at, "calls": summary.calls}


def queries(options: argparse.Namespace) -> dict[str, Any]:
    """Return, for each query that evaluates a column more than once, how many requests reached the endpoint."""
    import inferlake
    from inferlake import functions as AF

    def both_written(frame: DataFrame) -> None:
        folder = tempfile.mkdtemp(prefix="inferlake-bench-run-")
        for name, valid in (("accepted", "v.valid"), ("rejected", "not v.valid")):
            frame.withColumn("v", AF.ai_validate("answer", SCHEMA)).where(valid).write.parquet(f"{folder}/{name}")
        shutil.rmtree(folder)

    def self_join(frame: DataFrame) -> None:
        frame.alias("a").join(frame.alias("b"), "answer").count()

    tried: dict[str, Callable[[DataFrame], object]] = {
        "accepted and rejected both written": both_written,
        "self join on the result": self_join,
        "filter on the result": lambda frame: frame.where("answer like '%normal%'").collect(),
        "orderBy on the result": lambda frame: frame.orderBy("answer", "id").collect(),
    }
    counted = {}
    with spark_session(2) as spark:
        inferlake.enable(spark, registry=options.registry)
        for at, (name, run) in enumerate(tried.items()):
            frame = sessions(spark, options.rows, options.rows, 2)
            answer = AF.ai_function(options.model, "text", prompt=f"query {at}: {{text}}")
            before = BenchEndpoint(options.origin).served().all
            run(frame.withColumn("answer", answer))
            counted[name] = BenchEndpoint(options.origin).served().all - before
    return {"calls": counted}


def stream(options: argparse.Namespace) -> dict[str, Any]:
    """Return the anonymous memory of one worker, in MB, while rows stream through it."""
    import inferlake
    from inferlake import functions as AF

    with spark_session(1) as spark:
        inferlake.enable(spark, registry=options.registry)
        frame = sessions(spark, options.rows, options.rows, 1)
        frame.limit(4).select(AF.ai_function(options.model, "text", prompt="warm {text}")).collect()
        answer: Column = AF.ai_function(options.model, "text", returns="struct")
        with _memory_samples(options.origin) as samples:
            began = time.monotonic()
            frame.select("id", answer.alias("a")).where("a.response is not null").write.format("noop").mode(
                "overwrite"
            ).save()
            seconds = time.monotonic() - began
    return {"seconds": seconds, "samples": samples}


@contextmanager
def _memory_samples(origin: str) -> Iterator[list[tuple[int, float]]]:
    """Note, once a second, how many rows were served and the largest worker's anonymous memory in MB."""
    samples: list[tuple[int, float]] = []
    stop = threading.Event()
    endpoint = BenchEndpoint(origin)
    first = endpoint.served().all

    def watch() -> None:
        while not stop.wait(_SAMPLE_S):
            sizes = [_anonymous_mb(worker) for worker in _workers()]
            if sizes:
                samples.append((endpoint.served().all - first, max(sizes)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield samples
    finally:
        stop.set()
        watcher.join()


def _workers() -> list[psutil.Process]:
    """Return the Python processes that run tasks: the children of PySpark's daemon."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            parent = process.parent()
            if parent is not None and "pyspark.daemon" in " ".join(parent.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def _anonymous_mb(process: psutil.Process) -> float:
    """Return private pages that no file backs: the answer store's map does not count."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup") as lines:  # noqa: PTH123
            return next(int(line.split()[1]) / 1_000 for line in lines if line.startswith("Anonymous:"))
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


_JOBS: Final[Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]]] = {
    "peer": peer,
    "route": route,
    "queries": queries,
    "stream": stream,
}


def main() -> None:
    """Run what the arguments say and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=_JOBS)
    parser.add_argument("--kind")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--distinct", type=int)
    parser.add_argument("--in-flight", type=int)
    parser.add_argument("--tasks", type=int, default=2)
    for name in ("--url", "--origin", "--registry", "--model"):
        parser.add_argument(name)
    options = parser.parse_args()
    print(json.dumps(_JOBS[options.job](options)))  # noqa: T201


if __name__ == "__main__":
    main()
