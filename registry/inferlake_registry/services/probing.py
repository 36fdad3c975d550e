"""Probes: who is due, what an endpoint said, what follows from it; and TEST MODEL."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from inferlake_registry.contract.health import Health
from inferlake_registry.contract.models import ModelSnapshot, ModelType
from inferlake_registry.contract.problems import EndpointFailed, SecretUnavailable
from inferlake_registry.contract.statements import Column, ColumnType, StatementResult
from inferlake_registry.domain.health import Condition, Thresholds, Verdict, advance, judge_status, next_due
from inferlake_registry.probe.http import Answer, Question, ask
from inferlake_registry.services.snapshot import credentials, resolve
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import HealthSample, HealthTransition, Model, ModelHealth
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import JsonValue
from inferlake_sql.properties import find_spec, normalise
from inferlake_sql.secret import Secret
from inferlake_sql.statements import TestModel

SAMPLES_KEPT: Final = timedelta(hours=48)
_PROBE_TIMEOUT_S: Final = 10.0
# Enough for a reasoning model to begin; "cut by length" counts as alive.
_PROBE_TOKENS: Final = 16
_TEST_TEXT: Final = "test input"


@dataclass(frozen=True, slots=True)
class Target:
    """One model to probe, with everything it takes; read in one go, so that no transaction is open while asking."""

    model_id: str
    snapshot: ModelSnapshot
    headers: Mapping[str, Secret]
    kind: str
    path: str | None
    thresholds: Thresholds


def due(session: Session, now: datetime) -> list[str]:
    """Return the ids of the models to probe now."""
    found: list[str] = []
    for model in session.scalars(select(Model).where(Model.dropped_at.is_(None), Model.enabled)):
        values = _settings(model)
        if values["probe.kind"] == "none":
            continue
        interval = timedelta(milliseconds=float(values["probe.interval.ms"]))
        stored = session.get(ModelHealth, model.id)
        if next_due(_condition(stored), interval, _place(model.id), model.created_at) <= now:
            found.append(model.id)
    return found


def _place(model_id: str) -> float:
    """Return a model's own place in the interval, from 0 to 1."""
    return int.from_bytes(hashlib.sha256(model_id.encode()).digest()[:4]) / 2**32


def _settings(model: Model) -> dict[str, str]:
    keys = ("probe.kind", "probe.interval.ms", "probe.path", "probe.failures", "probe.successes")
    values = {key: str(find_spec(key).default) for key in keys if find_spec(key).default is not None}
    for row in model.properties:
        if row.key in keys and row.value is not None:
            values[row.key] = str(normalise(row.key, row.value).value)
    return values


def _condition(stored: ModelHealth | None) -> Condition | None:
    if stored is None:
        return None
    return Condition(
        Health(stored.state), stored.since, stored.failures, stored.successes, stored.last_at, stored.cause
    )


def target(session: Session, ring: KeyRing, model_id: str) -> Target | None:
    """Return what it takes to probe a model, or None when it is gone. Raises SecretUnavailable."""
    model = session.get(Model, model_id)
    if model is None or model.dropped_at is not None or not model.enabled:
        return None
    values = _settings(model)
    return Target(
        model_id=model.id,
        snapshot=resolve(session, model.name),
        headers=credentials(session, ring, model.name).headers,
        kind=values["probe.kind"],
        path=values.get("probe.path"),
        thresholds=Thresholds(int(values["probe.failures"]), int(values["probe.successes"])),
    )


async def probe(found: Target) -> tuple[Answer, Verdict]:
    """Ask an endpoint for its health: free questions first, and only those unless a billed one was chosen."""
    if found.kind == "chat":
        answer = await _ask(found, found.snapshot.arms[0].endpoint.url, body=_small_request(found.snapshot, "ping"))
        return answer, _verdict(answer)
    answer = Answer(None, None, cause="nothing was asked")
    for path in _paths(found):
        answer = await _ask(found, _at_origin(found.snapshot.arms[0].endpoint.url, path))
        # A server without that address may have the next one; anything else is an answer.
        if answer.status not in (404, 405):
            break
    return answer, _verdict(answer)


def _paths(found: Target) -> tuple[str, ...]:
    if found.path is not None:
        return (found.path if found.path.startswith("/") else "/" + found.path,)
    return ("/v1/models",) if found.kind == "models" else ("/health", "/v1/models")


