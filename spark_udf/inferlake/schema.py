"""A JSON Schema that has been checked: what ``ai_validate`` and ``route_rejected`` judge answers by.

It refers to nothing outside itself: no schema is ever fetched from an address.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import jsonschema_rs

from inferlake.errors import InvalidSchema
from inferlake_sql.errors import JsonValue

if TYPE_CHECKING:
    import jsonschema.protocols

# jsonschema is imported where it is used: a worker needs it when an answer is wrong, and starts 40 ms sooner without.

SchemaLike: TypeAlias = "str | bool | Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as compact JSON text; it travels to the workers like this and is compiled there."""

    text: str

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that are the same for schemas that differ in white space or key order only."""
        return hashlib.sha256(json.dumps(self.load(), sort_keys=True).encode()).hexdigest()[:16]

    def load(self) -> JsonValue:
        """Return the schema's document."""
        document: JsonValue = json.loads(self.text)
        return document


def check_schema(schema: SchemaLike) -> Schema:
    """Return the schema, or raise InvalidSchema: no JSON, no JSON Schema, or a reference to somewhere else."""
    import jsonschema
    import jsonschema.validators

    document = _document(schema)
    if not isinstance(document, bool | dict):
        raise InvalidSchema("a schema is a JSON object, or true or false")
    # The stubs that type checkers bring know no schema but an object; true and false are schemas as well.
    kind: Any = jsonschema.validators.validator_for(document, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(document)
    except jsonschema.SchemaError as error:
        raise InvalidSchema(_short(error.message), pointer(error.absolute_path)) from None
    except RecursionError:
        raise InvalidSchema("it is nested too deep") from None
    checked = Schema(_text(document))
    try:
        fast_validator(checked.text)
    except ValueError as error:  # a reference that leads nowhere, or a pattern that only one of the two engines knows
        raise InvalidSchema(_short(str(error).partition("\n")[0])) from None
    return checked


@lru_cache(maxsize=64)
def fast_validator(text: str) -> jsonschema_rs.Validator:
    """Return the validator that decides on every row; made on first use in each process."""
    # The text itself would be parsed by other rules than Python's; the document is what check_schema saw.
    return jsonschema_rs.validator_for(json.loads(text), validate_formats=False, offline=True)


@lru_cache(maxsize=64)
def explaining_validator(text: str) -> jsonschema.protocols.Validator:
    """Return the validator that explains the rows that failed."""
    import jsonschema.validators
    import referencing

    document = json.loads(text)
    # The stubs that type checkers bring know no schema but an object; true and false are schemas as well.
    kind: Any = jsonschema.validators.validator_for(document, default=jsonschema.Draft202012Validator)
    return kind(document, registry=referencing.Registry())


def pointer(path: object) -> str:
    """Return a JSON pointer (RFC 6901) for a path of keys and indexes; the empty text is the whole document."""
    parts = path if isinstance(path, list | tuple) else list(path)  # type: ignore[call-overload]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _document(schema: SchemaLike) -> object:
    if not isinstance(schema, str):
        return schema
    try:
        document: object = json.loads(schema)
    except ValueError as error:
        raise InvalidSchema(f"the text is no JSON ({error})") from None
    except RecursionError:
        raise InvalidSchema("it is nested too deep") from None
    return document


def _text(document: object) -> str:
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidSchema(f"it holds something that is no JSON value ({error})") from None


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:299]}…"
