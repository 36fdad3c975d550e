"""What the statements do: each row of the language's table of corner cases, on a real registry over HTTP."""

from __future__ import annotations

import getpass

import httpx
import pytest
from registry_sql import LOCATION, Sql

from inferlake.testing import StubEndpoint
from inferlake_registry.contract.models import ModelType, ResponseFormat
from inferlake_registry.services.show import matches
from inferlake_sql.errors import InferlakeError

# --- CREATE


def test_the_articles_statements_as_printed(sql: Sql) -> None:
    sql(
        "CREATE MODEL {m}\nUSING 'ray-serve'\nLOCATION 'http://ray-serve:8000/v1/chat/completions'\n"
        "PROPERTIES (\n  'model.type'='chat',\n  'timeout.ms'='30000',\n  'api.key'='canary-of-the-article'\n);"
    )
    assert sql("ALTER MODEL {m} SET VERSION 2.1")[:3] == ("activated", sql.name, "2.1")
    assert sql("ALTER MODEL {m} SET qps.limit=500")[0] == "altered"
    snapshot = sql.client.resolve(sql.name)
    (arm,) = snapshot.arms
    assert (arm.weight, arm.endpoint.version, arm.endpoint.model_type) == (100, "2.1", ModelType.CHAT)
    assert arm.endpoint.url == "http://ray-serve:8000/v1/chat/completions"
    assert (snapshot.settings.timeout_ms, snapshot.settings.qps_limit, snapshot.has_secrets) == (30_000, 500.0, True)


def test_create_registers_version_1_at_100_percent(sql: Sql) -> None:
    assert sql(f"CREATE MODEL {{m}} USING ray_serve LOCATION '{LOCATION}' COMMENT 'says what'")[:3] == (
        "created",
        sql.name,
        "1",
    )
    assert sql.shares() == {"1": 100}
    (row,) = sql.table("SHOW MODELS LIKE '{m}'")
    assert row == {
        "namespace": "",
        "name": sql.name,
        "type": "chat",
        "provider": "ray-serve",
        "version": "1",
        "enabled": True,
        "health": "unknown",
        "comment": "says what",
    }


def test_create_of_an_existing_name_names_the_two_ways_out(sql: Sql) -> None:
    sql.create()
    error = sql.fails(f"CREATE MODEL {{m}} LOCATION '{LOCATION}'")
    assert error.code == "MODEL_ALREADY_EXISTS"
    assert "OR REPLACE" in error.message
    assert "IF NOT EXISTS" in error.message


def test_if_not_exists_keeps_and_says_when_the_definitions_differ(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'api.key'='k'")
    same = f"CREATE MODEL IF NOT EXISTS {{m}} USING 'ray-serve' LOCATION '{LOCATION}' PROPERTIES ('qps.limit'=5"
    assert "another definition" not in sql.notices(f"{same}, 'api.key'='k')")
    assert "another definition" in sql.notices(f"{same}, 'qps.limit '=6)".replace("=5, 'qps.limit '", ""))
    assert "another definition" in sql.notices("CREATE MODEL IF NOT EXISTS {m} LOCATION 'http://h/v1/chat/completions'")
    assert sql.history() == ["created"]


def test_or_replace_adds_a_version_and_erases_nothing(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'request.max_tokens'=7")
    sql("ALTER MODEL {m} VERSION 1 SET ALIAS champion")
    before = sql.client.resolve(sql.name)
    assert sql("CREATE OR REPLACE MODEL {m} LOCATION 'http://h/v1/chat/completions'")[:3] == ("replaced", sql.name, "2")
    after = sql.client.resolve(sql.name)
    assert after.model_id == before.model_id
    assert after.arms[0].endpoint.url == "http://h/v1/chat/completions"
    assert after.settings.qps_limit is None
    pinned = sql.client.resolve(f"{sql.name}@champion").arms[0].endpoint
    assert (pinned.version, pinned.request) == ("1", {"max_tokens": 7})
    assert sql.history() == ["created", "alias set", "replaced"]
    sql("ALTER MODEL {m} ROLLBACK")
    assert sql.shares() == {"1": 100}


def test_or_replace_of_a_new_name_creates(sql: Sql) -> None:
    assert sql.action(f"CREATE OR REPLACE MODEL {{m}} LOCATION '{LOCATION}'") == "created"


def test_or_replace_with_if_not_exists_is_refused(sql: Sql) -> None:
    assert sql.code(f"CREATE OR REPLACE MODEL IF NOT EXISTS {{m}} LOCATION '{LOCATION}'") == "CONFLICTING_CLAUSES"


def test_a_temporary_model_is_not_supported(sql: Sql) -> None:
    error = sql.fails(f"CREATE TEMPORARY MODEL {{m}} LOCATION '{LOCATION}'")
    assert (error.code, error.status) == ("NOT_SUPPORTED", 501)
    assert sql.code(f"CREATE TEMP MODEL {{m}} LOCATION '{LOCATION}'") == "NOT_SUPPORTED"
    assert sql.code("DROP TEMPORARY MODEL {m}") == "NOT_SUPPORTED"


@pytest.mark.parametrize(
    "statement",
    [f"GRANT {word} ON MODEL {{m}} TO alice" for word in ("USE", "USAGE", "EXECUTE")]
    + [f"REVOKE {word} ON MODEL {{m}} FROM alice" for word in ("USE", "USAGE", "EXECUTE")],
)
def test_grants_are_not_supported(sql: Sql, statement: str) -> None:
    assert sql.code(statement) == "NOT_SUPPORTED"


def test_the_type_comes_from_the_path_or_must_be_said(sql: Sql) -> None:
    error = sql.fails("CREATE MODEL {m} LOCATION 'http://h:1/v1'")
    assert error.code == "REQUIRED_PROPERTY"
    assert "unset" not in error.message
    assert "chat" in error.message
    sql("CREATE MODEL {m} LOCATION 'http://h:1/v1' PROPERTIES ('model.type'='embedding')")
    assert sql.client.resolve(sql.name).arms[0].endpoint.url == "http://h:1/v1/embeddings"
    assert sql.described()["location"] == "http://h:1/v1/embeddings"


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("ftp://h/v1", "INVALID_LOCATION"),
        ("not a url", "INVALID_LOCATION"),
        ("http://user:pw@h/v1", "INVALID_LOCATION"),
        ("http://h/v1/chat/completions?api_key=1", "INVALID_LOCATION"),
        ("http://169.254.169.254/v1/chat/completions", "INVALID_LOCATION"),
        ("http://metadata.google.internal/v1/chat/completions", "INVALID_LOCATION"),
        ("http://[fe80::1]/v1/chat/completions", "INVALID_LOCATION"),
    ],
)
def test_an_address_that_must_not_be_called_is_refused(sql: Sql, location: str, code: str) -> None:
    assert sql.code(f"CREATE MODEL {{m}} LOCATION '{location}'") == code
    assert sql.code("DESCRIBE MODEL {m}") == "MODEL_NOT_FOUND"


