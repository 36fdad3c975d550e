"""Intervals as Spark shows them in JSON: in the words of its SQL, each with all the fields that it can have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND


def day_time_interval(micros: int) -> str:
    """Return an interval of days to seconds; Arrow does not tell which fields the type had, so it has all."""
    days, clock = divmod(abs(micros), _DAY)
    return f"INTERVAL '{_sign(micros)}{days} {clock_text(clock, _SECOND)}' DAY TO SECOND"


def year_month_interval(months: int) -> str:
    """Return an interval of years and months."""
    years, rest = divmod(abs(months), 12)
    return f"INTERVAL '{_sign(months)}{years}-{rest}' YEAR TO MONTH"


def calendar_interval(months: int, days: int, nanos: int) -> str:
    """Return Spark's old interval, whose months, days and time have no fixed length to one another."""
    return " ".join(_units(months, days, nanos // 1_000)) or "0 seconds"


def clock_text(units: int, per_second: int) -> str:
    """Return the time of a day that is counted in parts of a second, without zeros at its end."""
    seconds, part = divmod(units, per_second)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction_text(part, per_second)}"


def fraction_text(part: int, per_second: int) -> str:
    """Return a part of a second with its point and without zeros at its end; nothing for nothing."""
    digits = len(str(per_second)) - 1
    return f".{part:0{digits}d}".rstrip("0") if part else ""


def _units(months: int, days: int, micros: int) -> Iterator[str]:
    """Yield what is not zero; every unit carries the sign of the number that it is part of."""
    seconds, part = divmod(abs(micros), _SECOND)
    counts = (
        (months, abs(months) // 12, "years"),
        (months, abs(months) % 12, "months"),
        (days, abs(days), "days"),
        (micros, seconds // 3600, "hours"),
        (micros, seconds // 60 % 60, "minutes"),
    )
    for number, count, unit in counts:
        if count:
            yield f"{_sign(number)}{count} {unit}"
    if seconds % 60 or part:
        yield f"{_sign(micros)}{seconds % 60}{fraction_text(part, _SECOND)} seconds"


def _sign(number: int) -> str:
    return "-" if number < 0 else ""
