"""What a session's own settings change: which letters name a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PythonException
from spark_fixtures import Lake

from inferlake import functions as F
from inferlake_registry.contract.problems import ModelNotFound


@pytest.fixture
def exact(lake: Lake) -> Iterator[Lake]:
    """Give a session that tells upper from lower case, and set it back."""
    lake.spark.conf.set("spark.sql.caseSensitive", "true")
    yield lake
    lake.spark.conf.unset("spark.sql.caseSensitive")


def test_names_are_found_in_any_letters_by_default(lake: Lake) -> None:
    name = lake.model.upper()
    assert lake.spark.sql(f"SELECT ai_function('{name}', 'x') AS a").collect() == [("x",)]
    assert lake.spark.sql(f"SHOW CREATE MODEL {name}").count() == 1


def test_a_case_sensitive_session_finds_a_model_by_its_own_letters_only(exact: Lake) -> None:
    spark, name = exact.spark, exact.model.upper()
    for text in (f"SELECT ai_function('{name}', 'x')", f"SELECT ai_query('{name}', 'x')", f"DESCRIBE MODEL {name}"):
        with pytest.raises(ModelNotFound) as caught:
            spark.sql(text)
        assert caught.value.fields["near"] == [exact.model]
    with pytest.raises(ModelNotFound):
        F.ai_function(name, "x")
    with pytest.raises(PythonException, match="MODEL_NOT_FOUND"):
        spark.range(1).selectExpr(f"ai_function('{name}', 'x')").collect()
    assert spark.sql(f"SELECT ai_function('{exact.model}', 'x') AS a").collect() == [("x",)]
    assert spark.range(1).selectExpr(f"ai_function('{exact.model}', 'y') AS a").collect() == [("y",)]
    assert spark.sql(f"DESCRIBE MODEL {exact.model}").count() > 0
