"""What a caller plans a query with: the model as it is now, without its secrets; and the secrets, apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from inferlake_registry.contract.models import (
    Arm,
    CallSettings,
    Credentials,
    CredentialsRequest,
    Endpoint,
    ModelSnapshot,
    ModelType,
    ResponseFormat,
    ResponseProfile,
)
from inferlake_registry.contract.problems import ModelDisabled
from inferlake_registry.services.bound_keys import host_of, is_header, properties_for
from inferlake_registry.services.models import active_version, get_alias, get_called, get_referred, get_version, live
from inferlake_registry.services.properties import reveal
from inferlake_registry.services.secret_members import members_for, secret_members
from inferlake_registry.services.spelling import require_letters
from inferlake_registry.store.schema import Model, ModelProperty, PropertyValueColumns, Version
from inferlake_registry.store.secrets import KeyRing
from inferlake_sql.errors import JsonValue
from inferlake_sql.location import check_location, complete
from inferlake_sql.names import parse_name, parse_reference
from inferlake_sql.properties import normalise
from inferlake_sql.secret import Secret
from inferlake_sql.statements import ContractColumn


def resolve(session: Session, text: str, *, case_sensitive: bool = False) -> ModelSnapshot:
    """Return the model of a call's reference. Raises ModelNotFound, VersionNotFound, AliasNotFound, ModelDisabled."""
    reference = parse_reference(text)
    model = get_referred(session, reference)
    if case_sensitive:
        require_letters(model, reference.name, reference.verbatim)
    if not model.enabled:
        raise ModelDisabled(model.name)
    if reference.version is not None:
        weights: Mapping[str, int] = {reference.version: 100}
    elif reference.alias is not None:
        weights = {get_alias(model, reference.alias): 100}
    else:
        weights = live(model).weights
    serving = [(weight, get_version(model, version)) for version, weight in weights.items()]
    return ModelSnapshot(
        model_id=model.id,
        name=model.name,
        revision=model.revision,
        enabled=model.enabled,
        pinned=reference.pinned,
        arms=tuple(Arm(weight, endpoint_of(model, version)) for weight, version in serving),
        settings=call_settings(model),
        has_secrets=any(
            _headers(model, host_of(version.location)) or secret_members(version) for _, version in serving
        ),
        inputs=contract_columns(model.inputs),
        outputs=contract_columns(model.outputs),
    )


def contract_columns(stored: Iterable[Sequence[str]]) -> tuple[ContractColumn, ...]:
    """Return the stored columns of INPUT or OUTPUT."""
    return tuple(ContractColumn(name, type_) for name, type_ in stored)


def plain_values(rows: Iterable[PropertyValueColumns]) -> dict[str, str]:
    """Return the values that are no secrets, by key."""
    return {row.key: row.value for row in rows if row.value is not None}


def endpoint_of(model: Model, version: Version) -> Endpoint:
    """Return a stored version as it is called."""
    values = plain_values(version.properties)
    endpoint = make_endpoint(version.version, version.location, parse_name(model.name).last, values)
    return replace(endpoint, secret_request=secret_members(version))


def make_endpoint(version: str, location: str, name: str, values: Mapping[str, str]) -> Endpoint:
    """Return a definition as it is called; ``name`` is what the model is called where it says nothing else."""
    kind = ModelType(values.get("model.type", ModelType.CHAT))
    request: dict[str, JsonValue] = {
        key.removeprefix("request."): json.loads(value) for key, value in values.items() if key.startswith("request.")
    }
    return Endpoint(
        version=version,
        url=complete(check_location(location), kind),
        model_name=values.get("model.name", name),
        model_type=kind,
        prompt_system=values.get("prompt.system"),
        response_format=ResponseFormat(values.get("response.format", ResponseFormat.TEXT)),
        response_profile=ResponseProfile(values.get("response.profile", ResponseProfile.OPENAI)),
        request=request,
    )


def call_settings(model: Model) -> CallSettings:
    """Return a model's operational properties as typed settings; what is not set has its default."""
    return make_settings(plain_values(model.properties))


def make_settings(texts: Mapping[str, str]) -> CallSettings:
    """Return properties as typed settings, other keys than those of a call left out."""
    values = {key: normalise(key, value).value for key, value in texts.items()}
    known = {
        "timeout.ms": "timeout_ms",
        "attempt.timeout.ms": "attempt_timeout_ms",
        "connect.timeout.ms": "connect_timeout_ms",
        "retry.attempts": "retry_attempts",
        "qps.limit": "qps_limit",
        "concurrency.limit": "concurrency_limit",
        "concurrency.per.worker": "concurrency_per_worker",
        "price.input": "price_input",
        "price.output": "price_output",
        "tls.ca": "tls_ca",
        "allow.insecure": "allow_insecure",
        "pin.on.start": "pin_on_start",
    }
    return CallSettings(**{known[key]: value for key, value in values.items() if key in known})  # type: ignore[arg-type]


def _headers(model: Model, host: str) -> list[ModelProperty]:
    return [row for row in properties_for(model, host) if is_header(row.key)]


def credentials(session: Session, ring: KeyRing, name: str, request: CredentialsRequest) -> Credentials:
    """Return the headers, and of a version the body members, that must not be seen.

    Raises ModelNotFound, VersionNotFound, SecretUnavailable.

    A query that was planned names the model's identity, so that it finishes when the model is renamed or dropped, and
    never gets the key of another model that took the name.
    """
    model = get_called(session, name, request.model_id)
    host = host_of(active_version(model).location) if request.host is None else request.host
    headers = headers_for(ring, model, host)
    if request.version is None:
        return Credentials(headers, model.secret_epoch)
    members = members_for(ring, model.name, get_version(model, request.version), host)
    return Credentials(headers, model.secret_epoch, members)


def headers_for(ring: KeyRing, model: Model, host: str) -> dict[str, Secret]:
    """Return the headers of calls to one host. Raises SecretUnavailable."""
    return make_headers({row.key: reveal(row, ring, model.name) for row in _headers(model, host)})


def make_headers(values: Mapping[str, Secret]) -> dict[str, Secret]:
    """Return the request headers that ``api.key`` and ``header.*`` mean; a header that is set by itself wins."""
    headers = {key.removeprefix("header."): value for key, value in values.items() if key.startswith("header.")}
    if "api.key" in values:
        headers.setdefault("authorization", Secret(f"Bearer {values['api.key'].reveal()}"))
    return headers
