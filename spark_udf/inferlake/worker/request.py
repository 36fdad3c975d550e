"""A prompt becomes the bytes of a request, the same bytes every time: the answer store is keyed by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import orjson

from inferlake.call import CallDescriptor
from inferlake_registry.contract.models import Endpoint, ModelSnapshot, ModelType, ResponseFormat, ResponseProfile
from inferlake_sql.errors import JsonValue

_KEY_BYTES: Final = 16
_MARK: Final = "\N{OBJECT REPLACEMENT CHARACTER}prompt\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The bytes before and after the prompt. Rendering a row is one JSON string between them."""

    before: bytes
    after: bytes
    lead: str = ""  # what a completion's text begins with

    def body(self, prompt: str) -> bytes:
        """Return the complete body. The prompt is valid Unicode, since it comes from Arrow."""
        return self.before + orjson.dumps(self.lead + prompt if self.lead else prompt) + self.after


def request_form(endpoint: Endpoint, descriptor: CallDescriptor) -> RequestForm:
    """Return the form of all requests of one call to one version.

    What the call asks for wins over what the model says: ``options`` over ``request.*``, a call's schema and system
    message over the model's. Temperature is 0 unless either sets it.
    """
    system = endpoint.prompt_system if descriptor.system is None else descriptor.system
    document = _document(endpoint, descriptor, system)
    before, _, after = orjson.dumps(document).partition(orjson.dumps(_MARK))
    leads = system and endpoint.model_type is ModelType.COMPLETIONS
    return RequestForm(before, after, f"{system}\n\n" if leads else "")


def _document(endpoint: Endpoint, descriptor: CallDescriptor, system: str | None) -> dict[str, JsonValue]:
    extra = {**endpoint.request, **descriptor.options}
    document: dict[str, JsonValue] = {"model": endpoint.model_name}
    match endpoint.model_type:
        case ModelType.EMBEDDING:
            return {**document, "input": _MARK, **_sorted(extra)}
        case ModelType.CHAT:
            document["messages"] = _messages(system)
        case ModelType.COMPLETIONS:
            document["prompt"] = _MARK
    document["temperature"] = 0
    return {**document, **_response_format(endpoint, descriptor.response_schema), **_sorted(extra)}


def _sorted(extra: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the members in one order, so that the order in which a user wrote them does not make another request."""
    return {name: extra[name] for name in sorted(extra)}


def _messages(system: str | None) -> list[JsonValue]:
    user: JsonValue = {"role": "user", "content": _MARK}
    return [{"role": "system", "content": system}, user] if system else [user]


def _response_format(endpoint: Endpoint, schema: JsonValue) -> dict[str, JsonValue]:
    """Return the body members that ask for JSON, in the way that the model's server understands."""
    if schema is None:
        if endpoint.response_format is ResponseFormat.JSON_OBJECT:
            return {"response_format": {"type": "json_object"}}
        return {}
    match endpoint.response_profile:
        case ResponseProfile.OPENAI:
            wanted: JsonValue = {"name": "answer", "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": wanted}}
        case ResponseProfile.VLLM:
            return {"structured_outputs": {"json": schema}}
        case ResponseProfile.NONE:
            return {}


class KeyMaker:
    """Hashes requests into keys: equal keys are promised to be the same request to the same model at the same address.

    The key covers the model's identity (a model dropped and created again is another), version, address and body.
    ``scope`` separates what must not be merged: a sample key, or the occurrence of a row when ``dedupe`` is off.
    """

    def __init__(self, snapshot: ModelSnapshot, endpoint: Endpoint) -> None:
        self._start = blake2b(digest_size=_KEY_BYTES)
        for part in (snapshot.model_id, endpoint.version, endpoint.url, endpoint.model_type.value):
            self._start.update(_framed(part.encode()))

    def key(self, body: bytes, scope: bytes = b"") -> bytes:
        """Return 16 bytes; among 4e9 requests two different ones share them with a probability of 2**-65."""
        state = self._start.copy()
        if scope:
            state.update(_framed(scope))
        state.update(body)
        return state.digest()


def _framed(part: bytes) -> bytes:
    """Return the part with its length before it, so that ("ab", "c") and ("a", "bc") differ."""
    return len(part).to_bytes(4, "big") + part
