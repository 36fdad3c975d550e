"""Registered models with their state and last probes, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, func, select, union_all
from sqlalchemy.orm import Session

from inferlake_registry.contract.health import Health
from inferlake_registry.domain.health import Condition, is_stale, next_interval
from inferlake_registry.services.listings.keyset import PAGE_SIZE
from inferlake_registry.store.schema import Activation, HealthSample, Model, ModelHealth, ModelProperty, Version
from inferlake_sql.properties import find_spec

STRIP_LENGTH: Final = 30
_MODELS_A_QUERY: Final = 100  # SQLite takes at most 500 parts of one union
_INTERVAL_KEY: Final = "probe.interval.ms"
_INTERVAL_MS: Final = float(find_spec(_INTERVAL_KEY).default or 0)
_DEFAULT_CONCURRENCY: Final = int(find_spec("concurrency.limit").default or 0)

STALE: Final = "stale"
DISABLED: Final = "disabled"


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's health as stored, whether it is too old to be believed, and whether calls are allowed at all."""

    health: Health
    since: datetime | None
    stale: bool
    enabled: bool
    cause: str | None

    @property
    def shown_as(self) -> str:
        """The one word for it: the kill switch hides health, and age hides it too."""
        if not self.enabled:
            return DISABLED
        return STALE if self.stale else self.health.value


@dataclass(frozen=True, slots=True)
class Sample:
    """One stored probe."""

    at: datetime
    ok: bool
    state: Health
    latency_ms: float | None
    http_status: int | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class ModelItem:
    """One model in the list; ``samples`` are its last probes, oldest first."""

    model_id: str
    name: str
    standing: Standing
    samples: tuple[Sample, ...]
    version: str
    location: str
    qps_limit: float | None
    concurrency_limit: int


@dataclass(frozen=True, slots=True)
class ModelList:
    """One page of models; the counts are over all models that the search finds."""

    models: tuple[ModelItem, ...]
    following: str | None  # key of the name after which the next page begins
    registered: int
    states: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Brief:
    model_id: str
    name: str
    key: str
    standing: Standing


def list_models(
    session: Session, now: datetime, search: str = "", state: str = "", after: str = "", limit: int = PAGE_SIZE
) -> ModelList:
    """Return one page of models by name, of those whose name holds ``search`` and whose state is ``state``."""
    every = _briefs(session, now)
    found = [brief for brief in every if search.casefold() in brief.key]
    states: dict[str, int] = {}
    for brief in found:
        states[brief.standing.shown_as] = states.get(brief.standing.shown_as, 0) + 1
    wanted = [brief for brief in found if not state or brief.standing.shown_as == state]
    rest = [brief for brief in wanted if brief.key > after] if after else wanted
    page = rest[:limit]
    return ModelList(
        models=_items(session, page),
        following=page[-1].key if len(rest) > limit else None,
        registered=len(every),
        states=states,
    )


def standings(session: Session, now: datetime) -> list[tuple[str, Standing]]:
    """Return the standing of every model, by name."""
    return [(brief.name, brief.standing) for brief in _briefs(session, now)]


def standing_of(session: Session, model_id: str, now: datetime) -> Standing | None:
    """Return the standing of one model; None when there is no such living model."""
    return next((brief.standing for brief in _briefs(session, now, model_id)), None)


def last_samples(session: Session, model_ids: Sequence[str], count: int = STRIP_LENGTH) -> dict[str, list[Sample]]:
    """Return the last probes of each model, oldest first, in queries that read only those rows."""
    samples: dict[str, list[Sample]] = {model_id: [] for model_id in model_ids}
    for start in range(0, len(model_ids), _MODELS_A_QUERY):
        parts = [
            select(HealthSample)
            .where(HealthSample.model_id == model_id)
            .order_by(HealthSample.at.desc())
            .limit(count)
            .subquery()
            for model_id in model_ids[start : start + _MODELS_A_QUERY]
        ]
        rows = session.execute(union_all(*(select(part) for part in parts)))
        for _, model_id, at, ok, state, latency_ms, http_status, cause in rows:
            samples[model_id].append(Sample(at, ok, Health(state), latency_ms, http_status, cause))
    for found in samples.values():
        found.sort(key=lambda sample: sample.at)
    return samples


def _briefs(session: Session, now: datetime, model_id: str | None = None) -> list[_Brief]:
    """Read what filters need of every model: a few short columns, so a thousand models are a few milliseconds."""
    query = (
        select(Model.id, Model.name, Model.name_key, Model.enabled, ModelHealth, ModelProperty.value)
        .outerjoin(ModelHealth, ModelHealth.model_id == Model.id)
        .outerjoin(ModelProperty, and_(ModelProperty.model_id == Model.id, ModelProperty.key == _INTERVAL_KEY))
        .where(Model.dropped_at.is_(None))
        .order_by(Model.name_key)
    )
    if model_id is not None:
        query = query.where(Model.id == model_id)
    return [
        _Brief(
            identity,
            name,
            key,
            _standing(health, enabled, timedelta(milliseconds=float(interval or _INTERVAL_MS)), now),
        )
        for identity, name, key, enabled, health, interval in session.execute(query)
    ]


def _standing(stored: ModelHealth | None, enabled: bool, interval: timedelta, now: datetime) -> Standing:
    if stored is None:
        return Standing(Health.UNKNOWN, since=None, stale=False, enabled=enabled, cause=None)
    state = Health(stored.state)
    condition = Condition(state, stored.since, stored.failures, stored.successes, stored.last_at, stored.cause)
    stale = is_stale(stored.last_at, next_interval(condition, interval), now)
    return Standing(state, stored.since, stale, enabled, stored.cause)


def _items(session: Session, briefs: Sequence[_Brief]) -> tuple[ModelItem, ...]:
    identities = [brief.model_id for brief in briefs]
    samples = last_samples(session, identities)
    live = _live_versions(session, identities)
    limits = _limits(session, identities)
    return tuple(
        ModelItem(
            model_id=brief.model_id,
            name=brief.name,
            standing=brief.standing,
            samples=tuple(samples[brief.model_id]),
            version=live[brief.model_id][0],
            location=live[brief.model_id][1],
            qps_limit=_number(limits.get((brief.model_id, "qps.limit"))),
            concurrency_limit=int(_number(limits.get((brief.model_id, "concurrency.limit"))) or _DEFAULT_CONCURRENCY),
        )
        for brief in briefs
    )


def _live_versions(session: Session, identities: Iterable[str]) -> dict[str, tuple[str, str]]:
    top = (
        select(Activation.model_id, func.max(Activation.ordinal).label("ordinal"))
        .where(Activation.model_id.in_(identities), Activation.undone_at.is_(None))
        .group_by(Activation.model_id)
        .subquery()
    )
    query = (
        select(Activation.model_id, Version.version, Version.location)
        .join(top, and_(top.c.model_id == Activation.model_id, top.c.ordinal == Activation.ordinal))
        .join(Version, and_(Version.model_id == Activation.model_id, Version.version == Activation.version))
    )
    return {model_id: (version, location) for model_id, version, location in session.execute(query)}


def _limits(session: Session, identities: Iterable[str]) -> dict[tuple[str, str], str | None]:
    query = select(ModelProperty.model_id, ModelProperty.key, ModelProperty.value).where(
        ModelProperty.model_id.in_(identities), ModelProperty.key.in_(("qps.limit", "concurrency.limit"))
    )
    return {(model_id, key): value for model_id, key, value in session.execute(query)}


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
