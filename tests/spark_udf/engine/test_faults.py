"""Every way in which an endpoint can fail: no row lost or doubled, order kept, one reason per row, calls as counted."""

from __future__ import annotations

import json
import time
from gzip import compress

import pytest
from engine_calls import answers, calling, codes, model_at
from one_bad_row import BAD, ROWS, all_answered, failing, failing_first, one_failed

from inferlake.testing import Answer, Fault, Reply, StubEndpoint, chat, completion, echo, embedding, error
from inferlake.worker.engine import forget_engine
from inferlake_registry.contract.models import ModelType

EVENTS = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'
PAGE = b"<!doctype html><title>Sign in</title>"
GZIP = {"content-encoding": "gzip"}
ENORMOUS = b" " * (100 << 20)

# What the endpoint answers -> the row's code, its status and a part of its reason.
FINAL: dict[str, tuple[Reply, str, int, str]] = {
    "400": (error(400), "bad_request", 400, "HTTP 400"),
    "400 context code": (error(400, code="context_length_exceeded"), "context_length", 400, "model's context"),
    "400 context text": (error(400, message="maximum context length is 9"), "context_length", 400, "model's context"),
    "400 content filter": (error(400, code="content_filter"), "content_filter", 400, "HTTP 400"),
    "400 of 100 MB": (Reply(400, ENORMOUS), "bad_request", 400, "HTTP 400"),
    "401": (error(401), "auth", 401, "check api.key"),
    "403": (error(403), "auth", 403, "check api.key"),
    "404": (error(404), "not_found", 404, "check LOCATION"),
    "413": (error(413), "bad_request", 413, "HTTP 413"),
    "422": (error(422), "bad_request", 422, "HTTP 422"),
    "429 without money": (error(429, code="insufficient_quota"), "rate_limited", 429, "insufficient_quota"),
    "501": (error(501), "server", 501, "HTTP 501"),
    "null content": (chat(None), "empty", 200, "no text"),
    "empty content": (chat(""), "empty", 200, "no text"),
    "finish_reason length": (chat("cut", finish_reason="length"), "truncated", 200, "raise request.max_tokens"),
    "finish_reason length, null": (chat(None, finish_reason="length"), "truncated", 200, "raise request.max_tokens"),
    "finish_reason content_filter": (chat("no", finish_reason="content_filter"), "content_filter", 200, "filtered"),
    "error member, type": (chat("x", error={"type": "invalid_request_error"}), "bad_request", 200, "in the body"),
    "error member, status": (chat("x", error={"code": 400}), "bad_request", 200, "in the body"),
    "error member, money": (chat("x", error={"code": "insufficient_quota"}), "rate_limited", 200, "quota"),
    "error member, text": (chat("x", error="invalid model"), "bad_request", 200, "in the body"),
    "SSE": (Reply(200, EVENTS, content_type="text/event-stream"), "decode", 200, "stream of events"),
    "SSE that calls itself JSON": (Reply(200, EVENTS), "decode", 200, "stream of events"),
    "NaN": (Reply(200, b'{"choices":[{"message":{"content":NaN}}]}'), "decode", 200, "not valid JSON"),
    "HTML": (Reply(200, PAGE, content_type="text/html"), "decode", 200, "HTML page"),
    "HTML that calls itself JSON": (Reply(200, PAGE), "decode", 200, "HTML page"),
    "gzip garbage": (Reply(200, b"\x1f\x8b\x08garbage", GZIP), "decode", 200, "compressed"),
    "gzip": (Reply(200, compress(chat("x").body), GZIP), "decode", 200, "compressed"),
    "garbage that calls itself gzip": (Reply(200, b"garbage", GZIP), "decode", 200, "not valid JSON"),
    "100 MB": (Reply(200, ENORMOUS), "decode", 200, "larger than 16 MiB"),
    "array": (Reply(200, b"[]"), "decode", 200, "not an object"),
    "no choices": (Reply(200, b'{"choices":[]}'), "decode", 200, "no choices"),
    "number": (Reply(200, b'{"choices":[{"message":{"content":7}}]}'), "decode", 200, "not a string"),
    "no body": (Reply(200, b""), "decode", 200, "not valid JSON"),
    "204": (Reply(204, b""), "decode", 204, "not valid JSON"),
}


@pytest.mark.parametrize("fault", FINAL)
def test_an_answer_that_would_be_the_same_again_is_not_asked_for_again(stub: StubEndpoint, fault: str) -> None:
    answer, code, status, reason = FINAL[fault]
    stub.script = failing(answer)
    failed = one_failed(answers(calling(stub.url), ROWS), code)
    assert (failed["http_status"], failed["attempts"]) == (status, 1)
    assert reason in failed["error"]
    assert stub.calls == len(ROWS)


