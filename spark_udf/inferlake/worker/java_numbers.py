"""Floating-point numbers as Java writes them since its version 19, which is how Spark shows them in JSON.

Older versions of Java sometimes write more digits than it takes (``1.0E23`` is ``9.999999999999999E22`` there).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from math import isfinite, isnan


def java_double(value: float) -> str:
    """Return the text of a double as Java's ``Double.toString`` shows it: the fewest digits that identify it."""
    if not isfinite(value):
        return _not_finite(value)
    text = repr(value)
    return _java_form(_of_two_digits(value, text, float))


def java_float(value: float) -> str:
    """Return the text of a single-precision value in the same way: the fewest digits that identify it as such."""
    if not isfinite(value):
        return _not_finite(value)
    shortest = next(text for digits in range(1, 10) if _as_single(text := f"{value:.{digits}g}") == value)
    return _java_form(_of_two_digits(value, shortest, _as_single))


def _not_finite(value: float) -> str:
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _as_single(text: str) -> float:
    """Return the text's number, rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])


def _of_two_digits(value: float, shortest: str, parse: Callable[[str], float]) -> str:
    """Return a text of two digits where one would do: Java writes two in any case, so it takes the nearest such."""
    nearest = f"{value:.1e}"
    return nearest if parse(nearest) == value else shortest


def _java_form(shortest: str) -> str:
    """Write the digits in Java's form: plain from 1E-3 to below 1E7, else d.dddE±n."""
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)  # neither NaN nor infinite
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent  # the decimal point stands after this many digits
    minus = "-" if sign else ""
    if text == "0":
        return f"{minus}0.0"
    if -3 < point <= 7:
        whole, part = (text[:point].ljust(point, "0"), text[point:]) if point > 0 else ("0", "0" * -point + text)
        return f"{minus}{whole}.{part or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"
