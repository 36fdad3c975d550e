"""Embeddings: many inputs in one request, each row its own vector, and one bad input fails alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_calls import answers, calling, codes, model_at

from inferlake.call import CallDescriptor
from inferlake.testing import Answer, Received, Reply, StubEndpoint, embedding, error
from inferlake.worker.gather import INPUTS_MOST
from inferlake_registry.contract.models import ModelType


def vector_of(text: str) -> list[float]:
    return [float(len(text)), float(sum(text.encode()))]


def inputs_of(received: Received) -> list[str]:
    given = received.json["input"]
    return given if isinstance(given, list) else [given]


def vectors(received: Received) -> Reply:
    return embedding(*(vector_of(text) for text in inputs_of(received)))


def embedding_call(stub: StubEndpoint, **settings: Any) -> CallDescriptor:
    return calling(model_at(f"{stub.origin}/v1/embeddings", model_type=ModelType.EMBEDDING, **settings))


def texts(count: int) -> list[str]:
    return [f"text {'x' * (at % 7)} {at}" for at in range(count)]


def expected(rows: list[str]) -> list[str]:
    return [f"[{vector_of(row)[0]},{vector_of(row)[1]}]" for row in rows]


def test_rows_share_requests_and_each_gets_its_own_vector(stub: StubEndpoint) -> None:
    stub.script = vectors
    rows = texts(1_000)
    found = answers(embedding_call(stub), rows)
    assert [row["response"] for row in found] == expected(rows)
    sent = [text for received in stub.requests for text in inputs_of(received)]
    assert sorted(sent) == sorted(rows), "every input is sent exactly once"
    assert len(stub.requests) <= 1_000 // INPUTS_MOST + 10
    assert sum(row["attempts"] for row in found) == len(stub.requests)
    assert sum(row["prompt_tokens"] or 0 for row in found) == 4 * len(stub.requests)


def test_vectors_are_matched_by_their_index_and_not_by_their_place(stub: StubEndpoint) -> None:
    def shuffled(received: Received) -> Reply:
        reply = vectors(received)
        document = json.loads(reply.body)
        document["data"].reverse()
        return Reply(200, json.dumps(document).encode())

    stub.script = shuffled
    rows = texts(100)
    assert [row["response"] for row in answers(embedding_call(stub), rows)] == expected(rows)


def test_one_refused_input_fails_alone(stub: StubEndpoint) -> None:
    def refusing(received: Received) -> Answer:
        refused = any(text == "text  0" for text in inputs_of(received))
        return error(400, code="context_length_exceeded") if refused else vectors(received)

    stub.script = refusing
    rows = texts(64)
    found = answers(embedding_call(stub), rows)
    assert codes(found) == {None: 63, "context_length": 1}
    assert found[0]["error_code"] == "context_length"
    assert [row["response"] for row in found[1:]] == expected(rows[1:])
    served = [text for received in stub.requests if "text  0" not in (given := inputs_of(received)) for text in given]
    assert sorted(served) == sorted(rows[1:]), "what was answered was asked for once"


def test_a_server_that_takes_fewer_inputs_gets_fewer(stub: StubEndpoint) -> None:
    stub.script = lambda received: error(422) if len(inputs_of(received)) > 8 else vectors(received)
    rows = texts(200)
    found = answers(embedding_call(stub), rows)
    assert [row["response"] for row in found] == expected(rows)


def test_a_fault_is_asked_again_for_all_of_its_inputs(stub: StubEndpoint) -> None:
    stub.script = lambda received: error(503) if received.number == 0 else vectors(received)
    rows = texts(20)
    found = answers(embedding_call(stub), rows)
    assert [row["response"] for row in found] == expected(rows)
    assert [received.body == stub.requests[0].body for received in stub.requests].count(True) == 2
    assert sum(row["attempts"] for row in found) == len(stub.requests)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (embedding((1.0,)), "decode"),
        (Reply(200, b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}'), "decode"),
        (Reply(200, b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}'), "empty"),
        (error(401), "auth"),
    ],
)
def test_an_answer_that_does_not_fit_gives_every_row_of_the_request_its_reason(
    stub: StubEndpoint, reply: Reply, code: str
) -> None:
    stub.script = reply
    assert codes(answers(embedding_call(stub), ["one", "two"])) == {code: 2}


def test_equal_inputs_are_sent_once(stub: StubEndpoint) -> None:
    stub.script = vectors
    found = answers(embedding_call(stub), ["a", "bb", "a", "bb"] * 50)
    assert [row["response"] for row in found] == expected(["a", "bb", "a", "bb"] * 50)
    assert sorted(text for received in stub.requests for text in inputs_of(received)) == ["a", "bb"]


def test_a_request_takes_one_send_slot_and_one_place(stub: StubEndpoint) -> None:
    stub.script = vectors
    rows = texts(320)
    answers(embedding_call(stub, concurrency_per_worker=1), rows)
    assert stub.peak_in_flight == 1
    assert len(stub.requests) <= 20
