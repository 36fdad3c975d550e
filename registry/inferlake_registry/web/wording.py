"""How numbers, durations, moments and foreign text are written on every page. Pure: the clock is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

NBSP: Final = "\u00a0"
NOTHING: Final = "–"

# Characters that change how their neighbours are shown, or are not shown at all. Joiners (U+200C, U+200D) are left
# alone: emoji and several scripts need them.
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE: Final = frozenset("\u00ad\u200b\u2028\u2029\u2060\ufeff")
_LAYOUT: Final = frozenset("\n\r\t")

_STEPS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def count(number: int) -> str:
    """Write a whole number with its thousands apart.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def brief(number: int | None) -> str:
    """Write a large number in three digits, for token counts.

    >>> brief(950), brief(12_345), brief(4_560_000), brief(None)
    ('950', '12.3\\xa0k', '4.56\\xa0M', '–')
    """
    if number is None:
        return NOTHING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{_three_digits(number / size)}{NBSP}{unit}"
    return str(number)


def milliseconds(value: float | None) -> str:
    """Write a latency in the unit that reads best.

    >>> milliseconds(0.42), milliseconds(38.2), milliseconds(1240.0), milliseconds(None)
    ('0.4\\xa0ms', '38\\xa0ms', '1.24\\xa0s', '–')
    """
    if value is None:
        return NOTHING
    if value < 1_000:
        return f"{value:.1f}{NBSP}ms" if value < 10 else f"{value:.0f}{NBSP}ms"
    if value < 60_000:
        return f"{_three_digits(value / 1_000)}{NBSP}s"
    return duration(timedelta(milliseconds=value))


def share(part: int, whole: int) -> str:
    """Write a part as a percentage that is 0 or 100 only when it is exactly that.

    >>> share(1, 3), share(0, 5), share(99_999, 100_000), share(1, 100_000), share(0, 0)
    ('33.3\\xa0%', '0\\xa0%', '99.9\\xa0%', '0.1\\xa0%', '–')
    """
    if whole == 0:
        return NOTHING
    if part in (0, whole):
        return f"{100 * part // whole}{NBSP}%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}{NBSP}%"


def duration(span: timedelta) -> str:
    """Write a length of time in its largest unit, and in seconds when it is short.

    >>> duration(timedelta(seconds=42)), duration(timedelta(minutes=61)), duration(timedelta(days=3, hours=5))
    ('42\\xa0s', '1\\xa0h', '3\\xa0d')
    """
    seconds = max(span.total_seconds(), 0.0)
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{int(seconds // size)}{NBSP}{unit}"
    return f"{seconds:.0f}{NBSP}s"


def ago(at: datetime, now: datetime) -> str:
    """Write how long ago something was.

    >>> ago(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 3, tzinfo=UTC))
    '3\\xa0min ago'
    """
    span = now - at
    if span < timedelta(seconds=1):
        return "just now"
    return f"{duration(span)} ago"


def utc(at: datetime) -> str:
    """Write a moment in full.

    >>> utc(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02 03:04:05 UTC'
    """
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def machine_time(at: datetime) -> str:
    """Write a moment for the ``datetime`` attribute of an HTML time element."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def moment(text: str) -> datetime:
    """Read a stored ISO 8601 time; one without an offset is UTC."""
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def plain_address(url: str) -> str:
    """Return an endpoint's address without anything in it that could be a credential.

    >>> plain_address("https://user:pw@h.example:8443/v1/chat/completions?key=1#x")
    'https://h.example:8443/v1/chat/completions?…'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}{'?…' if parts.query else ''}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of foreign text; ``marked`` ones name a character that would otherwise act unseen, as U+202E."""

    text: str
    marked: bool


def pieces(text: str) -> Iterator[Piece]:
    """Split text that a model or a user wrote into what may be shown and the names of what may not.

    >>> [piece.text for piece in pieces("ab\\u202ecd")]
    ['ab', 'U+202E', 'cd']
    """
    start = 0
    for index, character in enumerate(text):
        if _hidden(character):
            if index > start:
                yield Piece(text[start:index], marked=False)
            yield Piece(f"U+{ord(character):04X}", marked=True)
            start = index + 1
    if start < len(text):
        yield Piece(text[start:], marked=False)


def _hidden(character: str) -> bool:
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return character not in _LAYOUT
    return character in _BIDI or character in _INVISIBLE or 0xD800 <= code < 0xE000 or 0xE0000 <= code < 0xE0080


def _three_digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
