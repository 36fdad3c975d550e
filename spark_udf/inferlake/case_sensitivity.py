"""Whether the session tells M from m, which Spark decides for tables and columns and so for models."""

from __future__ import annotations

from pyspark.sql import SparkSession

_KEY = "spark.sql.caseSensitive"


def is_case_sensitive(spark: SparkSession | None = None) -> bool:
    """Return the setting of a session, or of the active one; without any session names are found in any letters."""
    session = SparkSession.getActiveSession() if spark is None else spark
    return session is not None and session.conf.get(_KEY, "false") == "true"
