"""The model calls of a query, each once however many places Spark's plan holds it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from inferlake.calling import Callee, ModelCall
from inferlake.connection import Connection
from inferlake.explain.places import Place
from inferlake.planning import resolve_model
from inferlake_registry.contract.models import ModelSnapshot


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call: its model as it is now, and where the plan evaluates it; nowhere if Spark can do without."""

    callee: Callee
    snapshot: ModelSnapshot
    places: tuple[Place, ...]


def planned_calls(
    spark: SparkSession, connection: Connection, written: Mapping[str, ModelCall], places: Sequence[Place]
) -> list[PlannedCall]:
    """Return the calls written in the query in their order, by function name, and then those that views bring along.

    Raises ModelNotFound, VersionNotFound and ModelDisabled for the latter.
    """
    found: dict[str, list[Place]] = {}
    for place in places:
        found.setdefault(place.function if place.function in written else place.identity, []).append(place)
    held: list[tuple[Callee, str, list[Place]]]
    held = [(call, call.descriptor.reference, found.pop(name, [])) for name, call in written.items()]
    held += [(of_call[0].callee, of_call[0].reference, of_call) for of_call in found.values()]
    return [
        PlannedCall(callee, _known(callee) or resolve_model(connection, reference, spark), tuple(of_call))
        for callee, reference, of_call in held
    ]


def _known(callee: Callee) -> ModelSnapshot | None:
    return callee.descriptor.snapshot if isinstance(callee, ModelCall) else None
