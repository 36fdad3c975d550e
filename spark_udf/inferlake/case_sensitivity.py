"""Whether the session tells M from m, which Spark decides for tables and columns and so for models."""

from __future__ import annotations

from typing import Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

_KEY: Final = "spark.sql.caseSensitive"


def is_case_sensitive(spark: SparkSession | None = None) -> bool:
    """Return the setting of a session, or of the active one; without any session names are found in any letters."""
    try:
        session = SparkSession.active() if spark is None else spark
    except PySparkRuntimeError:
        return False  # a column may be built before there is a session
    return str(session.conf.get(_KEY)).lower() == "true"
