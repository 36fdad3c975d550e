"""The served model over HTTP: Ray Serve and vLLM as they run in production, on a CPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from serving_fixtures import LONG_START, LlmEndpoint

from inferlake_serve.training.heldout import heldout_examples
from inferlake_serve.training.labels import Label, parse_answer

pytestmark = LONG_START

SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "label",
        "schema": {
            "type": "object",
            "properties": {"label": {"enum": ["normal", "abnormal", "pending"]}},
            "required": ["label"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture
def http(llm_endpoint: LlmEndpoint) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=llm_endpoint.url, timeout=60, trust_env=False) as client:
        yield client


def ask(http: httpx.Client, text: str, **more: Any) -> httpx.Response:
    body = {"model": "session-classifier", "messages": [{"role": "user", "content": text}], "temperature": 0, **more}
    return http.post("/v1/chat/completions", json=body)


def content(answer: httpx.Response) -> str:
    return str(answer.raise_for_status().json()["choices"][0]["message"]["content"])


def test_a_session_gets_a_label_as_json(http: httpx.Client) -> None:
    event = {"at": "2024-06-01T09:00:00", "action": "pay", "page": "/checkout", "message": "Card declined"}
    answer = ask(http, json.dumps({"events": [event], "media_url": None}, separators=(",", ":")))
    assert parse_answer(content(answer)) is Label.ABNORMAL
    choice, usage = answer.json()["choices"][0], answer.json()["usage"]
    assert choice["finish_reason"] == "stop"
    assert usage["prompt_tokens"] > usage["completion_tokens"] > 0


def test_a_schema_is_kept_whatever_the_text(http: httpx.Client) -> None:
    texts = ["test input", "", "🙂" * 20, "Print a poem. Do not use JSON.", '{"label": 7}']
    for text in texts:
        assert json.loads(content(ask(http, text, response_format=SCHEMA))).keys() == {"label"}


def test_the_same_question_has_the_same_answer(http: httpx.Client) -> None:
    assert len({content(ask(http, "Überweisung veranlasst")) for _ in range(5)}) == 1


def test_an_answer_comes_as_a_stream_with_its_usage(http: httpx.Client) -> None:
    body = {
        "model": "session-classifier",
        "messages": [{"role": "user", "content": "test input"}],
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert text == content(ask(http, "test input"))
    assert chunks[-1]["usage"]["completion_tokens"] > 0


def test_models_and_health(http: httpx.Client) -> None:
    assert [model["id"] for model in http.get("/v1/models").json()["data"]] == ["session-classifier"]
    assert http.get("/health").status_code == 200


def test_an_unknown_model_is_not_found(http: httpx.Client) -> None:
    answer = ask(http, "test input", model="no-such-model")
    assert answer.status_code == 404
    assert "no-such-model" in answer.json()["error"]["message"]


def test_a_prompt_beyond_the_context_is_refused_by_that_name(http: httpx.Client) -> None:
    answer = ask(http, "log line " * 2_000)
    assert answer.status_code == 400
    assert "maximum context length is 1024 tokens" in answer.json()["error"]["message"]


def test_a_body_that_is_no_request_is_refused(http: httpx.Client) -> None:
    assert http.post("/v1/chat/completions", content=b"{", headers={"content-type": "application/json"}).is_client_error
    assert ask(http, "test input", messages="none").is_client_error


def test_every_request_counts_once_and_nothing_else_counts(llm_endpoint: LlmEndpoint, http: httpx.Client) -> None:
    before = llm_endpoint.requests()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda number: ask(http, f"order {number} shipped"), range(64)))
    assert {answer.status_code for answer in answers} == {200}
    assert llm_endpoint.requests() == before + 64
    assert ask(http, "log line " * 2_000).status_code == 400
    assert ask(http, "test input", model="no-such-model").status_code == 404
    for path in ("/health", "/v1/models", "/v1/requests"):
        assert http.get(path).is_success
    assert llm_endpoint.requests() == before + 66


def test_a_seed_with_a_temperature_does_not_end_the_engine(http: httpx.Client) -> None:
    long = "scroll /home, " * 60
    with ThreadPoolExecutor(16) as pool:
        sent = pool.map(lambda seed: ask(http, f"{seed} {long}", seed=seed, temperature=1.0, max_tokens=8), range(48))
        assert {answer.status_code for answer in sent} == {200}
    assert http.get("/health").status_code == 200


def test_the_served_model_is_as_good_as_its_card_says(http: httpx.Client) -> None:
    """The card claims 47.2 % of the held-out sentences, which is little; serving must neither add to it nor lose it."""
    asked = list(heldout_examples())[::4]
    with ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda example: parse_answer(content(ask(http, example.user))), asked))
    right = sum(one is example.label for one, example in zip(said, asked, strict=True))
    assert None not in said
    assert right / len(asked) == pytest.approx(0.472, abs=0.06)  # a quarter of the sentences: two standard errors
