"""What SHOW and DESCRIBE answer: stored state only, never a call to an endpoint, never a secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from inferlake_registry.contract.health import BreakerState
from inferlake_registry.contract.statements import Column, ColumnType, Scalar, StatementResult
from inferlake_registry.services.breakers import breakers
from inferlake_registry.services.leases import limits_of
from inferlake_registry.services.listings.models import last_samples, standing_of, standings
from inferlake_registry.services.listings.portrait import PropertyItem, create_statement, effective_properties
from inferlake_registry.services.models import aliases_of, get, get_version, live
from inferlake_registry.services.work import Work
from inferlake_registry.store.schema import HealthSample, HistoryEvent, LimitClock, Model, Version
from inferlake_sql.location import check_location, complete
from inferlake_sql.names import parse_name
from inferlake_sql.secret import MASK
from inferlake_sql.statements import (
    DescribeHistory,
    DescribeModel,
    ShowCreateModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
)

_S, _B, _T, _D, _I = (
    ColumnType.STRING,
    ColumnType.BOOLEAN,
    ColumnType.TIMESTAMP,
    ColumnType.DOUBLE,
    ColumnType.BIGINT,
)


def _table(columns: dict[str, ColumnType], rows: list[tuple[Scalar, ...]]) -> StatementResult:
    return StatementResult(tuple(Column(name, kind) for name, kind in columns.items()), tuple(rows))


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds")


def matches(pattern: str | None, name: str) -> bool:
    """Return whether a name fits a pattern of SHOW: ``*`` is anything, ``|`` is or, case does not matter."""
    if pattern is None:
        return True
    return any(_fits(option.strip().casefold(), name.casefold()) for option in pattern.split("|"))


def _fits(option: str, name: str) -> bool:
    """Match one pattern in time linear in the name; a regular expression could be made to take forever."""
    first, *rest = option.split("*")
    if not rest:
        return option == name
    if not name.startswith(first) or len(name) < len(first) + len(rest[-1]) or not name.endswith(rest[-1]):
        return False
    place, end = len(first), len(name) - len(rest[-1])
    for piece in rest[:-1]:
        found = name.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


def _living(work: Work, pattern: str | None, namespace: str | None = None) -> list[Model]:
    # What is shown of them comes in one query a table, not one a model.
    everything = (
        selectinload(Model.versions).selectinload(Version.properties),
        selectinload(Model.activations),
    )
    living = select(Model).where(Model.dropped_at.is_(None)).order_by(Model.name_key).options(*everything)
    return [
        model
        for model in work.session.scalars(living)
        if (namespace is None or _below(model.name_key, namespace))
        and (matches(pattern, model.name) or matches(pattern, parse_name(model.name).last))
    ]


def _below(key: str, namespace: str) -> bool:
    return key.startswith(namespace + ".")


def _health(work: Work, model: Model) -> str:
    standing = standing_of(work.session, model.id, work.now)
    return "unknown" if standing is None else standing.shown_as


def show_models(work: Work, statement: ShowModels) -> StatementResult:
    """SHOW MODELS."""
    namespace = None if statement.namespace is None else statement.namespace.key
    health = {name: standing.shown_as for name, standing in standings(work.session, work.now)}
    rows: list[tuple[Scalar, ...]] = []
    for model in _living(work, statement.pattern, namespace):
        active = get_version(model, live(model).version)
        kind = next((row.value for row in active.properties if row.key == "model.type"), None)
        rows.append(
            (
                model.namespace,
                parse_name(model.name).last,
                kind,
                active.provider,
                active.version,
                model.enabled,
                health[model.name],
                model.comment,
            )
        )
    columns = {"namespace": _S, "name": _S, "type": _S, "provider": _S, "version": _S, "enabled": _B, "health": _S}
    return _table({**columns, "comment": _S}, rows)


def _version_of(model: Model, version: str | None) -> Version:
    return get_version(model, live(model).version if version is None else version)


def show_create(work: Work, statement: ShowCreateModel) -> StatementResult:
    """SHOW CREATE MODEL: text that makes the model again; a literal secret is its mask, which CREATE refuses."""
    model = get(work.session, statement.name)
    text = create_statement(model, _version_of(model, statement.version))
    return _table({"createtab_stmt": _S}, [(text,)])


def describe(work: Work, statement: DescribeModel) -> StatementResult:
    """DESCRIBE MODEL: rows of name, value and source (set, inherited, default or derived)."""
    model = get(work.session, statement.name)
    version = _version_of(model, statement.version)
    properties = effective_properties(model, version)
    kind = next((item.value for item in properties if item.key == "model.type"), None) or "chat"
    url = complete(check_location(version.location), kind)
    rows: list[tuple[Scalar, ...]] = [
        ("name", model.name, "set"),
        ("provider", version.provider, "set"),
        ("location", url, "set" if url == version.location else "derived"),
        ("version", version.version, "set"),
        ("comment", model.comment, "set"),
        ("enabled", "true" if model.enabled else "false", "set"),
    ]
    rows += [(f"input.{name}", kind_, "set") for name, kind_ in model.inputs]
    rows += [(f"output.{name}", kind_, "set") for name, kind_ in model.outputs]
    rows += [(item.key, _shown(item), _source(item)) for item in properties]
    if statement.extended:
        rows += _extended(work, model)
    return _table({"name": _S, "value": _S, "source": _S}, [row for row in rows if row[1] is not None])


def _source(item: PropertyItem) -> str:
    if not item.own:
        return "default"
    return "inherited" if item.inherited else "set"


def _shown(item: PropertyItem) -> str | None:
    return MASK if item.secret else item.value


def _extended(work: Work, model: Model) -> list[tuple[Scalar, ...]]:
    standing = standing_of(work.session, model.id, work.now)
    serving = live(model)
    clock = work.session.get(LimitClock, model.id)
    limits = limits_of(work.session, model, work.now)
    rows: list[tuple[Scalar, ...]] = [
        ("health", _health(work, model), "derived"),
        ("health.since", None if standing is None else _moment(standing.since), "derived"),
        ("health.cause", None if standing is None else standing.cause, "derived"),
        ("breaker", breakers(work.session, work.now).get(model.id, BreakerState.CLOSED).value, "derived"),
        ("traffic", json.dumps(dict(serving.weights)), "set" if serving.shares else "derived"),
        ("aliases", json.dumps(aliases_of(model)) if model.aliases else None, "set"),
        ("limits.holders", str(len(limits.holders)), "derived"),
        ("limits.in_flight", str(sum(holder.in_flight for holder in limits.holders)), "derived"),
        ("last_error", _last_error(work, model), "derived"),
        ("revision", str(model.revision), "derived"),
        ("created_at", _moment(model.created_at), "derived"),
        ("created_by", model.created_by, "derived"),
    ]
    if clock is not None and clock.paused_until > work.now.timestamp():
        until = datetime.fromtimestamp(clock.paused_until, UTC)
        rows.append(("paused_until", _moment(until), "derived"))
    return rows


def _last_error(work: Work, model: Model) -> str | None:
    """Return what the last failed probe found and when, of those that are kept."""
    failed = (
        select(HealthSample.at, HealthSample.cause)
        .where(HealthSample.model_id == model.id, HealthSample.ok.is_(False))
        .order_by(HealthSample.at.desc())
        .limit(1)
    )
    found = work.session.execute(failed).one_or_none()
    return None if found is None else f"{_moment(found[0])} {found[1]}"


def show_versions(work: Work, statement: ShowVersions) -> StatementResult:
    """SHOW VERSIONS IN MODEL, in the order of their creation."""
    model = get(work.session, statement.name)
    serving = live(model)
    aliases = aliases_of(model)
    rows: list[tuple[Scalar, ...]] = [
        (
            row.version,
            _moment(row.created_at),
            row.created_by,
            row.location,
            ", ".join(sorted(alias for alias, target in aliases.items() if target == row.version)) or None,
            serving.weights.get(row.version, 0),
            row.version == serving.version,
            row.comment,
        )
        for row in model.versions
    ]
    columns = {"version": _S, "created_at": _T, "created_by": _S, "location": _S, "aliases": _S, "share": _I}
    return _table({**columns, "active": _B, "comment": _S}, rows)


def history(work: Work, statement: DescribeHistory) -> StatementResult:
    """DESCRIBE HISTORY MODEL, the latest change first; it moves with RENAME and survives DROP."""
    model = get(work.session, statement.name)
    events = work.session.scalars(
        select(HistoryEvent).where(HistoryEvent.model_id == model.id).order_by(HistoryEvent.id.desc())
    )
    rows: list[tuple[Scalar, ...]] = [
        (
            _moment(event.at),
            event.actor,
            event.action,
            event.statement,
            json.dumps(event.before, ensure_ascii=False),
            json.dumps(event.after, ensure_ascii=False),
        )
        for event in events
    ]
    return _table({"at": _T, "by": _S, "action": _S, "statement": _S, "before": _S, "after": _S}, rows)


def show_health(work: Work, statement: ShowHealth) -> StatementResult:
    """SHOW MODEL HEALTH: what probes found, and whether workers have stopped calling."""
    found = _living(work, statement.pattern)
    health = dict(standings(work.session, work.now))
    reported = breakers(work.session, work.now)
    samples = last_samples(work.session, [model.id for model in found], 1)
    rows: list[tuple[Scalar, ...]] = []
    for model in found:
        standing = health[model.name]
        last = samples[model.id][-1] if samples[model.id] else None
        rows.append(
            (
                model.name,
                standing.shown_as,
                _moment(standing.since),
                None if last is None else _moment(last.at),
                None if last is None else last.latency_ms,
                reported.get(model.id, BreakerState.CLOSED).value,
                standing.cause,
            )
        )
    columns = {"model": _S, "health": _S, "since": _T, "last_probe": _T, "latency_ms": _D, "breaker": _S, "cause": _S}
    return _table(columns, rows)


def show_properties(work: Work, statement: ShowProperties) -> StatementResult:
    """SHOW MODEL PROPERTIES, secrets masked."""
    model = get(work.session, statement.name)
    items = effective_properties(model, _version_of(model, None))
    rows: list[tuple[Scalar, ...]] = [
        (item.key, _shown(item), _source(item)) for item in items if statement.key is None or item.key == statement.key
    ]
    return _table({"key": _S, "value": _S, "source": _S}, rows)
