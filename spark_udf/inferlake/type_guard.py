"""Checks the types of a call's inputs where Spark knows them: while it analyses the query, before any task starts.

No code of ours runs at that moment, so the check is an expression that Spark has to evaluate to analyse it at all:
``date_part`` must know its field. Where all inputs fit the field is YEAR, and the optimizer leaves nothing of it in the
plan; where one does not, the field's name says what is wrong, and Spark refuses the query by that name.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as sf

from inferlake.errors import InputTypeDiffers
from inferlake.type_fit import fitting
from inferlake_registry.contract.models import ModelSnapshot
from inferlake_sql.statements import ContractColumn

# Spark reads a field's name as an identifier, in which these two mean something; the others look the same.
_MEANING: Final = "`."
_LOOKALIKE: Final = "\u02cb\u2024"
_HIDE: Final = str.maketrans(_MEANING, _LOOKALIKE)
_SHOW: Final = str.maketrans(_LOOKALIKE, _MEANING)

_TELLTALE: Final = re.compile(
    rf"(?s)Cannot extract `{InputTypeDiffers.code}: input (\d+) \((.*?)\) of model (.*?) is (.*?)"
    r", and the call gives (.*?); cast it"
)


def guarded(snapshot: ModelSnapshot, inputs: Sequence[Column]) -> list[Column]:
    """Return the inputs, the first of them with the check of all; unchanged for a model without INPUT."""
    if not snapshot.inputs:
        return list(inputs)
    problems = [
        sf.when(
            ~sf.typeof(column).rlike(fitting(wanted.type)),
            sf.concat(sf.lit(head), sf.translate(sf.typeof(column), _MEANING, _LOOKALIKE), sf.lit("; cast it")),
        )
        for column, wanted, head in zip(inputs, snapshot.inputs, _heads(snapshot), strict=True)
    ]
    field = sf.coalesce(*problems, sf.lit("YEAR"))
    fits = sf.date_part(field, sf.lit("2000-01-01").cast("date")) > 0
    return [sf.when(fits, inputs[0]), *inputs[1:]]


def guarded_model(snapshot: ModelSnapshot, model: str, inputs: Sequence[str | None], mark: str) -> str:
    """Return the model argument of a call in SQL text with the check of its inputs in it.

    ``inputs`` are their texts, None for one that must not be written twice. ``mark`` is a word that nothing else in the
    query is; ``without_guard`` finds the check in a column's name by it.
    """
    problems = [
        f"if(typeof({text}) RLIKE {sql_text(fitting(wanted.type))}, NULL, concat({sql_text(head)}, "
        f"translate(typeof({text}), {sql_text(_MEANING)}, {sql_text(_LOOKALIKE)}), '; cast it'))"
        for text, wanted, head in zip(inputs, snapshot.inputs, _heads(snapshot), strict=True)
        if text is not None
    ]
    field = ", ".join([*problems, "'YEAR'"])
    check = f"concat('{mark}', date_part(coalesce({field}), DATE'2000-01-01'))"
    return f"concat(left({check}, 0), {model}, left('{mark}', 0))"


def without_guard(name: str, mark: str) -> str:
    """Return a column's name without the check that ``guarded_model`` put into it."""
    inside = rf"((?:(?!{mark}).)*)"
    return re.sub(rf"(?s)concat\(left\(concat\({mark}, {inside}\), 0\), {inside}, left\({mark}, 0\)\)", r"\2", name)


def refusal(message: str) -> InputTypeDiffers | None:
    """Return the error that a message of Spark's stands for, if the check brought it about."""
    found = _TELLTALE.search(message)
    if found is None:
        return None
    number, column, model, expected, given = (part.translate(_SHOW) for part in found.groups())
    return InputTypeDiffers(model, int(number), column, expected, given)


def sql_text(text: str) -> str:
    """Return a text as SQL that reads the same whatever the session's settings say of backslashes and quotes."""
    return f"CAST(unbase64('{b64encode(text.encode()).decode()}') AS STRING)"


def _heads(snapshot: ModelSnapshot) -> Iterator[str]:
    return (_head(snapshot.name, number, column) for number, column in enumerate(snapshot.inputs, 1))


def _head(model: str, number: int, column: ContractColumn) -> str:
    text = f"{InputTypeDiffers.code}: input {number} ({column.name}) of model {model} is {column.type}"
    return f"{text}, and the call gives ".translate(_HIDE)