def test_a_path_of_another_type_is_refused(sql: Sql) -> None:
    create = f"CREATE MODEL {{m}} LOCATION '{LOCATION}' PROPERTIES ('model.type'='embedding')"
    assert sql.code(create) == "INVALID_LOCATION"
    sql.create()
    assert sql.code("ALTER MODEL {m} SET PROPERTIES ('model.type'='embedding')") == "INVALID_LOCATION"
    assert sql.code("ALTER MODEL {m} SET LOCATION 'http://h/v1/embeddings'") == "INVALID_LOCATION"


def test_a_key_over_plain_http_warns_for_private_and_is_refused_for_public_hosts(sql: Sql) -> None:
    public = "http://api.example.com/v1/chat/completions"
    assert sql.code(f"CREATE MODEL {{m}} LOCATION '{public}' PROPERTIES ('api.key'='k')") == "INVALID_LOCATION"
    assert "plain http" in sql.notices(f"CREATE MODEL {{m}} LOCATION '{LOCATION}' PROPERTIES ('api.key'='k')")
    assert sql.code(f"ALTER MODEL {{m}} SET LOCATION '{public}' PROPERTIES ('api.key'='k2')") == "INVALID_LOCATION"
    assert sql.notices(f"CREATE MODEL {{m}}_open LOCATION '{public}'") == ""
    assert sql.code("ALTER MODEL {m}_open SET api.key='k'") == "INVALID_LOCATION"
    assert sql.action("ALTER MODEL {m}_open SET PROPERTIES ('api.key'='k', 'allow.insecure'=TRUE)") == "altered"
    assert sql.code("ALTER MODEL {m}_open UNSET PROPERTIES ('allow.insecure')") == "INVALID_LOCATION"


def test_like_copies_the_active_version_without_its_secret(sql: Sql) -> None:
    sql.create("'request.max_tokens'=7, 'qps.limit'=5, 'api.key'='canary-like', 'header.x-team'='env:TEAM'")
    notices = sql.notices("CREATE MODEL {m}_copy LIKE {m}")
    copy = sql.client.resolve(f"{sql.name}_copy")
    assert copy.arms[0].endpoint.request == {"max_tokens": 7}
    assert copy.arms[0].endpoint.model_name == sql.name  # the endpoint knows it by that name
    assert copy.settings.qps_limit == 5
    assert not copy.has_secrets
    assert copy.model_id != sql.client.resolve(sql.name).model_id
    assert "api.key" in notices


def test_or_replace_like_adds_a_version(sql: Sql) -> None:
    sql.create("'request.seed'=1, 'qps.limit'=5")
    sql(f"CREATE MODEL {{m}}_to LOCATION '{LOCATION}' PROPERTIES ('request.seed'=2, 'timeout.ms'=9)")
    assert sql.code("CREATE MODEL {m}_to LIKE {m}") == "MODEL_ALREADY_EXISTS"
    assert sql.action("CREATE MODEL IF NOT EXISTS {m}_to LIKE {m}") == "unchanged"
    assert sql("CREATE OR REPLACE MODEL {m}_to LIKE {m}")[:3] == ("replaced", f"{sql.name}_to", "2")
    snapshot = sql.client.resolve(f"{sql.name}_to")
    assert (snapshot.arms[0].endpoint.request, snapshot.settings.qps_limit) == ({"seed": 1}, 5)
    assert snapshot.settings.timeout_ms == 30_000
    assert sql.client.resolve(f"{sql.name}_to:1").arms[0].endpoint.request == {"seed": 2}


def test_input_and_output_are_kept(sql: Sql) -> None:
    sql(f"CREATE MODEL {{m}} INPUT (text STRING, n INT) OUTPUT (label STRING) LOCATION '{LOCATION}'")
    described = sql.described()
    assert (described["input.text"], described["input.n"], described["output.label"]) == ("STRING", "INT", "STRING")


def test_create_calls_nothing(sql: Sql) -> None:
    with StubEndpoint() as stub:
        sql(f"CREATE MODEL {{m}} LOCATION '{stub.url}'")
        sql("ALTER MODEL {m} SET VERSION 2")
        sql.described()
        assert stub.calls == 0


@pytest.mark.parametrize("clause", ["PROPERTIES", "OPTIONS", "WITH", "TBLPROPERTIES"])
def test_clauses_in_any_order_under_any_of_their_names(sql: Sql, clause: str) -> None:
    sql(
        f"CREATE MODEL {{m}} COMMENT 'c' {clause} ('endpoint' = '{LOCATION}', model = 'n', timeout = 20, "
        "api_key = 'env:K') VERSION 2.1 USING ray_serve"
    )
    described = sql.described()
    assert (described["location"], described["model.name"], described["timeout.ms"]) == (LOCATION, "n", "20000")
    assert (described["api.key"], described["version"], described["provider"]) == ("env:K", "2.1", "ray-serve")


@pytest.mark.parametrize(
    ("twice", "code"),
    [
        ("USING a USING a", "CONFLICTING_CLAUSES"),
        (f"LOCATION '{LOCATION}'", "CONFLICTING_CLAUSES"),
        ("VERSION 1 VERSION 1", "CONFLICTING_CLAUSES"),
        ("COMMENT 'c' COMMENT 'c'", "CONFLICTING_CLAUSES"),
        ("INPUT (a INT) INPUT (a INT)", "CONFLICTING_CLAUSES"),
        ("OUTPUT (a INT) OUTPUT (a INT)", "CONFLICTING_CLAUSES"),
        ("PROPERTIES ('tag.a' = 'b') OPTIONS ('tag.c' = 'd')", "CONFLICTING_CLAUSES"),
        (f"PROPERTIES ('endpoint' = '{LOCATION}')", "DUPLICATE_KEY"),
    ],
)
def test_each_clause_at_most_once(sql: Sql, twice: str, code: str) -> None:
    assert sql.code(f"CREATE MODEL {{m}} LOCATION '{LOCATION}' {twice}") == code
    assert sql.code("DESCRIBE MODEL {m}") == "MODEL_NOT_FOUND"


# --- versions


def test_add_version_is_not_active_and_inherits(sql: Sql) -> None:
    sql.create("'request.max_tokens'=7, 'request.seed'=1")
    assert sql.action("ALTER MODEL {m} ADD VERSION '2.1' PROPERTIES ('request.seed'=2) COMMENT 'tuned'") == (
        "version added"
    )
    assert sql.shares() == {"1": 100}
    endpoint = sql.client.resolve(f"{sql.name}:2.1").arms[0].endpoint
    assert endpoint.request == {"max_tokens": 7, "seed": 2}
    assert endpoint.url == LOCATION
    rows = {row["version"]: row for row in sql.table("SHOW VERSIONS IN MODEL {m}")}
    assert [(row["share"], row["active"], row["comment"]) for row in rows.values()] == [
        (100, True, None),
        (0, False, "tuned"),
    ]


