"""What is sent: the body's form for each type of model, and the key that equal requests share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from engine_calls import calling, model_at

from inferlake.worker.request import KeyMaker, request_form
from inferlake_registry.contract.models import Endpoint, ModelType, ResponseFormat, ResponseProfile

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
CHAT = Endpoint("1", "http://stub/v1/chat/completions", "qwen", ModelType.CHAT)


def body(endpoint: Endpoint, prompt: str = "hi", **call: Any) -> Any:
    return orjson.loads(request_form(endpoint, calling("http://stub", **call)).body(prompt))


def test_a_chat_is_one_user_message_at_temperature_zero() -> None:
    assert body(CHAT) == {"model": "qwen", "messages": [{"role": "user", "content": "hi"}], "temperature": 0}


@pytest.mark.parametrize(
    "prompt", ["", 'q"uo\\te', "line\nbreak\u2028\x00", "日本語 🙂", "{braces} \ufffcprompt\ufffc"]
)
def test_any_text_arrives_as_it_is(prompt: str) -> None:
    assert body(CHAT, prompt)["messages"][0]["content"] == prompt


def test_the_calls_own_wishes_win_over_the_models() -> None:
    endpoint = replace(CHAT, prompt_system="model's", request={"max_tokens": 5, "temperature": 0.7})
    assert body(endpoint)["messages"][0] == {"role": "system", "content": "model's"}
    assert body(endpoint)["temperature"] == 0.7
    changed = body(endpoint, system="call's", options={"max_tokens": 9, "top_p": 0.5})
    assert changed["messages"][0] == {"role": "system", "content": "call's"}
    assert (changed["max_tokens"], changed["temperature"], changed["top_p"]) == (9, 0.7, 0.5)


def test_completions_put_the_system_text_before_the_prompt() -> None:
    endpoint = replace(CHAT, model_type=ModelType.COMPLETIONS, prompt_system="Be brief.")
    assert body(endpoint) == {"model": "qwen", "prompt": "Be brief.\n\nhi", "temperature": 0}


def test_embeddings_have_no_temperature_and_no_system() -> None:
    endpoint = replace(CHAT, model_type=ModelType.EMBEDDING, prompt_system="no", request={"dimensions": 8})
    assert body(endpoint) == {"model": "qwen", "input": "hi", "dimensions": 8}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            ResponseProfile.OPENAI,
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
                }
            },
        ),
        (ResponseProfile.VLLM, {"structured_outputs": {"json": SCHEMA}}),
        (ResponseProfile.NONE, {}),
    ],
)
def test_a_schema_is_asked_for_in_the_servers_own_way(profile: ResponseProfile, expected: dict[str, Any]) -> None:
    sent = body(replace(CHAT, response_profile=profile), response_schema=SCHEMA)
    assert {name: value for name, value in sent.items() if name not in ("model", "messages", "temperature")} == expected


def test_a_model_may_ask_for_json_without_a_schema() -> None:
    sent = body(replace(CHAT, response_format=ResponseFormat.JSON_OBJECT))
    assert sent["response_format"] == {"type": "json_object"}


def test_equal_keys_mean_equal_requests() -> None:
    model = model_at("http://stub/v1/chat/completions")
    endpoint = model.arms[0].endpoint
    keys = KeyMaker(model, endpoint)
    others = [
        KeyMaker(replace(model, model_id="another"), endpoint).key(b"body"),
        KeyMaker(model, replace(endpoint, version="2")).key(b"body"),
        KeyMaker(model, replace(endpoint, url="http://stub/other")).key(b"body"),
        keys.key(b"bodY"),
        keys.key(b"body", b"sample"),
        keys.key(b"dy", b"bo"),
    ]
    assert keys.key(b"body") == KeyMaker(replace(model, revision=9), endpoint).key(b"body")
    assert len({keys.key(b"body"), *others}) == 7


def test_the_order_in_which_options_were_written_makes_no_other_request() -> None:
    one = request_form(CHAT, calling("http://stub", options={"a": 1, "b": 2}))
    other = request_form(CHAT, calling("http://stub", options={"b": 2, "a": 1}))
    assert one == other
