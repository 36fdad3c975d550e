"""Makes a Spark function out of a generator over Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf


def iterator_udf(function: Callable[[Iterator[Any]], Iterator[Any]], ddl: str) -> Callable[..., Column]:
    """Return the function for columns and for ``spark.udf.register``.

    It is deterministic on purpose: Spark may push filters below it and merge equal calls, and where Spark evaluates it
    again the answers are there already.
    """
    made: Callable[..., Column] = arrow_udf(function, ddl)  # type: ignore[call-overload] # typed for decorators only
    return made
