"""A row of input columns becomes the prompt text: as it is, as one JSON object, or through a template.

Everything is decided once per query from the column types (``compile_prompt``); a row then is one function call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from inferlake.worker.errors import BadTemplate
from inferlake.worker.json_tokens import json_string
from inferlake.worker.plain_values import decoded
from inferlake.worker.row_json import JsonWriter, is_string, json_writer, plain_text

Columns: TypeAlias = Sequence[pa.Array]
Render: TypeAlias = Callable[[tuple[object, ...]], "str | None"]


def compile_prompt(names: Sequence[str], types: Sequence[pa.DataType], template: str | None) -> Render:
    """Return a function from a row's ``plain_values`` to its prompt; it returns None when all are null (no call).

    A template's text is used as it is, except for ``{column}`` places and doubled braces. Strings go in as they are,
    everything else as Spark's ``to_json`` would show it, a null as nothing. Raises ``BadTemplate``.
    """
    if template is not None:
        return _from_template(parse_template(template, names), names, types)
    if len(types) == 1 and is_string(types[0]):
        return _only_text
    return _as_object(names, [json_writer(type_) for type_ in types])


def parse_template(template: str, names: Sequence[str]) -> tuple[Text | Column, ...]:
    """Return the template's parts; raise ``BadTemplate`` for a place that is no column, or a lonely brace."""
    return tuple(_parts(template, names))


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text of a template."""

    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A ``{name}`` place of a template."""

    index: int


def _parts(template: str, names: Sequence[str]) -> Iterator[Text | Column]:
    at, text = 0, ""
    while at < len(template):
        char = template[at]
        if char in "{}" and template[at + 1 : at + 2] == char:
            text += char
            at += 2
        elif char == "{":
            end = template.find("}", at)
            name = template[at + 1 : end] if end > 0 else template[at + 1 :]
            if end < 0 or name not in names:
                raise BadTemplate(name, names)
            if text:
                yield Text(text)
            yield Column(list(names).index(name))
            text, at = "", end + 1
        elif char == "}":
            raise BadTemplate("}", names)
        else:
            text += char
            at += 1
    if text:
        yield Text(text)


def _only_text(row: tuple[object, ...]) -> str | None:
    value = row[0]
    return decoded(value) if isinstance(value, bytes) else None


def _as_object(names: Sequence[str], writers: Sequence[JsonWriter]) -> Render:
    heads = [("{" if at == 0 else ",") + json_string(name) + ":" for at, name in enumerate(names)]

    def render(row: tuple[object, ...]) -> str | None:
        parts = []
        empty = True
        for head, writer, value in zip(heads, writers, row, strict=True):
            parts.append(head)
            if value is None:
                parts.append("null")
            else:
                empty = False
                parts.append(writer(value))
        parts.append("}")
        return None if empty else "".join(parts)

    return render


def _from_template(parts: Sequence[Text | Column], names: Sequence[str], types: Sequence[pa.DataType]) -> Render:
    writers = [plain_text(type_) for type_ in types]
    places = [(part.index, writers[part.index]) for part in parts if isinstance(part, Column)]
    pattern = "".join("%s" if isinstance(part, Column) else part.text.replace("%", "%%") for part in parts)

    def render(row: tuple[object, ...]) -> str | None:
        if row.count(None) == len(row):
            return None
        return pattern % tuple(["" if (value := row[at]) is None else writer(value) for at, writer in places])

    return render
