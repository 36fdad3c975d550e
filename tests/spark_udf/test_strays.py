"""What is refused before Spark sees it is nothing that Spark could read, and Spark is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import ParseException
from spark_fixtures import Lake
from stray_texts import SPARKS, STRAYS

from inferlake_sql.errors import LanguageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def parse(spark: SparkSession, text: str) -> None:
    """Have Spark's parser read a text; nothing is analysed or run."""
    session: Any = spark
    session._jsparkSession.sessionState().sqlParser().parsePlan(text)


@pytest.mark.parametrize("text", [text for text, _, _ in STRAYS])
def test_spark_cannot_read_a_stray(spark: SparkSession, text: str) -> None:
    if text.startswith("EXECUTE IMMEDIATE"):
        return  # Spark reads the text in quotes only when it runs the statement
    with pytest.raises(ParseException):
        parse(spark, text)


@pytest.mark.parametrize("text", SPARKS)
def test_spark_reads_what_passes(spark: SparkSession, text: str) -> None:
    parse(spark, text)


def test_a_stray_does_not_reach_spark(lake: Lake) -> None:
    for text, code, _ in STRAYS:
        with pytest.raises(LanguageError) as raised:
            lake.spark.sql(text)
        assert raised.value.code == code
