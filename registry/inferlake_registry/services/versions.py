"""Versions: adding one, activating one, splitting, rolling back, and what changes a model in place."""

from __future__ import annotations

from collections.abc import Sequence

from inferlake_registry.contract.problems import (
    NoPreviousVersion,
    SplitActive,
    VersionExists,
    VersionInUse,
    VersionNotFound,
)
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.domain.versions import Activated, next_version, rollback_depth, uses_of
from inferlake_registry.services.bound_keys import host_of, is_header, not_sent, properties_for
from inferlake_registry.services.leases import change_limit
from inferlake_registry.services.models import (
    activate,
    activated,
    active_version,
    aliases_of,
    find_version,
    get_version,
    live,
    new_id,
    stack_of,
)
from inferlake_registry.services.properties import (
    copy_version_row,
    put,
    same_content,
    shown,
    split_by_effect,
    version_row,
)
from inferlake_registry.services.secret_members import inherited, secret_members
from inferlake_registry.services.snapshot import call_settings
from inferlake_registry.services.work import Work, outcome, record
from inferlake_registry.store.schema import Model, Version, VersionProperty
from inferlake_sql.errors import JsonValue
from inferlake_sql.location import Location, check_key_transport, check_location, complete
from inferlake_sql.properties import Property, show_value
from inferlake_sql.secret import Secret, SecretReference
from inferlake_sql.statements import (
    AddVersion,
    DropVersion,
    Rollback,
    SetProperties,
    SetTraffic,
    SetVersion,
    UnsetTraffic,
)

# Changes of these act on running jobs within one lease.
_LIMIT_KEYS = frozenset({"qps.limit", "tpm.limit", "concurrency.limit", "concurrency.per.worker"})


def check_endpoint(location: Location, properties: Sequence[Property]) -> tuple[str, ...]:
    """Check that address, type and secrets go together. Raises InvalidLocation; returns warnings."""
    values = {item.key: item.value for item in properties}
    complete(location, str(values.get("model.type", "chat")))
    if not any(isinstance(value, (Secret, SecretReference)) for value in values.values()):
        return ()
    warned = check_key_transport(location, allow_insecure=values.get("allow.insecure") is True)
    return ("The key travels over plain http to a private host.",) if warned else ()


def check_transport(model: Model) -> None:
    """Check that no version would send a key of its host unencrypted to the public. Raises InvalidLocation."""
    insecure = any(row.key == "allow.insecure" and row.value == "true" for row in model.properties)
    for version in model.versions:
        location = check_location(version.location)
        headers = properties_for(model, location.host)
        if secret_members(version) or any(row.secret is not None or row.reference is not None for row in headers):
            check_key_transport(location, allow_insecure=insecure)


def describe_content(version: Version) -> dict[str, JsonValue]:
    """Return what a version says, secrets hidden, for the history."""
    return {"location": version.location, "properties": {row.key: shown(row) for row in version.properties}}


def add_version(
    work: Work,
    model: Model,
    version: str,
    provider: str | None,
    location: str,
    rows: list[VersionProperty],
    comment: str | None,
) -> bool:
    """Add a version; returns False when it is there already with the same content. Raises VersionExists."""
    existing = find_version(model, version)
    if existing is not None:
        if same_content(existing, provider, location, rows, work.ring):
            return False
        raise VersionExists(model.name, version)
    model.versions.append(
        Version(
            id=new_id(),
            version=version,
            ordinal=max(row.ordinal for row in model.versions) + 1,
            provider=provider,
            location=location,
            comment=comment,
            created_at=work.now,
            created_by=work.actor,
            properties=rows,
        )
    )
    return True


def _derived(
    work: Work, model: Model, identity: Sequence[Property], location: Location | None
) -> tuple[str, list[VersionProperty], tuple[str, ...]]:
    """Return address, identity rows and notices of a version that inherits from the active one what is not given."""
    base = active_version(model)
    named = {item.key for item in identity}
    url = location.url if location is not None else base.location
    others, notices = inherited([row for row in base.properties if row.key not in named], base.location, url)
    rows = [copy_version_row(row) for row in others]
    rows += [version_row(item, work.ring, work.now) for item in identity]
    kind = next((row.value for row in rows if row.key == "model.type"), None) or "chat"
    complete(check_location(url), kind)
    return url, sorted(rows, key=lambda row: row.key), notices


