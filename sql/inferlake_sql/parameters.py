"""Values for parameter markers: ``:name`` from a mapping, ``?`` from a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from inferlake_sql.errors import InvalidParameter

ParameterValue: TypeAlias = str | bool | int | float | Decimal
Parameters: TypeAlias = Mapping[str, object] | Sequence[object]


def named_value(args: Parameters | None, name: str) -> str:
    """Return the text for ``:name``; raises InvalidParameter without a value or for one that is no text or number."""
    if not isinstance(args, Mapping):
        raise InvalidParameter(f":{name}", "named parameters want args={'name': value}")
    if name not in args:
        raise InvalidParameter(f":{name}", "args has no value for it")
    return _as_text(f":{name}", args[name])


def positional_value(args: Parameters | None, index: int) -> str:
    """Return the text for the marker ``?`` with this 0-based index."""
    if args is None or isinstance(args, Mapping | str):
        raise InvalidParameter("?", "positional parameters want args=[value, …]")
    if index >= len(args):
        raise InvalidParameter("?", f"this is marker {index + 1}, args has {len(args)}")
    return _as_text("?", args[index])


def _as_text(marker: str, value: object) -> str:
    match value:
        case str():
            unusable = "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
            if unusable:
                raise InvalidParameter(marker, "its text holds a NUL character or half a surrogate pair")
            return value
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return str(value)
        case _:
            raise InvalidParameter(marker, f"a {type(value).__name__} cannot stand here, a text can")
