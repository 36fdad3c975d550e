"""Numbers and times as people write them in property values: ``500``, ``0.5``, ``30s``."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_DURATION: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(ms|s|sec|m|min|h|d)", re.ASCII | re.IGNORECASE)
_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "sec": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def read_integer(text: str) -> int | None:
    """Return a whole number, or None when the text is none."""
    return int(text) if _INTEGER.fullmatch(text) else None


def read_decimal(text: str) -> float | None:
    """Return a finite number, or None when the text is none."""
    number = float(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and isfinite(number) else None


def read_milliseconds(text: str, unit: str = "ms") -> int | None:
    """Return whole milliseconds from a number in ``unit`` or one with its own unit; None for anything else."""
    if _DECIMAL.fullmatch(text):
        amount, factor = text, _MILLISECONDS[unit]
    elif match := _DURATION.fullmatch(text):
        amount, factor = match[1], _MILLISECONDS[match[2].lower()]
    else:
        return None
    exact = Decimal(amount) * factor
    return int(exact) if abs(exact) < 10**18 and exact == exact.to_integral_value() else None


def plain(number: float) -> str:
    """Return a number without a needless fraction or exponent: 500.0 is 500, 0.5 stays."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
