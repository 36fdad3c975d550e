"""The options of a call: the same in Python, where they are arguments, and in SQL, where they are a map of texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from inferlake.call import CallDescriptor, OnError, Returns
from inferlake.errors import InvalidArgument, UnknownOption
from inferlake.schema import check_schema
from inferlake.worker.prompt import parse_template
from inferlake_sql.errors import JsonValue, ReservedKey
from inferlake_sql.json_text import read_json_loosely
from inferlake_sql.names import near
from inferlake_sql.sensitive import is_sensitive_name

MAX_TIMEOUT_MS: Final = 3_600_000
_RESERVED: Final = frozenset({"messages", "model", "stream", "n"})
_REQUEST: Final = "request."


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What a call may say beside the model and its inputs; everything has been checked."""

    prompt: str | None = None
    system: str | None = None
    timeout_ms: int | None = None
    body: Mapping[str, JsonValue] = field(default_factory=dict)
    response_schema: JsonValue = None
    on_error: OnError = OnError.NULL
    max_error_ratio: float = 0.5
    returns: Returns = Returns.VALUE
    dedupe: bool = True
    reuse: str | None = None

    def checked(self, inputs: Sequence[str]) -> CallOptions:
        """Return these options, or raise InvalidArgument, ReservedKey or BadTemplate for the first that cannot be."""
        if not inputs:
            raise InvalidArgument("input_columns", "give at least one input.")
        if len(set(inputs)) != len(inputs):
            twice = next(name for name in inputs if inputs.count(name) > 1)
            raise InvalidArgument("input_columns", f"{twice!r} is there twice; give one of them an alias.")
        if self.timeout_ms is not None and not 1 <= self.timeout_ms <= MAX_TIMEOUT_MS:
            raise InvalidArgument("timeout_ms", f"a whole number of milliseconds from 1 to {MAX_TIMEOUT_MS:,}.")
        if not 0 <= self.max_error_ratio <= 1:
            raise InvalidArgument("max_error_ratio", "a number from 0 to 1.")
        for key in _RESERVED & self.body.keys():
            raise ReservedKey(f"request.{key}", "It is made from the row and the model.")
        for key, value in self.body.items():
            if _holds_secret(key, value):
                raise InvalidArgument(
                    f"request.{key}",
                    "this looks like a secret, and the options of a call stand in the query's plan. Set it at the "
                    "model, as 'api.key' or 'header.…'.",
                )
        if self.prompt is not None:
            parse_template(self.prompt, inputs)
        return self

    def applied(self, descriptor: CallDescriptor) -> CallDescriptor:
        """Return the descriptor with these options."""
        return replace(
            descriptor,
            prompt=self.prompt,
            system=self.system,
            timeout_ms=self.timeout_ms,
            options=self.body,
            response_schema=self.response_schema,
            on_error=self.on_error,
            max_error_ratio=self.max_error_ratio,
            returns=self.returns,
            dedupe=self.dedupe,
            reuse=self.reuse,
        )


def _holds_secret(name: str, value: JsonValue) -> bool:
    """Whether a member is, or has below it, a text whose name announces a secret; a schema's members are none."""
    if isinstance(value, dict):
        return any(_holds_secret(key, member) for key, member in value.items())
    if isinstance(value, list):
        return any(_holds_secret(name, member) for member in value)
    return isinstance(value, str) and is_sensitive_name(name)


def are_options(keys: Collection[str]) -> bool:
    """Tell whether a map with these keys is options: it has some, and all are known. Any other map is data."""
    return bool(keys) and all(key in _READERS or key.startswith(_REQUEST) for key in keys)


def read_options(pairs: Mapping[str, str]) -> CallOptions:
    """Return the options of a SQL map. Raises UnknownOption, InvalidArgument, InvalidSchema."""
    values: dict[str, Any] = {}
    body: dict[str, JsonValue] = {}
    for key, text in pairs.items():
        if key.startswith(_REQUEST):
            body[key.removeprefix(_REQUEST)] = read_json_loosely(text).load()
        elif key in _READERS:
            values[key] = _READERS[key](key, text)
        else:
            raise UnknownOption(key, near(key, _READERS), sorted(_READERS))
    return CallOptions(body=body, **values)


def read_on_error(name: str, text: str) -> OnError:
    """Return the member of that name."""
    try:
        return OnError(text)
    except ValueError:
        raise InvalidArgument(name, "'null' or 'raise'.") from None


def read_returns(name: str, text: str) -> Returns:
    """Return the member of that name."""
    try:
        return Returns(text)
    except ValueError:
        raise InvalidArgument(name, "'value' or 'struct'.") from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(name, "a whole number.") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument(name, "a number.") from None


def _boolean(name: str, text: str) -> bool:
    folded = text.casefold()
    if folded not in ("true", "false"):
        raise InvalidArgument(name, "'true' or 'false'.")
    return folded == "true"


def _text(name: str, text: str) -> str:
    return text


def _schema(name: str, text: str) -> JsonValue:
    return check_schema(text).load()


_READERS: Final[Mapping[str, Callable[[str, str], object]]] = {
    "prompt": _text,
    "system": _text,
    "timeout_ms": _whole,
    "response_schema": _schema,
    "on_error": read_on_error,
    "max_error_ratio": _number,
    "returns": read_returns,
    "dedupe": _boolean,
    "reuse": _text,
}
