"""Floating-point numbers as Java writes them, which is how Spark shows them in JSON."""

from __future__ import annotations

import struct
from decimal import Decimal
from math import isinf, isnan


def java_double(value: float) -> str:
    """Return the text of a double as Java's ``Double.toString`` shows it, with the fewest digits that identify it."""
    return _java_number(value, repr(value))


def java_float(value: float) -> str:
    """Return the text of a single-precision value in the same way, with the fewest digits that identify it as such."""
    if isnan(value) or isinf(value):
        return _java_number(value, "")
    packed = struct.pack("f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return _java_number(value, text)
    return _java_number(value, repr(value))


def _java_number(value: float, shortest: str) -> str:
    """Write the digits of ``shortest`` in Java's form: plain from 1E-3 to below 1E7, else d.dddE±n."""
    if isnan(value):
        return '"NaN"'
    if isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
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
