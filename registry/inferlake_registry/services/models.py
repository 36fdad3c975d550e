"""Models in the store: finding one, its versions, and what is live."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from inferlake_registry.contract.problems import AliasNotFound, ModelNotFound, VersionNotFound
from inferlake_registry.domain.versions import Activated
from inferlake_registry.services.work import Work
from inferlake_registry.store.schema import Activation, Model, Version
from inferlake_sql.names import ModelName, ModelReference, near, parse_reference


def find(session: Session, name: ModelName) -> Model | None:
    """Return the living model of a name, or None."""
    return session.scalar(select(Model).where(Model.name_key == name.key, Model.dropped_at.is_(None)))


def get(session: Session, name: ModelName) -> Model:
    """Return the living model of a name. Raises ModelNotFound with near names."""
    model = find(session, name)
    if model is None:
        whole = ModelName((".".join(name.parts),)).display if len(name.parts) > 1 else None
        raise ModelNotFound(name.display, near(name.display, living_names(session)), whole)
    return model


def get_referred(session: Session, reference: ModelReference) -> Model:
    """Return the model of a call's reference: read as a path first, then as one name with its dots."""
    model = find(session, reference.name)
    if model is None and reference.verbatim is not None:
        model = find(session, reference.verbatim)
    return model if model is not None else get(session, reference.name)


def get_called(session: Session, name: str, model_id: str | None) -> Model:
    """Return the model of a call that was planned: by its identity, whatever it is called now, even if it is dropped.

    Without an identity it is the living model of that name. Raises ModelNotFound.
    """
    if model_id is None:
        return get_referred(session, parse_reference(name))
    model = session.get(Model, model_id)
    if model is None:
        raise ModelNotFound(name)
    return model


def living_names(session: Session) -> Sequence[str]:
    """Return the names of all living models."""
    return session.scalars(select(Model.name).where(Model.dropped_at.is_(None)).order_by(Model.name)).all()


def stack_of(model: Model) -> list[Activation]:
    """Return the activations that are not undone, the live one last."""
    return [entry for entry in model.activations if entry.undone_at is None]


def activated(entry: Activation) -> Activated:
    """Return a stored activation as a value."""
    shares = None if entry.shares is None else {str(version): int(share) for version, share in entry.shares.items()}
    return Activated(entry.version, shares)


def live(model: Model) -> Activated:
    """Return what serves now. A model always has a live activation."""
    return activated(stack_of(model)[-1])


def find_version(model: Model, version: str) -> Version | None:
    """Return a version of a model, or None."""
    return next((row for row in model.versions if row.version == version), None)


def get_version(model: Model, version: str) -> Version:
    """Return a version of a model. Raises VersionNotFound with the known ones."""
    found = find_version(model, version)
    if found is None:
        raise VersionNotFound(model.name, version, [row.version for row in model.versions])
    return found


def active_version(model: Model) -> Version:
    """Return the active version of a model."""
    return get_version(model, live(model).version)


def aliases_of(model: Model) -> dict[str, str]:
    """Return the versions that aliases point at, by alias."""
    return {row.alias: row.version for row in model.aliases}


def get_alias(model: Model, alias: str) -> str:
    """Return the version that an alias points at. Raises AliasNotFound."""
    aliases = aliases_of(model)
    if alias not in aliases:
        raise AliasNotFound(model.name, alias, sorted(aliases))
    return aliases[alias]


def activate(work: Work, model: Model, version: str, shares: dict[str, int] | None = None) -> None:
    """Put a new entry on the stack."""
    ordinal = max((entry.ordinal for entry in model.activations), default=0) + 1
    model.activations.append(Activation(ordinal=ordinal, version=version, shares=shares, at=work.now))


def new_id() -> str:
    """Return a new identity."""
    return uuid.uuid4().hex
