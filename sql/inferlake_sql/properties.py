"""The catalogue of model properties, shared by the parser, the registry and the manual.

``normalise(key, text)`` turns what was written into a ``Property``: its canonical key and a checked, typed value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias, assert_never
from urllib.parse import urlsplit

from inferlake_sql.errors import (
    DuplicateKey,
    InvalidValue,
    RequiredProperty,
    ReservedKey,
    SecretPlaceholder,
    UnknownProperty,
)
from inferlake_sql.json_text import JsonText, read_json_loosely
from inferlake_sql.names import near
from inferlake_sql.quantities import plain, read_decimal, read_integer, read_milliseconds
from inferlake_sql.secret import MASK, Secret, SecretReference, parse_secret_reference
from inferlake_sql.sensitive import HARMLESS_HEADERS, holds_sensitive_name, is_sensitive_name, query_holds_key

PropertyValue: TypeAlias = bool | int | float | str | JsonText | Secret | SecretReference


class Kind(StrEnum):
    """How a value is read; in brackets the Python type of the value that ``normalise`` returns."""

    TEXT = "text"  # (str)
    PATH = "path"  # (str)
    CHOICE = "choice"  # (str, lower case)
    BOOLEAN = "boolean"  # (bool)
    INTEGER = "integer"  # (int)
    MILLISECONDS = "milliseconds"  # (int)
    NUMBER = "number"  # (float)
    JSON = "json"  # (JsonText; as SECRET where the name announces one)
    SECRET = "secret"  # (Secret or SecretReference)
    HEADER = "header"  # (str for a few harmless names, else as SECRET)
    TAG = "tag"  # (str; Secret where the name announces one)


class Effect(StrEnum):
    """What a change of the key means for the model."""

    IDENTITY = "identity"  # makes a new version
    OPERATIONAL = "operational"  # changes the model in place


@dataclass(frozen=True, slots=True)
class PropertySpec:
    """One row of the catalogue. A key that ends in ``*`` is a free prefix."""

    key: str
    kind: Kind
    effect: Effect
    meaning: str  # one sentence, for the manual
    default: bool | int | float | str | None = None
    default_text: str = ""  # where the default is no fixed value
    unit: str = ""
    low: float | None = None
    high: float | None = None
    above_low: bool = False  # low itself is excluded
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def secret(self) -> bool:
        """Whether a literal value may be a secret, so that it has to be stored encrypted."""
        return self.kind in (Kind.SECRET, Kind.HEADER)

    @property
    def range_text(self) -> str:
        """The allowed values for people; empty when anything goes."""
        if self.choices:
            return ", ".join(self.choices)
        if self.low is None:
            return ""
        if self.high is None:
            return f"{'>' if self.above_low else '>='} {self.low:,.0f}"
        return f"{self.low:,.0f} to {self.high:,.0f}"

    @property
    def default_shown(self) -> str:
        """The default for people; empty when there is none."""
        if self.default_text or self.default is None:
            return self.default_text
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return f"{self.default:,}" if isinstance(self.default, int) else str(self.default)


@dataclass(frozen=True, slots=True)
class Property:
    """A canonical key with its checked value."""

    key: str
    value: PropertyValue

    @property
    def spec(self) -> PropertySpec:
        """The key's row of the catalogue."""
        return find_spec(self.key)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of a key, and the unit of a plain number under it."""

    key: str
    unit: str = "ms"


_I, _O = Effect.IDENTITY, Effect.OPERATIONAL
_HOUR, _DAY = 3_600_000, 86_400_000

CATALOGUE: Final[tuple[PropertySpec, ...]] = (
    PropertySpec(
        "model.type",
        Kind.CHOICE,
        _I,
        "Which of the OpenAI-style APIs the endpoint speaks.",
        default_text="from the path of LOCATION",
        choices=("chat", "completions", "embedding"),
        required=True,
    ),
    PropertySpec("model.name", Kind.TEXT, _I, "The `model` sent to the endpoint.", default_text="the registered name"),
    PropertySpec(
        "api.key",
        Kind.SECRET,
        _O,
        "Sent as `Authorization: Bearer`; a literal, or a reference `secret://…`, `env:…`, `file:…`.",
    ),
    PropertySpec(
        "header.*", Kind.HEADER, _O, "An extra request header; hidden unless its name is known to be harmless."
    ),
    PropertySpec("request.*", Kind.JSON, _I, "An extra member of the request body, such as `request.max_tokens`."),
    PropertySpec("prompt.system", Kind.TEXT, _I, "The system message of every call."),
    PropertySpec(
        "response.format",
        Kind.CHOICE,
        _I,
        "What to ask for when the call has no schema of its own.",
        default="text",
        choices=("text", "json_object", "json_schema"),
    ),
    PropertySpec(
        "response.profile",
        Kind.CHOICE,
        _I,
        "How a schema is put into the request.",
        default="openai",
        choices=("openai", "vllm", "none"),
    ),
    PropertySpec(
        "timeout.ms",
        Kind.MILLISECONDS,
        _O,
        "Time for a row, all attempts together.",
        30_000,
        unit="ms",
        low=1,
        high=_HOUR,
    ),
    PropertySpec(
        "attempt.timeout.ms",
        Kind.MILLISECONDS,
        _O,
        "Time for one attempt.",
        default_text="what is left of timeout.ms",
        unit="ms",
        low=1,
        high=_HOUR,
    ),
    PropertySpec("connect.timeout.ms", Kind.MILLISECONDS, _O, "Time to connect.", 5_000, unit="ms", low=1, high=_HOUR),
    PropertySpec(
        "retry.attempts", Kind.INTEGER, _O, "Attempts for faults; a 429 is bounded by time only.", 4, low=1, high=10
    ),
    PropertySpec(
        "qps.limit",
        Kind.NUMBER,
        _O,
        "Requests per second over all callers.",
        unit="requests per second",
        low=0,
        above_low=True,
    ),
    PropertySpec(
        "tpm.limit",
        Kind.NUMBER,
        _O,
        "Tokens per minute over all callers; stored, not yet enforced.",
        unit="tokens per minute",
        low=0,
        above_low=True,
    ),
    PropertySpec(
        "concurrency.limit",
        Kind.INTEGER,
        _O,
        "Calls in flight over all callers.",
        1_024,
        unit="calls",
        low=1,
        high=100_000,
    ),
    PropertySpec(
        "concurrency.per.worker",
        Kind.INTEGER,
        _O,
        "Calls in flight of one worker process.",
        512,
        unit="calls",
        low=1,
        high=4_096,
    ),
    PropertySpec(
        "pin.on.start",
        Kind.BOOLEAN,
        _O,
        "Keep a streaming query with what served when it was planned, instead of asking for each micro-batch.",
        False,
    ),
    PropertySpec(
        "probe.interval.ms", Kind.MILLISECONDS, _O, "Time between probes.", 60_000, unit="ms", low=1_000, high=_DAY
    ),
    PropertySpec(
        "probe.kind",
        Kind.CHOICE,
        _O,
        "How health is asked for: auto uses free probes only, chat is a billed call.",
        "auto",
        choices=("auto", "http", "models", "chat", "none"),
    ),
    PropertySpec(
        "probe.path", Kind.PATH, _O, "Path that an http probe asks for.", default_text="/health, then /v1/models"
    ),
    PropertySpec(
        "probe.failures", Kind.INTEGER, _O, "Failed probes in a row until a model leaves healthy.", 3, low=1, high=100
    ),
    PropertySpec(
        "probe.successes", Kind.INTEGER, _O, "Good probes in a row until a model is healthy again.", 2, low=1, high=100
    ),
    PropertySpec(
        "probe.on.create",
        Kind.BOOLEAN,
        _O,
        "Probe while CREATE runs, and refuse an endpoint that does not answer.",
        False,
    ),
    PropertySpec(
        "price.input", Kind.NUMBER, _O, "Price of 1,000,000 prompt tokens.", unit="per 1,000,000 tokens", low=0
    ),
    PropertySpec(
        "price.output", Kind.NUMBER, _O, "Price of 1,000,000 completion tokens.", unit="per 1,000,000 tokens", low=0
    ),
    PropertySpec("tls.ca", Kind.TEXT, _O, "File with the certificates to trust for this endpoint."),
    PropertySpec("allow.insecure", Kind.BOOLEAN, _O, "Send a key over plain http to a public host.", False),
    PropertySpec("tag.*", Kind.TAG, _O, "A free note on the model; keys that begin with `x-` are read the same way."),
)

ALIASES: Final[Mapping[str, Alias]] = MappingProxyType(
    {
        "timeout_ms": Alias("timeout.ms"),
        "timeout": Alias("timeout.ms", unit="s"),
        "api_key": Alias("api.key"),
        "api-key": Alias("api.key"),
        "model": Alias("model.name"),
    }
)
LOCATION_KEYS: Final = frozenset({"endpoint", "location"})  # in a property list these mean the clause LOCATION

RESERVED_REQUEST_MEMBERS: Final = frozenset({"messages", "model", "stream", "n"})
RESERVED_HEADERS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})

_BY_KEY: Final = MappingProxyType({spec.key: spec for spec in CATALOGUE})
_PREFIXES: Final = ("request.", "header.", "tag.", "x-")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,128}", re.ASCII)  # a token of RFC 9110
_MEMBER_NAME: Final = re.compile(r"[A-Za-z_][\w-]{0,127}", re.ASCII)
_TAG_NAME: Final = re.compile(r"\w[\w./-]{0,127}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def normalise(key: str, text: str) -> Property:
    """Return the property that was written as ``key = text``; numbers and TRUE/FALSE come as their text.

    Raises UnknownProperty, ReservedKey, SecretPlaceholder or InvalidValue.
    """
    canonical = canonical_key(key)
    spec = find_spec(canonical)
    if text == MASK:
        raise SecretPlaceholder(canonical)
    alias = ALIASES.get(key.strip().casefold())
    return Property(canonical, _read(spec, canonical, text, alias.unit if alias else "ms"))


def normalise_all(pairs: Iterable[tuple[str, str]]) -> tuple[Property, ...]:
    """Normalise a whole list in its order; raises DuplicateKey when two keys are the same after case and aliases."""
    written: dict[str, str] = {}
    found: list[Property] = []
    for key, text in pairs:
        made = normalise(key, text)
        check_new(written, made.key, key)
        found.append(made)
    return tuple(found)


def check_new(written: dict[str, str], canonical: str, key: str) -> None:
    """Note in ``written`` that a key was seen, or raise DuplicateKey."""
    folded = canonical.casefold()
    if folded in written:
        raise DuplicateKey(canonical, written[folded], key)
    written[folded] = key


def canonical_key(key: str) -> str:
    """Return the catalogue's spelling of a key: aliases resolved, lower case, except in the free part of a prefix.

    Raises UnknownProperty or ReservedKey.
    """
    stripped = key.strip()
    folded = stripped.casefold()
    if folded in _BY_KEY and not folded.endswith("*"):
        return folded
    if alias := ALIASES.get(folded):
        return alias.key
    for prefix in _PREFIXES:
        if folded.startswith(prefix):
            return _free_key(prefix, stripped[len(prefix) :])
    known = [spec.key for spec in CATALOGUE if not spec.key.endswith("*")] + list(ALIASES)
    raise UnknownProperty(key, near(folded, known))


def _free_key(prefix: str, rest: str) -> str:
    match prefix:
        case "request.":
            if rest.casefold() in RESERVED_REQUEST_MEMBERS:
                raise ReservedKey(prefix + rest, "Use model.name for `model`; messages are made from the row.")
            valid = _MEMBER_NAME.fullmatch(rest)
        case "header.":
            rest = rest.lower()
            if rest in RESERVED_HEADERS:
                raise ReservedKey(prefix + rest, "The connection decides it.")
            valid = _HEADER_NAME.fullmatch(rest)
        case _:
            valid = _TAG_NAME.fullmatch(rest)
    if not valid:
        raise UnknownProperty(prefix + rest)
    return prefix + rest


def find_spec(canonical: str) -> PropertySpec:
    """Return the row of the catalogue for a canonical key."""
    if spec := _BY_KEY.get(canonical):
        return spec
    prefix = "tag." if canonical.startswith("x-") else canonical[: canonical.find(".") + 1]
    return _BY_KEY[f"{prefix}*"]


def check_unset(key: str) -> str:
    """Return the canonical key of an UNSET; raises RequiredProperty for what a model cannot do without."""
    if key.strip().casefold() in LOCATION_KEYS:
        raise RequiredProperty("LOCATION")
    canonical = canonical_key(key)
    if find_spec(canonical).required:
        raise RequiredProperty(canonical)
    return canonical


def show_value(value: PropertyValue) -> str:
    """Return a value as text for DESCRIBE and SHOW: secrets masked, references as references, times in milliseconds."""
    match value:
        case Secret():
            return MASK
        case bool():
            return "true" if value else "false"
        case float():
            return plain(value)
        case int() | str() | JsonText() | SecretReference():
            return str(value)
        case _:
            assert_never(value)


def _read(spec: PropertySpec, key: str, text: str, unit: str) -> PropertyValue:
    match spec.kind:
        case Kind.TEXT:
            return _text(key, text)
        case Kind.PATH:
            return _path(key, text)
        case Kind.CHOICE:
            return _choice(spec, text)
        case Kind.BOOLEAN:
            return _boolean(key, text)
        case Kind.INTEGER | Kind.NUMBER | Kind.MILLISECONDS:
            return _number(spec, text.strip(), unit)
        case Kind.SECRET:
            return _secret(key, text)
        case Kind.JSON:
            return _json(key, text)
        case Kind.HEADER:
            return _header(key, text)
        case Kind.TAG:
            return Secret(text) if is_sensitive_name(key) else text
        case _:
            assert_never(spec.kind)


def _text(key: str, text: str) -> str:
    if not text.strip():
        raise InvalidValue(key, "a text that is not empty", hint="UNSET goes back to the default.")
    return text


def _path(key: str, text: str) -> str:
    """Return a path below the endpoint's own address; like the address it must hold no secret."""
    wanted = "a path below the endpoint's address, without credentials or a key in its query"
    try:
        parts = urlsplit(_text(key, text))
        holds_secret = bool(parts.scheme or parts.netloc or parts.fragment) or query_holds_key(parts.query)
    except ValueError:
        raise InvalidValue(key, wanted) from None
    if holds_secret:
        raise InvalidValue(key, wanted, hint="Give a key as 'api.key' or 'header.…': probes send it too.")
    return text


