"""Charts as inline SVG, drawn on the server: no script, no style attribute, so the content policy stays strict.

Every chart has a twin in words. A state is told apart by shape and only then by colour: an answer is a bar whose height
is its latency, an answer that says "not now" is a bar with a cap, no answer is a broken bar of full height, and a
missing probe is a dash on the ground.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median
from typing import Final, assert_never

from markupsafe import Markup

from inferlake_registry.web.wording import ago, milliseconds

STRIP_LENGTH: Final = 30

# The scale of latency is logarithmic and the same for every model, so that two strips can be compared by eye.
_FASTEST_MS: Final = 1.0
_SLOWEST_MS: Final = 10_000.0


class Mark(StrEnum):
    """What one probe looks like."""

    ANSWERED = "answered"
    THROTTLED = "throttled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe as it is drawn: ``latency_ms`` is None when no answer came."""

    at: datetime
    mark: Mark
    latency_ms: float | None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of a strip in SVG units, which are CSS pixels at its natural size."""

    bar: float
    gap: float
    height: float

    @property
    def step(self) -> float:
        """Distance from one bar to the next."""
        return self.bar + self.gap


ROW: Final = Geometry(bar=5, gap=2, height=26)


def strip(probes: Sequence[Probe], now: datetime, geometry: Geometry = ROW) -> Markup:
    """Draw the last probes, oldest on the left and the latest always at the right end."""
    shown = probes[-STRIP_LENGTH:]
    missing = STRIP_LENGTH - len(shown)
    width = STRIP_LENGTH * geometry.step - geometry.gap
    paths = [_path("missing", (_dash(slot, geometry) for slot in range(missing)))]
    for mark in Mark:
        drawn = (_bar(slot, probe, geometry) for slot, probe in enumerate(shown, missing) if probe.mark is mark)
        paths.append(_path(mark.value, drawn))
    return Markup(
        '<svg class="strip" role="img" viewBox="0 0 {0:g} {1:g}" width="{0:g}" height="{1:g}" '
        'preserveAspectRatio="none" aria-label="{2}">{3}</svg>'
    ).format(width, geometry.height, strip_in_words(probes, now), Markup("").join(paths))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a strip shows, as numbers."""

    probes: int
    answered: int
    median_ms: float | None
    slowest_ms: float | None
    last_failure: datetime | None


def summarise(probes: Sequence[Probe]) -> Summary:
    """Sum up the probes that a strip draws."""
    shown = probes[-STRIP_LENGTH:]
    latencies = [probe.latency_ms for probe in shown if probe.latency_ms is not None]
    failed = [probe.at for probe in shown if probe.mark is Mark.FAILED]
    return Summary(
        probes=len(shown),
        answered=len(shown) - len(failed),
        median_ms=median(latencies) if latencies else None,
        slowest_ms=max(latencies, default=None),
        last_failure=failed[-1] if failed else None,
    )


def strip_in_words(probes: Sequence[Probe], now: datetime) -> str:
    """Say what the strip shows."""
    summary = summarise(probes)
    if not summary.probes:
        return "No probe yet"
    text = f"{summary.answered} of the last {summary.probes} probes answered"
    if summary.median_ms is not None:
        text += f", median {milliseconds(summary.median_ms)}, slowest {milliseconds(summary.slowest_ms)}"
    if summary.last_failure is not None:
        text += f"; last failure {ago(summary.last_failure, now)}"
    return text


def meter(part: int, whole: int) -> Markup:
    """Draw a part of a whole as a thin bar; the numbers beside it are its twin, so it is hidden from readers."""
    filled = 0.0 if whole == 0 or part == 0 else max(100 * part / whole, 1.5)
    return Markup(
        '<svg class="meter" aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none">'
        '<rect class="track" width="100" height="4"/><rect class="fill" width="{:g}" height="4"/></svg>'
    ).format(round(filled, 2))


