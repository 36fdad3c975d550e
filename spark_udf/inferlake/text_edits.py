"""Changes to a query's text by place, so that everything that is not ours stays as it was written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Puts ``text`` into the place of a query's characters from ``start`` to ``end``; both the same: before it."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """Return the text from ``start`` to ``end`` with those of the edits that lie in it; they do not overlap."""
    end = len(text) if end is None else end
    inside = [edit for edit in edits if start <= edit.start and edit.end <= end]
    pieces: list[str] = []
    position = start
    for edit in sorted(inside, key=lambda edit: (edit.start, edit.end)):
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:end]])
