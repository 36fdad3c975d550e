"""The descriptor of a call: everything a worker needs to know, and nothing alive.

It is made on the driver, pickled into the plan, and met by the engine in the worker process. It holds no secret: a
worker whose snapshot says ``has_secrets`` asks the registry for credentials itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inferlake_registry.contract.models import ModelSnapshot
from inferlake_sql.errors import JsonValue


class OnError(StrEnum):
    """What a failed row becomes when the plain value is asked for."""

    NULL = "null"
    RAISE = "raise"


class Returns(StrEnum):
    """The plain output, or the fixed struct of ``inferlake.result``."""

    VALUE = "value"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class CallDescriptor:
    """One ``ai_function`` in one query."""

    registry_url: str
    reference: str  # as the user wrote it: m, m@alias, m:version
    snapshot: ModelSnapshot | None  # None: planning was bypassed, or a micro-batch; the worker resolves once per query
    input_names: tuple[str, ...]
    prompt: str | None = None  # template with {column} places
    system: str | None = None
    timeout_ms: int | None = None  # None: the model's own
    options: Mapping[str, JsonValue] = field(default_factory=dict)  # extra body members of this call
    response_schema: JsonValue = None  # JSON Schema asked of the endpoint
    output_ddl: str = "string"  # anything but string: the answer is JSON of that type
    on_error: OnError = OnError.NULL
    max_error_ratio: float = 0.5
    returns: Returns = Returns.VALUE
    dedupe: bool = True
    # Columns that are not sent come behind the inputs, in this order.
    has_where: bool = False  # a boolean: unless it is true there is no call
    has_sample_key: bool = False  # tells equal requests apart
    has_split_key: bool = False  # decides which version of a split answers
    reuse: str | None = None
    traceparent: str | None = None
    query_id: str = ""  # unique per planned query: what "once per query" is keyed by
    case_sensitive: bool = False  # whether the session tells M from m, should the worker have to resolve
    application_id: str = ""  # Spark's; answers are kept and shared per application and host. Empty: per process
