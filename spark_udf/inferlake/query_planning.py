"""Model calls in the text of a query: checked and pinned to a model's state before Spark sees the text.

Only a function's name is exchanged, for one that carries the planned call; everything else of the text stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from inferlake.call_options import CallOptions, read_options
from inferlake.calling import ModelCall, unraised
from inferlake.connection import Connection
from inferlake.contract_text import contract_edits, without_contract
from inferlake.errors import InvalidArgument
from inferlake.option_map import OptionMap
from inferlake.output_contract import answer_schema, output_type
from inferlake.planning import Lineage, plan_call, resolve_model
from inferlake.schema import check_schema
from inferlake.sql_functions import register_planned
from inferlake.text_edits import Edit, edited
from inferlake_registry.contract.models import ModelSnapshot
from inferlake_sql.calls import MODEL_FUNCTIONS, Constancy, FunctionCall, find_calls, require_constant_models
from inferlake_sql.scan import leading_words
from inferlake_sql.tokens import Quoting, TokenKind, tokenize

# The text of these is kept and read again later, by whoever uses them: their models are resolved then.
_KEPT_TEXT: Final = re.compile(
    r"(CREATE (OR REPLACE )?(GLOBAL )?(TEMP |TEMPORARY )?(MATERIALIZED )?(VIEW|FUNCTION) |ALTER VIEW )"
)
_PLANNABLE: Final = frozenset({"ai_function", "try_ai_function"})


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query's text with its calls pinned; ``shown_as`` maps each function that was put in to the one written."""

    text: str
    shown_as: Mapping[str, str]
    calls: Mapping[str, ModelCall]  # the planned ones, by the function that was put in

    @property
    def lineages(self) -> tuple[Lineage, ...]:
        """Where the answers of the planned calls come from."""
        return tuple(Lineage.of(call.descriptor) for call in self.calls.values())

    def with_names_as_written(self, frame: DataFrame) -> DataFrame:
        """Return the frame with the column names that the query as written would have."""
        if not self.shown_as:
            return frame
        names = frame.columns
        shown = [self._as_written(name) for name in names]
        return frame if shown == names else frame.toDF(*shown)

    def _as_written(self, name: str) -> str:
        for planned, written in self.shown_as.items():
            name = without_contract(name, planned).replace(planned, written)
        return name


def plan_query(
    spark: SparkSession,
    connection: Connection,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None,
    quoting: Quoting,
    *,
    has_places: bool = False,
    as_text: bool = False,
) -> PlannedQuery:
    """Return the text to give to Spark. ``has_places``: Python places like ``{df}`` are still to be filled in.

    ``as_text`` leaves answers the texts that they are, whatever a model's OUTPUT says, for one who judges them.

    Raises ModelNotFound and its kin, ModelNotConstant, InvalidSchema, InputCountDiffers and what the options can raise.
    """
    calls = find_calls(text, args=args, quoting=quoting)
    keeps_text = _KEPT_TEXT.match(leading_words(text, 6)) is not None
    if not has_places and not keeps_text:
        require_constant_models(text, calls)
    query = _Query(spark, connection, text, args, quoting)
    # Asked once a query: all calls of a model see it in the same state, whatever happens meanwhile.
    resolved = cache(partial(resolve_model, connection, spark=spark))
    edits: list[Edit] = []
    shown_as: dict[str, str] = {}
    planned_calls: dict[str, ModelCall] = {}
    for call in calls:
        if call.function == "ai_validate":
            _check_validate(text, call, quoting)
        elif call.function in MODEL_FUNCTIONS and call.constancy is Constancy.LITERAL and call.model is not None:
            snapshot = resolved(call.model)
            if call.function in _PLANNABLE and not keeps_text and not has_places:
                written = query.option_map(call)
                planned = query.plan(call, call.model, snapshot, written)
                if as_text or _is_judged(call, calls):
                    planned = replace(planned, answer_schema=None)
                name = register_planned(spark, call.function, planned)
                shown_as[name] = call.function
                planned_calls[name] = planned
                edits += query.edits(call, planned, name, edits, written)
    return PlannedQuery(edited(text, edits), shown_as, planned_calls)


