"""A model as its callers see it: the snapshot that a query is planned with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inferlake_sql.errors import JsonValue
from inferlake_sql.secret import Secret
from inferlake_sql.statements import ContractColumn


class ModelType(StrEnum):
    """Which of the OpenAI-style APIs an endpoint speaks."""

    CHAT = "chat"
    COMPLETIONS = "completions"
    EMBEDDING = "embedding"


class ResponseFormat(StrEnum):
    """What to ask the endpoint for when the call brings no schema of its own."""

    TEXT = "text"
    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"


class ResponseProfile(StrEnum):
    """How a schema is put into the request body."""

    OPENAI = "openai"
    VLLM = "vllm"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One version, ready to be called. Everything here is identity: a change of it is another version."""

    version: str
    url: str  # complete: path included
    model_name: str  # `model` in the request body
    model_type: ModelType
    prompt_system: str | None = None
    response_format: ResponseFormat = ResponseFormat.TEXT
    response_profile: ResponseProfile = ResponseProfile.OPENAI
    request: Mapping[str, JsonValue] = field(default_factory=dict)  # extra body members
    secret_request: tuple[str, ...] = ()  # names of further members, whose values come with the credentials


@dataclass(frozen=True, slots=True)
class Arm:
    """One version's share of the traffic. The weights of a model's arms sum to 100."""

    weight: int
    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Operational properties: how to call, not what is called. Times in milliseconds, limits over all callers."""

    timeout_ms: int = 30_000
    attempt_timeout_ms: int | None = None
    connect_timeout_ms: int = 5_000
    retry_attempts: int = 4
    qps_limit: float | None = None
    concurrency_limit: int = 1_024
    concurrency_per_worker: int = 512
    price_input: float | None = None  # per 1,000,000 tokens
    price_output: float | None = None
    tls_ca: str | None = None
    allow_insecure: bool = False
    pin_on_start: bool = False  # a streaming query stays with the version that served when it was planned


@dataclass(frozen=True, slots=True)
class ModelSnapshot:
    """A model at one moment. It holds no secret, so it may travel in a Spark plan."""

    model_id: str  # identity: a model dropped and created again under the same name has another
    name: str
    revision: int  # grows with every change of the model
    enabled: bool
    pinned: bool  # the reference named a version or alias, so a traffic split does not apply
    arms: tuple[Arm, ...]
    settings: CallSettings
    has_secrets: bool  # a worker must fetch Credentials before it calls
    inputs: tuple[ContractColumn, ...] = ()  # of INPUT; empty: anything may be given
    outputs: tuple[ContractColumn, ...] = ()  # of OUTPUT; empty: the answer is text


@dataclass(frozen=True, slots=True)
class CredentialsRequest:
    """Whose headers a worker wants and where it will send them: a host gets only what was given for it."""

    model_id: str | None = None  # of the snapshot that the query was planned with; None means the model of the name
    host: str | None = None  # in lower case, without port; None means the active version's
    version: str | None = None  # whose secret body members are wanted too


@dataclass(frozen=True, slots=True)
class Credentials:
    """What must not be seen of a request, given only to a caller that asks for it at the moment of calling."""

    headers: Mapping[str, Secret]  # complete values, e.g. authorization -> "Bearer …"
    epoch: int  # changes when any of them is set again: a worker compares it after a 401
    request: Mapping[str, Secret] = field(default_factory=dict)  # members of the body, each as JSON text