def test_adding_a_version_again_is_idempotent_and_never_overwrites(sql: Sql) -> None:
    sql.create()
    add = "ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed'=2)"
    sql(add)
    assert sql.action(add) == "unchanged"
    sql("ALTER MODEL {m} SET VERSION 2")
    assert sql.action(add) == "unchanged"
    assert sql.code("ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed'=3)") == "VERSION_EXISTS"
    assert sql.client.resolve(f"{sql.name}:2").arms[0].endpoint.request == {"seed": 2}


def test_an_operational_key_in_a_repeated_add_still_acts(sql: Sql) -> None:
    sql.create()
    sql("ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed'=2, 'qps.limit'=5)")
    sql("ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed'=2, 'qps.limit'=6)")
    assert sql.client.resolve(sql.name).settings.qps_limit == 6


def test_set_version_of_an_unknown_one_with_managed_versions_lists_the_known(sql: Sql) -> None:
    sql.create(version="'2.0'")
    error = sql.fails("ALTER MODEL {m} SET VERSION 2.1")
    assert (error.code, error.fields["known"]) == ("VERSION_NOT_FOUND", ["2.0"])
    sql("ALTER MODEL {m} SET VERSION 2.1 PROPERTIES ('request.seed'=5)")
    assert sql.shares() == {"2.1": 100}
    assert sql.code("ALTER MODEL {m} SET VERSION 2.2") == "VERSION_NOT_FOUND"


def test_add_version_makes_a_model_managed_and_a_location_adds_an_unknown_version(sql: Sql) -> None:
    sql.create()
    sql("ALTER MODEL {m} ADD VERSION '2'")
    assert sql.fails("ALTER MODEL {m} SET VERSION 3").fields["known"] == ["1", "2"]
    notices = sql.notices("ALTER MODEL {m} SET VERSION 3 LOCATION 'http://h/v1/chat/completions'")
    assert "Version 3 was new" in notices
    assert sql.shares() == {"3": 100}
    assert sql("ALTER MODEL {m} ROLLBACK")[2] == "1"


@pytest.mark.parametrize("form", ["SET VERSION 2", "SET DEFAULT_VERSION = '2'", "SET ACTIVE VERSION '2'"])
def test_each_form_of_set_version_activates(sql: Sql, form: str) -> None:
    sql.create()
    sql("ALTER MODEL {m} ADD VERSION 2")
    assert sql(f"ALTER MODEL {{m}} {form}")[:3] == ("activated", sql.name, "2")
    assert sql.shares() == {"2": 100}


def test_set_version_of_a_never_versioned_model_copies_activates_and_says_so(sql: Sql) -> None:
    sql.create("'request.seed'=5")
    notices = sql.notices("ALTER MODEL {m} SET VERSION 2.1")
    assert "copy of version 1" in notices
    assert sql.shares() == {"2.1": 100}
    assert sql.client.resolve(sql.name).arms[0].endpoint.request == {"seed": 5}
    assert sql("ALTER MODEL {m} ROLLBACK")[2] == "1"
    assert sql.code("ALTER MODEL {m} ROLLBACK") == "NO_PREVIOUS_VERSION"


def test_versions_that_arise_by_themselves_do_not_make_a_model_managed(sql: Sql) -> None:
    sql.create()
    assert sql("ALTER MODEL {m} SET LOCATION 'http://h/v1/chat/completions'")[2] == "2"
    assert sql("ALTER MODEL {m} SET request.seed=3")[2] == "3"
    assert sql.action("ALTER MODEL {m} SET VERSION 9.9") == "activated"


def test_the_active_version_set_again_changes_nothing(sql: Sql) -> None:
    sql.create()
    sql("ALTER MODEL {m} SET VERSION 2.1")
    revision = sql.client.resolve(sql.name).revision
    assert sql.action("ALTER MODEL {m} SET VERSION '2.1'") == "unchanged"
    assert sql.client.resolve(sql.name).revision == revision
    assert sql.history() == ["created", "activated"]
    assert sql("ALTER MODEL {m} ROLLBACK")[2] == "1"


def test_a_version_is_a_text(sql: Sql) -> None:
    sql.create(version="2.1")
    for other in ("2.10", "v2.1", "02.1", "2.1 "):
        sql(f"ALTER MODEL {{m}} ADD VERSION '{other}'")
    assert sql.action("ALTER MODEL {m} SET VERSION '2.1'") == "unchanged"
    assert sql("ALTER MODEL {m} SET VERSION 2.10")[2] == "2.10"
    versions = [row["version"] for row in sql.table("SHOW VERSIONS IN MODEL {m}")]
    assert versions == ["2.1", "2.10", "v2.1", "02.1", "2.1 "]  # by creation


def test_versions_and_aliases_keep_their_case(sql: Sql) -> None:
    sql.create(version="'a'")
    sql("ALTER MODEL {m} ADD VERSION 'A'")
    sql("ALTER MODEL {m} VERSION 'A' SET ALIAS Champion")
    assert sql.client.resolve(f"{sql.name}@Champion").arms[0].endpoint.version == "A"
    with pytest.raises(InferlakeError, match="ALIAS_NOT_FOUND"):
        sql.client.resolve(f"{sql.name}@champion")


def test_rollback_goes_one_further_back_each_time(sql: Sql) -> None:
    sql.create(version="'1'")
    for version in ("2", "3", "4"):
        sql(f"ALTER MODEL {{m}} ADD VERSION '{version}'")
        sql(f"ALTER MODEL {{m}} SET VERSION '{version}'")
    assert [sql("ALTER MODEL {m} ROLLBACK")[2] for _ in range(3)] == ["3", "2", "1"]
    assert sql.code("ALTER MODEL {m} ROLLBACK") == "NO_PREVIOUS_VERSION"
    assert sql.history()[-3:] == ["rolled back"] * 3


def test_rollback_returns_to_the_previous_activation_and_not_to_a_lower_number(sql: Sql) -> None:
    sql.create(version="'1'")
    for version in ("2", "3"):
        sql(f"ALTER MODEL {{m}} ADD VERSION '{version}'")
    sql("ALTER MODEL {m} SET VERSION '3'")
    assert sql("ALTER MODEL {m} ROLLBACK")[2] == "1"
    sql("ALTER MODEL {m} SET VERSION '2'")
    sql("ALTER MODEL {m} SET VERSION '3'")
    assert sql("ALTER MODEL {m} ROLLBACK TO VERSION '1'")[2] == "1"
    assert sql.code("ALTER MODEL {m} ROLLBACK TO VERSION '9'") == "VERSION_NOT_FOUND"
    assert sql.code("ALTER MODEL {m} ROLLBACK TO VERSION '2'") == "NO_PREVIOUS_VERSION"


