"""What a session's own settings change: which letters name a model, and how quotes in a statement are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PythonException
from pyspark.sql.conf import RuntimeConfig
from spark_fixtures import Lake

from inferlake import functions as F
from inferlake_registry.contract.problems import ModelNotFound
from inferlake_sql.errors import LanguageError


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


@pytest.fixture
def settings(lake: Lake) -> Iterator[RuntimeConfig]:
    """Give the session's settings, and set those of quotes back."""
    yield lake.spark.conf
    for key in ("parser.escapedStringLiterals", "ansi.enabled", "ansi.doubleQuotedIdentifiers"):
        lake.spark.conf.unset(f"spark.sql.{key}")


def comment(lake: Lake) -> str:
    rows = lake.spark.sql(f"DESCRIBE MODEL {lake.model}").collect()
    return str({row.name: row.value for row in rows}["comment"])


def test_a_backslash_in_a_statement_is_read_as_the_session_reads_it(lake: Lake, settings: RuntimeConfig) -> None:
    text = rf"COMMENT ON MODEL {lake.model} IS 'a\tb'"
    lake.spark.sql(text)
    assert comment(lake) == "a\tb"
    settings.set("spark.sql.parser.escapedStringLiterals", "true")
    lake.spark.sql(text)
    assert comment(lake) == r"a\tb"


def test_double_quotes_hold_a_name_where_the_session_says_so(lake: Lake, settings: RuntimeConfig) -> None:
    settings.set("spark.sql.ansi.doubleQuotedIdentifiers", "false")
    lake.spark.sql(f'COMMENT ON MODEL {lake.model} IS "text"')
    assert comment(lake) == "text"
    settings.set("spark.sql.ansi.doubleQuotedIdentifiers", "TRUE")  # spark.sql.ansi.enabled is true by itself
    name = f"{lake.model} quoted"
    lake.spark.sql(f'CREATE MODEL "{name}" LIKE {lake.model}')
    assert [row.name for row in lake.spark.sql(f"SHOW MODELS LIKE '{name}'").collect()] == [name]
    key = {"key": "canary"}
    lake.spark.sql(f"""ALTER MODEL "{name}" SET PROPERTIES ('api.key' = :key)""", args=key)
    assert lake.client.resolve(f"`{name}`").has_secrets
    with pytest.raises(LanguageError) as caught:
        lake.spark.sql(f'COMMENT ON MODEL {lake.model} IS "text"')
    assert caught.value.code == "SYNTAX_ERROR"