def change_operational(work: Work, model: Model, items: Sequence[Property], host: str) -> None:
    """Set operational properties in place, secrets for ``host``; limits and secrets get a new epoch.

    Running jobs notice a new epoch.
    """
    limit = call_settings(model).qps_limit
    for item in items:
        put(model, item, host, work.ring, work.now)
    change_limit(work.session, model, limit, work.now)
    if any(item.key in _LIMIT_KEYS for item in items):
        model.limit_epoch += 1
    if any(item.spec.secret for item in items):
        model.secret_epoch += 1


def add(work: Work, model: Model, statement: AddVersion) -> StatementResult:
    """ADD VERSION: immutable, not activated; repeating the same definition changes nothing."""
    identity, operational = split_by_effect(statement.properties)
    location, rows, left = _derived(work, model, identity, statement.location)
    provider = statement.provider or active_version(model).provider
    if not add_version(work, model, statement.version, provider, location, rows, statement.comment):
        existing = get_version(model, statement.version)
        return _changed_in_place(work, model, existing, operational, "the version exists with the same content")
    model.managed = True
    change_operational(work, model, operational, host_of(location))
    check_transport(model)
    work.session.flush()
    record(work, model, "version added", {}, {"version": statement.version, "location": location})
    return outcome(
        "version added",
        model.name,
        statement.version,
        f"not active; ALTER MODEL {model.name} SET VERSION '{statement.version}' activates it",
        *_in_place(operational),
        *left,
        *not_sent(model, host_of(location)),
    )


def _in_place(operational: Sequence[Property]) -> tuple[str, ...]:
    keys = ", ".join(item.key for item in operational)
    return (
        (f"Operational properties belong to the model, not to a version, and changed in place: {keys}.",)
        if keys
        else ()
    )


def _changed_in_place(
    work: Work, model: Model, version: Version, operational: Sequence[Property], nothing: str
) -> StatementResult:
    """Set operational properties, secrets for the version's host; where none differs, answer that nothing has changed.

    ``nothing`` says why.
    """
    host = host_of(version.location)
    before = {row.key: shown(row) for row in properties_for(model, host)}
    news = [
        item for item in operational if isinstance(item.value, Secret) or before.get(item.key) != show_value(item.value)
    ]
    if not news:
        return outcome("unchanged", model.name, version.version, nothing)
    change_operational(work, model, news, host)
    check_transport(model)
    old: dict[str, JsonValue] = {item.key: before[item.key] for item in news if item.key in before}
    record(work, model, "altered", old, {item.key: show_value(item.value) for item in news})
    done = ", ".join(f"{item.key} = {show_value(item.value)}" for item in news)
    given = any(is_header(item.key) for item in news)
    notices = not_sent(model, *_serving_hosts(model)) if given else ()
    return outcome("altered", model.name, version.version, f"changed in place: {done}", *notices)


def set_version(work: Work, model: Model, statement: SetVersion) -> StatementResult:
    """SET VERSION: activate; an unknown version of a model that was never versioned is a label on what serves now."""
    version = statement.version
    existing = find_version(model, version)
    defines = statement.location is not None or bool(statement.properties)
    before = live(model)
    if existing is None and model.managed and not defines:
        raise VersionNotFound(model.name, version, [row.version for row in model.versions])
    notices: tuple[str, ...] = ()
    if existing is None or defines:
        identity, operational = split_by_effect(statement.properties)
        location, rows, left = _derived(work, model, identity, statement.location)
        if existing is None or identity or statement.location is not None:
            add_version(work, model, version, active_version(model).provider, location, rows, None)
        model.managed = model.managed or defines
        change_operational(work, model, operational, host_of(get_version(model, version).location))
        check_transport(model)
        added = _added(model, version, before.version, defines) if existing is None else _in_place(operational)
        notices = (*added, *left)
    if before.version == version and before.shares is None:
        return outcome("unchanged", model.name, version, "the version is active already", *notices)
    activate(work, model, version)
    work.session.flush()
    record(work, model, "activated", _weights(before), {"version": version})
    return _serving(model, "activated", f"version {version} serves all calls", *notices)


def _serving(model: Model, action: str, message: str, *notices: str) -> StatementResult:
    """Return the answer to a change of what serves, with a notice where a key stays behind with another host."""
    left = not_sent(model, *_serving_hosts(model))
    return outcome(action, model.name, live(model).version, message, *notices, *left)


def _serving_hosts(model: Model) -> list[str]:
    return [host_of(get_version(model, version).location) for version in live(model).weights]