def test_drop_version_is_refused_while_something_uses_it(sql: Sql) -> None:
    sql.create(version="'1'")
    for version in ("2", "3", "4"):
        sql(f"ALTER MODEL {{m}} ADD VERSION '{version}'")
    sql("ALTER MODEL {m} VERSION '2' SET ALIAS champion")
    sql("ALTER MODEL {m} SET TRAFFIC ('1'=90, '3'=10)")
    uses = {version: sql.fails(f"ALTER MODEL {{m}} DROP VERSION '{version}'") for version in ("1", "2", "3")}
    assert {error.code for error in uses.values()} == {"VERSION_IN_USE"}
    assert "active" in uses["1"].message
    assert "champion" in uses["2"].message
    assert "traffic" in uses["3"].message
    assert sql.action("ALTER MODEL {m} DROP VERSION '4'") == "version dropped"
    assert sql.code("ALTER MODEL {m} DROP VERSION '4'") == "VERSION_NOT_FOUND"
    assert sql.action("ALTER MODEL {m} DROP VERSION IF EXISTS '4'") == "unchanged"


def test_no_rollback_returns_to_a_dropped_version(sql: Sql) -> None:
    sql.create(version="'1'")
    for version in ("2", "3"):
        sql(f"ALTER MODEL {{m}} ADD VERSION '{version}'")
        sql(f"ALTER MODEL {{m}} SET VERSION '{version}'")
    sql("ALTER MODEL {m} DROP VERSION '2'")
    assert sql("ALTER MODEL {m} ROLLBACK")[2] == "1"


# --- traffic


def test_a_split_gives_each_version_its_share(sql: Sql) -> None:
    sql.create(version="'2.0'")
    sql("ALTER MODEL {m} ADD VERSION '2.1'")
    assert sql.action("ALTER MODEL {m} SET TRAFFIC (2.0 = 90 PERCENT, '2.1' = 10)") == "split"
    assert sql.shares() == {"2.0": 90, "2.1": 10}
    snapshot = sql.client.resolve(f"{sql.name}:2.1")
    assert (snapshot.pinned, snapshot.arms[0].weight) == (True, 100)
    assert not sql.client.resolve(sql.name).pinned
    assert [row["share"] for row in sql.table("SHOW VERSIONS IN MODEL {m}")] == [90, 10]
    assert sql.action("ALTER MODEL {m} UNSET TRAFFIC") == "activated"
    assert sql.shares() == {"2.0": 100}
    assert sql.action("ALTER MODEL {m} UNSET TRAFFIC") == "unchanged"


