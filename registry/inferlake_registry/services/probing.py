"""Probes: who is due, what an endpoint said, and what follows from it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, assert_never
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, aliased

from inferlake_registry.contract.health import Health
from inferlake_registry.contract.models import CallSettings, Endpoint, ModelType
from inferlake_registry.contract.problems import SecretUnavailable
from inferlake_registry.domain.health import Condition, Thresholds, Verdict, advance, judge_status, next_due
from inferlake_registry.probe.http import Answer, Question, ask
from inferlake_registry.services.bound_keys import host_of
from inferlake_registry.services.models import active_version
from inferlake_registry.services.snapshot import call_settings, endpoint_of, headers_for, plain_values
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import HealthSample, HealthTransition, Model, ModelHealth, ModelProperty, Version
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import JsonValue
from inferlake_sql.properties import find_spec, normalise
from inferlake_sql.secret import Secret

_PROBE_TIMEOUT_S: Final = 10.0
# Enough for a reasoning model to begin; "cut by length" counts as alive.
_PROBE_TOKENS: Final = 16
_CAUSE_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How one model wants to be probed."""

    kind: str
    path: str | None
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint with everything it takes to ask it; read in one go, so that no transaction is open while asking."""

    endpoint: Endpoint
    call: CallSettings
    headers: Mapping[str, Secret]
    probe: ProbeSettings


def due(session: Session, now: datetime) -> list[str]:
    """Return the ids of the models to probe now: newcomers, changed ones, and those whose place in the interval it is.

    One query of a few short columns, since it is asked every second.
    """
    kind, interval = aliased(ModelProperty), aliased(ModelProperty)
    query = (
        select(Model.id, Model.created_at, Model.updated_at, ModelHealth, interval.value)
        .outerjoin(ModelHealth, ModelHealth.model_id == Model.id)
        .outerjoin(kind, and_(kind.model_id == Model.id, kind.key == "probe.kind"))
        .outerjoin(interval, and_(interval.model_id == Model.id, interval.key == "probe.interval.ms"))
        .where(Model.dropped_at.is_(None), Model.enabled, kind.value.is_distinct_from("none"))
    )
    usual = str(find_spec("probe.interval.ms").default)
    found: list[str] = []
    for model_id, created_at, updated_at, stored, text in session.execute(query):
        before = _condition(stored)
        every = timedelta(milliseconds=float(text or usual))
        changed = before is not None and updated_at > before.last_at
        if changed or next_due(before, every, _place(model_id), created_at) <= now:
            found.append(model_id)
    return found


def _place(model_id: str) -> float:
    """Return a model's own place in the interval, from 0 to 1."""
    return int.from_bytes(hashlib.sha256(model_id.encode()).digest()[:4]) / 2**32


def _condition(stored: ModelHealth | None) -> Condition | None:
    if stored is None:
        return None
    return Condition(
        Health(stored.state), stored.since, stored.failures, stored.successes, stored.last_at, stored.cause
    )


def probe_settings(texts: Mapping[str, str]) -> ProbeSettings:
    """Return properties as settings of the probe."""

    def value(key: str) -> str:
        return str(normalise(key, texts[key]).value if key in texts else find_spec(key).default)

    thresholds = Thresholds(int(value("probe.failures")), int(value("probe.successes")))
    return ProbeSettings(value("probe.kind"), texts.get("probe.path"), thresholds)


def target_of(ring: KeyRing, model: Model) -> Target:
    """Return the active version of a model as it is asked. Raises SecretUnavailable."""
    return target_of_version(ring, model, active_version(model))


def target_of_version(ring: KeyRing, model: Model, version: Version) -> Target:
    """Return one version of a model as it is asked, with the key of its own host. Raises SecretUnavailable."""
    return Target(
        endpoint=endpoint_of(model, version),
        call=call_settings(model),
        headers=headers_for(ring, model, host_of(version.location)),
        probe=probe_settings(plain_values(model.properties)),
    )


async def probe(target: Target) -> tuple[Answer, Verdict]:
    """Ask an endpoint for its health: free questions first, and only those unless a billed one was chosen."""
    if target.probe.kind == "chat":
        answer = await ask_model(target, "ping")
        return answer, _verdict(answer)
    answer = Answer(None, None, cause="nothing was asked")
    for path in _paths(target.probe):
        answer = await _ask(target, _at_origin(target.endpoint.url, path))
        # A server without that address may have the next one; anything else is an answer.
        if answer.status not in (404, 405):
            break
    return answer, _verdict(answer)


