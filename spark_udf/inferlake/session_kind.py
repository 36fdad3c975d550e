"""Which of PySpark's two kinds of session one is."""

from __future__ import annotations

from pyspark.sql import SparkSession


def is_connect(spark: SparkSession) -> bool:
    """Tell whether a session is a client of Spark Connect, which has neither plans nor a JVM to look into."""
    return "connect" in type(spark).__module__.split(".")
