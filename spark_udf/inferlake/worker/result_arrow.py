"""Results as Arrow arrays, built column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from inferlake.result import CallResult
from inferlake.worker.arrow_columns import arrow_column

_FIELDS: Final = (
    pa.field("response", pa.string()),
    pa.field("error", pa.string()),
    pa.field("error_code", pa.string()),
    pa.field("http_status", pa.int32()),
    pa.field("finish_reason", pa.string()),
    pa.field("model", pa.string()),
    pa.field("version", pa.string()),
    pa.field("attempts", pa.int32()),
    pa.field("latency_ms", pa.float64()),
    pa.field("prompt_tokens", pa.int64()),
    pa.field("completion_tokens", pa.int64()),
    pa.field("cached_tokens", pa.int64()),
    pa.field("reasoning_tokens", pa.int64()),
    pa.field("cost", pa.float64()),
    pa.field("request_id", pa.string()),
    pa.field("from_cache", pa.bool_()),
)
STRUCT_TYPE: Final = pa.struct(_FIELDS)  # the Arrow form of ``inferlake.result.STRUCT_DDL``


def to_struct_array(results: Sequence[CallResult]) -> pa.StructArray:
    """Return the results as one array of ``STRUCT_TYPE``; no row is null."""
    columns = zip(*results, strict=True) if results else [()] * len(_FIELDS)
    arrays = [arrow_column(column, field.type) for column, field in zip(columns, _FIELDS, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(_FIELDS))


def text_array(results: Sequence[CallResult]) -> pa.StringArray:
    """Return the answers' texts, null where there is none."""
    return arrow_column([result.response for result in results], pa.string())