async def ask_model(target: Target, text: str) -> Answer:
    """Send one small request that is billed where calls are billed."""
    return await _ask(target, target.endpoint.url, _small_request(target.endpoint, text))


def _paths(settings: ProbeSettings) -> tuple[str, ...]:
    if settings.kind == "models":
        return ("/v1/models",)
    if settings.path is not None:
        return (settings.path if settings.path.startswith("/") else "/" + settings.path,)
    return ("/health",) if settings.kind == "http" else ("/health", "/v1/models")


def _at_origin(url: str, path: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _verdict(answer: Answer) -> Verdict:
    if answer.status is None:
        state = Health.MISCONFIGURED if answer.refused else Health.UNHEALTHY
        return Verdict(state, answer.cause or "no answer")
    return judge_status(answer.status)


async def _ask(target: Target, url: str, body: JsonValue = None) -> Answer:
    question = Question(
        url=url,
        headers=target.headers,
        timeout_s=min(_PROBE_TIMEOUT_S, target.call.timeout_ms / 1000),
        connect_timeout_s=min(_PROBE_TIMEOUT_S, target.call.connect_timeout_ms / 1000),
        ca=target.call.tls_ca,
        body=body,
    )
    return await ask(question)


def _small_request(endpoint: Endpoint, text: str) -> JsonValue:
    """Return a request of allowed members only: a model's own extra members could make a probe dear or fail."""
    if endpoint.model_type is ModelType.EMBEDDING:
        return {"model": endpoint.model_name, "input": text}
    limits: dict[str, JsonValue] = {"model": endpoint.model_name, "max_tokens": _PROBE_TOKENS, "temperature": 0}
    if endpoint.model_type is ModelType.COMPLETIONS:
        return {**limits, "prompt": text}
    return {**limits, "messages": [{"role": "user", "content": text}]}


async def probe_one(database: Database, ring: KeyRing, model_id: str, now: datetime) -> None:
    """Probe one model and store what it said; a model that is gone meanwhile is left alone."""
    found = await asyncio.to_thread(_find, database, ring, model_id)
    match found:
        case None:
            return
        case Target():
            answer, verdict = await probe(found)
        case SecretUnavailable():
            answer, verdict = Answer(None, None), Verdict(Health.MISCONFIGURED, found.message)
        case _:
            assert_never(found)
    await asyncio.to_thread(_store, database, model_id, answer, verdict, now)


def _find(database: Database, ring: KeyRing, model_id: str) -> Target | SecretUnavailable | None:
    with database.read() as session:
        model = session.get(Model, model_id)
        if model is None or model.dropped_at is not None or not model.enabled:
            return None
        try:
            return target_of(ring, model)
        except SecretUnavailable as error:
            return error


def _store(database: Database, model_id: str, answer: Answer, verdict: Verdict, now: datetime) -> None:
    with database.write() as session:
        model = session.get(Model, model_id)
        if model is not None:
            store_sample(session, model, answer, verdict, now)


def store_sample(session: Session, model: Model, answer: Answer, verdict: Verdict, now: datetime) -> None:
    """Store one probe with what follows from it."""
    thresholds = probe_settings(plain_values(model.properties)).thresholds
    before = _condition(session.get(ModelHealth, model.id))
    verdict = replace(verdict, cause=verdict.cause[:_CAUSE_CHARACTERS] if verdict.cause else None)
    after = advance(before, verdict, now, thresholds)
    session.add(
        HealthSample(
            model_id=model.id,
            at=now,
            ok=verdict.state is Health.HEALTHY,
            state=verdict.state.value,
            latency_ms=answer.latency_ms,
            http_status=answer.status,
            cause=verdict.cause,
        )
    )
    was = Health.UNKNOWN if before is None else before.state
    if was is not after.state:
        session.add(
            HealthTransition(model_id=model.id, at=now, before=was.value, after=after.state.value, cause=after.cause)
        )
    session.merge(
        ModelHealth(
            model_id=model.id,
            state=after.state.value,
            since=after.since,
            failures=after.failures,
            successes=after.successes,
            last_at=after.last_at,
            cause=after.cause,
        )
    )
