"""Secret members of the body: stored encrypted, shown masked, given with the credentials of their version and host."""

from __future__ import annotations

from typing import Final

import httpx
import pytest
from registry_fixtures import RegistryProcess
from registry_sql import Sql

from inferlake_registry.contract.models import Credentials, CredentialsRequest
from inferlake_registry.contract.wire import decode, encode

KEY: Final = "canary-member-7f3a"
DEEP: Final = '{"auth_token": "canary-deep-7f3a", "region": "eu"}'


def given(registry: RegistryProcess, name: str, version: str, host: str = "127.0.0.1") -> dict[str, str]:
    """Return the members that a worker gets, revealed."""
    body = encode(CredentialsRequest(host=host, version=version))
    answer = httpx.post(f"{registry.url}/v1/models/{name}/credentials", json=body).raise_for_status()
    return {name: text.reveal() for name, text in decode(Credentials, answer.json()).request.items()}


@pytest.fixture
def member(sql: Sql) -> Sql:
    """Give a model with two secret members and a plain one."""
    sql.create(f"'request.api_key'='{KEY}', 'request.extra'='{DEEP}', 'request.seed'=1")
    return sql


def test_a_worker_gets_them_as_json(member: Sql, quiet_registry: RegistryProcess) -> None:
    assert given(quiet_registry, member.name, "1") == {
        "api_key": f'"{KEY}"',
        "extra": '{"auth_token":"canary-deep-7f3a","region":"eu"}',
    }
    (arm,) = member.client.resolve(member.name).arms
    assert (arm.endpoint.secret_request, dict(arm.endpoint.request)) == (("api_key", "extra"), {"seed": 1})
    assert member.client.resolve(member.name).has_secrets


def test_nothing_shows_them(member: Sql) -> None:
    member(f"ALTER MODEL {{m}} SET request.api_key='{KEY}-2'")
    shown = str(
        [
            member.described(),
            member.table("SHOW CREATE MODEL {m}"),
            member.table("DESCRIBE HISTORY MODEL {m}"),
            member.table("SHOW MODEL PROPERTIES {m}"),
            member.client.resolve(member.name),
        ]
    )
    assert "canary" not in shown
    assert member.described()["request.api_key"] == "******"


def test_they_are_part_of_their_version(member: Sql, quiet_registry: RegistryProcess) -> None:
    assert member(f"ALTER MODEL {{m}} SET request.api_key='{KEY}'")[0] == "unchanged"
    assert member(f"ALTER MODEL {{m}} SET request.api_key='{KEY}-2'")[2] == "2"
    assert given(quiet_registry, member.name, "1")["api_key"] == f'"{KEY}"'
    assert given(quiet_registry, member.name, "2")["api_key"] == f'"{KEY}-2"'
    assert given(quiet_registry, member.name, "2")["extra"] == given(quiet_registry, member.name, "1")["extra"]
    assert member("ALTER MODEL {m} UNSET PROPERTIES ('request.api_key')")[2] == "3"
    assert list(given(quiet_registry, member.name, "3")) == ["extra"]


def test_another_host_gets_none(member: Sql, quiet_registry: RegistryProcess) -> None:
    other = "http://other-host/v1/chat/completions"
    notices = member.notices(f"ALTER MODEL {{m}} SET LOCATION '{other}'")
    assert "Not inherited, since it was given for another host: request.api_key, request.extra." in notices
    assert given(quiet_registry, member.name, "2", "other-host") == {}
    assert given(quiet_registry, member.name, "1", "other-host") == {}
    assert not member.client.resolve(member.name).has_secrets
    assert member.described()["request.seed"] == "1"


def test_a_copy_has_none(member: Sql) -> None:
    notices = member.notices(f"CREATE MODEL {member.name}_copy LIKE {{m}}")
    assert notices == "Not copied, since they are secret: request.api_key, request.extra."
    assert not member.client.resolve(f"{member.name}_copy").has_secrets


def test_a_reference_is_followed(sql: Sql, quiet_registry: RegistryProcess) -> None:
    sql.create("'request.api_key'='env:PATH'")
    assert sql.described()["request.api_key"] == "env:PATH"
    assert given(quiet_registry, sql.name, "1")["api_key"].startswith('"/')


def test_a_public_host_wants_https(sql: Sql) -> None:
    location = "http://llm.example.com/v1/chat/completions"
    created = f"CREATE MODEL {{m}} LOCATION '{location}' PROPERTIES ('request.api_key'='{KEY}')"
    assert sql.code(created) == "INVALID_LOCATION"
    sql(f"CREATE MODEL {{m}} LOCATION '{location}'")
    assert sql.code(f"ALTER MODEL {{m}} SET request.api_key='{KEY}'") == "INVALID_LOCATION"
