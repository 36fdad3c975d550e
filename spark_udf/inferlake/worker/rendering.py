"""A row becomes the request that would be sent: to which version, in which bytes, and under which key it is paid once.

Nothing is sent here and nothing is alive, so that a query can be asked what it would send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from hashlib import blake2b
from itertools import repeat
from typing import NamedTuple

import pyarrow as pa

from inferlake.call import CallDescriptor
from inferlake.worker.errors import ModelUnusable
from inferlake.worker.plain_values import plain_values
from inferlake.worker.prompt import Render, compile_prompt
from inferlake.worker.request import KeyMaker, RequestForm, request_form
from inferlake.worker.row_json import JsonWriter, plain_text
from inferlake.worker.rows import Batch
from inferlake_registry.contract.models import ModelSnapshot
from inferlake_registry.contract.problems import ModelDisabled


class Uncalled(Enum):
    """Why a row needs no call."""

    NULL_INPUT = auto()  # all its inputs are null
    NOT_WANTED = auto()  # its ``where`` is false


class Rendered(NamedTuple):
    """One row's request; a tuple, because there is one a row."""

    arm: int  # which of the snapshot's arms answers
    prompt: str
    body: bytes
    key: bytes


class _Arm(NamedTuple):
    below: int  # cuts 0..99 into shares
    form: RequestForm
    keys: KeyMaker


class Renderer:
    """Renders the rows of one task. Raises ``ModelDisabled`` and ``ModelUnusable`` for a model without a version."""

    def __init__(self, descriptor: CallDescriptor, snapshot: ModelSnapshot, partition: int) -> None:
        if not snapshot.enabled:
            raise ModelDisabled(snapshot.name)
        if not snapshot.arms:
            raise ModelUnusable(snapshot.name, "it has no active version")
        self._descriptor = descriptor
        self._partition = partition
        self._arms = tuple(_arms(descriptor, snapshot))
        self._occurrences: Counter[bytes] = Counter()
        self._inputs = len(descriptor.input_names)
        self._render: Render | None = None
        self._where_at = self._inputs
        self._sample_at = self._where_at + descriptor.has_where
        self._split_at = self._sample_at + descriptor.has_sample_key
        self._sample_key: JsonWriter | None = None
        self._split_key: JsonWriter | None = None

    def compile(self, types: Sequence[pa.DataType]) -> None:
        """Fix how rows of these column types are rendered; raises ``BadTemplate`` and ``UnsupportedColumn``."""
        self._render = compile_prompt(self._descriptor.input_names, types[: self._inputs], self._descriptor.prompt)
        self._sample_key = plain_text(types[self._sample_at]) if self._descriptor.has_sample_key else None
        self._split_key = plain_text(types[self._split_at]) if self._descriptor.has_split_key else None

    def rows(self, piece: Batch) -> Iterator[Rendered | Uncalled]:
        """Yield what is sent for each row of a piece of input."""
        assert self._render is not None
        columns = [plain_values(column) for column in piece]
        inputs = zip(*columns[: self._inputs], strict=True)
        wanted = columns[self._where_at] if self._descriptor.has_where else repeat(True)
        samples = columns[self._sample_at] if self._descriptor.has_sample_key else repeat(None)
        units = columns[self._split_at] if self._descriptor.has_split_key else repeat(None)
        for values, is_wanted, sample, unit in zip(inputs, wanted, samples, units, strict=False):
            if not is_wanted:
                yield Uncalled.NOT_WANTED
            elif (prompt := self._render(values)) is None:
                yield Uncalled.NULL_INPUT
            else:
                yield self._rendered(prompt, sample, unit)

    def _rendered(self, prompt: str, sample: object, unit: object) -> Rendered:
        at = 0 if len(self._arms) == 1 else self._arm(prompt, unit)
        arm = self._arms[at]
        body = arm.form.body(prompt)
        return Rendered(at, prompt, body, arm.keys.key(body, self._scope(body, sample)))

    def _arm(self, prompt: str, unit: object) -> int:
        """Return which version answers: always the same one for a prompt, or for a split key that is not null."""
        key = prompt if self._split_key is None or unit is None else self._split_key(unit)
        share = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % 100
        return next(at for at, arm in enumerate(self._arms) if share < arm.below)

    def _scope(self, body: bytes, sample: object) -> bytes:
        """Return what tells equal requests apart: nothing, a sample key, or the place among its equals in the query."""
        scope = b""
        if self._sample_key is not None:
            scope = b"sample" if sample is None else b"sample=" + self._sample_key(sample).encode()
        if not self._descriptor.dedupe:
            occurrence = self._occurrences[body]
            self._occurrences[body] += 1
            # A job that runs again with its old answers is another query, but means the same samples.
            query = self._descriptor.reuse or self._descriptor.query_id
            scope += f"|{query}|{self._partition}|{occurrence}".encode()
        return scope


def _arms(descriptor: CallDescriptor, snapshot: ModelSnapshot) -> Iterator[_Arm]:
    below = 0
    for arm in snapshot.arms:
        below += arm.weight
        yield _Arm(below, request_form(arm.endpoint, descriptor), KeyMaker(snapshot, arm.endpoint))
