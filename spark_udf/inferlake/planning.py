"""From what a user asks for to a call that can be sent to the workers: the model is resolved here, on the driver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from pyspark.sql import SparkSession

from inferlake.call import CallDescriptor
from inferlake.call_options import CallOptions
from inferlake.case_sensitivity import is_case_sensitive
from inferlake.connection import Connection
from inferlake.input_contract import check_count
from inferlake_registry.contract.models import ModelSnapshot

METADATA_KEY: Final = "inferlake.call"


def resolve_model(connection: Connection, reference: str, spark: SparkSession | None = None) -> ModelSnapshot:
    """Return the model as it is now. Raises ModelNotFound, VersionNotFound, ModelDisabled, RegistryUnreachable.

    ``spark`` is the session whose settings count, else the active one.
    """
    return connection.registry.resolve(reference, case_sensitive=is_case_sensitive(spark))


def plan_call(
    connection: Connection,
    reference: str,
    input_names: Sequence[str],
    options: CallOptions,
    *,
    output_ddl: str = "string",
    has_where: bool = False,
    has_sample_key: bool = False,
    has_split_key: bool = False,
    snapshot: ModelSnapshot,
    spark: SparkSession | None = None,
) -> CallDescriptor:
    """Return the descriptor of a call of a model as ``resolve_model`` found it, checked as far as names go.

    ``spark`` is the session whose settings count, else the active one. Raises InputCountDiffers, and what the options
    can raise.
    """
    checked = options.checked(input_names)
    check_count(snapshot, len(input_names))
    bare = CallDescriptor(
        registry_url=connection.url,
        reference=reference,
        snapshot=snapshot,
        input_names=tuple(input_names),
        output_ddl=output_ddl,
        has_where=has_where,
        has_sample_key=has_sample_key,
        has_split_key=has_split_key,
        case_sensitive=is_case_sensitive(spark),
        application_id=connection.application_id,
    )
    return checked.applied(bare)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a column's answers come from; it travels in the column's metadata, through aliases, filters and views."""

    model: str
    version: str | None  # None when a traffic split lets several versions answer
    inputs: tuple[str, ...]
    prompt: str | None = None
    pinned: bool = False  # the call named a version or an alias, so no split applies

    @classmethod
    def of(cls, descriptor: CallDescriptor) -> Lineage:
        """Return the lineage of a planned call."""
        snapshot = descriptor.snapshot
        name = snapshot.name if snapshot is not None else descriptor.reference
        arms = snapshot.arms if snapshot is not None else ()
        version = arms[0].endpoint.version if len(arms) == 1 else None
        pinned = snapshot is not None and snapshot.pinned
        return cls(name, version, descriptor.input_names, descriptor.prompt, pinned)

    def metadata(self) -> dict[str, str]:
        """Return the column metadata."""
        return {METADATA_KEY: json.dumps(asdict(self), ensure_ascii=False)}

    @classmethod
    def read(cls, metadata: dict[str, object] | None) -> Lineage | None:
        """Return the lineage that a column's metadata holds, if it holds one."""
        text = (metadata or {}).get(METADATA_KEY)
        if not isinstance(text, str):
            return None
        document = json.loads(text)
        inputs, pinned = tuple(document["inputs"]), document.get("pinned", False)
        return cls(document["model"], document["version"], inputs, document["prompt"], pinned)
