"""Calls of an endpoint that a person asked for: TEST MODEL, and CREATE MODEL with ``probe.on.create``."""

from __future__ import annotations

import asyncio
from typing import Final

from inferlake_registry.contract.health import Health
from inferlake_registry.contract.problems import EndpointFailed, ModelDisabled
from inferlake_registry.contract.statements import Column, ColumnType, StatementResult
from inferlake_registry.probe.http import Answer
from inferlake_registry.services.create import with_type
from inferlake_registry.services.models import active_version, get, get_version
from inferlake_registry.services.probing import Target, ask_model, probe, probe_settings, target_of_version
from inferlake_registry.services.references import follow
from inferlake_registry.services.snapshot import make_endpoint, make_headers, make_settings
from inferlake_registry.services.spelling import require_letters
from inferlake_registry.store.database import Database
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.properties import show_value
from inferlake_sql.secret import Secret, SecretReference
from inferlake_sql.statements import CreateModel, TestModel

_TEST_TEXT: Final = "test input"
_ANSWER_CHARACTERS: Final = 200
_COLUMNS: Final = {
    "model": ColumnType.STRING,
    "version": ColumnType.STRING,
    "health": ColumnType.STRING,
    "health_status": ColumnType.BIGINT,
    "status": ColumnType.BIGINT,
    "latency_ms": ColumnType.DOUBLE,
    "prompt_tokens": ColumnType.BIGINT,
    "completion_tokens": ColumnType.BIGINT,
    "answer": ColumnType.STRING,
}


def try_model(
    database: Database, ring: KeyRing, statement: TestModel, *, case_sensitive: bool = False
) -> StatementResult:
    """Carry out TEST MODEL: the health question, then one small request.

    Raises EndpointFailed when the request fails, ModelNotFound, VersionNotFound, ModelDisabled, SecretUnavailable.
    """
    with database.read() as session:
        model = get(session, statement.name)
        if case_sensitive:
            require_letters(model, statement.name)
        if not model.enabled:
            raise ModelDisabled(model.name)
        version = active_version(model) if statement.version is None else get_version(model, statement.version)
        target = target_of_version(ring, model, version)
        name = model.name
    return asyncio.run(_try(name, target, statement.text or _TEST_TEXT))


async def _try(name: str, target: Target, text: str) -> StatementResult:
    health, verdict = await probe(target)
    answer = await ask_model(target, text)
    if answer.status is None or answer.status >= 300:
        raise EndpointFailed(name, answer.cause or f"HTTP {answer.status}")
    usage = _usage(answer)
    row = (
        name,
        target.endpoint.version,
        verdict.state.value,
        health.status,
        answer.status,
        None if answer.latency_ms is None else round(answer.latency_ms, 1),
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        _text(answer),
    )
    return StatementResult(tuple(Column(column, kind) for column, kind in _COLUMNS.items()), (row,))


def _usage(answer: Answer) -> dict[str, int]:
    match answer.document():
        case {"usage": dict(usage)}:
            return {key: value for key, value in usage.items() if isinstance(value, int)}
        case _:
            return {}


def _text(answer: Answer) -> str | None:
    match answer.document():
        case {"choices": [{"message": {"content": str(text)}}, *_]} | {"choices": [{"text": str(text)}, *_]}:
            return text[:_ANSWER_CHARACTERS]
        case _:
            return None


def wants_probe(statement: CreateModel) -> bool:
    """Whether a CREATE asks to be refused when its endpoint does not answer."""
    return any(item.key == "probe.on.create" and item.value is True for item in statement.properties)


def probe_definition(ring: KeyRing, statement: CreateModel) -> None:
    """Probe an endpoint that is not registered yet. Raises EndpointFailed, SecretUnavailable."""
    name = statement.name
    properties = with_type(statement.location, statement.properties)
    texts = {
        item.key: show_value(item.value) for item in properties if not isinstance(item.value, (Secret, SecretReference))
    }
    secrets: dict[str, Secret] = {}
    for item in properties:
        match item.value:
            case Secret():
                secrets[item.key] = item.value
            case SecretReference():
                secrets[item.key] = follow(item.value, ring, name.display, item.key)
    secrets |= {key: Secret(text) for key, text in texts.items() if key.startswith("header.")}
    endpoint = make_endpoint(statement.version or "1", statement.location.url, name.last, texts)
    target = Target(endpoint, make_settings(texts), make_headers(secrets), probe_settings(texts))
    _, verdict = asyncio.run(probe(target))
    if verdict.state not in (Health.HEALTHY, Health.DEGRADED):
        raise EndpointFailed(name.display, verdict.cause or verdict.state.value)
