"""Which addresses a model may have."""

from __future__ import annotations

import ipaddress

import pytest

from inferlake_sql.errors import InvalidLocation
from inferlake_sql.location import (
    Location,
    Refusal,
    check_key_transport,
    check_location,
    complete,
    is_private_host,
    read_address,
    refuse_address,
    type_of_path,
)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", Refusal.MALFORMED),
        ("http://", Refusal.MALFORMED),
        ("http:///v1", Refusal.MALFORMED),
        ("http://h:0/v1", Refusal.MALFORMED),
        ("http://h:99999/v1", Refusal.MALFORMED),
        ("http://h:x/v1", Refusal.MALFORMED),
        ("http://[::1/v1", Refusal.MALFORMED),
        ("http://h/v 1", Refusal.MALFORMED),
        ("http://h\\@evil/v1", Refusal.MALFORMED),
        ("http://h/v1\r\nx: y", Refusal.MALFORMED),
        ("http://h/v1#frag", Refusal.MALFORMED),
        ("http://0.0.0.0/v1", Refusal.MALFORMED),
        ("http://224.0.0.1/v1", Refusal.MALFORMED),
        ("h/v1", Refusal.NOT_HTTP),
        ("ftp://h/v1", Refusal.NOT_HTTP),
        ("file:///etc/passwd", Refusal.NOT_HTTP),
        ("https://user:pass@h/v1", Refusal.CREDENTIALS),
        ("https://user@h/v1", Refusal.CREDENTIALS),
        ("https://@h/v1", Refusal.CREDENTIALS),
        ("https://h/v1?key=x", Refusal.KEY_IN_QUERY),
        ("https://h/v1?a=b&API_KEY=x", Refusal.KEY_IN_QUERY),
        ("https://h/v1?access_token", Refusal.KEY_IN_QUERY),
        ("https://h/v1?%6bey=x", Refusal.KEY_IN_QUERY),
        ("https://h/v1?sig=x", Refusal.KEY_IN_QUERY),
        ("http://169.254.169.254/latest", Refusal.LINK_LOCAL),
        ("http://169.254.0.7/v1", Refusal.LINK_LOCAL),
        ("http://2852039166/v1", Refusal.LINK_LOCAL),
        ("http://0xa9fea9fe/v1", Refusal.LINK_LOCAL),
        ("http://0251.0376.0251.0376/v1", Refusal.LINK_LOCAL),
        ("http://169.254.43518/v1", Refusal.LINK_LOCAL),
        ("http://[fe80::1]/v1", Refusal.LINK_LOCAL),
        ("http://[fe80::1%25eth0]/v1", Refusal.LINK_LOCAL),
        ("http://[::ffff:169.254.169.254]/v1", Refusal.LINK_LOCAL),
        ("http://[64:ff9b::a9fe:a9fe]/v1", Refusal.LINK_LOCAL),
        ("http://[fd00:ec2::254]/v1", Refusal.METADATA),
        ("http://100.100.100.200/v1", Refusal.METADATA),
        ("http://metadata.google.internal/v1", Refusal.METADATA),
        ("http://METADATA.google.internal./v1", Refusal.METADATA),
    ],
)
def test_an_address_that_must_not_be_called_is_refused_with_its_reason(url: str, reason: Refusal) -> None:
    with pytest.raises(InvalidLocation) as raised:
        check_location(url)
    assert raised.value.fields["reason"] == reason


def test_a_refusal_repeats_nothing_of_the_address() -> None:
    for url in ("https://u:canary@h/v1", "https://h/v1?key=canary", "canary://h"):
        with pytest.raises(InvalidLocation) as raised:
            check_location(url)
        assert "canary" not in str(raised.value) + str(raised.value.fields)


@pytest.mark.parametrize(
    "url",
    [
        "http://ray-serve:8000/v1/chat/completions",
        "HTTPS://H/v1?api-version=2024-10-21",
        "http://127.0.0.1:8000",
        "http://[::1]:8000/v1",
        "https://h/v1?max_tokens=5",
        "http://10.0.0.7/v1",
    ],
)
def test_an_address_is_kept_as_it_was_written(url: str) -> None:
    assert check_location(url) == Location(url)


