"""On the way to an endpoint: names, certificates, addresses that must not be called, redirects, proxies."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, ClassVar

import pytest
from engine_calls import Result, answers, calling, codes, model_at
from one_bad_row import ROWS, all_answered, failing, one_failed
from self_signed import certificate

from inferlake.testing import Reply, StubEndpoint
from inferlake.worker import transport
from inferlake.worker.engine import engine, forget_engine

PATH = "/v1/chat/completions"


def all_failed(results: Sequence[Result], reason: str) -> None:
    """Check that every row failed on the way, at its first attempt and for this reason."""
    assert codes(results) == {"network": len(ROWS)}
    assert all(reason in result["error"] for result in results), results[0]["error"]
    assert {result["attempts"] for result in results} == {1}


def test_a_host_that_does_not_exist_is_a_network_error() -> None:
    model = model_at(f"http://no-such-host.invalid{PATH}", timeout_ms=1_500)
    results = answers(calling(model), ROWS)
    assert codes(results) == {"network": len(ROWS)}
    for result in results:
        assert "cannot be resolved" in result["error"]
        assert "no-such-host" not in result["error"]


def test_a_certificate_counts_only_if_its_authority_is_trusted(tmp_path: Path) -> None:
    context, pem = certificate(tmp_path)
    with StubEndpoint(tls=context) as endpoint:
        all_failed(answers(calling(endpoint.url), ROWS), "certificate is not trusted: see tls.ca")
        assert endpoint.calls == 0
        for number, trusted in enumerate((pem, str(tmp_path / "cert.pem"))):
            all_answered(answers(calling(model_at(endpoint.url, tls_ca=trusted)), ROWS))
            assert endpoint.calls == (number + 1) * len(ROWS)


@pytest.mark.parametrize("wrong", [{"address": "127.0.0.2"}, {"days": -1}], ids=["another host's", "expired"])
def test_a_trusted_certificate_has_to_be_the_hosts_and_of_today(tmp_path: Path, wrong: dict[str, Any]) -> None:
    context, pem = certificate(tmp_path, **wrong)
    with StubEndpoint(tls=context) as endpoint:
        all_failed(answers(calling(model_at(endpoint.url, tls_ca=pem)), ROWS), "certificate is not trusted")
        assert endpoint.calls == 0


def test_a_tls_ca_without_certificates_fails_rows_and_says_so(stub: StubEndpoint, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    broken = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
    for unusable in (str(tmp_path / "absent.pem"), str(tmp_path), str(tmp_path / "key.pem"), broken):
        all_failed(answers(calling(model_at(stub.url, tls_ca=unusable)), ROWS), "tls.ca holds no certificates")
    assert stub.calls == 0


def set_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Set an environment variable in both of the forms in which programs look for a proxy."""
    for form in (name.upper(), name.lower()):
        monkeypatch.setenv(form, value)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the proxies of the machine that runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for form in (name.upper(), name):
            monkeypatch.delenv(form, raising=False)


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::ffff:169.254.1.1]", "100.100.100.200"])
def test_a_forbidden_address_is_not_even_tried(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for through_proxy in (False, True):
        with StubEndpoint() as proxy:
            if through_proxy:
                set_variable(monkeypatch, "http_proxy", proxy.origin)
            began = time.monotonic()
            all_failed(answers(calling(f"http://{host}{PATH}"), ROWS), "link-local or metadata address")
            assert time.monotonic() - began < 0.5
            assert proxy.calls == 0


class Names:
    """What a name service says: addresses of every name, which may change, after some failures."""

    def __init__(self, *addresses: str, failures: int = 0) -> None:
        self.addresses = addresses
        self._failures = failures

    async def __call__(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if self._failures:
            self._failures -= 1
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(2, 1, 6, "", (address, port)) for address in self.addresses]


def named(stub: StubEndpoint) -> str:
    """Return the stub's address with a name that only ``Names`` knows."""
    return stub.url.replace("127.0.0.1", "model.invalid")


def test_a_name_service_that_fails_for_a_moment_costs_attempts_and_no_row(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three failures hit three of the rows in flight; five in a row would be an endpoint that is down.
    monkeypatch.setattr(engine().loop, "getaddrinfo", Names("127.0.0.1", failures=3))
    results = answers(calling(named(stub)), ROWS)
    all_answered(results)
    assert sum(result["attempts"] - 1 for result in results) == 3
    assert stub.calls == len(ROWS)


def test_a_name_is_judged_by_the_addresses_that_it_has(stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine().loop, "getaddrinfo", Names("169.254.169.254", "fe80::1"))
    all_failed(answers(calling(named(stub)), ROWS), "link-local or metadata address")
    assert stub.calls == 0


def test_of_a_names_addresses_only_the_allowed_are_called(stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine().loop, "getaddrinfo", Names("169.254.169.254", "127.0.0.1"))
    all_answered(answers(calling(named(stub)), ROWS))
    assert stub.calls == len(ROWS)
    assert {request.headers["host"] for request in stub.requests} == {named(stub).split("/")[2]}


def test_a_name_that_moves_to_a_forbidden_address_is_noticed(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_RESOLVED_FOR_S", 0.0)
    names = Names("127.0.0.1")
    monkeypatch.setattr(engine().loop, "getaddrinfo", names)
    all_answered(answers(calling(named(stub)), ROWS))
    names.addresses = ("169.254.169.254",)
    all_failed(answers(calling(named(stub)), ROWS), "link-local or metadata address")
    assert stub.calls == len(ROWS)


def test_of_two_addresses_the_one_that_answers_is_found_at_once(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody listens at 127.0.0.2. Nothing has been sent by then, so that looking further costs no attempt.
    monkeypatch.setattr(engine().loop, "getaddrinfo", Names("127.0.0.2", "127.0.0.1"))
    results = answers(calling(named(stub)), ROWS)
    all_answered(results)
    assert {result["attempts"] for result in results} == {1}
    assert stub.calls == len(ROWS)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_wherever_it_leads(stub: StubEndpoint, status: int) -> None:
    with StubEndpoint() as internal:
        stub.script = failing(Reply(status, headers={"location": internal.url}))
        failed = one_failed(answers(calling(stub.url), ROWS), "bad_request")
        assert (failed["http_status"], failed["attempts"]) == (status, 1)
        assert "redirects are not followed" in failed["error"]
        assert stub.calls == len(ROWS)
        assert internal.accepted_connections == 0


def test_calls_go_through_the_proxy_that_the_environment_names(
    stub: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StubEndpoint() as proxy:
        set_variable(monkeypatch, "http_proxy", proxy.origin)
        all_answered(answers(calling(f"http://model.invalid{PATH}"), ROWS))
        assert {request.path for request in proxy.requests} == {f"http://model.invalid{PATH}"}
        assert proxy.calls == len(ROWS)
        set_variable(monkeypatch, "no_proxy", "127.0.0.1")
        all_answered(answers(calling(stub.url), ROWS))
        assert (proxy.calls, stub.calls) == (len(ROWS), len(ROWS))


class Tunnel(StreamRequestHandler):
    """A connection of a proxy for https: connects to the place that it is asked for, and copies bytes both ways."""

    asked: ClassVar[list[str]] = []

    def handle(self) -> None:
        first, *_ = iter(lambda: self.rfile.readline().decode().strip(), "")
        self.asked.append(first)
        host, _, port = first.split(" ")[1].partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=self._copy, args=(there, self.request))
            back.start()
            self._copy(self.request, there)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, to: socket.socket) -> None:
        while data := source.recv(1 << 16):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


@pytest.fixture
def tunnel() -> Iterator[str]:
    """Give the address of a proxy for https."""
    Tunnel.asked.clear()
    with ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        forget_engine()  # closes the connections, which the server waits for
        server.shutdown()
        serving.join()


def test_a_proxy_of_https_sees_nothing_but_the_place(
    tmp_path: Path, tunnel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, pem = certificate(tmp_path)
    with StubEndpoint(tls=context) as endpoint:
        set_variable(monkeypatch, "https_proxy", tunnel)
        all_answered(answers(calling(model_at(endpoint.url, tls_ca=pem)), ROWS))
        assert endpoint.calls == len(ROWS)
        assert set(Tunnel.asked) == {f"CONNECT {endpoint.origin.removeprefix('https://')} HTTP/1.1"}


def test_a_proxy_that_is_away_is_a_network_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint() as proxy:
        set_variable(monkeypatch, "http_proxy", proxy.origin)
    results = answers(calling(model_at(f"http://model.invalid{PATH}", timeout_ms=1_000)), ROWS)
    assert codes(results) == {"network": len(ROWS)}
    assert all("refused" in result["error"] for result in results)
