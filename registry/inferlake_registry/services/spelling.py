"""Names for a session that tells M from m: a model is found only by its own letters, and none can differ in case alone.

The registry is shared by sessions of both kinds, so it never holds two names that most of them could not tell apart.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import ModelAlreadyExists, ModelNotFound
from inferlake_registry.services.models import find
from inferlake_registry.store.schema import Model
from inferlake_sql.names import ModelName
from inferlake_sql.statements import (
    CreateModel,
    CreateModelLike,
    ExplainAi,
    RouteQuery,
    ShowHealth,
    ShowModels,
    Statement,
    UndropModel,
)


def require_letters(model: Model, *names: ModelName | None) -> None:
    """Raise ModelNotFound, with the model as the near name, when none of the names is written as it is."""
    written = [name.display for name in names if name is not None]
    if model.name not in written:
        raise ModelNotFound(written[0], [model.name])


def check_letters(session: Session, statement: Statement) -> bool:
    """Return whether what the statement names is there in its letters, or there in no letters at all.

    False is for IF EXISTS. Raises ModelNotFound, and ModelAlreadyExists for a name to create that would differ from
    one that exists in case alone.
    """
    match statement:
        case ShowModels() | ShowHealth() | ExplainAi() | RouteQuery() | UndropModel():
            return True
        case CreateModel():
            return _free(session, statement.name)
        case CreateModelLike():
            return _free(session, statement.name) and _found(session, statement.source, False)
        case _:
            return _found(session, statement.name, getattr(statement, "if_exists", False))


def _free(session: Session, name: ModelName) -> bool:
    model = find(session, name)
    if model is not None and model.name != name.display:
        raise ModelAlreadyExists(model.name)
    return True


def _found(session: Session, name: ModelName, if_exists: bool) -> bool:
    model = find(session, name)
    if model is None or model.name == name.display:
        return True
    if if_exists:
        return False
    raise ModelNotFound(name.display, [model.name])
