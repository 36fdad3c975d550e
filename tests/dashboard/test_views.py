"""Views and templates agree: a template reads what its view holds, and a view holds nothing that no template reads."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from jinja2 import nodes

from inferlake.judge import Reason
from inferlake.result import ErrorCode
from inferlake_registry.web import assets, charts, rendering, wording
from inferlake_registry.web.charts import Mark, Probe
from inferlake_registry.web.pages import reasons

TEMPLATES = Path(rendering.__file__).parent / "templates"
NOW = datetime(2026, 11, 30, 5, 27, 12, tzinfo=UTC)


def _parts(annotation: object) -> Iterator[type]:
    """Yield the dataclasses that a view is made of, itself included."""
    if get_origin(annotation) in (tuple, Union, UnionType):
        for argument in get_args(annotation):
            if argument not in (NoneType, Ellipsis):
                yield from _parts(argument)
    elif isinstance(annotation, type) and is_dataclass(annotation):
        yield annotation
        for hint in get_type_hints(annotation).values():
            yield from _parts(hint)


def _read(name: str) -> set[str]:
    """Return every attribute name that a template and the templates it needs read."""
    environment = rendering.build_renderer(assets.load()).environment
    found: set[str] = set()
    for file in (name, "frame.html", "parts.html"):
        tree = environment.parse((TEMPLATES / file).read_text(encoding="utf-8"))
        found |= {node.attr for node in tree.find_all(nodes.Getattr)}
        for call in tree.find_all(nodes.Filter):
            if call.name in ("selectattr", "rejectattr"):
                found |= {argument.value for argument in call.args if isinstance(argument, nodes.Const)}
    return found


@pytest.mark.parametrize("view", rendering.TEMPLATES)
def test_everything_in_a_view_is_shown(view: type) -> None:
    read = _read(rendering.TEMPLATES[view])
    held = {field.name for part in _parts(view) for field in fields(part)}
    assert held - read == set()


@pytest.mark.parametrize("view", rendering.TEMPLATES)
def test_views_are_frozen_and_documented(view: type) -> None:
    for part in _parts(view):
        assert part.__dataclass_params__.frozen and "__slots__" in vars(part)  # type: ignore[attr-defined]
        assert part.__doc__ and not part.__doc__.startswith(f"{part.__name__}(")


def test_every_template_belongs_to_a_view() -> None:
    shared = {"frame.html", "fragment.html", "parts.html"}
    assert {path.name for path in TEMPLATES.iterdir()} == shared | set(rendering.TEMPLATES.values())


def test_no_template_marks_anything_safe() -> None:
    for path in TEMPLATES.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "| safe" not in text and "|safe" not in text and "autoescape" not in text, path.name


def test_the_library_is_known_to_two_macros_only() -> None:
    users = [path.name for path in TEMPLATES.iterdir() if "hx-" in path.read_text(encoding="utf-8")]
    assert users == ["parts.html"]


def test_wording_examples_hold() -> None:
    result = doctest.testmod(wording)
    assert result.attempted >= 9 and result.failed == 0


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200f", "\u200b", "\x00", "\x1b", "\x9f", "\ud800", "\U000e0041"]
)
def test_a_hidden_character_is_named(character: str) -> None:
    assert [piece.text for piece in wording.pieces(f"a{character}b")] == ["a", f"U+{ord(character):04X}", "b"]


@pytest.mark.parametrize("text", ["a\n\tb", "👩‍👩‍👧", "می‌خواهم", "عادي", "日本語"])
def test_what_scripts_and_emoji_need_is_left_alone(text: str) -> None:
    assert [piece.text for piece in wording.pieces(text)] == [text]


def _probes(marks: str) -> list[Probe]:
    kinds = {"o": Mark.ANSWERED, "t": Mark.THROTTLED, "x": Mark.FAILED}
    start = NOW - timedelta(minutes=len(marks))
    return [
        Probe(start + timedelta(minutes=index), kinds[mark], None if mark == "x" else 40.0 + index)
        for index, mark in enumerate(marks)
    ]


def test_a_strip_draws_each_kind_of_probe_in_its_own_shape() -> None:
    drawn = str(charts.strip(_probes("ooxt"), NOW))
    paths = {part.split('"')[0]: part.split('d="')[1].split('"')[0] for part in drawn.split('<path class="')[1:]}
    assert {name: path.count("M") for name, path in paths.items()} == {
        "missing": 26,  # dashes for probes that have not been
        "answered": 2,  # one bar each
        "throttled": 2,  # a bar and its cap
        "failed": 2,  # a bar in two pieces
    }
    assert paths["failed"].startswith(f"M{28 * charts.ROW.step:g} 0")  # the latest is always at the right end
    assert (
        'aria-label="3 of the last 4 probes answered, median 41\xa0ms, slowest 43\xa0ms; last failure 2\xa0min ago"'
        in drawn
    )


def test_only_the_last_thirty_probes_are_drawn_and_counted() -> None:
    probes = _probes("x" * 10 + "o" * 30)
    assert charts.summarise(probes) == charts.Summary(30, 30, 64.5, 79.0, None)
    assert "failed" not in str(charts.strip(probes, NOW))


def test_no_probe_is_said_in_words() -> None:
    assert 'aria-label="No probe yet"' in str(charts.strip([], NOW))


def test_a_cause_in_a_chart_is_escaped() -> None:
    probe = Probe(NOW, Mark.FAILED, None, "</title><script>alert(1)</script>")
    assert "<script>" not in str(charts.timeline([probe], NOW))


@pytest.mark.parametrize(
    ("part", "whole", "width"), [(0, 10, "0"), (1, 1_000, "1.5"), (5, 10, "50"), (10, 10, "100"), (0, 0, "0")]
)
def test_a_meter_shows_a_little_as_something(part: int, whole: int, width: str) -> None:
    assert f'<rect class="fill" width="{width}"' in str(charts.meter(part, whole))


@pytest.mark.parametrize("reason", [*Reason, *ErrorCode])
def test_every_reason_has_a_sentence(reason: str) -> None:
    assert str(reason) in reasons.MEANINGS
    assert reasons.meaning_of(str(reason)).endswith(".")


def test_a_reason_of_a_newer_client_explains_itself() -> None:
    assert reasons.meaning_of("too_rude") == "Too rude."
