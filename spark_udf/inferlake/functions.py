"""The column functions: ``from inferlake import functions as F``.

``inferlake.enable`` also puts them into ``pyspark.sql.functions``, so that code written against that runs as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from inferlake.call import CallDescriptor, Returns
from inferlake.call_options import CallOptions, read_on_error, read_returns
from inferlake.calling import ModelCall, as_function
from inferlake.column_names import column_name
from inferlake.connection import current
from inferlake.errors import InvalidArgument
from inferlake.iterator_udf import iterator_udf
from inferlake.judging import VERDICT_DDL, validating
from inferlake.output_contract import answer_schema
from inferlake.output_contract import output_type as wanted_output
from inferlake.planning import Lineage, plan_call, resolve_model
from inferlake.result import STRUCT_DDL
from inferlake.schema import Schema, SchemaLike, check_schema
from inferlake.type_guard import guarded
from inferlake.type_schema import type_schema
from inferlake_sql.errors import JsonValue, NotSupported

__all__ = ("ai_function", "ai_validate")

ColumnOrName: TypeAlias = "Column | str"


def ai_function(
    model: str,
    input_columns: ColumnOrName | Sequence[ColumnOrName],
    output_type: DataType | str | None = None,
    timeout_ms: int | None = None,
    *,
    prompt: str | None = None,
    system: str | None = None,
    options: Mapping[str, Any] | None = None,
    response_schema: SchemaLike | DataType | None = None,
    media_columns: Sequence[str] | None = None,
    on_error: str = "null",
    max_error_ratio: float = 0.5,
    returns: str = "value",
    where: ColumnOrName | None = None,
    dedupe: bool | None = None,
    sample_key: ColumnOrName | None = None,
    split_key: ColumnOrName | None = None,
    reuse: str | None = None,
) -> Column:
    """Return a column of a model's answers, one for each row; the model is resolved now, nothing is called yet.

    A single string column is sent as it is, several columns as one JSON object with their names as keys, or as the
    ``prompt`` says. Anything but a string as ``output_type`` asks the endpoint for JSON of that type and parses it;
    without it the model's OUTPUT is the type, and without that it is a string. A model's INPUT is checked: the number
    of inputs now, their types when Spark analyses the query that the column is in.
    ``returns="struct"`` gives the fields of ``inferlake.result.STRUCT_DDL``, errors included. Rows whose inputs are all
    null, and rows where ``where`` is not true, are null and cost nothing. ``options`` are members of the body. Under a
    traffic split rows of one ``split_key`` (a user, say) are answered by one version; without it the request decides.

    Raises NotEnabled, ModelNotFound with near names, VersionNotFound, ModelDisabled, RegistryUnreachable, BadTemplate,
    InvalidSchema, InvalidArgument and InputCountDiffers, all before any task starts.
    """
    if media_columns:
        raise NotSupported("media_columns", "Addresses of media are sent as text: name them in input_columns.")
    names, columns = _inputs(input_columns)
    snapshot = resolve_model(current(), model)
    type_ = wanted_output(snapshot) if output_type is None else _data_type(output_type)
    answer = answer_schema(type_)
    asked = _response_schema(response_schema)
    choices = CallOptions(
        prompt=prompt,
        system=system,
        timeout_ms=timeout_ms,
        body=_body(options),
        response_schema=asked.load() if asked is not None else answer.load() if answer is not None else None,
        on_error=read_on_error("on_error", on_error),
        max_error_ratio=max_error_ratio,
        returns=read_returns("returns", returns),
        dedupe=dedupe is not False,
        reuse=reuse,
    )
    descriptor = plan_call(
        current(),
        model,
        names,
        choices,
        output_ddl=type_.simpleString(),
        has_where=where is not None,
        has_sample_key=sample_key is not None,
        has_split_key=split_key is not None,
        snapshot=snapshot,
    )
    beside = [] if where is None else [sf.expr(where) if isinstance(where, str) else where]
    beside += [_column(key) for key in (sample_key, split_key) if key is not None]
    called = _call(descriptor, answer, [*guarded(snapshot, columns), *beside])
    value = called if answer is None or choices.returns is Returns.STRUCT else _parsed(called, type_)
    return value.alias(f"ai_function({', '.join(names)})", metadata=Lineage.of(descriptor).metadata())


def ai_validate(column: ColumnOrName, schema: SchemaLike) -> Column:
    """Return verdicts on a column of answers (text, or the struct of ``ai_function``) by a JSON Schema.

    The result is ``struct<valid, value, reason, errors>``: ``value`` is the canonical JSON text that was judged,
    ``reason`` one of ``inferlake.judge.Reason`` (or the call's error code), ``errors`` say where and why. Judging is
    strict: a code fence, text around the JSON, a key twice or NaN are reasons of their own. Raises InvalidSchema.
    """
    return iterator_udf(validating(check_schema(schema)), VERDICT_DDL)(_column(column))


def _inputs(input_columns: ColumnOrName | Sequence[ColumnOrName]) -> tuple[list[str], list[Column]]:
    given = [input_columns] if isinstance(input_columns, str | Column) else list(input_columns)
    names, columns = [], []
    for item in given:
        if not isinstance(item, str | Column):
            raise InvalidArgument("input_columns", f"names or Columns, not {type(item).__name__}.")
        column = _column(item)
        columns.append(column)
        names.append(column_name(column))
    return names, columns


def _column(item: ColumnOrName) -> Column:
    return sf.col(item) if isinstance(item, str) else item


def _data_type(type_: DataType | str) -> DataType:
    return DataType.fromDDL(type_) if isinstance(type_, str) else type_


def _body(options: Mapping[str, Any] | None) -> Mapping[str, JsonValue]:
    """Return the options as JSON values, checked."""
    try:
        document: dict[str, JsonValue] = json.loads(json.dumps(dict(options or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidArgument("options", f"members of a JSON body ({error}).") from None
    return document


def _response_schema(schema: SchemaLike | DataType | None) -> Schema | None:
    if schema is None:
        return None
    return check_schema(_document(type_schema(schema)) if isinstance(schema, DataType) else schema)


def _document(schema: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(schema, dict)
    return schema


def _call(descriptor: CallDescriptor, answer: Schema | None, columns: Sequence[Column]) -> Column:
    ddl = STRUCT_DDL if descriptor.returns is Returns.STRUCT else "string"
    return iterator_udf(as_function(ModelCall(descriptor, answer)), ddl)(*columns)


def _parsed(answer: Column, type_: DataType) -> Column:
    """Return the answer as a value of the type; ``from_json`` reads containers only, so a scalar is put into one."""
    if isinstance(type_, StructType | ArrayType | MapType):
        return sf.from_json(answer, type_)
    wrapped = StructType().add("value", type_)
    return sf.from_json(sf.concat(sf.lit('{"value":'), answer, sf.lit("}")), wrapped)["value"]
