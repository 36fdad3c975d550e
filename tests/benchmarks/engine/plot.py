"""The figures as one picture: rows/s of everybody, and the two scenarios that are about time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from figure import Figure
from matplotlib.axes import Axes

_OURS = "#0f766e"
_OTHERS = "#94a3b8"


def draw(figures: Sequence[Figure], file: Path) -> None:
    """Write a PNG of what was measured."""
    rates = {who: rate for figure in figures for who, rate in figure.rates.items()}
    series = {what: points for figure in figures for what, points in figure.series.items()}
    panels = bool(rates) + len(series)
    if not panels:
        return
    heights = [max(2.5, 0.45 * len(rates) + 1)] * bool(rates) + [2.5] * len(series)
    picture, axes = plt.subplots(panels, figsize=(9, sum(heights)), height_ratios=heights, squeeze=False)
    rows = iter(axes[:, 0])
    if rates:
        _bars(next(rows), rates)
    for what, points in series.items():
        _line(next(rows), what, points)
    picture.tight_layout()
    picture.savefig(file, dpi=120)


def _bars(axis: Axes, rates: dict[str, float]) -> None:
    ordered = sorted(rates.items(), key=lambda pair: pair[1])
    names = [who for who, _ in ordered]
    bars = axis.barh(
        names, [rate for _, rate in ordered], color=[_OURS if who.startswith("Infer") else _OTHERS for who in names]
    )
    axis.bar_label(bars, fmt="{:,.0f}", padding=3)
    axis.set_xscale("log")
    axis.set_title("rows per second, whole job, endpoint at 50 ms (logarithmic)", loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(x=0.15)


def _line(axis: Axes, what: str, points: Sequence[tuple[float, float]]) -> None:
    axis.plot([x for x, _ in points], [y for _, y in points], color=_OURS)
    axis.set_ylim(bottom=0)
    axis.set_title(what, loc="left")
    axis.set_xlabel("rows" if "memory" in what else "seconds")
    axis.spines[["top", "right"]].set_visible(False)
