"""A key is sent only to the host that it was given for, whatever makes a version of another host answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import httpx
import pytest
from alembic import command
from alembic.config import Config
from registry_fixtures import RegistryProcess
from registry_sql import LOCATION, Sql
from sqlalchemy import create_engine

from inferlake.testing import StubEndpoint
from inferlake_registry.store import database as store

OTHER: Final = "http://other.internal/v1/chat/completions"
HERE: Final = "127.0.0.1"
THERE: Final = "other.internal"


def sent_to(registry: RegistryProcess, model: str, host: str | None = None, model_id: str | None = None) -> str | None:
    """Return the authorization that a worker would send to a host."""
    body = {"host": host, "model_id": model_id}
    answer = httpx.post(f"{registry.url}/v1/models/{model}/credentials", json=body)
    answer.raise_for_status()
    found = answer.json()["headers"].get("authorization")
    assert found is None or isinstance(found, str)
    return found


WAYS: Final = {
    "set location": ("SET LOCATION '{other}'",),
    "set endpoint": ("SET endpoint = '{other}'",),
    "set location with a property": ("SET LOCATION '{other}' PROPERTIES ('request.seed' = 1)",),
    "set version that defines": ("SET VERSION 2 LOCATION '{other}'",),
    "add and set version": ("ADD VERSION 2 LOCATION '{other}'", "SET VERSION 2"),
    "split": ("ADD VERSION 2 LOCATION '{other}'", "SET TRAFFIC (1 = 50, 2 = 50)"),
    "rollback": ("SET LOCATION '{other}'", "SET LOCATION '{here}' PROPERTIES ('api.key' = 'canary')", "ROLLBACK"),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_another_host_takes_the_key_along(quiet_registry: RegistryProcess, sql: Sql, way: str) -> None:
    sql.create("'api.key' = 'canary'")
    *before, last = (step.replace("{other}", OTHER).replace("{here}", LOCATION) for step in WAYS[way])
    for step in before:
        sql(f"ALTER MODEL {{m}} {step}")
    notices = sql.notices(f"ALTER MODEL {{m}} {last}")
    assert f"Not sent to {THERE}" in notices
    assert "api.key" in notices
    assert sent_to(quiet_registry, sql.name, THERE) is None
    assert sent_to(quiet_registry, sql.name, HERE) == "Bearer canary"


def test_a_replacement_at_another_host_gets_no_key_and_the_old_version_keeps_its_own(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create("'api.key' = 'canary'")
    sql(f"CREATE OR REPLACE MODEL {{m}} LOCATION '{OTHER}'")
    assert not sql.client.resolve(sql.name).has_secrets
    assert sent_to(quiet_registry, sql.name) is None
    assert sql.client.resolve(f"{sql.name}:1").has_secrets
    sql("ALTER MODEL {m} ROLLBACK")
    assert sent_to(quiet_registry, sql.name) == "Bearer canary"


def test_a_pinned_version_and_an_alias_get_the_key_of_their_own_host(quiet_registry: RegistryProcess, sql: Sql) -> None:
    sql.create("'api.key' = 'canary-here'")
    added = f"ALTER MODEL {{m}} ADD VERSION 2 LOCATION '{OTHER}'"
    assert "api.key" in sql.notices(added)
    sql("ALTER MODEL {m} VERSION 2 SET ALIAS next")
    assert [sql.client.resolve(sql.name + pin).has_secrets for pin in ("", ":1", ":2", "@next")] == [
        True,
        True,
        False,
        False,
    ]
    assert sql.notices(f"{added} PROPERTIES ('api.key' = 'canary-there')") == ""
    assert sql.client.resolve(f"{sql.name}@next").has_secrets
    assert sent_to(quiet_registry, sql.name, THERE) == "Bearer canary-there"
    assert sent_to(quiet_registry, sql.name, HERE) == "Bearer canary-here"  # a key for there does not replace it
    assert sent_to(quiet_registry, sql.name, "somewhere.else") is None


def test_a_key_that_is_set_again_is_for_the_active_host_and_unset_forgets_it_everywhere(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create("'api.key' = 'first'")
    sql(f"ALTER MODEL {{m}} SET LOCATION '{OTHER}'")
    sql("ALTER MODEL {m} SET api.key = 'second'")
    assert (sent_to(quiet_registry, sql.name, HERE), sent_to(quiet_registry, sql.name)) == (
        "Bearer first",
        "Bearer second",
    )
    sql("ALTER MODEL {m} UNSET api.key")
    assert sent_to(quiet_registry, sql.name, HERE) is None
    assert sent_to(quiet_registry, sql.name, THERE) is None


def test_a_key_that_is_set_while_two_hosts_serve_says_which_of_them_it_does_not_reach(sql: Sql) -> None:
    sql.create()
    sql(f"ALTER MODEL {{m}} ADD VERSION 2 LOCATION '{OTHER}'")
    sql("ALTER MODEL {m} SET TRAFFIC (1 = 50, 2 = 50)")
    assert f"Not sent to {THERE}" in sql.notices("ALTER MODEL {m} SET api.key = 'canary'")
    assert sql.notices("ALTER MODEL {m} SET qps.limit = 5") == ""


def test_what_is_shown_of_a_version_is_what_its_host_gets(sql: Sql) -> None:
    sql.create("'api.key' = 'canary', 'header.user-agent' = 'me'")
    sql(f"ALTER MODEL {{m}} ADD VERSION 2 LOCATION '{OTHER}' PROPERTIES ('header.x-team' = 'env:TEAM')")
    first, second = (sql.described(f"DESCRIBE MODEL {{m}} VERSION {version}") for version in (1, 2))
    assert (first["api.key"], first.get("header.x-team"), first["header.user-agent"]) == ("******", None, "me")
    assert (second.get("api.key"), second["header.x-team"], second["header.user-agent"]) == (None, "env:TEAM", "me")
    text = str(sql.table("SHOW CREATE MODEL {m} VERSION 2")[0]["createtab_stmt"])
    assert "'header.x-team' = 'env:TEAM'" in text
    assert "api.key" not in text


def test_test_model_asks_a_version_with_the_key_of_its_host(sql: Sql) -> None:
    with StubEndpoint() as stub:
        sql(f"CREATE MODEL {{m}} LOCATION '{stub.url}' PROPERTIES ('model.type' = 'chat', 'api.key' = 'canary')")
        elsewhere = stub.url.replace("127.0.0.1", "localhost")
        sql(f"ALTER MODEL {{m}} ADD VERSION 2 LOCATION '{elsewhere}'")
        for version, expected in ((1, "Bearer canary"), (2, None)):
            before = len(stub.requests)
            sql.table(f"TEST MODEL {{m}} VERSION {version}")
            assert {received.headers.get("authorization") for received in stub.requests[before:]} == {expected}


def test_a_planned_query_gets_its_models_key_by_identity_and_never_that_of_a_namesake(
    quiet_registry: RegistryProcess, sql: Sql
) -> None:
    sql.create("'api.key' = 'old'")
    identity = sql.client.resolve(sql.name).model_id
    sql("ALTER MODEL {m} RENAME TO {m}_renamed")
    sql.create("'api.key' = 'new'")
    assert sent_to(quiet_registry, sql.name, HERE, identity) == "Bearer old"
    sql("DROP MODEL {m}_renamed")
    assert sent_to(quiet_registry, sql.name, HERE, identity) == "Bearer old"  # the running query finishes
    assert sent_to(quiet_registry, sql.name, HERE) == "Bearer new"


def test_keys_of_an_older_database_belong_to_the_host_that_was_active(tmp_path: Path) -> None:
    file = tmp_path / "registry.db"
    config = Config()
    config.set_main_option("script_location", str(Path(store.__file__).parent / "migrations"))
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    with closing(sqlite3.connect(file)) as raw:
        raw.executescript("""
            INSERT INTO model VALUES ('i', 'm', 'm', '', NULL, 1, 0, 1, 1, 1, '[]', '[]', 't', 'a', 't', NULL);
            INSERT INTO model_version (id, model_id, version, ordinal, location, created_at, created_by) VALUES
                ('a', 'i', '1', 1, 'http://First/v1', 't', 'a'), ('b', 'i', '2', 2, 'http://second:8/v1', 't', 'a');
            INSERT INTO activation (model_id, ordinal, version, shares, at, undone_at) VALUES
                ('i', 1, '1', 'null', 't', NULL), ('i', 2, '2', 'null', 't', NULL), ('i', 3, '1', 'null', 't', 't');
            INSERT INTO model_property (model_id, key, value, secret, reference, changed_at) VALUES
                ('i', 'api.key', NULL, x'00', NULL, 't'), ('i', 'header.x', NULL, NULL, 'env:X', 't'),
                ('i', 'header.accept', 'a', NULL, NULL, 't'), ('i', 'qps.limit', '5', NULL, NULL, 't');
        """)
    store.open_database(f"sqlite:///{file}").close()
    with closing(sqlite3.connect(file)) as raw:
        bound = dict(raw.execute("SELECT key, host FROM model_property"))
    assert bound == {"api.key": "second", "header.x": "second", "header.accept": "", "qps.limit": ""}
