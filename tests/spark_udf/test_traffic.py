"""Versions and traffic splits as a query meets them: which version answers a row, and that the row stays with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest
from pyspark.sql import functions as sf
from spark_fixtures import Lake

from inferlake import connection
from inferlake import functions as F
from inferlake.testing import StubEndpoint
from inferlake.worker.answer_store import remove_application
from inferlake_registry.contract.problems import NoPreviousVersion

ROWS: Final = 10_000
OTHER_APPLICATION: Final = "another-application"


@pytest.fixture
def second() -> Iterator[StubEndpoint]:
    """Give an endpoint for the second version."""
    with StubEndpoint() as stub:
        yield stub


def served(lake: Lake) -> set[str]:
    """Return the versions that answer a query in SQL over thirty rows now."""
    call = f"ai_function('{lake.model}', concat('row ', id), map('returns', 'struct'))"
    return {row.v for row in lake.spark.sql(f"SELECT {call}.version AS v FROM range(0, 30, 1, 1)").collect()}


def arms(lake: Lake, reference: str) -> dict[str, str]:
    """Ask for all rows and return which version answered each."""
    texts = lake.spark.range(ROWS, numPartitions=2).select(sf.concat(sf.lit("row "), "id").alias("text"))
    asked = texts.select("text", F.ai_function(reference, "text", returns="struct").alias("r"))
    rows = asked.select("text", "r.version", "r.response").collect()
    assert all(row.text == row.response for row in rows)
    return {row.text: row.version for row in rows}


def test_a_model_that_never_had_versions_can_be_labelled_and_rolled_back(lake: Lake) -> None:
    sql = lake.spark.sql
    assert served(lake) == {"1"}
    sql(f"ALTER MODEL {lake.model} SET VERSION 2.1")
    assert served(lake) == {"2.1"}
    sql(f"ALTER MODEL {lake.model} ROLLBACK")
    assert served(lake) == {"1"}
    with pytest.raises(NoPreviousVersion) as caught:
        sql(f"ALTER MODEL {lake.model} ROLLBACK")
    assert caught.value.code == "NO_PREVIOUS_VERSION"
    assert (served(lake), lake.stub.calls) == ({"1"}, 2 * 30)


def test_a_second_rollback_goes_one_further_back_and_a_split_is_a_step(lake: Lake) -> None:
    sql = lake.spark.sql
    sql(f"ALTER MODEL {lake.model} SET VERSION 2.1")
    sql(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 90, '2.1' = 10)")
    assert served(lake) == {"1", "2.1"}
    sql(f"ALTER MODEL {lake.model} ADD VERSION '3'")
    sql(f"ALTER MODEL {lake.model} SET VERSION '3'")
    assert served(lake) == {"3"}
    for versions in ({"1", "2.1"}, {"2.1"}, {"1"}):
        sql(f"ALTER MODEL {lake.model} ROLLBACK")
        assert served(lake) == versions
    with pytest.raises(NoPreviousVersion):
        sql(f"ALTER MODEL {lake.model} ROLLBACK")
    assert served(lake) == {"1"}


def test_a_split_has_its_shares_and_every_row_stays_with_its_version(lake: Lake, second: StubEndpoint) -> None:
    lake.spark.sql(f"ALTER MODEL {lake.model} ADD VERSION '2.1' LOCATION '{second.url}'")
    lake.spark.sql(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 90, '2.1' = 10)")
    first_run = arms(lake, lake.model)
    shares = Counter(first_run.values())
    assert shares == {"1": lake.stub.calls, "2.1": second.calls}
    assert shares.total() == ROWS
    assert abs(shares["2.1"] / ROWS - 0.10) < 0.01
    assert {request.prompt for request in second.requests} == {row for row, arm in first_run.items() if arm == "2.1"}

    assert arms(lake, lake.model) == first_run
    assert lake.stub.calls + second.calls == ROWS

    # Another application has none of these answers, so its rows are called again: by the same versions.
    connection.connect(replace(connection.current(), application_id=OTHER_APPLICATION))
    try:
        assert arms(lake, lake.model) == first_run
    finally:
        remove_application(OTHER_APPLICATION)
    assert (lake.stub.calls, second.calls) == (2 * shares["1"], 2 * shares["2.1"])


def test_a_pinned_reference_ignores_the_split(lake: Lake, second: StubEndpoint) -> None:
    lake.spark.sql(f"ALTER MODEL {lake.model} ADD VERSION '2.1' LOCATION '{second.url}'")
    lake.spark.sql(f"ALTER MODEL {lake.model} VERSION '2.1' SET ALIAS champion")
    lake.spark.sql(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 90, '2.1' = 10)")
    texts = lake.spark.range(50).select(sf.concat(sf.lit("row "), "id").alias("text"))
    for reference in (f"{lake.model}:2.1", f"{lake.model}@champion"):
        versions = texts.select(F.ai_function(reference, "text", returns="struct")["version"].alias("v")).distinct()
        assert versions.collect() == [("2.1",)]
    assert (lake.stub.calls, second.calls) == (0, 50)


def test_rows_of_one_split_key_are_answered_by_one_version(lake: Lake, second: StubEndpoint) -> None:
    lake.spark.sql(f"ALTER MODEL {lake.model} ADD VERSION '2.1' LOCATION '{second.url}'")
    lake.spark.sql(f"ALTER MODEL {lake.model} SET TRAFFIC ('1' = 50, '2.1' = 50)")
    events = lake.spark.range(400, numPartitions=2).select(
        (sf.col("id") % 20).alias("user"),
        sf.concat(sf.lit("event "), "id").alias("text"),
        sf.when(sf.col("id") % 2 == 0, "a").alias("sample"),
    )
    asked = F.ai_function(
        lake.model, "text", where="user < 19", sample_key="sample", split_key="user", returns="struct"
    )
    rows = events.select("user", "text", asked.alias("r")).select("user", "text", "r.version", "r.response").collect()
    called = [row for row in rows if row.user < 19]
    assert all(row.response == row.text for row in called)
    versions = {user: {row.version for row in called if row.user == user} for user in range(19)}
    assert {len(found) for found in versions.values()} == {1}
    assert set().union(*versions.values()) == {"1", "2.1"}
    assert (lake.stub.calls + second.calls, [row.response for row in rows if row.user == 19]) == (380, [None] * 20)
    assert {row.text for row in called if row.version == "2.1"} == {one.prompt for one in second.requests}
