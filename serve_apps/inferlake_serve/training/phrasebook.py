"""What people and programs say in a session, by language and by what it means for the label.

A file has four sections. ``= thing`` lists what can fail, wait or succeed, each line with a grammatical gender (m or
f) before it. The other three are named after the labels; a line there is a whole sentence, or a pattern in which
``{s}`` is a thing and ``{he|she}`` picks the form that agrees with its gender.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Final

from inferlake_serve.training.labels import Label

LANGUAGES: Final = ("ar", "de", "en", "es", "fr", "hi", "ja", "pt", "zh")

_AGREEMENT: Final = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a pattern talks about."""

    feminine: bool
    name: str


@dataclass(frozen=True, slots=True)
class Phrasebook:
    """All phrases of one language."""

    things: tuple[Thing, ...]
    phrases: Mapping[Label, tuple[str, ...]]

    def say(self, label: Label, random: Random) -> str:
        """Return one phrase with that meaning, its pattern filled."""
        phrase = random.choice(self.phrases[label])
        if "{" not in phrase:
            return phrase
        thing = random.choice(self.things)
        spoken = _AGREEMENT.sub(lambda forms: forms[2 if thing.feminine else 1], phrase).replace("{s}", thing.name)
        return spoken[0].upper() + spoken[1:] if random.random() < 0.7 else spoken


@cache
def phrasebook(language: str) -> Phrasebook:
    """Return the phrases that training draws from."""
    sections = read_sections(f"phrases/{language}.txt")
    things = (line.split(" ", 1) for line in sections["thing"])
    return Phrasebook(
        tuple(Thing(gender == "f", name) for gender, name in things),
        {label: sections[label.value] for label in Label},
    )


def read_sections(path: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines below each ``= name`` of a file beside this module."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in files("inferlake_serve.training").joinpath(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            current = sections.setdefault(line[2:].strip(), [])
        elif line.strip():
            current.append(line.strip())
    return {name: tuple(lines) for name, lines in sections.items()}
