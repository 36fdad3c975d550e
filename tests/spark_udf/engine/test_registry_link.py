"""How a worker asks its registry: with the token, past proxies, over few connections, and with errors of the family."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any, Final, TypeVar

import certifi
import pytest
from registry_fixtures import RegistryProcess, StartRegistry
from self_signed import certificate

from inferlake.testing import StubEndpoint
from inferlake.worker import registry_link
from inferlake.worker.dialing import dial
from inferlake.worker.registry_link import RegistryLink
from inferlake_registry.client import AsyncClient
from inferlake_registry.contract.leases import LeaseRequest
from inferlake_registry.contract.problems import (
    ModelNotFound,
    RegistryProtocolError,
    RegistryUnreachable,
    Unauthorised,
)
from inferlake_sql.secret import Secret

T = TypeVar("T")

CREATE: Final = "CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions' PROPERTIES ('qps.limit'=10)"


def asked(url: str, work: Callable[[AsyncClient], Awaitable[T]], token: str | None = None) -> T:
    """Return what a worker's client of the registry gets."""

    async def with_client() -> T:
        client = AsyncClient(url, None if token is None else Secret(token), RegistryLink(url))
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(with_client())


def lease_count(url: str, token: str | None = None, name: str = "m") -> int:
    """Take four slots and return how many were given."""

    async def work(client: AsyncClient) -> int:
        return (await client.lease(name, LeaseRequest("host:1:a", 4, 0))).count

    return asked(url, work, token)


def unreachable(url: str, token: str | None = None) -> str:
    """Return why a registry is not reached."""
    with pytest.raises(RegistryUnreachable) as caught:
        lease_count(url, token)
    return str(caught.value)


def test_slots_are_leased_and_given_back(fresh_registry: RegistryProcess) -> None:
    with fresh_registry.client() as control:
        control.execute(CREATE)

        async def work(client: AsyncClient) -> None:
            lease = await client.lease("m", LeaseRequest("host:1:a", 4, 0))
            assert (lease.count, lease.spacing_ms, lease.qps_limit) == (4, 100, 10)
            assert control.limits("m").booked_ms == pytest.approx(400, abs=150)
            await client.release("m", lease.lease_id, 4)
            assert control.limits("m").booked_ms <= 100  # the first one lies in the past

        asked(fresh_registry.url, work)


def test_the_token_is_sent_and_wanted(start_registry: StartRegistry) -> None:
    registry = start_registry("--no-probes", token="canary")
    with registry.client("canary") as control:
        control.execute(CREATE)
    assert lease_count(registry.url, "canary") == 4
    for wrong in (None, "another"):
        with pytest.raises(Unauthorised):
            lease_count(registry.url, wrong)


def test_a_token_that_no_header_may_hold_is_named_and_not_shown() -> None:
    message = unreachable("http://127.0.0.1:9", "canary\r\nx-more: 1")
    assert "the token holds a character" in message
    assert "canary" not in message


def test_a_problem_is_the_error_that_the_registry_raised(fresh_registry: RegistryProcess) -> None:
    with pytest.raises(ModelNotFound):
        lease_count(fresh_registry.url, name="nobody")


def test_proxies_of_the_environment_are_not_asked(
    fresh_registry: RegistryProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh_registry.client() as control:
        control.execute(CREATE)
    with StubEndpoint() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert lease_count(fresh_registry.url) == 4
        assert proxy.calls == 0


def test_a_registry_below_a_path_is_asked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint() as stub:
        with pytest.raises(RegistryProtocolError):  # it answers in HTTP, and no lease
            lease_count(f"{stub.origin}/base/")
        assert [received.path for received in stub.requests] == ["/base/v1/models/m/leases"]


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "127.0.0.1:8085", "http://", "http://127.0.0.1:x"])
def test_what_is_no_http_address_is_told(url: str) -> None:
    assert "this is no http address" in unreachable(url)


def test_nothing_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "nothing listens there" in unreachable(f"http://127.0.0.1:{port}")


class Mute(StreamRequestHandler):
    """Reads a request and never answers."""

    def handle(self) -> None:
        while self.rfile.readline():
            pass


class Rude(StreamRequestHandler):
    """Answers with something that is no HTTP."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"220 hello\r\n")


@pytest.mark.parametrize(("peer", "cause"), [(Mute, "it did not answer in time"), (Rude, "the connection broke")])
def test_a_peer_that_is_no_registry_is_told(
    peer: type[StreamRequestHandler], cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_link, "_ANSWER_S", 0.3)
    with ThreadingTCPServer(("127.0.0.1", 0), peer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            assert cause in unreachable(f"http://127.0.0.1:{server.server_address[1]}")
        finally:
            server.shutdown()
            thread.join()


def test_a_certificate_has_to_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, pem = certificate(tmp_path)
    with StubEndpoint(tls=context) as stub:
        assert "its certificate is not trusted" in unreachable(stub.origin)
        assert stub.calls == 0
        (tmp_path / "trusted.pem").write_text(pem)
        monkeypatch.setattr(certifi, "where", lambda: str(tmp_path / "trusted.pem"))
        with pytest.raises(RegistryProtocolError):  # it answers in HTTP, and no lease
            lease_count(stub.origin)
        assert stub.calls == 1


def test_one_connection_serves_many_questions_and_another_comes_after_a_restart(
    start_registry: StartRegistry,
) -> None:
    registry = start_registry("--no-probes")
    with registry.client() as control:
        control.execute(CREATE)
    port = registry.url.rpartition(":")[2]

    async def work(client: AsyncClient) -> None:
        opened: list[tuple[object, ...]] = []

        async def counted(*arguments: Any) -> object:
            opened.append(arguments)
            return await dial(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("inferlake.worker.registry_link.dial", counted)
            for _ in range(5):
                lease = await client.lease("m", LeaseRequest("host:1:a", 1, 0))
                await client.release("m", lease.lease_id, 1)
            assert len(opened) == 1
            await asyncio.to_thread(registry.stop)
            with pytest.raises(RegistryUnreachable):
                await client.lease("m", LeaseRequest("host:1:a", 1, 0))
            await asyncio.to_thread(start_registry, "--no-probes", "--port", port)
            assert (await client.lease("m", LeaseRequest("host:1:a", 1, 0))).count == 1

    asked(registry.url, work)
