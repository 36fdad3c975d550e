"""What changes a model without touching its versions: comment, name, aliases, switch, properties back to default."""

from __future__ import annotations

from inferlake_registry.contract.problems import AliasNotFound, ModelAlreadyExists, SplitActive
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.domain.versions import next_version
from inferlake_registry.services.leases import change_limit
from inferlake_registry.services.models import (
    activate,
    active_version,
    aliases_of,
    find,
    get_alias,
    get_version,
    live,
)
from inferlake_registry.services.properties import copy_version_row, pinned_name, shown
from inferlake_registry.services.snapshot import call_settings
from inferlake_registry.services.versions import add_version, check_transport
from inferlake_registry.services.work import Work, outcome, record
from inferlake_registry.store.schema import Alias, Model
from inferlake_sql.errors import JsonValue
from inferlake_sql.properties import Effect, find_spec
from inferlake_sql.statements import (
    RenameModel,
    SetAlias,
    SetComment,
    SetEnabled,
    UnsetAlias,
    UnsetProperties,
)


def set_comment(work: Work, model: Model, statement: SetComment) -> StatementResult:
    """SET COMMENT, in place."""
    before = model.comment
    model.comment = statement.comment
    record(work, model, "altered", {"comment": before}, {"comment": statement.comment})
    return outcome("altered", model.name, live(model).version, "the comment is changed")


def rename(work: Work, model: Model, statement: RenameModel) -> StatementResult:
    """RENAME TO: history moves, the old name is free at once and leads nowhere."""
    taken = find(work.session, statement.new_name)
    if taken is not None and taken.id != model.id:
        raise ModelAlreadyExists(taken.name)
    before = model.name
    pin_model_names(work, model)
    model.name, model.name_key = statement.new_name.display, statement.new_name.key
    model.namespace = statement.new_name.namespace
    record(work, model, "renamed", {"name": before}, {"name": model.name})
    return outcome("renamed", model.name, live(model).version, f"was {before}")


def pin_model_names(work: Work, model: Model) -> None:
    """Write down what each version calls itself by default: the endpoint goes on knowing it by that name."""
    for version in model.versions:
        version.properties.extend(pinned_name(version.properties, model.name, work.now))


def set_alias(work: Work, model: Model, statement: SetAlias) -> StatementResult:
    """SET ALIAS: moves it from wherever it pointed."""
    get_version(model, statement.version)
    row = next((row for row in model.aliases if row.alias == statement.alias), None)
    before = None if row is None else row.version
    if before == statement.version:
        return outcome("unchanged", model.name, statement.version, f"{statement.alias} points there already")
    if row is None:
        model.aliases.append(Alias(alias=statement.alias, version=statement.version, moved_at=work.now))
    else:
        row.version, row.moved_at = statement.version, work.now
    record(work, model, "alias set", {statement.alias: before}, {statement.alias: statement.version})
    return outcome("alias set", model.name, statement.version, f"{model.name}@{statement.alias} names it")


def unset_alias(work: Work, model: Model, statement: UnsetAlias) -> StatementResult:
    """UNSET ALIAS. Raises AliasNotFound, also when it points at another version than the one named."""
    version = get_alias(model, statement.alias)
    if statement.version is not None and version != statement.version:
        on_it = sorted(alias for alias, target in aliases_of(model).items() if target == statement.version)
        raise AliasNotFound(model.name, statement.alias, on_it)
    model.aliases[:] = [row for row in model.aliases if row.alias != statement.alias]
    record(work, model, "alias unset", {statement.alias: version}, {})
    return outcome("alias unset", model.name, version, f"{statement.alias} names nothing any more")


def set_enabled(work: Work, model: Model, statement: SetEnabled) -> StatementResult:
    """ENABLE and DISABLE: the kill switch; running jobs notice it at their next lease."""
    action = "enabled" if statement.enabled else "disabled"
    if model.enabled is statement.enabled:
        return outcome("unchanged", model.name, live(model).version, f"the model is {action} already")
    model.enabled = statement.enabled
    model.limit_epoch += 1
    record(work, model, action, {"enabled": not statement.enabled}, {"enabled": statement.enabled})
    message = "calls are allowed" if statement.enabled else "new calls raise MODEL_DISABLED"
    return outcome(action, model.name, live(model).version, message)


def unset_properties(work: Work, model: Model, statement: UnsetProperties) -> StatementResult:
    """UNSET: back to the default. An identity key makes the next version, as setting it does."""
    present = {row.key: shown(row) for row in model.properties}
    present |= {row.key: shown(row) for row in active_version(model).properties}
    keys = [key for key in statement.keys if key in present]
    notices = tuple(f"{key} was not set." for key in statement.keys if key not in present)
    if not keys:
        quiet = () if statement.keys_if_exist else notices
        return outcome("unchanged", model.name, live(model).version, "nothing was set", *quiet)
    changes_identity = any(find_spec(key).effect is Effect.IDENTITY for key in keys)
    if changes_identity and live(model).shares is not None:
        raise SplitActive(model.name)
    before: dict[str, JsonValue] = {key: present[key] for key in keys}
    operational = [row for row in model.properties if row.key in keys]
    if any(row.secret is not None or row.reference is not None for row in operational):
        model.secret_epoch += 1
    limit = call_settings(model).qps_limit
    model.properties[:] = [row for row in model.properties if row.key not in keys]
    change_limit(work.session, model, limit, work.now)
    model.limit_epoch += 1
    version = live(model).version
    if changes_identity:
        version = _without(work, model, keys)
    check_transport(model)
    work.session.flush()
    record(work, model, "altered", before, {"version": version})
    shown_notices = () if statement.keys_if_exist else notices
    return outcome("altered", model.name, version, f"back to the default: {', '.join(keys)}", *shown_notices)


def _without(work: Work, model: Model, keys: list[str]) -> str:
    base = active_version(model)
    version = next_version(row.version for row in model.versions)
    rows = [copy_version_row(row) for row in base.properties if row.key not in keys]
    add_version(work, model, version, base.provider, base.location, rows, None)
    activate(work, model, version)
    return version
