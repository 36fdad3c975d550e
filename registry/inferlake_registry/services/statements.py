"""One statement, carried out whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from inferlake_registry.contract.problems import BadRequest, ConcurrentModification
from inferlake_registry.contract.statements import StatementResult
from inferlake_registry.services import alter, create, show, versions
from inferlake_registry.services.models import find, get
from inferlake_registry.services.races import Seen, check, look
from inferlake_registry.services.spelling import check_letters
from inferlake_registry.services.work import Work, outcome
from inferlake_registry.store.database import Database
from inferlake_registry.store.schema import Model
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import InferlakeError, NotSupported
from inferlake_sql.render import render
from inferlake_sql.statements import (
    AddVersion,
    CreateModel,
    CreateModelLike,
    DescribeHistory,
    DescribeModel,
    DropModel,
    DropVersion,
    ExplainAi,
    Grant,
    RenameModel,
    Revoke,
    Rollback,
    RouteQuery,
    SetAlias,
    SetComment,
    SetEnabled,
    SetProperties,
    SetTraffic,
    SetVersion,
    ShowCreateModel,
    ShowHealth,
    ShowModels,
    ShowProperties,
    ShowVersions,
    Statement,
    TestModel,
    UndropModel,
    UnsetAlias,
    UnsetProperties,
    UnsetTraffic,
)

Reading = ShowModels | ShowCreateModel | DescribeModel | ShowVersions | DescribeHistory | ShowHealth | ShowProperties
Altering = (
    AddVersion
    | SetVersion
    | SetProperties
    | UnsetProperties
    | SetComment
    | RenameModel
    | SetAlias
    | UnsetAlias
    | SetTraffic
    | UnsetTraffic
    | Rollback
    | DropVersion
    | SetEnabled
)
Changing = CreateModel | CreateModelLike | DropModel | UndropModel | Altering
Elsewhere = Grant | Revoke | ExplainAi | RouteQuery | TestModel

# Databases that lock rows tell the loser of a race only when it writes; the second time it sees what the winner did.
_TRIES: Final = 2


class _DryRun(Exception):
    """Ends a transaction that was only to show what would happen."""

    def __init__(self, result: StatementResult) -> None:
        self.result = result


def execute(
    database: Database,
    ring: KeyRing,
    statement: Statement,
    *,
    actor: str,
    now: datetime,
    dry_run: bool = False,
    case_sensitive: bool = False,
) -> StatementResult:
    """Carry out a statement in one transaction, with its history; with ``dry_run`` undo it at the end.

    With ``case_sensitive`` a model is found only by its name in the very same letters. TEST MODEL calls an endpoint and
    is not for this function. Raises the errors of the family.
    """
    if isinstance(statement, Reading):
        with database.read() as session:
            if case_sensitive:
                check_letters(session, statement)
            return _read(_work(session, ring, statement, actor, now), statement)
    if isinstance(statement, Elsewhere):
        raise _refusal(statement)
    with database.read() as session:
        seen = look(session, statement.name)
    for _ in range(_TRIES):
        try:
            return _write(database, _Change(ring, statement, actor, now, seen, case_sensitive), dry_run)
        except (StaleDataError, IntegrityError):
            continue
    raise ConcurrentModification(statement.name.display)


def _work(session: Session, ring: KeyRing, statement: Statement, actor: str, now: datetime) -> Work:
    return Work(session, ring, actor, now, render(statement))


@dataclass(frozen=True, slots=True)
class _Change:
    """A changing statement with what it takes to carry it out."""

    ring: KeyRing
    statement: Changing
    actor: str
    now: datetime
    seen: Seen
    case_sensitive: bool


def _write(database: Database, change: _Change, dry_run: bool) -> StatementResult:
    try:
        with database.write() as session:
            check(session, change.statement.name, change.statement, change.seen)
            if change.case_sensitive and not check_letters(session, change.statement):
                return outcome("unchanged", change.statement.name.display, None, "there is no such model")
            work = _work(session, change.ring, change.statement, change.actor, change.now)
            result = _change(work, change.statement)
            session.flush()
            if dry_run:
                raise _DryRun(result)
            return result
    except _DryRun as planned:
        note = "This was a dry run: nothing has changed."
        return StatementResult(planned.result.columns, planned.result.rows, (*planned.result.notices, note))


def _read(work: Work, statement: Reading) -> StatementResult:
    match statement:
        case ShowModels():
            return show.show_models(work, statement)
        case ShowCreateModel():
            return show.show_create(work, statement)
        case DescribeModel():
            return show.describe(work, statement)
        case ShowVersions():
            return show.show_versions(work, statement)
        case DescribeHistory():
            return show.history(work, statement)
        case ShowHealth():
            return show.show_health(work, statement)
        case ShowProperties():
            return show.show_properties(work, statement)
        case _:
            assert_never(statement)


def _refusal(statement: Elsewhere) -> InferlakeError:
    """Say where a statement that is not for this function is carried out, if anywhere."""
    match statement:
        case Grant() | Revoke():
            return NotSupported("GRANT and REVOKE on models", "Whoever reaches the registry may use every model.")
        case ExplainAi() | RouteQuery():
            return BadRequest("this statement holds a Spark query; run it with spark.sql after inferlake.enable(spark)")
        case TestModel():
            return BadRequest("TEST MODEL calls the endpoint and cannot be planned")
        case _:
            assert_never(statement)


def _change(work: Work, statement: Changing) -> StatementResult:
    match statement:
        case CreateModel():
            return create.create(work, statement)
        case CreateModelLike():
            return create.create_like(work, statement)
        case DropModel():
            return create.drop(work, statement)
        case UndropModel():
            return create.undrop(work, statement)
        case _:
            return _alter(work, statement)


def _alter(work: Work, statement: Altering) -> StatementResult:
    if statement.if_exists and find(work.session, statement.name) is None:
        return outcome("unchanged", statement.name.display, None, "there is no such model")
    return _altered(work, get(work.session, statement.name), statement)


def _altered(work: Work, model: Model, statement: Altering) -> StatementResult:
    rules: dict[type[Altering], Callable[..., StatementResult]] = {
        AddVersion: versions.add,
        SetVersion: versions.set_version,
        SetProperties: versions.set_properties,
        SetTraffic: versions.set_traffic,
        UnsetTraffic: versions.unset_traffic,
        Rollback: versions.rollback,
        DropVersion: versions.drop_version,
        UnsetProperties: alter.unset_properties,
        SetComment: alter.set_comment,
        RenameModel: alter.rename,
        SetAlias: alter.set_alias,
        UnsetAlias: alter.unset_alias,
        SetEnabled: alter.set_enabled,
    }
    return rules[type(statement)](work, model, statement)
