"""What a model's OUTPUT says about the type of an answer, and how a call in SQL text comes to that type."""

from __future__ import annotations

import re

from pyspark.sql.types import ArrayType, DataType, FloatType, StringType, StructType

from inferlake.schema import Schema, check_schema
from inferlake.type_guard import sql_text
from inferlake.type_schema import type_schema
from inferlake_registry.contract.models import ModelSnapshot, ModelType


def output_type(snapshot: ModelSnapshot) -> DataType:
    """Return the type of a call that asks for none: of OUTPUT's column, or a struct of its columns.

    Without OUTPUT it is a string, and ``array<float>`` of an embedding model.
    """
    columns = [(column.name, DataType.fromDDL(column.type)) for column in snapshot.outputs]
    if not columns:
        types = {arm.endpoint.model_type for arm in snapshot.arms}
        return ArrayType(FloatType()) if types == {ModelType.EMBEDDING} else StringType()
    if len(columns) == 1:
        return columns[0][1]
    struct = StructType()
    for name, type_ in columns:
        struct.add(name, type_)
    return struct


def answer_schema(type_: DataType) -> Schema | None:
    """Return what an answer of this type must be; None for a string, which any text is. Raises InvalidArgument."""
    if isinstance(type_, StringType):
        return None
    document = type_schema(type_)
    assert isinstance(document, dict)
    return check_schema(document)


def parsed_text(type_: DataType, mark: str) -> tuple[str, str]:
    """Return what to write before and behind a call in SQL text, so that its JSON becomes a value of the type.

    ``from_json`` reads containers only, so the answer is put into one, whose only field is named ``mark``.
    """
    container = StructType().add(mark, type_).json()
    return f"from_json(concat('{{\"{mark}\":', ", f", '}}'), {sql_text(container)}).{mark}"


def without_parsing(name: str, mark: str) -> str:
    """Return a column's name without what ``parsed_text`` wrote around the call in it."""
    return re.sub(rf'(?s)from_json\(concat\({{"{mark}":, (.*?), }}\)\)\.{mark}', r"\1", name)
