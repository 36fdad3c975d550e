"""Spark on this machine alone: two task slots, loopback, its words in a log file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

_SETTINGS: Final = {
    "spark.app.name": "inferlake-demo",
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    # Neither is looked at here, and each costs start time.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start(folder: Path) -> SparkSession:
    """Start a JVM whose output, and that of the Python workers, goes to ``folder/spark.log``, and a session in it.

    Tables lie below ``folder/tables``.
    """
    conf = SparkConf(loadDefaults=False)
    for key, value in _SETTINGS.items():
        conf.set(key, value)
    conf.set("spark.sql.warehouse.dir", str(folder / "tables"))
    conf.set("spark.local.dir", str(folder / "scratch"))
    with (folder / "spark.log").open("wb") as log:
        launch: Any = launch_gateway  # PySpark gives it no types
        gateway = launch(conf, popen_kwargs={"stdout": log, "stderr": log})
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def stop(spark: SparkSession) -> None:
    """End the session and its JVM, which would otherwise live as long as this process."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