@dataclass(frozen=True, slots=True)
class _Query:
    """A query as it was given, and what its calls are planned with."""

    spark: SparkSession
    connection: Connection
    text: str
    args: Mapping[str, Any] | Sequence[Any] | None
    quoting: Quoting

    def option_map(self, call: FunctionCall) -> tuple[OptionMap, CallOptions] | None:
        """Return the options of a call, as written and as read; None when it has none."""
        last = call.arguments[-1]
        found = OptionMap.find(self.text, last.start, last.end, self.quoting) if len(call.arguments) > 2 else None
        pairs = found.pairs(self.spark, self.args) if found is not None else None
        return (found, read_options(pairs)) if found is not None and pairs is not None else None

    def plan(
        self, call: FunctionCall, model: str, snapshot: ModelSnapshot, written: tuple[OptionMap, CallOptions] | None
    ) -> ModelCall:
        """Return the planned call."""
        last = len(call.arguments) - (written is not None)
        inputs = [self.text[argument.start : argument.end] for argument in call.arguments[1:last]]
        if not inputs:
            raise InvalidArgument(call.function, "the first argument is the model, at least one input follows.")
        if any(_is_star(piece, self.quoting) for piece in inputs):
            raise InvalidArgument(call.function, "name the input columns: which ones * stands for is not known here.")
        names = _distinct([_input_name(piece, number, self.quoting) for number, piece in enumerate(inputs, 1)])
        type_ = output_type(snapshot)
        answer = answer_schema(type_)
        options = CallOptions() if written is None else written[1]
        if answer is not None and options.response_schema is None:
            options = replace(options, response_schema=answer.load())
        ddl = type_.simpleString()
        descriptor = plan_call(
            self.connection, model, names, options, output_ddl=ddl, snapshot=snapshot, spark=self.spark
        )
        return ModelCall(unraised(descriptor) if call.function == "try_ai_function" else descriptor, answer, first=1)

    def edits(
        self,
        call: FunctionCall,
        planned: ModelCall,
        name: str,
        before: Sequence[Edit],
        written: tuple[OptionMap, CallOptions] | None,
    ) -> Iterator[Edit]:
        """Yield what puts the planned function ``name`` into the call's place; ``before`` are edits of inner calls."""
        yield from contract_edits(self.text, call, planned, name, before, self.quoting)
        quoted = self.text[call.start] in '`"'
        yield Edit(call.start, call.start + len(call.function) + 2 * quoted, name)
        if written is not None:
            yield from written[0].edits()


def _is_judged(call: FunctionCall, calls: Iterable[FunctionCall]) -> bool:
    """Tell whether a call stands inside ``ai_validate``, which judges the answer's text."""
    return any(other.function == "ai_validate" and other.start < call.start and call.end < other.end for other in calls)


def _input_name(text: str, number: int, quoting: Quoting) -> str:
    """Return the name that Spark's ``struct`` would give an expression: a column's own, else its place."""
    tokens = tokenize(text, quoting)[:-1]
    is_path = len(tokens) % 2 == 1 and all(
        token.kind in (TokenKind.WORD, TokenKind.QUOTED) if at % 2 == 0 else token.text == "."
        for at, token in enumerate(tokens)
    )
    is_word = is_path and not (len(tokens) == 1 and tokens[0].text.upper() in ("NULL", "TRUE", "FALSE"))
    return tokens[-1].text if is_word else f"col{number}"


def _is_star(text: str, quoting: Quoting) -> bool:
    tokens = tokenize(text, quoting)[:-1]
    return bool(tokens) and tokens[-1].text == "*" and (len(tokens) == 1 or tokens[-2].text == ".")


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if names.index(name) == at else f"col{at + 1}" for at, name in enumerate(names)]


def _check_validate(text: str, call: FunctionCall, quoting: Quoting) -> None:
    if len(call.arguments) != 2:
        raise InvalidArgument("ai_validate", "two arguments: the answer, and a JSON Schema as text.")
    schema = call.arguments[1]
    tokens = tokenize(text[schema.start : schema.end], quoting)[:-1]
    if len(tokens) == 1 and tokens[0].kind is TokenKind.STRING:
        check_schema(tokens[0].text)