def test_a_wrong_content_type_is_no_reason_to_throw_an_answer_away(stub: StubEndpoint) -> None:
    stub.script = lambda received: Reply(200, echo(received).body, content_type="text/plain")
    all_answered(answers(calling(stub.url), ROWS))
    assert stub.calls == len(ROWS)


# What the endpoint answers again and again -> the row's code and a part of its reason.
PASSING: dict[str, tuple[Answer, str, str]] = {
    **{str(status): (error(status), "server", f"HTTP {status}") for status in (409, 425, 500, 502, 503, 504, 529)},
    "408": (error(408), "timeout", "HTTP 408"),
    "error member": (chat("x", error={"message": "upstream broke", "type": "server_error"}), "server", "in the body"),
    "reset": (Fault.RESET, "network", "lost before an answer"),
    "not HTTP": (Fault.NOT_HTTP, "network", "did not answer in HTTP"),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_is_tried_four_times(stub: StubEndpoint, fault: str) -> None:
    answer, code, reason = PASSING[fault]
    stub.script = failing(answer)
    failed = one_failed(answers(calling(stub.url), ROWS), code)
    assert failed["attempts"] == 4
    assert reason in failed["error"]
    assert stub.calls == len(ROWS) - 1 + 4


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_costs_only_its_own_attempt(stub: StubEndpoint, fault: str) -> None:
    stub.script = failing_first(PASSING[fault][0])
    assert all_answered(answers(calling(stub.url), ROWS))["attempts"] == 2
    assert stub.calls == len(ROWS) + 1


def test_faults_of_many_rows_cost_one_attempt_each(stub: StubEndpoint) -> None:
    # Every fourth row, so that there are never five faults in a row: those would be an endpoint that is down.
    hit = ROWS[::4]
    stub.script = failing_first(Fault.RESET, rows=hit)
    results = answers(calling(stub.url), ROWS)
    all_answered(results)
    assert [result["attempts"] for result in results] == [2 if row in hit else 1 for row in ROWS]
    assert stub.calls == len(ROWS) + len(hit)


def test_all_attempts_of_a_row_carry_one_idempotency_key_and_each_row_its_own(stub: StubEndpoint) -> None:
    stub.script = [error(500), error(500), chat("a")]
    answers(calling(stub.url), ["a"])
    answers(calling(stub.url), ["b"])
    keys = [received.headers["idempotency-key"] for received in stub.requests]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    assert len({received.headers["x-request-id"] for received in stub.requests[:3]}) == 1


# An answer that began and did not end: it may have been paid, so it is asked for once more and no oftener.
BROKEN: dict[str, tuple[Answer, str, str]] = {
    "reset in the body": (Fault.RESET_IN_BODY, "network", "in the middle of the answer"),
    "finish_reason error": (chat("half", finish_reason="error"), "server", "gave up in the middle"),
    "finish_reason abort": (chat("half", finish_reason="abort"), "server", "gave up in the middle"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_an_answer_that_breaks_off_is_asked_for_once_more_with_the_same_key(stub: StubEndpoint, fault: str) -> None:
    answer, code, reason = BROKEN[fault]
    stub.script = failing(answer)
    failed = one_failed(answers(calling(stub.url), ROWS), code)
    assert failed["attempts"] == 2
    assert reason in failed["error"]
    assert stub.calls == len(ROWS) + 1
    assert len({request.headers["idempotency-key"] for request in stub.requests if request.prompt == BAD}) == 1
    stub.script = failing_first(answer)
    assert all_answered(answers(calling(stub.url), ROWS))["attempts"] == 2
    assert stub.calls == (len(ROWS) + 1) + (len(ROWS) + 1)


def wait_until_quiet(stub: StubEndpoint) -> None:
    """Wait until the endpoint has noticed that nobody waits for its answers any more."""
    deadline = time.monotonic() + 5
    while stub.in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stub.in_flight == 0


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.DRIBBLE], ids=["silent", "a byte every 300 ms"])
def test_no_answer_ends_at_the_rows_time_and_is_not_paid_again(stub: StubEndpoint, fault: Fault) -> None:
    stub.script = failing(fault)
    began = time.monotonic()
    failed = one_failed(answers(calling(model_at(stub.url, timeout_ms=1_000)), ROWS), "timeout")
    assert time.monotonic() - began < 2.5
    assert 1_000 <= failed["latency_ms"] <= 1_200
    assert failed["attempts"] == 1
    assert stub.calls == len(ROWS)
    # The next batch is unaffected, and the connection that went silent is closed.
    assert answers(calling(stub.url), ["after"])[0]["response"] == "after"
    wait_until_quiet(stub)


def test_batches_before_and_after_silence_are_unaffected_and_no_connection_stays(stub: StubEndpoint) -> None:
    # Four rows of the second of three batches get no answer: fewer than the five that make an endpoint count as down.
    silent = ROWS[14:18]
    stub.script = failing(Fault.SILENT, silent)
    results = answers(calling(model_at(stub.url, timeout_ms=500)), ROWS, batch=14)
    assert [result["response"] for result in results] == [None if row in silent else row for row in ROWS]
    assert codes(results) == {None: 36, "timeout": 4}
    assert all(500 <= result["latency_ms"] <= 700 for result in results if result["error_code"])
    assert stub.calls == len(ROWS)
    wait_until_quiet(stub)
    # The four that went silent are closed; the others wait for more calls, and go with the engine.
    assert stub.open_connections == stub.accepted_connections - 4
    forget_engine()
    deadline = time.monotonic() + 5
    while stub.open_connections and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stub.open_connections == 0


def test_an_answer_without_end_is_read_up_to_the_limit_and_its_connection_closed(stub: StubEndpoint) -> None:
    stub.script = failing(Fault.ENDLESS)
    failed = one_failed(answers(calling(stub.url), ROWS), "decode")
    assert (failed["http_status"], failed["attempts"]) == (200, 1)
    assert stub.calls == len(ROWS)
    wait_until_quiet(stub)


def test_an_attempt_can_be_shorter_than_the_rows_time(stub: StubEndpoint) -> None:
    stub.script = failing(Fault.SILENT)
    model = model_at(stub.url, timeout_ms=30_000, attempt_timeout_ms=500)
    failed = one_failed(answers(calling(model), ROWS), "timeout")
    assert 500 <= failed["latency_ms"] <= 700
    assert stub.calls == len(ROWS)


USAGES: dict[str, object] = {
    "none": {},
    "null": {"usage": None},
    "empty": {"usage": {}},
    "text": {"usage": "20"},
    "members null": {"usage": {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None}},
    "not whole numbers": {"usage": {"prompt_tokens": "20", "completion_tokens": 1.5}},
    "impossible": {"usage": {"prompt_tokens": -1, "completion_tokens": True}},
}


@pytest.mark.parametrize("usage", USAGES)
def test_tokens_that_an_answer_does_not_report_are_null_and_not_0(stub: StubEndpoint, usage: str) -> None:
    content = {"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}], **USAGES[usage]}
    stub.script = Reply(200, json.dumps(content).encode())
    (result,) = answers(calling(model_at(stub.url, price_input=3.0, price_output=15.0)), ["one"])
    assert result["response"] == "done"
    counts = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost")
    assert [result[name] for name in counts] == [None] * 5


def test_tokens_that_an_answer_reports_are_kept_and_0_is_0(stub: StubEndpoint) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens_details": {"reasoning_tokens": 0}}
    stub.script = chat("done", usage={"prompt_tokens": 20, "completion_tokens": 0, **details})
    (result,) = answers(calling(stub.url), ["one"])
    counts = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost")
    assert [result[name] for name in counts] == [20, 0, 16, 0, None]


def test_completions_and_embeddings_have_their_own_shapes(stub: StubEndpoint) -> None:
    stub.script = completion("done")
    model = model_at(f"{stub.origin}/v1/completions", model_type=ModelType.COMPLETIONS)
    assert answers(calling(model), ["one"])[0]["response"] == "done"
    stub.script = embedding((0.5, -1.0))
    model = model_at(f"{stub.origin}/v1/embeddings", model_type=ModelType.EMBEDDING)
    assert answers(calling(model), ["two"])[0]["response"] == "[0.5,-1.0]"
    assert [received.json for received in stub.requests] == [
        {"model": "stub", "prompt": "one", "temperature": 0},
        {"model": "stub", "input": "two"},
    ]


SECRET_PROMPT = "my diary says that"


@pytest.mark.parametrize("status", [400, 401, 429, 500, 200])
def test_an_error_tells_nothing_of_prompt_header_or_query(stub: StubEndpoint, status: int) -> None:
    message = f"bad input: {SECRET_PROMPT} key=sk-12345 " + "x" * 1_000
    stub.script = error(status, message=message, code=SECRET_PROMPT)
    model = model_at(stub.url + "?tenant=hush", timeout_ms=300)
    (result,) = answers(calling(model), [SECRET_PROMPT])
    assert result["error_code"] is not None
    assert len(result["error"]) <= 200
    for hidden in ("diary", "sk-12345", "hush", "xxx"):
        assert hidden not in result["error"]
