"""Two statements at once: each is judged by the model as it was when the statement came, and the later one loses.

A statement looks before it queues for the write lock and compares when it has it. Only changes that cannot touch each
other (properties set in place, of other keys) go through one after the other.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import ConcurrentModification
from inferlake_registry.store.schema import HistoryEvent, Model
from inferlake_sql.names import ModelName
from inferlake_sql.properties import Effect, find_spec
from inferlake_sql.statements import (
    CreateModel,
    CreateModelLike,
    IfPresent,
    SetComment,
    SetProperties,
    Statement,
    UndropModel,
    UnsetProperties,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A name as a statement found it; ``model_id`` is None when there was no such model."""

    model_id: str | None
    revision: int
    event: int  # the last one in the history


def look(session: Session, name: ModelName) -> Seen:
    """Return what is under a name now."""
    last = select(func.max(HistoryEvent.id)).where(HistoryEvent.model_id == Model.id).scalar_subquery()
    found = session.execute(
        select(Model.id, Model.revision, last).where(Model.name_key == name.key, Model.dropped_at.is_(None))
    ).one_or_none()
    return Seen(None, 0, 0) if found is None else Seen(found[0], found[1], found[2] or 0)


def check(session: Session, name: ModelName, statement: Statement, seen: Seen) -> None:
    """Raise ConcurrentModification when somebody changed the model since ``seen`` in a way that may matter."""
    now = look(session, name)
    if now == seen or _says_itself(statement):
        return
    keys = _keys_in_place(statement)
    if now.model_id != seen.model_id or keys is None or not keys.isdisjoint(_keys_since(session, seen)):
        raise ConcurrentModification(name.display)


def _says_itself(statement: Statement) -> bool:
    """Whether the statement names the state it wants to find, so that its own answer is the better one."""
    match statement:
        case CreateModel() | CreateModelLike():
            return statement.if_present is not IfPresent.REPLACE
        case UndropModel():
            return True
        case _:
            return False


def _keys_in_place(statement: Statement) -> Set[str] | None:
    """Return the keys that a statement changes in place, or None when it does more than that."""
    match statement:
        case SetComment():
            return {"comment"}
        case SetProperties(location=None, provider=None):
            keys = {item.key for item in statement.properties}
        case UnsetProperties():
            keys = set(statement.keys)
        case _:
            return None
    return keys if all(find_spec(key).effect is Effect.OPERATIONAL for key in keys) else None


def _keys_since(session: Session, seen: Seen) -> Set[str]:
    """Return the keys that others changed; what is no property goes by names that no property has."""
    later = select(HistoryEvent).where(HistoryEvent.model_id == seen.model_id, HistoryEvent.id > seen.event)
    return {key for event in session.scalars(later) for key in (*event.before, *event.after)}
