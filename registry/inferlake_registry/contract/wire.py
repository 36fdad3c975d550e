"""Values of the contract as JSON and back, by the types that their fields declare.

Decoding is strict about what is there (a text is no number) and lenient about what is not known: a newer registry may
send members that this side does not understand.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from inferlake_sql.errors import JsonValue
from inferlake_sql.secret import Secret

T = TypeVar("T")


class WireError(ValueError):
    """A document that does not have the form of the value it should be; ``path`` says where."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"{path or 'document'}: expected {expected}")


def encode(value: object, *, reveal: bool = False) -> JsonValue:
    """Return a contract value as plain JSON values.

    ``reveal`` writes secrets out; only the answer that hands credentials to a worker sets it. Without it a
    Secret is a TypeError.
    """
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, Secret):
        if not reveal:
            raise TypeError("a Secret is not sent with this value")
        return value.reveal()
    if isinstance(value, Mapping):
        return {str(key): encode(item, reveal=reveal) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item, reveal=reveal) for item in value]
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name), reveal=reveal) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} is no value of the contract")


def decode(kind: type[T], document: object) -> T:
    """Return the value of type ``kind`` that a JSON document holds. Raises WireError."""
    value: T = _decode(kind, document, "")
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, value: object, path: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(kind, value, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise WireError(path, "a list")
        return tuple(_decode_items(get_args(kind), value, path))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise WireError(path, "an object")
        return {key: _decode(get_args(kind)[1], item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(kind, value, path)
    return _decode_scalar(kind, value, path)


def _decode_items(kinds: tuple[Any, ...], value: list[object], path: str) -> list[Any]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return [_decode(kinds[0], item, f"{path}[{at}]") for at, item in enumerate(value)]
    if len(kinds) != len(value):
        raise WireError(path, f"{len(kinds)} items")
    return [_decode(kind, item, f"{path}[{at}]") for at, (kind, item) in enumerate(zip(kinds, value, strict=True))]


def _decode_union(kind: Any, value: object, path: str) -> Any:
    if value is None and type(None) in get_args(kind):
        return None
    for option in get_args(kind):
        if option is type(None):
            continue
        try:
            return _decode(option, value, path)
        except WireError:
            continue
    raise WireError(path, " or ".join(getattr(option, "__name__", str(option)) for option in get_args(kind)))


def _decode_dataclass(kind: type, value: object, path: str) -> Any:
    if not isinstance(value, dict):
        raise WireError(path, f"an object ({kind.__name__})")
    hints = _hints(kind)
    arguments: dict[str, Any] = {}
    for field in fields(kind):
        where = f"{path}.{field.name}" if path else field.name
        if field.name in value:
            arguments[field.name] = _decode(hints[field.name], value[field.name], where)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise WireError(where, "a value")
    return kind(**arguments)


def _decode_scalar(kind: Any, value: object, path: str) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise WireError(path, " or ".join(str(member.value) for member in kind)) from None
    if isinstance(kind, type) and kind in (str, int, bool, dict, list):
        # bool is an int for Python, not for the contract.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise WireError(path, kind.__name__)
        return value
    if getattr(kind, "__forward_arg__", None) or kind is Any or str(kind).endswith("JsonValue"):
        return value
    if isinstance(kind, type):
        raise WireError(path, kind.__name__)
    return value