def timeline(probes: Sequence[Probe], now: datetime) -> Markup:
    """Draw the last probes large, with a scale of latency; each bar says its time and latency on hover."""
    width, height, left, top = 720, 144, 52, 10
    plot = Geometry(bar=14, gap=8, height=104)
    lines = Markup("").join(_gridline(ms, plot, left, top, width) for ms in (10.0, 100.0, 1_000.0, 10_000.0))
    shown = probes[-STRIP_LENGTH:]
    missing = STRIP_LENGTH - len(shown)
    bars = Markup("").join(_titled_bar(slot, probe, plot) for slot, probe in enumerate(shown, missing))
    dashes = _path("missing", (_dash(slot, plot) for slot in range(missing)))
    ends = Markup("")
    if shown:
        ends = Markup(
            '<text class="scale" x="{:g}" y="{}">{}</text><text class="scale end" x="{}" y="{}">{}</text>'
        ).format(
            left + missing * plot.step,
            height - 6,
            f"{shown[0].at:%H:%M}",
            left + STRIP_LENGTH * plot.step - plot.gap,
            height - 6,
            f"{shown[-1].at:%H:%M} UTC",
        )
    return Markup(
        '<svg class="timeline" role="img" viewBox="0 0 {} {}" aria-label="{}">'
        '{}<g transform="translate({} {})">{}{}</g>{}</svg>'
    ).format(width, height, strip_in_words(probes, now), lines, left, top, dashes, bars, ends)


def _bar(slot: int, probe: Probe, geometry: Geometry) -> str:
    x, height = slot * geometry.step, geometry.height
    match probe.mark:
        case Mark.ANSWERED:
            return _box(x, height - _tall(probe, geometry), geometry.bar, _tall(probe, geometry))
        case Mark.THROTTLED:
            cap, gap = height / 9, max(height / 24, 1.5)
            body = max(_tall(probe, geometry) - cap - gap, cap)
            return _box(x, height - body, geometry.bar, body) + _box(x, height - body - gap - cap, geometry.bar, cap)
        case Mark.FAILED:
            part = 0.42 * height
            return _box(x, 0, geometry.bar, part) + _box(x, height - part, geometry.bar, part)
        case _:
            assert_never(probe.mark)


def _titled_bar(slot: int, probe: Probe, geometry: Geometry) -> Markup:
    said = "no answer" if probe.latency_ms is None else milliseconds(probe.latency_ms)
    cause = f", {probe.cause}" if probe.cause else ""
    return Markup('<path class="{}" d="{}"><title>{}</title></path>').format(
        probe.mark.value, _bar(slot, probe, geometry), f"{probe.at:%H:%M:%S} UTC: {said}{cause}"
    )


def _gridline(latency_ms: float, plot: Geometry, left: float, top: float, width: float) -> Markup:
    y = top + plot.height - _scaled(latency_ms) * plot.height
    return Markup(
        '<line class="grid" x1="{0:g}" x2="{1:g}" y1="{2:.1f}" y2="{2:.1f}"/>'
        '<text class="scale end" x="{3:g}" y="{4:.1f}">{5}</text>'
    ).format(
        left, width, y, left - 8, y + 4, f"{latency_ms:g} ms" if latency_ms < 1_000 else f"{latency_ms / 1_000:g} s"
    )


def _tall(probe: Probe, geometry: Geometry) -> float:
    if probe.latency_ms is None:
        return 0.5 * geometry.height
    return max(_scaled(probe.latency_ms), 0.12) * geometry.height


def _scaled(latency_ms: float) -> float:
    """Map a latency to 0..1 on the common logarithmic scale."""
    bounded = min(max(latency_ms, _FASTEST_MS), _SLOWEST_MS)
    return math.log(bounded / _FASTEST_MS) / math.log(_SLOWEST_MS / _FASTEST_MS)


def _dash(slot: int, geometry: Geometry) -> str:
    return _box(slot * geometry.step, geometry.height - 2, geometry.bar, 2)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {round(y, 1):g}h{width:g}v{round(height, 1):g}h{-width:g}z"


def _path(name: str, boxes: Iterator[str]) -> Markup:
    drawn = "".join(boxes)
    return Markup('<path class="{}" d="{}"/>').format(name, drawn) if drawn else Markup("")
