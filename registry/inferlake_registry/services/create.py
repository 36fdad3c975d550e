"""CREATE, DROP and UNDROP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, assert_never

from sqlalchemy import select

from inferlake_registry.contract.problems import ModelAlreadyExists, NotDropped
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.domain.versions import next_version
from inferlake_registry.services.bound_keys import EVERY_HOST, host_of, properties_for
from inferlake_registry.services.leases import change_limit
from inferlake_registry.services.models import activate, active_version, find, get, live, new_id
from inferlake_registry.services.properties import (
    copy_version_row,
    pinned_name,
    put,
    split_by_effect,
    typed,
    version_row,
)
from inferlake_registry.services.secret_members import is_secret
from inferlake_registry.services.snapshot import call_settings
from inferlake_registry.services.versions import (
    add_version,
    change_operational,
    check_endpoint,
    check_transport,
    describe_content,
)
from inferlake_registry.services.work import Work, outcome, record
from inferlake_registry.store.schema import Model, ModelProperty, Version, VersionProperty
from inferlake_sql.errors import JsonValue, NotSupported, RequiredProperty
from inferlake_sql.location import Location, type_of_path
from inferlake_sql.names import ModelName
from inferlake_sql.properties import Property, normalise
from inferlake_sql.statements import (
    ContractColumn,
    CreateModel,
    CreateModelLike,
    DropModel,
    IfPresent,
    UndropModel,
)


def create(work: Work, statement: CreateModel) -> StatementResult:
    """Register a model with its first version, active at 100 %."""
    _refuse_temporary(statement.temporary)
    statement = replace(statement, properties=with_type(statement.location, statement.properties))
    notices = check_endpoint(statement.location, statement.properties)
    existing = find(work.session, statement.name)
    if existing is None:
        version = statement.version or "1"
        model = _new_model(work, statement.name, statement.comment, managed=statement.version is not None)
        _set_contract(model, statement)
        _first_version(work, model, version, statement)
        record(work, model, "created", {}, {"version": version, **describe_content(active_version(model))})
        return outcome("created", model.name, version, f"version {version} is active", *notices)
    match statement.if_present:
        case IfPresent.ERROR:
            raise ModelAlreadyExists(existing.name)
        case IfPresent.KEEP:
            return _kept(work, existing, statement)
        case IfPresent.REPLACE:
            return _replaced(work, existing, statement, notices)
        case _:
            assert_never(statement.if_present)


def with_type(location: Location, properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return the properties with ``model.type``, taken from the address's path where it is not given."""
    if any(item.key == "model.type" for item in properties):
        return properties
    said = type_of_path(location)
    if said is None:
        raise RequiredProperty(
            "model.type", "Say 'model.type' = 'chat', 'completions' or 'embedding', or end LOCATION with its path."
        )
    return (normalise("model.type", said), *properties)


def _refuse_temporary(temporary: bool) -> None:
    if temporary:
        raise NotSupported("a TEMPORARY model", "Create it without TEMPORARY and drop it when you are done.")


def _new_model(work: Work, name: ModelName, comment: str | None, *, managed: bool) -> Model:
    model = Model(
        id=new_id(),
        name=name.display,
        name_key=name.key,
        namespace=name.namespace,
        comment=comment,
        enabled=True,
        managed=managed,
        limit_epoch=1,
        secret_epoch=1,
        inputs=[],
        outputs=[],
        created_at=work.now,
        created_by=work.actor,
        updated_at=work.now,
    )
    work.session.add(model)
    return model


def _set_contract(model: Model, statement: CreateModel) -> None:
    model.inputs = _columns(statement.input)
    model.outputs = _columns(statement.output)


def _columns(columns: Iterable[ContractColumn]) -> list[Any]:
    return [[column.name, column.type] for column in columns]


def _first_version(work: Work, model: Model, version: str, statement: CreateModel) -> None:
    identity, operational = split_by_effect(statement.properties)
    row = Version(
        id=new_id(),
        version=version,
        ordinal=1,
        provider=statement.provider,
        location=statement.location.url,
        created_at=work.now,
        created_by=work.actor,
    )
    row.properties = [version_row(item, work.ring, work.now) for item in identity]
    model.versions.append(row)
    for item in operational:
        put(model, item, statement.location.host, work.ring, work.now)
    activate(work, model, version)
    work.session.flush()


def _kept(work: Work, model: Model, statement: CreateModel) -> StatementResult:
    version = active_version(model)
    wanted = {item.key: item.value for item in statement.properties}
    rows = properties_for(model, host_of(version.location))
    stored = {item.key: item.value for item in (*map(typed, version.properties), *map(typed, rows))}
    different = version.location != statement.location.url or _differ(wanted, stored)
    notice = (f"Model {model.name} exists with another definition, which stays as it is.",) if different else ()
    return outcome("unchanged", model.name, version.version, "the model exists", *notice)


def _differ(wanted: Mapping[str, object], stored: Mapping[str, object]) -> bool:
    # A secret cannot be compared here, and need not be: the notice is about what people can see.
    plain = {key: str(value) for key, value in wanted.items()}
    return plain != {key: str(value) for key, value in stored.items()}