def _choice(spec: PropertySpec, text: str) -> str:
    word = text.strip().casefold()
    if word not in spec.choices:
        close = near(word, spec.choices, 1)
        hint = f"Did you mean {close[0]}?" if close else ""
        raise InvalidValue(spec.key, f"one of {spec.range_text}", allowed=spec.range_text, hint=hint)
    return word


def _boolean(key: str, text: str) -> bool:
    word = text.strip().casefold()
    if word not in ("true", "false"):
        raise InvalidValue(key, "true or false", allowed="true, false")
    return word == "true"


def _number(spec: PropertySpec, text: str, unit: str) -> int | float:
    number: int | float | None
    if spec.kind is Kind.MILLISECONDS:
        number = read_milliseconds(text, unit)
    else:
        number = read_integer(text) if spec.kind is Kind.INTEGER else read_decimal(text)
    if number is None or not _in_range(spec, number):
        raise _wrong_number(spec, is_zero=number == 0)
    return number


def _in_range(spec: PropertySpec, number: float) -> bool:
    too_low = spec.low is not None and (number < spec.low or (spec.above_low and number == spec.low))
    return not too_low and (spec.high is None or number <= spec.high)


def _wrong_number(spec: PropertySpec, *, is_zero: bool) -> InvalidValue:
    whole = "a number" if spec.kind is Kind.NUMBER else "a whole number"
    match spec.kind:
        case Kind.MILLISECONDS:
            wanted = f"{whole} of milliseconds, {spec.range_text}"
            hint = "A unit may be written: '500ms', '30s', '5m'."
        case _:
            unit = f" of {spec.unit}" if spec.unit and not spec.unit.startswith("per") else f" {spec.unit}".rstrip()
            wanted = f"{whole}{unit}, {spec.range_text}"
            hint = "To stop calls altogether use ALTER MODEL … DISABLE." if is_zero and spec.key == "qps.limit" else ""
    return InvalidValue(spec.key, wanted, unit=spec.unit, allowed=spec.range_text, hint=hint)


def _secret(key: str, text: str) -> Secret | SecretReference:
    if reference := parse_secret_reference(text):
        return reference
    if text.startswith(("secret:", "env:", "file:")):
        raise InvalidValue(key, "a secret or a reference: secret://scope/key, env:NAME, file:/absolute/path")
    if not text or text != text.strip() or _CONTROL.search(text):
        raise InvalidValue(key, "a secret without spaces around it and without control characters")
    return Secret(text)


def _json(key: str, text: str) -> JsonText | Secret | SecretReference:
    value = read_json_loosely(text)
    if is_sensitive_name(key.removeprefix("request.")):
        return parse_secret_reference(text) or Secret(text)
    return Secret(text) if holds_sensitive_name(value.load()) else value


def _header(key: str, text: str) -> str | Secret | SecretReference:
    if _CONTROL.search(text) or (not text.isascii() and not text.isprintable()):
        raise InvalidValue(key, "a header value without control characters")
    if key.removeprefix("header.") in HARMLESS_HEADERS:
        return text
    return _secret(key, text)