@pytest.mark.parametrize(
    ("shares", "code"),
    [
        ("'1'=90, '2'=5", "INVALID_TRAFFIC"),
        ("'1'=60, '2'=60", "INVALID_TRAFFIC"),
        ("'1'=99.5, '2'=0.5", "INVALID_TRAFFIC"),
        ("'1'=50, '1'=50", "INVALID_TRAFFIC"),
        ("'1'=50, '9'=50", "VERSION_NOT_FOUND"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(sql: Sql, shares: str, code: str) -> None:
    sql.create(version="'1'")
    sql("ALTER MODEL {m} ADD VERSION '2'")
    assert sql.code(f"ALTER MODEL {{m}} SET TRAFFIC ({shares})") == code
    assert sql.shares() == {"1": 100}


def test_set_version_clears_a_split_and_rollback_restores_it(sql: Sql) -> None:
    sql.create(version="'1'")
    sql("ALTER MODEL {m} ADD VERSION '2'")
    sql("ALTER MODEL {m} SET TRAFFIC ('1'=70, '2'=30)")
    sql("ALTER MODEL {m} SET VERSION '2'")
    assert sql.shares() == {"2": 100}
    change = sql.table("DESCRIBE HISTORY MODEL {m}")[0]
    assert change["before"] == '{"version": "1", "traffic": {"1": 70, "2": 30}}'
    assert change["after"] == '{"version": "2"}'
    sql("ALTER MODEL {m} ROLLBACK")
    assert sql.shares() == {"1": 70, "2": 30}


@pytest.mark.parametrize(
    "change",
    [
        "SET request.seed=3",
        "SET LOCATION 'http://h/v1/chat/completions'",
        "SET USING openai",
        "SET PROPERTIES ('qps.limit'=5, 'model.name'='n')",
        "UNSET request.seed",
    ],
)
def test_a_change_of_identity_while_split_is_refused_whole(sql: Sql, change: str) -> None:
    sql.create("'request.seed'=1", version="'1'")
    sql("ALTER MODEL {m} ADD VERSION '2'")
    sql("ALTER MODEL {m} SET TRAFFIC ('1'=70, '2'=30)")
    error = sql.fails(f"ALTER MODEL {{m}} {change}")
    assert error.code == "SPLIT_ACTIVE"
    assert "ADD VERSION" in error.message
    assert sql.client.resolve(sql.name).settings.qps_limit is None
    assert sql.action("ALTER MODEL {m} SET qps.limit=5") == "altered"


# --- properties


def test_operational_keys_change_in_place_and_identity_keys_make_a_version(sql: Sql) -> None:
    sql.create()
    assert sql("ALTER MODEL {m} SET qps.limit=500, timeout=20")[2] == "1"
    assert sql("ALTER MODEL {m} SET PROPERTIES ('model.name'='n', 'prompt.system'='s')")[2] == "2"
    snapshot = sql.client.resolve(sql.name)
    assert (snapshot.settings.qps_limit, snapshot.settings.timeout_ms) == (500, 20_000)
    endpoint = snapshot.arms[0].endpoint
    assert (endpoint.version, endpoint.model_name, endpoint.prompt_system) == ("2", "n", "s")
    first = sql.client.resolve(f"{sql.name}:1").arms[0].endpoint
    assert (first.model_name, first.prompt_system) == (sql.name, None)


def test_the_answer_says_whether_a_version_was_made(sql: Sql) -> None:
    sql.create()
    assert "changed in place: qps.limit = 5" in str(sql("ALTER MODEL {m} SET qps.limit = 5")[3])
    assert "made version 2" in str(sql("ALTER MODEL {m} SET request.seed = 1")[3])
    assert "made version 3" in str(sql("ALTER MODEL {m} SET USING openai")[3])
    assert "made version 4" in str(sql("ALTER MODEL {m} SET LOCATION 'http://h/v1/chat/completions'")[3])
    both = sql.client.execute(f"ALTER MODEL {sql.name} SET prompt.system = 's', retry.attempts = 2")
    assert "made version 5" in str(both.rows[0][3])
    assert "in place: retry.attempts" in both.notices[0]
    assert [row["version"] for row in sql.table("SHOW VERSIONS IN MODEL {m}")] == ["1", "2", "3", "4", "5"]
    assert (sql.described()["provider"], sql.shares()) == ("openai", {"5": 100})


@pytest.mark.parametrize(
    "form",
    [
        "SET qps.limit=500, timeout=20",
        "SET PROPERTIES ('qps.limit'='500', 'timeout_ms'='20000')",
        "SET ('qps.limit'='500', timeout.ms=20000)",
        "SET OPTIONS (qps.limit 500, 'timeout.ms' '20s')",
        "SET TBLPROPERTIES ('QPS.LIMIT'=500, 'TIMEOUT'='20')",
    ],
)
def test_every_form_of_set_merges_its_keys(sql: Sql, form: str) -> None:
    sql.create("'retry.attempts' = 2")
    assert sql.action(f"ALTER MODEL {{m}} {form}") == "altered"
    settings = sql.client.resolve(sql.name).settings
    assert (settings.qps_limit, settings.timeout_ms, settings.retry_attempts) == (500, 20_000, 2)


def test_an_identity_key_that_says_what_is_there_makes_no_version(sql: Sql) -> None:
    sql.create("'request.seed'=1")
    assert sql.action("ALTER MODEL {m} SET request.seed=1") == "unchanged"
    assert sql("ALTER MODEL {m} SET PROPERTIES ('request.seed'=1, 'qps.limit'=3)")[2] == "1"
    assert [row["version"] for row in sql.table("SHOW VERSIONS IN MODEL {m}")] == ["1"]


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ("'qps.limt'=5", "UNKNOWN_PROPERTY"),
        ("'request.messages'='[]'", "RESERVED_KEY"),
        ("'request.model'='x'", "RESERVED_KEY"),
        ("'request.stream'=TRUE", "RESERVED_KEY"),
        ("'request.n'=2", "RESERVED_KEY"),
        ("'timeout.ms'='soon'", "INVALID_VALUE"),
        ("'timeout.ms'=0", "INVALID_VALUE"),
        ("'qps.limit'=0", "INVALID_VALUE"),
        ("'qps.limit'=-1", "INVALID_VALUE"),
        ("'qps.limit'=5, 'QPS.Limit'=6", "DUPLICATE_KEY"),
        ("'timeout'=5, 'timeout.ms'=6", "DUPLICATE_KEY"),
        ("'qps.limit'=fast", "SYNTAX_ERROR"),
        ("'api.key'='******'", "SECRET_PLACEHOLDER"),
        ("'qps_limit'=5", "UNKNOWN_PROPERTY"),
    ],
)
def test_a_property_that_the_catalogue_does_not_allow(sql: Sql, properties: str, code: str) -> None:
    sql.create()
    assert sql.code(f"ALTER MODEL {{m}} SET PROPERTIES ({properties})") == code
    assert sql.code(f"CREATE MODEL {{m}}_x LOCATION '{LOCATION}' PROPERTIES ({properties})") == code


def test_an_unknown_property_says_what_may_be_meant(sql: Sql) -> None:
    sql.create()
    assert "qps.limit" in str(sql.fails("ALTER MODEL {m} SET qps.limt=5").fields["near"])


@pytest.mark.parametrize(
    ("written", "milliseconds"), [("'30s'", 30_000), ("'500ms'", 500), ("'2m'", 120_000), ("250", 250)]
)
def test_times_may_have_a_unit(sql: Sql, written: str, milliseconds: int) -> None:
    sql.create(f"'timeout.ms'={written}")
    assert sql.client.resolve(sql.name).settings.timeout_ms == milliseconds


def test_fractions_of_a_request_per_second(sql: Sql) -> None:
    sql.create("'qps.limit'=0.5")
    assert sql.client.resolve(sql.name).settings.qps_limit == 0.5


def test_unset_goes_back_to_the_default(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'request.seed'=1, 'retry.attempts'=2")
    assert sql("ALTER MODEL {m} UNSET qps.limit")[2] == "1"
    assert sql("ALTER MODEL {m} UNSET PROPERTIES ('request.seed')")[2] == "2"
    assert sql("ALTER MODEL {m} RESET ('retry.attempts')")[0] == "altered"
    snapshot = sql.client.resolve(sql.name)
    assert (snapshot.settings.qps_limit, snapshot.settings.retry_attempts) == (None, 4)
    assert snapshot.arms[0].endpoint.request == {}


def test_unset_of_what_is_not_set_is_a_notice_and_of_the_unknown_an_error(sql: Sql) -> None:
    sql.create()
    assert sql.action("ALTER MODEL {m} UNSET qps.limit") == "unchanged"
    assert "qps.limit" in sql.notices("ALTER MODEL {m} UNSET qps.limit")
    assert sql.code("ALTER MODEL {m} UNSET qps.limt") == "UNKNOWN_PROPERTY"
    assert sql.notices("ALTER MODEL {m} UNSET PROPERTIES IF EXISTS ('qps.limit', 'qps.limt')") == ""
    assert sql.code("ALTER MODEL {m} UNSET PROPERTIES ('model.type')") == "REQUIRED_PROPERTY"
    assert sql.history() == ["created"]


def test_describe_says_where_a_value_comes_from(sql: Sql) -> None:
    sql.create("'qps.limit'=5")
    rows = {row["name"]: (row["value"], row["source"]) for row in sql.table("DESCRIBE MODEL {m}")}
    assert rows["qps.limit"] == ("5", "set")
    assert rows["timeout.ms"] == ("30000", "default")
    assert rows["model.name"] == (sql.name, "default")
    assert "health" not in rows
    assert sql.described()["health"] == "unknown"


@pytest.mark.parametrize("form", ["SHOW VERSIONS IN MODEL {m}", "SHOW MODEL VERSIONS {m}"])
def test_show_versions_tells_all_about_each(sql: Sql, form: str) -> None:
    sql.create(version="1")
    sql("ALTER MODEL {m} ADD VERSION '2' LOCATION 'https://h/v1/chat/completions' COMMENT 'tuned'")
    for alias in ("next", "challenger"):
        sql(f"ALTER MODEL {{m}} VERSION '2' SET ALIAS {alias}")
    sql("ALTER MODEL {m} SET TRAFFIC (1 = 90 PERCENT, 2 = 10 PERCENT)")
    first, second = sql.table(form)
    assert str(first.pop("created_at")) <= str(second.pop("created_at"))
    by = getpass.getuser()
    assert tuple(first.values()) == ("1", by, LOCATION, None, 90, True, None)
    assert tuple(second.values()) == ("2", by, "https://h/v1/chat/completions", "challenger, next", 10, False, "tuned")
    assert list(first) == ["version", "created_by", "location", "aliases", "share", "active", "comment"]


@pytest.mark.parametrize("form", ["SHOW MODEL HEALTH LIKE '{m}'", "SHOW MODEL STATUS '{m}'"])
def test_show_health_has_what_was_found_and_when(sql: Sql, form: str) -> None:
    sql.create()
    assert sql.table(form) == [
        {
            "model": sql.name,
            "health": "unknown",
            "since": None,
            "last_probe": None,
            "latency_ms": None,
            "breaker": "closed",
            "cause": None,
        }
    ]


def test_describe_tells_what_a_version_was_given_from_what_it_inherited(sql: Sql) -> None:
    sql.create("'request.seed' = 1, 'request.top_k' = 2", version="1")
    sql("ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed' = 3)")
    rows = {row["name"]: (row["value"], row["source"]) for row in sql.table("DESCRIBE MODEL {m} VERSION '2'")}
    assert rows["request.seed"] == ("3", "set")
    assert rows["request.top_k"] == ("2", "inherited")
    assert rows["model.type"] == ("chat", "inherited")
    assert rows["retry.attempts"] == ("4", "default")
    first = {row["name"]: row["source"] for row in sql.table("DESC MODEL {m} VERSION '1'")}
    assert (first["request.top_k"], first["model.type"]) == ("set", "set")


def test_describe_extended_shows_split_limits_and_health(sql: Sql) -> None:
    sql.create("'qps.limit' = 10", version="1")
    sql("ALTER MODEL {m} ADD VERSION '2'")
    sql("ALTER MODEL {m} SET TRAFFIC (1 = 90, 2 = 10)")
    body = {"holder": "host:1:a", "count": 1, "in_flight": 7, "pause_ms": 60_000}
    httpx.post(f"{sql.client.url}/v1/models/{sql.name}/leases", json=body).raise_for_status()
    described = sql.described("DESCRIBE MODEL EXTENDED {m}")
    assert (described["traffic"], described["qps.limit"]) == ('{"1": 90, "2": 10}', "10")
    assert (described["limits.holders"], described["limits.in_flight"]) == ("1", "7")
    assert (described["health"], described["breaker"]) == ("unknown", "closed")
    assert "paused_until" in described
    assert "limits.holders" not in sql.described("DESCRIBE MODEL {m}")


def test_describe_a_version(sql: Sql) -> None:
    sql.create("'request.seed'=1", version="'1'")
    sql("ALTER MODEL {m} ADD VERSION '2' PROPERTIES ('request.seed'=2)")
    assert sql.described("DESCRIBE MODEL {m} VERSION '2'")["request.seed"] == "2"
    assert sql.code("DESCRIBE MODEL {m} VERSION '3'") == "VERSION_NOT_FOUND"


def test_show_properties(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'api.key'='canary-props'")
    rows = {row["key"]: (row["value"], row["source"]) for row in sql.table("SHOW MODEL PROPERTIES {m}")}
    assert rows["qps.limit"] == ("5", "set")
    assert rows["api.key"] == ("******", "set")
    assert rows["retry.attempts"] == ("4", "default")
    assert sql.table("SHOW MODEL PROPERTIES {m} ('qps.limit')") == [{"key": "qps.limit", "value": "5", "source": "set"}]


def test_a_reference_to_a_store_of_secrets_is_kept_and_cannot_be_followed_here(sql: Sql) -> None:
    sql.create("'api.key' = 'secret://scope/key'")
    assert sql.described()["api.key"] == "secret://scope/key"
    assert "'api.key' = 'secret://scope/key'" in str(sql.table("SHOW CREATE MODEL {m}")[0]["createtab_stmt"])
    answer = httpx.post(f"{sql.client.url}/v1/models/{sql.name}/credentials", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "SECRET_UNAVAILABLE")


def test_every_property_reaches_its_caller(sql: Sql) -> None:
    sql.create(
        "'model.name'='n', 'prompt.system'='s', 'response.format'='json_object', 'response.profile'='vllm', "
        "'request.max_tokens'=16, 'request.stop'='[\"a\"]', 'timeout.ms'=1000, 'attempt.timeout.ms'=900, "
        "'connect.timeout.ms'=800, 'retry.attempts'=2, 'qps.limit'=1.5, 'concurrency.limit'=7, "
        "'concurrency.per.worker'=3, 'price.input'=0.5, 'price.output'=2, 'allow.insecure'=TRUE, 'tls.ca'='/ca.pem'"
    )
    snapshot = sql.client.resolve(sql.name)
    endpoint, settings = snapshot.arms[0].endpoint, snapshot.settings
    assert (endpoint.model_name, endpoint.prompt_system, endpoint.response_format) == (
        "n",
        "s",
        ResponseFormat.JSON_OBJECT,
    )
    assert endpoint.response_profile == "vllm"
    assert endpoint.request == {"max_tokens": 16, "stop": ["a"]}
    assert (settings.timeout_ms, settings.attempt_timeout_ms, settings.connect_timeout_ms) == (1000, 900, 800)
    assert (settings.retry_attempts, settings.qps_limit, settings.concurrency_limit) == (2, 1.5, 7)
    assert (settings.concurrency_per_worker, settings.price_input, settings.price_output) == (3, 0.5, 2.0)
    assert (settings.allow_insecure, settings.tls_ca) == (True, "/ca.pem")


def test_a_key_stays_with_the_host_it_was_given_for(sql: Sql) -> None:
    sql.create("'api.key'='canary-host', 'header.x-api-key'='canary-second', 'header.user-agent'='me'")
    assert sql.notices("ALTER MODEL {m} SET LOCATION 'http://127.0.0.1:10/v1/chat/completions'") == ""
    assert sql.client.resolve(sql.name).has_secrets
    notices = sql.notices("ALTER MODEL {m} SET LOCATION 'http://other/v1/chat/completions'")
    assert "api.key" in notices
    assert "header.x-api-key" in notices
    rows = {row["key"]: row["value"] for row in sql.table("SHOW MODEL PROPERTIES {m}") if row["source"] == "set"}
    assert "api.key" not in rows
    assert rows["header.user-agent"] == "me"
    given = "ALTER MODEL {m} SET LOCATION 'http://third/v1/chat/completions' PROPERTIES ('api.key'='canary-again')"
    assert "Forgotten" not in sql.notices(given)
    assert sql.described()["api.key"] == "******"


# --- names, aliases, the switch


def test_a_missing_model_names_up_to_three_near_ones(sql: Sql) -> None:
    sql.create()
    error = sql.fails("ALTER MODEL {m}x SET qps.limit=5")
    assert error.code == "MODEL_NOT_FOUND"
    assert isinstance(error.fields["near"], list)
    assert sql.name in error.fields["near"]
    assert len(error.fields["near"]) <= 3


@pytest.mark.parametrize(
    "rest", ["SET qps.limit=5", "SET VERSION 2", "ROLLBACK", "DISABLE", "RENAME TO other_name", "UNSET TRAFFIC"]
)
def test_if_exists_is_silent_about_a_missing_model(sql: Sql, rest: str) -> None:
    assert sql.action(f"ALTER MODEL IF EXISTS {{m}} {rest}") == "unchanged"


def test_a_dotted_name_is_a_path_and_the_error_shows_it_as_one_name(sql: Sql) -> None:
    error = sql.fails("DESCRIBE MODEL gpt.{m}")
    assert error.code == "MODEL_NOT_FOUND"
    assert f"`gpt.{sql.name}`" in error.message
    assert "backquotes" in sql.fails("DESCRIBE MODEL a.b.c.{m}").message
    assert "backquotes" not in sql.fails("DESCRIBE MODEL {m}").message


def test_names_are_found_without_case_and_shown_as_written(sql: Sql) -> None:
    name = sql.name.upper() + "_Straße"
    sql(f"CREATE MODEL {name} LOCATION '{LOCATION}'")
    assert sql.client.resolve(name.lower()).name == name
    assert sql.code(f"CREATE MODEL {name.swapcase()} LOCATION '{LOCATION}'") == "MODEL_ALREADY_EXISTS"
    assert [row["name"] for row in sql.table(f"SHOW MODELS LIKE '{name.lower()}'")] == [name]


@pytest.mark.parametrize("part", ["gpt-4o", "Qwen/Qwen3-8B", "a.b", "with `tick`", "日本語", "50%_*|?#"])
def test_odd_names_in_backquotes(sql: Sql, part: str) -> None:
    quoted = "`" + f"{sql.name} {part}".replace("`", "``") + "`"
    sql(f"CREATE MODEL {quoted} LOCATION '{LOCATION}'")
    assert sql.client.resolve(quoted).arms[0].endpoint.model_name == f"{sql.name} {part}"
    assert sql("ALTER MODEL " + quoted + " SET qps.limit=5")[0] == "altered"
    assert sql.action("DROP MODEL " + quoted) == "dropped"


def test_a_bare_name_with_dots_finds_the_model_of_exactly_that_name(sql: Sql) -> None:
    sql(f"CREATE MODEL `gpt-4.{sql.name}` LOCATION '{LOCATION}'")
    assert sql.client.resolve(f"gpt-4.{sql.name}").name == f"`gpt-4.{sql.name}`"


def test_names_with_a_namespace(sql: Sql) -> None:
    sql(f"CREATE MODEL Sales.{sql.name} LOCATION '{LOCATION}'")
    assert sql.table("SHOW MODELS IN sales LIKE '{m}'")[0]["namespace"] == "Sales"
    assert sql.table("SHOW MODELS IN sales_eu") == []
    assert sql.code("DESCRIBE MODEL {m}") == "MODEL_NOT_FOUND"
    assert sql.client.resolve(f"sales.{sql.name}").arms[0].endpoint.model_name == sql.name


def test_rename_moves_everything_and_frees_the_old_name(sql: Sql) -> None:
    sql.create("'qps.limit'=5")
    before = sql.client.resolve(sql.name)
    assert sql.action("ALTER MODEL {m} RENAME TO {m}_new") == "renamed"
    assert sql.code("DESCRIBE MODEL {m}") == "MODEL_NOT_FOUND"
    after = sql.client.resolve(f"{sql.name}_new")
    assert after.model_id == before.model_id
    assert (
        after.arms[0].endpoint == before.arms[0].endpoint
    )  # the endpoint is called as before, its model name included
    history = [row["action"] for row in sql.table("DESCRIBE HISTORY MODEL {m}_new")]
    assert history == ["renamed", "created"]
    sql.create()
    assert sql.code("ALTER MODEL {m} RENAME TO {m}_NEW") == "MODEL_ALREADY_EXISTS"


def test_aliases_move_and_are_logged(sql: Sql) -> None:
    sql.create(version="'1'")
    sql("ALTER MODEL {m} ADD VERSION '2'")
    sql("ALTER MODEL {m} VERSION '1' SET ALIAS champion")
    assert sql.client.resolve(f"{sql.name}@champion").arms[0].endpoint.version == "1"
    sql("ALTER MODEL {m} VERSION '2' SET ALIAS champion")
    assert sql.client.resolve(f"{sql.name}@champion").arms[0].endpoint.version == "2"
    change = sql.table("DESCRIBE HISTORY MODEL {m}")[0]
    assert (change["before"], change["after"]) == ('{"champion": "1"}', '{"champion": "2"}')
    assert sql.code("ALTER MODEL {m} VERSION '9' SET ALIAS champion") == "VERSION_NOT_FOUND"
    assert sql.code("ALTER MODEL {m} VERSION '1' UNSET ALIAS champion") == "ALIAS_NOT_FOUND"
    sql("ALTER MODEL {m} VERSION '2' UNSET ALIAS champion")
    assert sql.code("ALTER MODEL {m} VERSION '2' UNSET ALIAS champion") == "ALIAS_NOT_FOUND"


def test_the_kill_switch(sql: Sql) -> None:
    sql.create()
    assert sql.action("ALTER MODEL {m} DISABLE") == "disabled"
    with pytest.raises(InferlakeError, match="MODEL_DISABLED"):
        sql.client.resolve(sql.name)
    assert sql.action("ALTER MODEL {m} PAUSE") == "unchanged"
    assert sql.table("SHOW MODELS LIKE '{m}'")[0]["enabled"] is False
    assert sql.action("ALTER MODEL {m} RESUME") == "enabled"
    assert sql.client.resolve(sql.name).enabled


def test_comments(sql: Sql) -> None:
    sql.create()
    sql("COMMENT ON MODEL {m} IS 'it''s new'")
    assert sql.described()["comment"] == "it's new"
    sql("ALTER MODEL {m} SET COMMENT 'newer'")
    assert sql.described()["comment"] == "newer"
    sql("COMMENT ON MODEL {m} IS NULL")
    assert "comment" not in sql.described()


def test_the_history_has_each_change_with_who_what_before_and_after(sql: Sql) -> None:
    sql.create("'api.key' = 'canary-history'")
    sql("ALTER MODEL {m} SET qps.limit = 5, api.key = 'canary-later'")
    sql("ALTER MODEL {m} RENAME TO {m}_new")
    last, changed, first = sql.table("DESCRIBE HISTORY MODEL {m}_new")
    assert [row["action"] for row in (first, changed, last)] == ["created", "altered", "renamed"]
    assert changed["statement"] == (f"ALTER MODEL {sql.name} SET PROPERTIES ('qps.limit' = 5, 'api.key' = '******')")
    assert (changed["before"], changed["after"]) == (
        '{"api.key": "******"}',
        '{"qps.limit": "5", "api.key": "******"}',
    )
    assert changed["by"] == getpass.getuser()
    assert str(first["at"]) <= str(changed["at"]) <= str(last["at"])
    assert (last["before"], last["after"]) == (f'{{"name": "{sql.name}"}}', f'{{"name": "{sql.name}_new"}}')


# --- DROP and UNDROP


def test_drop_frees_the_name_and_undrop_brings_everything_back(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'api.key'='canary-undrop'")
    sql("ALTER MODEL {m} SET VERSION 2.1")
    before = sql.client.resolve(sql.name)
    assert sql.action("DROP MODEL {m}") == "dropped"
    assert sql.code("DROP MODEL {m}") == "MODEL_NOT_FOUND"
    assert sql.action("DROP MODEL IF EXISTS {m}") == "unchanged"
    assert sql.table("SHOW MODELS LIKE '{m}'") == []
    assert sql.action("UNDROP MODEL {m}") == "undropped"
    after = sql.client.resolve(sql.name)
    assert (after.model_id, after.arms, after.settings) == (before.model_id, before.arms, before.settings)
    assert sql.history() == ["created", "activated", "dropped", "undropped"]


def test_a_model_created_again_is_another_one(sql: Sql) -> None:
    sql.create("'qps.limit'=5, 'api.key'='canary-first'")
    first = sql.client.resolve(sql.name)
    sql("DROP MODEL {m}")
    sql.create()
    second = sql.client.resolve(sql.name)
    assert second.model_id != first.model_id
    assert (second.settings.qps_limit, second.has_secrets) == (None, False)
    assert sql.history() == ["created"]
    assert sql.code("UNDROP MODEL {m}") == "MODEL_ALREADY_EXISTS"
    sql("ALTER MODEL {m} RENAME TO {m}_second")
    sql("UNDROP MODEL {m}")
    assert sql.client.resolve(sql.name).model_id == first.model_id


def test_undrop_of_what_was_never_dropped(sql: Sql) -> None:
    assert sql.code("UNDROP MODEL {m}") == "MODEL_NOT_DROPPED"


# --- what is shown, and the way in


def test_show_create_can_be_run_again(sql: Sql) -> None:
    sql(
        "CREATE MODEL {m} VERSION '1' USING 'ray-serve' INPUT (text STRING) OUTPUT (label ARRAY<STRING>) "
        f"LOCATION '{LOCATION}' PROPERTIES ('request.stop'='[\"a''b\"]', 'qps.limit'=0.5, 'timeout'=20, "
        "'header.authorization'='env:NAME', 'tag.team'='it''s', 'prompt.system'='two\nlines') COMMENT 'a; b'"
    )
    before = sql.client.resolve(sql.name)
    (row,) = sql.table("SHOW CREATE MODEL {m}")
    text = str(row["createtab_stmt"])
    sql("DROP MODEL {m}")
    assert sql.action(text) == "created"
    after = sql.client.resolve(sql.name)
    assert (after.arms, after.settings, after.has_secrets) == (before.arms, before.settings, before.has_secrets)
    assert sql.table("SHOW CREATE MODEL {m}") == [row]


def test_show_create_of_a_version_prints_that_version(sql: Sql) -> None:
    sql.create("'request.seed' = 1", version="1")
    sql("ALTER MODEL {m} ADD VERSION '2' LOCATION 'https://h/v1/chat/completions' PROPERTIES ('request.seed' = 2)")
    text = str(sql.table("SHOW CREATE MODEL {m} VERSION '2'")[0]["createtab_stmt"])
    assert "https://h/v1/chat/completions" in text
    sql("DROP MODEL {m}")
    assert sql(text)[:3] == ("created", sql.name, "2")
    assert sql.client.resolve(sql.name).arms[0].endpoint.request == {"seed": 2}
    assert sql.code("SHOW CREATE MODEL {m} VERSION '9'") == "VERSION_NOT_FOUND"


def test_show_create_with_a_literal_secret_cannot_be_stored_as_it_is_shown(sql: Sql) -> None:
    sql.create("'api.key'='canary-create'")
    text = str(sql.table("SHOW CREATE MODEL {m}")[0]["createtab_stmt"])
    assert "'api.key' = '******'" in text
    sql("DROP MODEL {m}")
    assert sql.code(text) == "SECRET_PLACEHOLDER"


def test_patterns_of_show(sql: Sql) -> None:
    for suffix in ("_alpha", "_beta", "_gamma"):
        sql(f"CREATE MODEL {{m}}{suffix} LOCATION '{LOCATION}'")
    assert [row["name"] for row in sql.table("SHOW MODELS LIKE '{m}_*a|nothing'")] == [
        f"{sql.name}_alpha",
        f"{sql.name}_beta",
        f"{sql.name}_gamma",
    ]
    assert len(sql.table("SHOW MODELS LIKE '{m}_ALPHA|{m}_beta'")) == 2
    assert len(sql.table("SHOW MODELS '{m}_be*'")) == 1
    assert [row["health"] for row in sql.table("SHOW MODEL HEALTH LIKE '{m}_b*'")] == ["unknown"]


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        (None, "anything", True),
        ("*", "", True),
        ("a*", "ABC", True),
        ("*c", "abc", True),
        ("a*c", "ac", True),
        ("ab*bc", "abc", False),  # the two ends may not share a letter
        ("a*b*c", "a--b--c", True),
        ("a*b*c", "acb", False),
        ("a", "ab", False),
        (" a | b ", "b", True),
        ("a.c", "abc", False),
        ("[a]", "a", False),
        ("STRASSE", "straße", True),
    ],
)
def test_a_pattern_means_what_sparks_means(pattern: str | None, name: str, fits: bool) -> None:
    assert matches(pattern, name) is fits


def test_a_pattern_cannot_be_made_to_take_forever() -> None:
    assert not matches("*a" * 2_000 + "*b", "a" * 255)


def test_parameter_markers(sql: Sql) -> None:
    sql(f"CREATE MODEL {{m}} LOCATION '{LOCATION}' PROPERTIES ('api.key' = :key)", key="canary-marker")
    assert sql.client.resolve(sql.name).has_secrets
    sql.client.execute(f"ALTER MODEL {sql.name} SET PROPERTIES ('prompt.system' = ?)", ["be brief"])
    assert sql.client.resolve(sql.name).arms[0].endpoint.prompt_system == "be brief"


def test_a_dry_run_changes_nothing(sql: Sql) -> None:
    sql.create()
    before = sql.client.resolve(sql.name)
    result = sql.client.execute(f"ALTER MODEL {sql.name} SET VERSION 2.1", dry_run=True)
    assert result.rows[0][:3] == ("activated", sql.name, "2.1")
    assert "dry run" in result.notices[-1]
    assert sql.client.resolve(sql.name) == before
    assert sql.history() == ["created"]
    with pytest.raises(InferlakeError, match="VERSION_NOT_FOUND"):
        sql.client.execute(f"ALTER MODEL {sql.name} ROLLBACK TO VERSION '9'", dry_run=True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT 1", "BAD_REQUEST"),
        ("CREATE MODEL", "SYNTAX_ERROR"),
        ("SHOW MODELS; SHOW MODELS", "MULTIPLE_STATEMENTS"),
        ("EXPLAIN AI SELECT ai_function('m', 'x')", "BAD_REQUEST"),
    ],
)
def test_what_is_no_statement_of_the_registry(sql: Sql, text: str, code: str) -> None:
    assert sql.code(text) == code


def test_a_syntax_error_has_its_place(sql: Sql) -> None:
    error = sql.fails("ALTER MODEL {m}\n  SET VERSION 2.1 2.2")
    assert (error.code, error.fields["line"]) == ("SYNTAX_ERROR", 2)
    assert "^" in str(error.fields["snippet"])