def _added(model: Model, version: str, copied: str, defines: bool) -> tuple[str, ...]:
    if defines:
        return (f"Version {version} was new and has been added.",)
    return (f"Version {version} was unknown: it was added as a copy of version {copied}.",)


def _weights(live_one: Activated) -> dict[str, JsonValue]:
    if live_one.shares is None:
        return {"version": live_one.version}
    return {"version": live_one.version, "traffic": dict(live_one.shares)}


def set_properties(work: Work, model: Model, statement: SetProperties) -> StatementResult:
    """SET: operational keys in place; an identity key, LOCATION or USING makes the next version and activates it."""
    identity, operational = split_by_effect(statement.properties)
    changes_identity = bool(identity) or statement.location is not None or statement.provider is not None
    if changes_identity and live(model).shares is not None:
        raise SplitActive(model.name)
    active = active_version(model)
    location, rows, left = _derived(work, model, identity, statement.location)
    provider = statement.provider or active.provider
    if not changes_identity or same_content(active, provider, location, rows, work.ring):
        return _changed_in_place(work, model, active, operational, "the model says this already")
    before: dict[str, JsonValue] = {
        row.key: shown(row) for row in model.properties if row.key in {item.key for item in operational}
    }
    before["version"] = active.version
    after: dict[str, JsonValue] = {item.key: show_value(item.value) for item in operational}
    version = next_version(row.version for row in model.versions)
    change_operational(work, model, operational, host_of(location))
    add_version(work, model, version, provider, location, rows, None)
    activate(work, model, version)
    check_transport(model)
    work.session.flush()
    record(work, model, "altered", before, {**after, "version": version, **describe_content(active_version(model))})
    return _serving(model, "altered", f"made version {version} and activated it", *_in_place(operational), *left)


def set_traffic(work: Work, model: Model, statement: SetTraffic) -> StatementResult:
    """SET TRAFFIC: every version must exist; the split is an activation that ROLLBACK can leave again."""
    for share in statement.shares:
        get_version(model, share.version)
    shares = {share.version: share.percent for share in statement.shares if share.percent > 0}
    before = live(model)
    if before.shares == shares:
        return outcome("unchanged", model.name, before.version, "the traffic is split like this already")
    activate(work, model, before.version, shares)
    record(work, model, "split", _weights(before), {"traffic": dict(shares)})
    text = ", ".join(f"{version} {percent} %" for version, percent in shares.items())
    return _serving(model, "split", f"traffic: {text}")


def unset_traffic(work: Work, model: Model, statement: UnsetTraffic) -> StatementResult:
    """UNSET TRAFFIC: everything to the active version."""
    before = live(model)
    if before.shares is None:
        return outcome("unchanged", model.name, before.version, "the traffic is not split")
    activate(work, model, before.version)
    record(work, model, "activated", _weights(before), {"version": before.version})
    return _serving(model, "activated", f"version {before.version} serves all calls")


def rollback(work: Work, model: Model, statement: Rollback) -> StatementResult:
    """ROLLBACK: undo activations from the top of the stack; twice goes one further back."""
    if statement.version is not None:
        get_version(model, statement.version)
    stack = stack_of(model)
    depth = rollback_depth([activated(entry) for entry in stack], statement.version)
    if depth is None:
        raise NoPreviousVersion(model.name, statement.version)
    before = live(model)
    for entry in stack[-depth:]:
        entry.undone_at = work.now
    now_live = live(model)
    record(
        work,
        model,
        "rolled back",
        _weights(before),
        _weights(now_live),
    )
    return _serving(model, "rolled back", f"from version {before.version}")


def drop_version(work: Work, model: Model, statement: DropVersion) -> StatementResult:
    """DROP VERSION: refused while anything uses it, and out of the stack of activations as well."""
    row = find_version(model, statement.version)
    if row is None and statement.version_if_exists:
        return outcome("unchanged", model.name, statement.version, "there is no such version")
    row = get_version(model, statement.version)
    use = uses_of(row.version, live(model), aliases_of(model))
    if use is not None:
        raise VersionInUse(model.name, row.version, use)
    for entry in stack_of(model):
        if row.version in activated(entry).weights:
            entry.undone_at = work.now
    content = describe_content(row)
    model.versions.remove(row)
    record(work, model, "version dropped", {"version": statement.version, **content}, {})
    return outcome("version dropped", model.name, statement.version, "no rollback returns to it")
