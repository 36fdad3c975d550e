"""A key in a statement that is right, wrong, or wrong by one character: nothing that comes of the text shows it."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from canary_key import ALL, HOSTILE, LETTERS, PLAIN, PREFIXED, Canary
from canary_statements import MISPLACED, carriers, misspelt

from inferlake_sql.errors import InferlakeError
from inferlake_sql.parse import parse
from inferlake_sql.properties import Property
from inferlake_sql.render import render, render_pretty
from inferlake_sql.secret import Secret
from inferlake_sql.statements import CreateModel, Statement

_MARKS = "'\"`;(),=\\ \n\0"


def shown(text: str, args: Any = None) -> str:
    """Return all that can be seen of a text: of the statement it is, or of the error."""
    try:
        statement = parse(text, args=args)
    except InferlakeError as error:
        return seen_of(error)
    if statement is None:
        return ""
    pretty = render_pretty(statement) if isinstance(statement, CreateModel) else ""
    return f"{statement!r} {statement} {render(statement)} {pretty}"


def seen_of(error: InferlakeError) -> str:
    """Return all that can be seen of an error, of its causes, and of its pickle."""
    causes = [error, error.__cause__, error.__context__]
    texts = [f"{cause!r} {cause} {getattr(cause, 'args', '')}" for cause in causes]
    trace = "".join(traceback.format_exception(error)) + "".join(traceback.format_exception_only(error))
    return f"{texts} {error.fields} {error.message} {trace} {pickle.dumps(error)!r}"


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_right_statements_and_near_misses(canary: Canary) -> None:
    texts = [*carriers(canary), *misspelt(canary)]
    shown_of = {text: shown(text) for text in texts}
    assert [text for text, seen in shown_of.items() if canary.is_in(seen)] == []
    accepted = [text for text in carriers(canary) if "Secret('******')" in shown_of[text]]
    assert len(accepted) == len(carriers(canary))


def one_slip_away(text: str) -> Iterator[str]:
    """Yield the text with one character dropped, doubled, or with a mark put in."""
    for at in range(len(text)):
        yield text[:at] + text[at + 1 :]
        yield text[:at] + text[at] + text[at:]
        yield from (text[:at] + mark + text[at:] for mark in _MARKS)
    yield from (text[:end] for end in range(len(text)))


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE MODEL m LOCATION 'https://h/v1' OPTIONS (api.key={PREFIXED.literal}, qps.limit=5)",
        f"ALTER MODEL m SET api.key = {PLAIN.literal}",
        f'ALTER MODEL m SET PROPERTIES ("api_key"="{LETTERS.value}")',
        f"ALTER MODEL m SET header.x-y={HOSTILE.literal}",
        f"ALTER MODEL m SET LOCATION 'https://u:{PLAIN.value}@h/v1'",
        f"ALTER MODEL m APIKEY {PLAIN.value}",
    ],
)
def test_no_slip_uncovers_it(text: str) -> None:
    assert [slip for slip in one_slip_away(text) if any(canary.is_in(shown(slip)) for canary in ALL)] == []


@pytest.mark.parametrize("text", MISPLACED)
@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_a_marker_hides_it_wherever_it_stands(text: str, canary: Canary) -> None:
    for args in ({"k": canary.value}, [canary.value], {"k": [canary.value]}, {"k": canary.value + "\0"}):
        marked = text.replace(":k", "?") if isinstance(args, list) else text
        assert not canary.is_in(shown(marked, args)), marked


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_the_parsed_value_is_the_key(canary: Canary) -> None:
    for text in carriers(canary):
        (secret,) = [item.value for item in secrets_of(parse(text))]
        assert isinstance(secret, Secret)
        revealed = secret.reveal()
        assert canary.value in (
            revealed,
            str(json.loads(revealed)["deep"][0]["auth_token"]) if "deep" in revealed else "",
        )


def secrets_of(statement: Statement | None) -> list[Property]:
    """Return the properties of a statement that are literal secrets."""
    properties: tuple[Property, ...] = getattr(statement, "properties", ())
    return [item for item in properties if isinstance(item.value, Secret)]