def _at_origin(url: str, path: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _verdict(answer: Answer) -> Verdict:
    if answer.status is None:
        return Verdict(Health.UNHEALTHY, answer.cause or "no answer")
    return judge_status(answer.status)


async def _ask(found: Target, url: str, body: JsonValue = None) -> Answer:
    settings = found.snapshot.settings
    question = Question(
        url=url,
        headers=found.headers,
        timeout_s=min(_PROBE_TIMEOUT_S, settings.timeout_ms / 1000),
        connect_timeout_s=min(_PROBE_TIMEOUT_S, settings.connect_timeout_ms / 1000),
        ca=settings.tls_ca,
        body=body,
    )
    return await ask(question)


def _small_request(snapshot: ModelSnapshot, text: str) -> JsonValue:
    """Return a request of allowed members only: a model's own extra members could make a probe dear or fail."""
    endpoint = snapshot.arms[0].endpoint
    if endpoint.model_type is ModelType.EMBEDDING:
        return {"model": endpoint.model_name, "input": text}
    limits: dict[str, JsonValue] = {"model": endpoint.model_name, "max_tokens": _PROBE_TOKENS, "temperature": 0}
    if endpoint.model_type is ModelType.COMPLETIONS:
        return {**limits, "prompt": text}
    return {**limits, "messages": [{"role": "user", "content": text}]}


def store_sample(session: Session, found: Target, answer: Answer, verdict: Verdict, now: datetime) -> None:
    """Store one probe with what follows from it, and forget samples that are too old."""
    if session.get(Model, found.model_id) is None:
        return
    stored = session.get(ModelHealth, found.model_id)
    before = _condition(stored)
    after = advance(before, verdict, now, found.thresholds)
    cause = verdict.cause[:200] if verdict.cause else None
    session.add(
        HealthSample(
            model_id=found.model_id,
            at=now,
            ok=verdict.state is Health.HEALTHY,
            state=verdict.state.value,
            latency_ms=answer.latency_ms,
            http_status=answer.status,
            cause=cause,
        )
    )
    if before is None or before.state is not after.state:
        was = Health.UNKNOWN if before is None else before.state
        session.add(
            HealthTransition(
                model_id=found.model_id, at=now, before=was.value, after=after.state.value, cause=after.cause
            )
        )
    session.merge(
        ModelHealth(
            model_id=found.model_id,
            state=after.state.value,
            since=after.since,
            failures=after.failures,
            successes=after.successes,
            last_at=after.last_at,
            cause=after.cause,
        )
    )
    session.execute(
        delete(HealthSample).where(HealthSample.model_id == found.model_id, HealthSample.at < now - SAMPLES_KEPT)
    )


def probe_one(database: Database, ring: KeyRing, model_id: str, now: datetime) -> None:
    """Probe one model and store what it said."""
    try:
        with database.read() as session:
            found = target(session, ring, model_id)
    except SecretUnavailable as error:
        _store_misconfigured(database, model_id, error, now)
        return
    if found is None:
        return
    answer, verdict = asyncio.run(probe(found))
    with database.write() as session:
        store_sample(session, found, answer, verdict, now)


def _store_misconfigured(database: Database, model_id: str, error: SecretUnavailable, now: datetime) -> None:
    with database.write() as session:
        model = session.get(Model, model_id)
        if model is None:
            return
        values = _settings(model)
        found = Target(
            model_id=model.id,
            snapshot=resolve(session, model.name),
            headers={},
            kind=values["probe.kind"],
            path=None,
            thresholds=Thresholds(),
        )
        store_sample(session, found, Answer(None, None), Verdict(Health.MISCONFIGURED, error.message), now)


def test_model(database: Database, ring: KeyRing, statement: TestModel, now: datetime) -> StatementResult:
    """Carry out TEST MODEL: the health question, then one small request. Raises EndpointFailed when that fails."""
    reference = statement.name.display
    if statement.version is not None:
        reference += f":{statement.version}"
    with database.read() as session:
        snapshot = resolve(session, reference)
        headers = credentials(session, ring, statement.name.display).headers
    found = Target("", snapshot, headers, "auto", None, Thresholds())
    health, verdict = asyncio.run(probe(found))
    endpoint = snapshot.arms[0].endpoint
    answer = asyncio.run(_ask(found, endpoint.url, _small_request(snapshot, statement.text or _TEST_TEXT)))
    if answer.status is None or answer.status >= 400:
        raise EndpointFailed(snapshot.name, answer.cause or f"HTTP {answer.status}")
    usage = _usage(answer.document())
    columns = {
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
    row = (
        snapshot.name,
        endpoint.version,
        verdict.state.value,
        health.status,
        answer.status,
        None if answer.latency_ms is None else round(answer.latency_ms, 1),
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        _text(answer.document()),
    )
    return StatementResult(tuple(Column(name, kind) for name, kind in columns.items()), (row,))


test_model.__test__ = False  # type: ignore[attr-defined] # no test case, whatever its name says


def _usage(document: JsonValue) -> dict[str, int]:
    usage = document.get("usage") if isinstance(document, dict) else None
    return {key: value for key, value in usage.items() if isinstance(value, int)} if isinstance(usage, dict) else {}


def _text(document: JsonValue) -> str | None:
    match document:
        case {"choices": [{"message": {"content": str(text)}}, *_]} | {"choices": [{"text": str(text)}, *_]}:
            return text[:200]
        case _:
            return None
