"""A session with ``spark.sql.caseSensitive`` finds a model by its own letters only, and cannot make a near twin."""

from __future__ import annotations

import pytest
from registry_sql import LOCATION, Sql

from inferlake_registry.contract.problems import ModelNotFound
from inferlake_registry.contract.statements import Scalar
from inferlake_sql.errors import InferlakeError


def exactly(sql: Sql, text: str) -> Scalar:
    """Run a statement as a session that tells letters apart, and return the first value of its answer."""
    return sql.client.execute(text, case_sensitive=True).rows[0][0]


def code(sql: Sql, text: str) -> str:
    with pytest.raises(InferlakeError) as caught:
        exactly(sql, text)
    return caught.value.code


@pytest.mark.parametrize(
    "statement",
    [
        "DESCRIBE MODEL {}",
        "SHOW CREATE MODEL {}",
        "SHOW VERSIONS IN MODEL {}",
        "DESCRIBE HISTORY MODEL {}",
        "SHOW MODEL PROPERTIES {}",
        "ALTER MODEL {} SET qps.limit = 5",
        "ALTER MODEL {} RENAME TO {}_other",
        "COMMENT ON MODEL {} IS 'c'",
        "CREATE MODEL {}_copy LIKE {}",
        "TEST MODEL {}",
        "DROP MODEL {}",
    ],
)
def test_other_letters_name_another_model(sql: Sql, statement: str) -> None:
    sql.create()
    other = sql.name.upper()
    with pytest.raises(ModelNotFound) as caught:
        exactly(sql, statement.replace("{}", other))
    assert (caught.value.fields["name"], caught.value.fields["near"]) == (other, [sql.name])
    assert sql.history() == ["created"]
    if not statement.startswith("TEST"):
        assert exactly(sql, statement.replace("{}", sql.name)) is not None


def test_if_exists_is_silent_about_other_letters(sql: Sql) -> None:
    sql.create()
    for statement in ("ALTER MODEL IF EXISTS {} DISABLE", "DROP MODEL IF EXISTS {}"):
        assert exactly(sql, statement.replace("{}", sql.name.upper())) == "unchanged"
    assert sql.history() == ["created"]


@pytest.mark.parametrize("create", ["CREATE", "CREATE OR REPLACE", "CREATE IF NOT EXISTS"])
def test_two_names_never_differ_in_case_alone(sql: Sql, create: str) -> None:
    sql.create()
    verb, _, quiet = create.partition(" IF")
    text = f"{verb} MODEL {'IF' + quiet if quiet else ''} {sql.name.upper()} LOCATION '{LOCATION}'"
    assert code(sql, text) == "MODEL_ALREADY_EXISTS"
    assert code(sql, f"{verb} MODEL {'IF' + quiet if quiet else ''} {sql.name.upper()} LIKE {sql.name}") == (
        "MODEL_ALREADY_EXISTS"
    )
    assert sql.history() == ["created"]


def test_a_call_names_a_model_in_its_own_letters(sql: Sql) -> None:
    sql.create()
    assert sql.client.resolve(sql.name, case_sensitive=True).name == sql.name
    assert sql.client.resolve(sql.name.upper()).name == sql.name
    for reference in (sql.name.upper(), f"{sql.name.upper()}:1"):
        with pytest.raises(ModelNotFound) as caught:
            sql.client.resolve(reference, case_sensitive=True)
        assert caught.value.fields["near"] == [sql.name]
    sql(f"CREATE MODEL `gpt-4.{sql.name}` LOCATION '{LOCATION}'")
    assert sql.client.resolve(f"gpt-4.{sql.name}", case_sensitive=True).name == f"`gpt-4.{sql.name}`"
