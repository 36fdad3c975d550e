"""What a scenario found, beside what it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. ``rates`` (rows/s by who) and ``series`` (x, y by what) are for the plot."""

    scenario: str
    target: str
    measured: str
    met: bool
    rates: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
