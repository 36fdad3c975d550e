"""Where a call's rows come from, each source once: what Spark evaluates again brings no request of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inferlake.explain.inputs import repeats
from inferlake.explain.places import Place
from inferlake.explain.planned_calls import PlannedCall
from inferlake.plan_tree import Jvm


@dataclass(frozen=True, slots=True)
class Source:
    """A place of a call that sees rows of its own, with the JVM's frame of the arguments there."""

    place: Place
    frame: Any


def sources(jvm: Jvm, call: PlannedCall) -> list[Source]:
    """Return the sources of a call: none if Spark leaves it out."""
    found: list[Source] = []
    for place in call.places:
        if not repeats(jvm, place):
            frame = jvm.selected(place.input, place.arguments)
            if not any(_same_rows(frame, other.frame) for other in found):
                found.append(Source(place, frame))
    return found


def evaluations(call: PlannedCall, found: Sequence[Source]) -> float:
    """Return how often the plan evaluates a call for each row of its sources."""
    return len(call.places) / max(1, len(found))


def _same_rows(frame: Any, other: Any) -> bool:
    return bool(frame.queryExecution().analyzed().sameResult(other.queryExecution().analyzed()))
