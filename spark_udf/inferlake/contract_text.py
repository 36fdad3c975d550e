"""What a model's INPUT and OUTPUT add to a call in SQL text: a check of its inputs, and the parsing of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inferlake.call import Returns
from inferlake.calling import ModelCall
from inferlake.output_contract import output_type, parsed_text, without_parsing
from inferlake.text_edits import Edit, edited
from inferlake.type_guard import guarded_model, without_guard
from inferlake_sql.calls import FunctionCall
from inferlake_sql.tokens import Quoting, TokenKind, tokenize


def contract_edits(
    text: str, call: FunctionCall, planned: ModelCall, name: str, before: Sequence[Edit], quoting: Quoting
) -> Iterator[Edit]:
    """Yield what a call's text needs beside ``name``, the function of the planned call: nothing without a contract.

    ``before`` are the edits of the calls inside this one, whose answers may be its inputs.
    """
    snapshot = planned.descriptor.snapshot
    if snapshot is None:
        return
    model = call.model_argument
    if snapshot.inputs and model is not None:
        arguments = call.arguments[1 : 1 + len(snapshot.inputs)]
        inputs = [edited(text, before, argument.start, argument.end) for argument in arguments]
        checked = [None if _has_marker(piece, quoting) else piece for piece in inputs]
        yield Edit(model.start, model.end, guarded_model(snapshot, text[model.start : model.end], checked, name))
    if planned.answer_schema is not None and planned.descriptor.returns is Returns.VALUE:
        head, tail = parsed_text(output_type(snapshot), name)
        yield Edit(call.start, call.start, head)
        yield Edit(call.end, call.end, tail)


def without_contract(name: str, planned: str) -> str:
    """Return a column's name without what ``contract_edits`` added to the call of the planned function."""
    return without_parsing(without_guard(name, planned), planned)


def _has_marker(text: str, quoting: Quoting) -> bool:
    """Tell whether a text holds a ``?``: written twice, it would ask for two parameters."""
    return any(token.kind is TokenKind.MARK and token.text == "?" for token in tokenize(text, quoting))
