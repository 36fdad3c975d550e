"""The contract's values as JSON and back: strict about what is there, lenient about what is new."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from inferlake_registry.contract.health import BreakerReport, Health, HealthReport, ProbeSample
from inferlake_registry.contract.leases import Lease, LeaseRequest
from inferlake_registry.contract.models import (
    Arm,
    CallSettings,
    Credentials,
    CredentialsRequest,
    Endpoint,
    ModelSnapshot,
    ModelType,
    ResponseFormat,
)
from inferlake_registry.contract.statements import Column, ColumnType, StatementResult
from inferlake_registry.contract.wire import WireError, decode, encode
from inferlake_sql.secret import Secret

ENDPOINT = Endpoint(
    "2.1",
    "http://h/v1/chat/completions",
    "m",
    ModelType.CHAT,
    response_format=ResponseFormat.JSON_SCHEMA,
    request={"stop": ["a", None], "logit_bias": {"5": -1.5}, "big": 2**60},
)
VALUES = [
    ModelSnapshot("id", "m", 3, True, False, (Arm(90, ENDPOINT), Arm(10, ENDPOINT)), CallSettings(qps_limit=0.5), True),
    StatementResult(
        (Column("a", ColumnType.STRING), Column("b", ColumnType.DOUBLE)), (("x", 1.5), (None, 2)), ("notice",)
    ),
    LeaseRequest("host:1:a", 10, 3, 500, "id"),
    CredentialsRequest("id", "h"),
    BreakerReport("host:1:a", "http://h/v1", 5_000.0, "id"),
    BreakerReport("host:1:a", "http://h/v1", None),
    Lease("id", 10, 0.5, 2.0, 1500, 4, True, 512, None, 1),
    HealthReport("m", Health.DEGRADED, None, False, (ProbeSample("t", True, Health.HEALTHY, 1.0, 200, None),)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    text = json.dumps(encode(value), allow_nan=False)
    assert decode(type(value), json.loads(text)) == value


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_members_that_are_not_known_are_passed_over(value: object) -> None:
    document = encode(value)
    assert isinstance(document, dict)
    assert decode(type(value), {**document, "from_a_newer_registry": {"deep": [1]}}) == value


def test_members_with_a_default_may_be_missing() -> None:
    assert decode(LeaseRequest, {"holder": "h", "count": 1, "in_flight": 0}) == LeaseRequest("h", 1, 0)
    assert decode(CallSettings, {}) == CallSettings()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"revision": "3"}, "revision"),
        ({"revision": True}, "revision"),
        ({"revision": 3.0}, "revision"),
        ({"enabled": 1}, "enabled"),
        ({"name": None}, "name"),
        ({"arms": {}}, "arms"),
        ({"arms": [{"weight": 1}]}, "arms[0].endpoint"),
        ({"settings": {"qps_limit": "5"}}, "settings.qps_limit"),
        ({"settings": []}, "settings"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(change: dict[str, object], path: str) -> None:
    document = encode(VALUES[0])
    assert isinstance(document, dict)
    with pytest.raises(WireError) as caught:
        decode(ModelSnapshot, {**document, **change})
    assert str(caught.value).startswith(f"{path}: expected")


@pytest.mark.parametrize("document", [None, [], 5, "text", {}])
def test_something_else_altogether_is_refused(document: object) -> None:
    with pytest.raises(WireError):
        decode(ModelSnapshot, document)


def test_a_choice_that_is_not_known_is_refused() -> None:
    with pytest.raises(WireError, match="chat or completions or embedding"):
        decode(Endpoint, {**asdict(ENDPOINT), "model_type": "telepathy", "request": {}})


def test_an_error_repeats_nothing_of_the_document() -> None:
    with pytest.raises(WireError) as caught:
        decode(ModelSnapshot, {**asdict(CallSettings()), "model_id": ["canary-wire"]})
    assert "canary" not in str(caught.value)


def test_a_secret_is_written_only_when_that_is_meant() -> None:
    credentials = Credentials({"authorization": Secret("canary-wire")}, 1)
    with pytest.raises(TypeError) as caught:
        encode(credentials)
    assert "canary" not in str(caught.value)
    back = decode(Credentials, encode(credentials, reveal=True))
    assert back.headers["authorization"].reveal() == "canary-wire"


def test_the_client_is_cheap_to_import() -> None:
    """An executor imports it: no web framework, no database, no validation library comes with it."""
    heavy = (
        "fastapi",
        "starlette",
        "pydantic",
        "sqlalchemy",
        "alembic",
        "cryptography",
        "jinja2",
        "uvicorn",
        "sqlglot",
    )
    code = f"import sys, inferlake_registry.client; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
