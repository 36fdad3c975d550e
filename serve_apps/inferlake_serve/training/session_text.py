"""A session as text: the JSON document that reaches the model in the user message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a session. Every field may be missing; ``at`` is local time in ISO 8601 without a zone."""

    at: str | None
    action: str | None
    page: str | None
    message: str | None


def session_json(events: Sequence[Event] | None, media_url: str | None) -> str:
    """Return compact JSON of both columns in the order in which Spark sends them, foreign letters unescaped."""
    rows = None if events is None else [asdict(event) for event in events]
    return _compact({"events": rows, "media_url": media_url})


def events_json(events: Sequence[Event]) -> str:
    """Return the events alone, as a query that passes only that column sends them."""
    return _compact([asdict(event) for event in events])


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
