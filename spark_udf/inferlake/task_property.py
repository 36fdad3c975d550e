"""What the driver tells the tasks of the jobs that it is about to start, beside their plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from inferlake.session_kind import is_connect


@contextmanager
def told_to_tasks(spark: SparkSession, name: str) -> Iterator[None]:
    """Set a property to ``true`` for all jobs that this thread starts meanwhile. A Connect client has none to set."""
    if is_connect(spark):
        yield
        return
    context: Any = spark.sparkContext  # None removes a property, which PySpark says and its hint does not know
    context.setLocalProperty(name, "true")
    try:
        yield
    finally:
        context.setLocalProperty(name, None)