def _replaced(work: Work, model: Model, statement: CreateModel, notices: tuple[str, ...]) -> StatementResult:
    identity, operational = split_by_effect(statement.properties)
    version = statement.version or next_version(row.version for row in model.versions)
    rows = [version_row(item, work.ring, work.now) for item in identity]
    before: dict[str, JsonValue] = {"version": live(model).version}
    add_version(work, model, version, statement.provider, statement.location.url, rows, None)
    if statement.version is not None:
        model.managed = True
    _replace_operational(work, model, operational, statement.location.host)
    check_transport(model)
    _set_contract(model, statement)
    if statement.comment is not None:
        model.comment = statement.comment
    activate(work, model, version)
    record(work, model, "replaced", before, {"version": version, **describe_content(active_version(model))})
    return outcome("replaced", model.name, version, f"version {version} is active; earlier versions stay", *notices)


def _replace_operational(work: Work, model: Model, operational: tuple[Property, ...], host: str) -> None:
    """What a replacement does not name goes back to its default; keys of other hosts stay, for their versions do."""
    named = {item.key for item in operational}
    limit = call_settings(model).qps_limit
    model.properties[:] = [row for row in model.properties if row.key in named or row.host not in (EVERY_HOST, host)]
    change_limit(work.session, model, limit, work.now)
    change_operational(work, model, operational, host)
    model.limit_epoch += 1
    model.secret_epoch += 1


def create_like(work: Work, statement: CreateModelLike) -> StatementResult:
    """Register a copy of another model's active version; its secrets are not copied."""
    _refuse_temporary(statement.temporary)
    source = get(work.session, statement.source)
    existing = find(work.session, statement.name)
    if existing is None:
        return _copied(work, statement, source)
    match statement.if_present:
        case IfPresent.ERROR:
            raise ModelAlreadyExists(existing.name)
        case IfPresent.KEEP:
            return outcome("unchanged", existing.name, live(existing).version, "the model exists")
        case IfPresent.REPLACE:
            return _replaced_by_copy(work, existing, source)
        case _:
            assert_never(statement.if_present)


def _copied(work: Work, statement: CreateModelLike, source: Model) -> StatementResult:
    origin = active_version(source)
    model = _new_model(work, statement.name, statement.comment or source.comment, managed=False)
    row = Version(
        id=new_id(),
        version="1",
        ordinal=1,
        provider=origin.provider,
        location=origin.location,
        created_at=work.now,
        created_by=work.actor,
    )
    row.properties = _copied_rows(work, source)
    model.versions.append(row)
    _copy_settings(work, model, source)
    activate(work, model, "1")
    work.session.flush()
    record(work, model, "created", {}, {"version": "1", "like": source.name})
    return outcome("created", model.name, "1", f"a copy of {source.name}", *_left(model, source))


def _replaced_by_copy(work: Work, model: Model, source: Model) -> StatementResult:
    origin = active_version(source)
    version = next_version(row.version for row in model.versions)
    before: dict[str, JsonValue] = {"version": live(model).version}
    add_version(work, model, version, origin.provider, origin.location, _copied_rows(work, source), None)
    _replace_operational(work, model, (), host_of(origin.location))
    work.session.flush()
    _copy_settings(work, model, source)
    activate(work, model, version)
    record(work, model, "replaced", before, {"version": version, "like": source.name})
    message = f"version {version} is active, a copy of {source.name}; earlier versions stay"
    return outcome("replaced", model.name, version, message, *_left(model, source))


def _copied_rows(work: Work, source: Model) -> list[VersionProperty]:
    origin = active_version(source)
    rows = [copy_version_row(item) for item in origin.properties if not is_secret(item)]
    return rows + pinned_name(origin.properties, source.name, work.now)


def _copy_settings(work: Work, model: Model, source: Model) -> None:
    model.inputs, model.outputs = list(source.inputs), list(source.outputs)
    model.properties += [
        ModelProperty(key=item.key, value=item.value, changed_at=work.now)
        for item in source.properties
        if item.secret is None and item.reference is None
    ]


def _left(model: Model, source: Model) -> tuple[str, ...]:
    keys = {row.key for row in source.properties} - {row.key for row in model.properties}
    keys |= {row.key for row in active_version(source).properties if is_secret(row)}
    return (f"Not copied, since they are secret: {', '.join(sorted(keys))}.",) if keys else ()


def drop(work: Work, statement: DropModel) -> StatementResult:
    """Drop every version, softly: UNDROP MODEL brings them back."""
    _refuse_temporary(statement.temporary)
    model = find(work.session, statement.name)
    if model is None and statement.if_exists:
        return outcome("unchanged", statement.name.display, None, "there is no such model")
    model = get(work.session, statement.name)
    model.dropped_at = work.now
    record(work, model, "dropped", {"version": live(model).version}, {})
    return outcome("dropped", model.name, None, f"UNDROP MODEL {model.name} brings it back; the name is free at once")


def undrop(work: Work, statement: UndropModel) -> StatementResult:
    """Bring back the model that was dropped last under this name."""
    if (existing := find(work.session, statement.name)) is not None:
        raise ModelAlreadyExists(existing.name)
    dropped = select(Model).where(Model.name_key == statement.name.key, Model.dropped_at.is_not(None))
    model = work.session.scalar(dropped.order_by(Model.dropped_at.desc()).limit(1))
    if model is None:
        raise NotDropped(statement.name.display)
    model.dropped_at = None
    record(work, model, "undropped", {}, {"version": live(model).version})
    return outcome("undropped", model.name, live(model).version, "all its versions are back")
