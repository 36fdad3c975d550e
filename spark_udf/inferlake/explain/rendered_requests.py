"""What a worker runs to say which requests a call would send: their keys and sizes, in place of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.calling import Arguments, Callee, UnplannedCall, argument_batches, partition_id
from inferlake.explain.prompt_tokens import estimated_tokens
from inferlake.worker.rendering import Rendered, Renderer
from inferlake_registry.contract.models import ModelSnapshot

REQUEST_DDL: Final = "key binary, prompt_tokens bigint"
_REQUEST: Final = pa.struct([pa.field("key", pa.binary()), pa.field("prompt_tokens", pa.int64())])


def rendered_requests(
    callee: Callee, snapshot: ModelSnapshot
) -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """Return the function of an iterator ``arrow_udf``: a struct of ``REQUEST_DDL`` a row, null where nothing is sent.

    The requests are rendered by what renders those that are sent, so that equal keys here are one payment there.
    """

    def ai_requests(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        rows = argument_batches(batches)
        first = next((batch for batch in rows if len(batch[0])), None)
        if first is not None:
            yield from _requests(callee, snapshot, first, rows)

    ai_requests.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return ai_requests


def _requests(
    callee: Callee, snapshot: ModelSnapshot, first: Arguments, others: Iterator[Arguments]
) -> Iterator[pa.Array]:
    call = callee.planned(first) if isinstance(callee, UnplannedCall) else callee
    descriptor = replace(call.descriptor, snapshot=snapshot)
    renderer = Renderer(descriptor, snapshot, partition_id())
    renderer.compile([column.type for column in call.inputs(first)])
    systems = system_texts(descriptor, snapshot)
    for batch in chain([first], others):
        rows = [
            _request(row, systems) if isinstance(row, Rendered) else None for row in renderer.rows(call.inputs(batch))
        ]
        yield pa.array(rows, _REQUEST)


def system_texts(descriptor: CallDescriptor, snapshot: ModelSnapshot) -> list[str]:
    """Return the system message that each of the model's versions is sent."""
    own = descriptor.system
    return [(arm.endpoint.prompt_system if own is None else own) or "" for arm in snapshot.arms]


def _request(row: Rendered, systems: list[str]) -> dict[str, Any]:
    return {"key": row.key, "prompt_tokens": estimated_tokens(systems[row.arm] + row.prompt)}
