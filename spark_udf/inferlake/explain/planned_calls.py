"""The model calls of a query, each once however many places Spark's plan holds it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferlake.calling import Callee, ModelCall
from inferlake.connection import Connection
from inferlake.explain.places import Place
from inferlake_registry.contract.models import ModelSnapshot


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call: its model as it is now, and where the plan evaluates it; nowhere if Spark can do without."""

    callee: Callee
    snapshot: ModelSnapshot
    places: tuple[Place, ...]


def planned_calls(
    connection: Connection, written: Mapping[str, ModelCall], places: Sequence[Place]
) -> list[PlannedCall]:
    """Return the calls written in the query in their order, by function name, and then those that views bring along.

    Raises ModelNotFound, VersionNotFound and ModelDisabled for the latter.
    """
    found: dict[str, list[Place]] = {}
    for place in places:
        found.setdefault(place.function if place.function in written else place.identity, []).append(place)
    calls = [
        _planned(connection, call, call.descriptor.reference, found.pop(name, [])) for name, call in written.items()
    ]
    others = [_planned(connection, held[0].callee, held[0].reference, held) for held in found.values()]
    return calls + others


def _planned(connection: Connection, callee: Callee, reference: str, places: Sequence[Place]) -> PlannedCall:
    snapshot = callee.descriptor.snapshot if isinstance(callee, ModelCall) else None
    return PlannedCall(callee, snapshot or connection.registry.resolve(reference), tuple(places))
