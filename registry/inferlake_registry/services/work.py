"""What every statement needs at hand: the transaction, who is asking and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from inferlake_registry.contract.statements import Column, ColumnType, StatementResult
from inferlake_registry.store.schema import HistoryEvent, Model
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import JsonValue

_OUTCOME = tuple(Column(name, ColumnType.STRING) for name in ("action", "model", "version", "message"))


@dataclass(frozen=True, slots=True)
class Work:
    """One statement's surroundings. ``shown`` is its text with every secret hidden."""

    session: Session
    ring: KeyRing
    actor: str
    now: datetime
    shown: str


def outcome(action: str, model: str, version: str | None, message: str, *notices: str) -> StatementResult:
    """Return the one row that a changing statement answers."""
    return StatementResult(_OUTCOME, ((action, model, version, message),), notices)


def record(work: Work, model: Model, action: str, before: dict[str, JsonValue], after: dict[str, JsonValue]) -> None:
    """Write a change down. It also marks the model as changed, which is what races are decided by."""
    model.updated_at = work.now
    event = HistoryEvent(
        model_id=model.id,
        model_name=model.name,
        at=work.now,
        actor=work.actor,
        action=action,
        statement=work.shown,
        before=before,
        after=after,
    )
    work.session.add(event)
