"""Every way in which an endpoint can fail: no row lost or doubled, order kept, one reason per row, calls as counted."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from engine_calls import Result, answers, calling, codes, model_at

from inferlake.testing import Answer, Fault, Received, Reply, StubEndpoint, chat, completion, echo, embedding, error
from inferlake_registry.contract.models import ModelType

ROWS = [f"row {number}" for number in range(40)]
BAD = "row 7"


def failing(answer: Answer, rows: Sequence[str] = (BAD,)) -> object:
    """Fail the given prompts and echo the others."""
    return lambda received: answer if received.prompt in rows else echo(received)


def one_failed(results: Sequence[Result], code: str) -> Result:
    """Check that all rows but the bad one have their own answer, in order; return the bad one."""
    assert [result["response"] for result in results] == [None if row == BAD else row for row in ROWS]
    assert codes(results) == {None: len(ROWS) - 1, code: 1}
    return results[ROWS.index(BAD)]


@pytest.mark.parametrize(
    ("answer", "code", "status"),
    [
        (error(400), "bad_request", 400),
        (error(400, code="context_length_exceeded"), "context_length", 400),
        (error(400, message="This model's maximum context length is 10 tokens"), "context_length", 400),
        (error(400, code="content_filter"), "content_filter", 400),
        (error(401), "auth", 401),
        (error(403), "auth", 403),
        (error(404), "not_found", 404),
        (error(413), "bad_request", 413),
        (error(422), "bad_request", 422),
        (error(429, code="insufficient_quota"), "rate_limited", 429),
        (error(501), "server", 501),
        (Reply(302, headers={"location": "http://169.254.169.254/"}), "bad_request", 302),
        (Reply(307, headers={"location": "/v1/elsewhere"}), "bad_request", 307),
        (chat(None), "empty", 200),
        (chat(""), "empty", 200),
        (chat("cut", finish_reason="length"), "truncated", 200),
        (chat("no", finish_reason="content_filter"), "content_filter", 200),
        (chat("x", error={"message": "invalid", "type": "invalid_request_error"}), "bad_request", 200),
        (Reply(200, b"data: {}\n\ndata: [DONE]\n\n", content_type="text/event-stream"), "decode", 200),
        (Reply(200, b'{"choices":[{"message":{"content":NaN}}]}'), "decode", 200),
        (Reply(200, b"<!doctype html><title>Sign in</title>", content_type="text/html"), "decode", 200),
        (Reply(200, b"\x1f\x8b\x08garbage", {"content-encoding": "gzip"}), "decode", 200),
        (Reply(200, b"[]"), "decode", 200),
        (Reply(200, b'{"choices":[]}'), "decode", 200),
        (Reply(200, b'{"choices":[{"message":{"content":7}}]}'), "decode", 200),
        (Reply(200, b""), "decode", 200),
        (Reply(200, b" " * (100 << 20)), "decode", None),
    ],
    ids=lambda value: None if isinstance(value, Reply) else str(value),
)
def test_an_answer_that_would_be_the_same_again_is_not_asked_for_again(
    stub: StubEndpoint, answer: Reply, code: str, status: int | None
) -> None:
    stub.script = failing(answer)
    failed = one_failed(answers(calling(stub.url), ROWS), code)
    assert failed["http_status"] == status
    assert failed["attempts"] == 1
    assert stub.calls == len(ROWS)


def test_a_wrong_content_type_is_no_reason_to_throw_an_answer_away(stub: StubEndpoint) -> None:
    stub.script = lambda received: Reply(200, echo(received).body, content_type="text/plain")
    assert [result["response"] for result in answers(calling(stub.url), ROWS)] == ROWS


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (error(500), "server"),
        (error(502), "server"),
        (error(503), "server"),
        (error(504), "server"),
        (error(529), "server"),
        (error(408), "timeout"),
        (error(409), "server"),
        (error(425), "server"),
        (chat("x", error={"message": "upstream broke", "type": "server_error"}), "server"),
        (Fault.RESET, "network"),
        (Fault.NOT_HTTP, "network"),
    ],
    ids=str,
)
def test_a_fault_is_tried_four_times(stub: StubEndpoint, answer: Answer, code: str) -> None:
    stub.script = failing(answer)
    failed = one_failed(answers(calling(stub.url), ROWS), code)
    assert failed["attempts"] == 4
    assert stub.calls == len(ROWS) - 1 + 4


def test_a_fault_that_passes_costs_only_its_own_attempts(stub: StubEndpoint) -> None:
    failures = {prompt: number % 3 for number, prompt in enumerate(ROWS[:9])}

    def script(received: Received) -> Answer:
        if failures.get(received.prompt, 0) > 0:
            failures[received.prompt] -= 1
            return Fault.RESET
        return echo(received)

    stub.script = script
    results = answers(calling(stub.url), ROWS)
    assert [result["response"] for result in results] == ROWS
    assert stub.calls == len(ROWS) + 3 * (1 + 2)
    assert [result["attempts"] for result in results[:9]] == [1, 2, 3] * 3


def test_all_attempts_of_a_row_carry_one_idempotency_key_and_each_row_its_own(stub: StubEndpoint) -> None:
    stub.script = [error(500), error(500), chat("a")]
    answers(calling(stub.url), ["a"])
    answers(calling(stub.url), ["b"])
    keys = [received.headers["idempotency-key"] for received in stub.requests]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    assert len({received.headers["x-request-id"] for received in stub.requests[:3]}) == 1


def test_an_answer_that_breaks_off_is_asked_for_once_more(stub: StubEndpoint) -> None:
    stub.script = failing(Fault.RESET_IN_BODY)
    failed = one_failed(answers(calling(stub.url), ROWS), "network")
    assert failed["attempts"] == 2
    assert stub.calls == len(ROWS) + 1


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.DRIBBLE])
def test_no_answer_ends_at_the_rows_time_and_is_not_paid_again(stub: StubEndpoint, fault: Fault) -> None:
    stub.script = failing(fault)
    began = time.monotonic()
    failed = one_failed(answers(calling(model_at(stub.url, timeout_ms=1_000)), ROWS), "timeout")
    assert time.monotonic() - began < 2.5
    assert 1_000 <= failed["latency_ms"] <= 1_200
    assert stub.calls == len(ROWS)
    # The next batch is unaffected, and the connection that went silent is closed.
    assert answers(calling(stub.url), ["after"])[0]["response"] == "after"
    deadline = time.monotonic() + 5
    while stub.in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stub.in_flight == 0


def test_an_attempt_can_be_shorter_than_the_rows_time(stub: StubEndpoint) -> None:
    stub.script = failing(Fault.SILENT)
    model = model_at(stub.url, timeout_ms=30_000, attempt_timeout_ms=500)
    failed = one_failed(answers(calling(model), ROWS), "timeout")
    assert 500 <= failed["latency_ms"] <= 700
    assert stub.calls == len(ROWS)


@pytest.mark.parametrize(
    ("headers", "at_least"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0.4"}, 0.4),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "9"}, 0.3),
        ({"retry-after": "in a moment"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({}, 0.0),
    ],
    ids=str,
)
def test_a_429_is_waited_out_at_least_as_long_as_it_says(
    stub: StubEndpoint, headers: dict[str, str], at_least: float
) -> None:
    stub.script = [error(429, headers=headers), error(429, headers=headers), chat("done")]
    results = answers(calling(stub.url), ["one"])
    assert codes(results) == {None: 1}
    assert results[0]["attempts"] == stub.calls == 3
    times = [received.at for received in stub.requests]
    assert min(times[1] - times[0], times[2] - times[1]) >= at_least


def test_a_429_may_name_a_date(stub: StubEndpoint) -> None:
    now = time.time()
    headers = {"retry-after": formatdate(now + 2, usegmt=True), "date": formatdate(now, usegmt=True)}
    stub.script = [error(429, headers=headers), chat("done")]
    assert answers(calling(stub.url), ["one"])[0]["response"] == "done"
    assert stub.requests[1].at - stub.requests[0].at >= 2.0


def test_each_wait_is_as_long_as_the_newest_answer_says_and_all_rows_are_quiet_meanwhile(stub: StubEndpoint) -> None:
    told = iter((1, 2, 3))
    quiet: list[tuple[float, float]] = []

    def script(received: Received) -> Answer:
        seconds = next(told, None) if received.prompt == BAD else None
        if seconds is None:
            return chat(received.prompt, delay_s=0.02)
        quiet.append((received.at, received.at + seconds))
        return error(429, headers={"retry-after": str(seconds)})

    stub.script = script
    rows = [BAD, *(f"row {number}" for number in range(1_000, 3_000))]
    results = answers(calling(model_at(stub.url, timeout_ms=60_000)), rows)
    assert [result["response"] for result in results] == rows
    assert stub.calls == len(rows) + 3
    assert len(quiet) == 3
    for began, ended in quiet:
        # What is on its way when the 429 is read cannot be called back: a tenth of a second is more than enough.
        assert not [request for request in stub.requests if began + 0.1 < request.at < ended]


def test_a_429_that_asks_for_more_than_the_rows_time_fails_at_once(stub: StubEndpoint) -> None:
    stub.script = failing(error(429, headers={"retry-after": "60"}))
    began = time.monotonic()
    model = model_at(stub.url, timeout_ms=1_000)
    results = answers(calling(model), [BAD])
    assert codes(results) == {"rate_limited": 1}
    assert time.monotonic() - began < 0.5
    assert stub.calls == 1


def test_a_429_uses_time_and_not_attempts(stub: StubEndpoint) -> None:
    # Five pauses of at most 0.5, 1, 2, 4 and 8 s end within the row's 30 s, whatever the dice say.
    stub.script = [*[error(429, headers={"retry-after-ms": "1"})] * 5, chat("done")]
    results = answers(calling(model_at(stub.url, retry_attempts=1)), ["one"])
    assert results[0]["response"] == "done"
    assert results[0]["attempts"] == stub.calls == 6


def test_a_storm_of_503_does_not_multiply_the_traffic(stub: StubEndpoint) -> None:
    # 200 rows, all refused, each could have four attempts: 800 calls. But five faults open the breaker with at most
    # eight calls in flight, each of the first four makes room for one more, and the first probe comes after
    # the rows' time.
    stub.script = error(503)
    rows = [f"row {number}" for number in range(200)]
    results = answers(calling(model_at(stub.url, timeout_ms=3_000), max_error_ratio=1.0), rows)
    assert codes(results) == {"network": 200}
    assert 5 <= stub.calls <= 8 + 4


def test_rows_wait_for_an_endpoint_that_comes_back(stub: StubEndpoint) -> None:
    stub.shut()
    rows = [f"row {number}" for number in range(300)]
    descriptor = calling(model_at(stub.url, timeout_ms=30_000))

    back = threading.Timer(1.0, stub.listen)
    back.start()
    results = answers(descriptor, rows)
    back.join()
    assert [result["response"] for result in results] == rows
    assert stub.calls == len(rows)


def test_rows_of_an_endpoint_that_stays_away_fail_within_their_own_time(stub: StubEndpoint) -> None:
    stub.shut()
    rows = [f"row {number}" for number in range(300)]
    began = time.monotonic()
    results = answers(calling(model_at(stub.url, timeout_ms=2_000), max_error_ratio=1.0), rows)
    assert codes(results) == {"network": 300}
    assert time.monotonic() - began < 3.0


def test_a_host_that_does_not_exist_is_a_network_error() -> None:
    model = model_at("http://no-such-host.invalid/v1/chat/completions", timeout_ms=1_500)
    results = answers(calling(model), ["one"])
    assert codes(results) == {"network": 1}
    assert "no-such-host" not in results[0]["error"]


def certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Make a certificate for 127.0.0.1 that nobody has signed; return a server's context and the PEM text."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(pem)
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context, pem.decode()


def test_a_certificate_counts_only_if_its_authority_is_trusted(tmp_path: Path) -> None:
    context, pem = certificate(tmp_path)
    with StubEndpoint(tls=context) as endpoint:
        results = answers(calling(endpoint.url), ["one"])
        assert codes(results) == {"network": 1}
        assert "certificate" in results[0]["error"]
        assert results[0]["attempts"] == 1
        assert endpoint.calls == 0
        for trusted in (pem, str(tmp_path / "cert.pem")):
            model = model_at(endpoint.url, tls_ca=trusted)
            assert answers(calling(model), ["one"])[0]["response"] == "one"


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::ffff:169.254.1.1]"])
def test_a_forbidden_address_is_not_even_tried(host: str) -> None:
    began = time.monotonic()
    results = answers(calling(model_at(f"http://{host}/v1/chat/completions")), ["one"])
    assert codes(results) == {"network": 1}
    assert "link-local" in results[0]["error"]
    assert time.monotonic() - began < 0.5


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
