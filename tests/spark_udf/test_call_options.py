"""Options mean the same in Python and in SQL, and a wrong one says so before anything runs."""

from __future__ import annotations

import pytest

from inferlake.call import OnError, Returns
from inferlake.call_options import CallOptions, are_options, read_options
from inferlake.errors import InvalidArgument, InvalidSchema, UnknownOption
from inferlake.worker.errors import BadTemplate
from inferlake_sql.errors import ReservedKey


def test_every_option_can_be_written_as_text() -> None:
    options = read_options(
        {
            "prompt": "Say {text}",
            "system": "Be short.",
            "timeout_ms": "1500",
            "response_schema": '{"type": "object"}',
            "on_error": "raise",
            "max_error_ratio": "0.25",
            "returns": "struct",
            "dedupe": "FALSE",
            "reuse": "job-7",
            "request.max_tokens": "12",
            "request.stop": "END",
        }
    )
    assert options == CallOptions(
        prompt="Say {text}",
        system="Be short.",
        timeout_ms=1500,
        body={"max_tokens": 12, "stop": "END"},
        response_schema={"type": "object"},
        on_error=OnError.RAISE,
        max_error_ratio=0.25,
        returns=Returns.STRUCT,
        dedupe=False,
        reuse="job-7",
    )


def test_a_map_is_options_only_when_all_its_keys_are() -> None:
    assert are_options(["timeout_ms", "request.seed"])
    assert not are_options(["timeout_ms", "colour"])
    assert not are_options([])


def test_an_unknown_option_says_what_was_meant() -> None:
    with pytest.raises(UnknownOption) as caught:
        read_options({"timout_ms": "1"})
    assert caught.value.fields["near"] == ["timeout_ms"]


@pytest.mark.parametrize(
    ("pairs", "argument"),
    [
        ({"timeout_ms": "soon"}, "timeout_ms"),
        ({"timeout_ms": "0"}, "timeout_ms"),
        ({"timeout_ms": "3600001"}, "timeout_ms"),
        ({"max_error_ratio": "1.5"}, "max_error_ratio"),
        ({"max_error_ratio": "nan"}, "max_error_ratio"),
        ({"max_error_ratio": "half"}, "max_error_ratio"),
        ({"on_error": "ignore"}, "on_error"),
        ({"returns": "map"}, "returns"),
        ({"dedupe": "maybe"}, "dedupe"),
    ],
)
def test_a_value_out_of_range_is_refused(pairs: dict[str, str], argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_options(pairs).checked(["text"])
    assert caught.value.fields["argument"] == argument


@pytest.mark.parametrize("member", ["messages", "model", "stream", "n"])
def test_what_the_call_makes_itself_cannot_be_set(member: str) -> None:
    with pytest.raises(ReservedKey):
        read_options({f"request.{member}": "1"}).checked(["text"])


def test_a_schema_option_is_checked() -> None:
    with pytest.raises(InvalidSchema):
        read_options({"response_schema": "{"})


def test_prompt_places_are_checked() -> None:
    with pytest.raises(BadTemplate):
        CallOptions(prompt="Say {word}").checked(["text"])


@pytest.mark.parametrize("inputs", [[], ["a", "a"]])
def test_inputs_are_some_and_distinct(inputs: list[str]) -> None:
    with pytest.raises(InvalidArgument):
        CallOptions().checked(inputs)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("request.api_key", "a-key-of-some-length"),
        ("request.extra", '{"deep": [{"auth_token": "a-key-of-some-length"}]}'),
        ("request.passwords", '{"password": ["a-key-of-some-length"]}'),
    ],
)
def test_a_secret_is_refused_since_options_stand_in_the_plan(key: str, text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_options({key: text}).checked(["text"])
    assert caught.value.fields["argument"] == key
    assert "a-key" not in str(caught.value)


def test_a_schema_that_names_a_secret_is_none() -> None:
    schema = '{"schema": {"properties": {"password": {"type": "string"}, "token": {"enum": ["a"]}}}}'
    read_options({"request.response_format": schema, "request.max_tokens": "5"}).checked(["text"])
