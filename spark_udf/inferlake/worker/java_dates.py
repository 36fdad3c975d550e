"""Dates and moments as Spark shows them in JSON, in every year that Spark has: from -290308 to +5881580.

Python's calendar ends at 1 and 9999. The Gregorian calendar repeats, weekdays included, every 400 years, so what lies
outside is moved by whole cycles, written, and given its own year.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final
from zoneinfo import ZoneInfo

_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_CYCLE_S: Final = _CYCLE_DAYS * 86_400
_YEAR_ONE_DAY: Final = -719_162  # 0001-01-01, in days from 1970-01-01
_YEAR_ONE_S: Final = _YEAR_ONE_DAY * 86_400
_FIRST_S: Final = _YEAR_ONE_S + 86_400  # a day away from Python's ends, where any offset still fits
_LAST_S: Final = 253_402_300_800 - 86_400
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def date_text(days: int) -> str:
    """Return the day that is so many days after 1970-01-01."""
    cycles, day = divmod(days - _YEAR_ONE_DAY, _CYCLE_DAYS)
    date = dt.date.fromordinal(day + 1)
    return _year(date.year + cycles * _CYCLE_YEARS) + date.isoformat()[4:]


def local_time(seconds: int, zone: dt.tzinfo) -> tuple[str, str]:
    """Return the time on the clocks of a zone so many seconds after 1970, to the second, and its offset or ``Z``."""
    cycles = _cycles(seconds)
    moment = dt.datetime.fromtimestamp(seconds - cycles * _CYCLE_S, zone)
    text = moment.isoformat()
    offset = text[19:]
    return _year(moment.year + cycles * _CYCLE_YEARS) + text[4:19], "Z" if offset == "+00:00" else offset


def find_zone(name: str) -> dt.tzinfo | None:
    """Return the zone of a name that Spark takes, a region or an offset; None if this machine does not know it."""
    if name == "Z":
        return dt.UTC
    if offset := _OFFSET.fullmatch(name):
        sign, *parts = offset.groups(default="0")
        hours, minutes, seconds = map(int, parts)
        east = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return dt.timezone(east if sign == "+" else -east)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):  # not there, or no name at all
        return None


def _cycles(seconds: int) -> int:
    """Return how many cycles lie between a moment and one that Python has: an early one, or one as late as can be.

    Clocks follow a zone's first rule before, and its last rule after all that is known, so these two ends are alike.
    """
    if _FIRST_S <= seconds < _LAST_S:
        return 0
    cycles = (seconds - _YEAR_ONE_S) // _CYCLE_S
    return cycles - 1 if seconds < 0 else cycles - 23


def _year(year: int) -> str:
    """Write a year as ISO does: four digits, with a sign where there are more or where it is before 0."""
    if year > 9_999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"
