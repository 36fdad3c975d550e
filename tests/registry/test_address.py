"""The address policy at connect: what a name leads to is checked, and the very address that was checked is called."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from inferlake.testing import Fault, Received, Reply, StubEndpoint
from inferlake_registry.probe.http import Answer, Question, ask
from inferlake_sql.secret import Secret


def answer(url: str, timeout_s: float = 5.0, **more: Any) -> Answer:
    return asyncio.run(ask(Question(url, {"x-key": Secret("canary-ask")}, timeout_s, 2.0, **more)))


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let every name lead to these addresses; returns the names that were asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        return [
            (socket.AF_INET6 if ":" in found else socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port))
            for found in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.1.1",
        "fe80::1",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "0.0.0.0",
    ],
)
def test_a_name_that_leads_to_a_forbidden_address_is_not_called(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolve_to(monkeypatch, address)
    said = answer("http://innocent.example/health")
    assert said.status is None
    assert said.refused
    assert said.cause == "the host resolves to an address that must not be called"


def test_of_several_addresses_an_allowed_one_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint(Reply(200)) as stub:
        port = stub.origin.rpartition(":")[2]
        resolve_to(monkeypatch, "169.254.169.254", "127.0.0.1")
        assert answer(f"http://two.example:{port}/health").status == 200
        assert stub.requests[0].headers["host"] == f"two.example:{port}"


def test_the_name_is_asked_for_once_so_that_a_second_answer_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint(Reply(200)) as stub:
        asked = resolve_to(monkeypatch, "127.0.0.1")
        assert answer(stub.origin.replace("127.0.0.1", "rebind.example") + "/health").status == 200
        assert asked.count("rebind.example") == 1


def test_loopback_and_private_addresses_are_allowed() -> None:
    with StubEndpoint(Reply(200)) as stub:
        assert answer(f"{stub.origin}/health").status == 200
        assert answer(stub.origin.replace("127.0.0.1", "localhost") + "/health").status == 200


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    def script(received: Received) -> Reply:
        return Reply(302, headers={"location": "/elsewhere"}) if received.path == "/health" else Reply(200)

    with StubEndpoint(script) as stub:
        assert answer(f"{stub.origin}/health").status == 302
        assert stub.calls == 1


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.DRIBBLE])
def test_the_whole_question_has_a_time(fault: Fault) -> None:
    with StubEndpoint(fault) as stub:
        said = answer(f"{stub.origin}/health", timeout_s=1.0)
        assert (said.status, said.cause) == (None, "no answer in time")


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.NOT_HTTP, Fault.RESET_IN_BODY])
def test_a_broken_answer_is_told_without_what_was_sent(fault: Fault) -> None:
    with StubEndpoint(fault) as stub:
        said = answer(f"{stub.origin}/health")
        assert said.status is None
        assert "canary" not in str(said)


def test_a_large_answer_is_cut() -> None:
    with StubEndpoint(Reply(200, b"x" * 20_000_000)) as stub:
        said = answer(f"{stub.origin}/health")
        assert said.status == 200
        assert len(said.body) < 2_000_000


def test_nothing_listens() -> None:
    assert answer("http://127.0.0.1:9/health").cause == "the connection is refused"


def test_a_file_of_certificates_that_is_missing(tmp_path: Path) -> None:
    missing = answer("https://127.0.0.1:9/health", ca=str(tmp_path / "none.pem"))
    assert missing.refused
    assert "tls.ca" in str(missing.cause)


def test_a_certificate_counts_when_its_issuer_is_trusted(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "localhost")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    with StubEndpoint(Reply(200), tls=server) as stub:
        url = f"https://localhost:{stub.origin.rpartition(':')[2]}/health"
        assert answer(url, ca=str(certificate)).status == 200
        assert answer(url).status is None
        assert answer(url.replace("localhost", "127.0.0.1"), ca=str(certificate)).status is None  # another name
        assert stub.calls == 1


def self_signed(folder: Path, name: str) -> Path:
    """Write a certificate of one's own with its key, good for an hour, and return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return file