def test_the_parts_of_an_address() -> None:
    location = check_location("HTTPS://Example.com/v1/x?a=b")
    assert (location.secure, location.host, location.port, location.path) == (True, "example.com", 443, "/v1/x")
    assert check_location("http://[::1]:81").host == "::1"
    assert check_location("http://[::1]:81").port == 81


@pytest.mark.parametrize(
    ("url", "model_type", "complete_url"),
    [
        ("http://h/v1", "chat", "http://h/v1/chat/completions"),
        ("http://h/v1/", "embedding", "http://h/v1/embeddings"),
        ("http://h", "completions", "http://h/v1/completions"),
        ("http://h/", "chat", "http://h/v1/chat/completions"),
        ("http://h/app/v1", "chat", "http://h/app/v1/chat/completions"),
        ("http://h/v1?a=b", "chat", "http://h/v1/chat/completions?a=b"),
        ("http://h/v1/chat/completions", "chat", "http://h/v1/chat/completions"),
        ("http://h/custom", "chat", "http://h/custom"),
    ],
)
def test_a_base_address_is_completed_by_the_type(url: str, model_type: str, complete_url: str) -> None:
    assert complete(check_location(url), model_type) == complete_url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://h/v1/chat/completions", "chat"),
        ("http://h/v1/completions", "completions"),
        ("http://h/v1/embeddings/", "embedding"),
        ("http://h/v1", None),
    ],
)
def test_the_path_says_the_type(url: str, said: str | None) -> None:
    assert type_of_path(check_location(url)) == said


@pytest.mark.parametrize(
    ("path", "model_type"),
    [("/v1/chat/completions", "embedding"), ("/v1/completions", "chat"), ("/v1/embeddings", "completions")],
)
def test_a_path_of_another_type_is_refused(path: str, model_type: str) -> None:
    with pytest.raises(InvalidLocation) as raised:
        complete(check_location(f"http://h{path}"), model_type)
    assert raised.value.fields["reason"] == Refusal.WRONG_PATH


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://ray-serve:8000", True),
        ("http://localhost", True),
        ("http://10.1.2.3", True),
        ("http://192.168.1.1", True),
        ("http://[fd00::1]", True),
        ("http://llm.default.svc.cluster.local", True),
        ("http://llm.prod.svc", True),
        ("http://gpu.home.arpa", True),
        ("http://api.example.com", False),
        ("http://8.8.8.8", False),
        ("http://134744072", False),
    ],
)
def test_hosts_that_cannot_be_on_the_public_internet(url: str, private: bool) -> None:
    assert is_private_host(check_location(url)) is private


def test_a_key_over_plain_http() -> None:
    private, public = check_location("http://ray-serve:8000/v1"), check_location("http://api.example.com/v1")
    assert check_key_transport(check_location("https://api.example.com"), allow_insecure=False) is False
    assert check_key_transport(private, allow_insecure=False) is True
    assert check_key_transport(public, allow_insecure=True) is True
    with pytest.raises(InvalidLocation) as raised:
        check_key_transport(public, allow_insecure=False)
    assert raised.value.fields["reason"] == Refusal.KEY_OVER_HTTP


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("1.2.3.4.5", None),
        ("256.1.1.1", None),
        ("089.1", None),
        ("example.com", None),
        ("", None),
    ],
)
def test_old_spellings_of_addresses_are_understood(host: str, address: str | None) -> None:
    assert read_address(host) == (ipaddress.ip_address(address) if address else None)


def test_a_resolved_address_is_judged_by_the_same_rule() -> None:
    assert refuse_address(ipaddress.ip_address("169.254.1.1")) is Refusal.LINK_LOCAL
    assert refuse_address(ipaddress.ip_address("168.63.129.16")) is Refusal.METADATA
    assert refuse_address(ipaddress.ip_address("10.0.0.1")) is None
