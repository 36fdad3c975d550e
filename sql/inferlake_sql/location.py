"""Which addresses a model may have, as far as the text alone can tell.

Checked here: the scheme, credentials and keys in the text, link-local and metadata hosts, and whether the path fits the
model's type. What a host name resolves to is checked where a connection is made.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from inferlake_sql.errors import InvalidLocation
from inferlake_sql.sensitive import query_holds_key


class Refusal(StrEnum):
    """Why an address is refused."""

    NOT_HTTP = "not_http"
    MALFORMED = "malformed"
    CREDENTIALS = "credentials"
    KEY_IN_QUERY = "key_in_query"
    LINK_LOCAL = "link_local"
    METADATA = "metadata"
    WRONG_PATH = "wrong_path"
    KEY_OVER_HTTP = "key_over_http"


@dataclass(frozen=True, slots=True)
class Location:
    """An address that passed the checks: http or https, no credentials, no key. The text is kept as written."""

    url: str

    @property
    def secure(self) -> bool:
        """Whether the scheme is https."""
        return self.url[:6].lower() == "https:"

    @property
    def host(self) -> str:
        """Host in lower case, IPv6 without brackets."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Port, the scheme's own when none is written."""
        return urlsplit(self.url).port or (443 if self.secure else 80)

    @property
    def path(self) -> str:
        """Path without query; empty or beginning with a slash."""
        return urlsplit(self.url).path

    def __str__(self) -> str:
        return self.url


# The metadata services of the large clouds, from the vendors' documentation of instance metadata: 100.100.100.200 is
# Alibaba's, 192.0.0.192 Oracle's, 168.63.129.16 Azure's wire server; over IPv6 fd00:ec2::254 is AWS's, fd20:ce::254
# Google's.
# 169.254.0.0/16 and fe80::/10 are refused as a whole: link-local (RFC 3927, RFC 4291).
METADATA_ADDRESSES: Final = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"))
)
METADATA_HOSTS: Final = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f\\]")


def check_location(text: str) -> Location:
    """Return the address, or raise InvalidLocation; the error names no part of the text that could be a secret."""
    if _SPACE.search(text) or not text:
        raise _refuse(Refusal.MALFORMED, "it is empty or holds a space, a backslash or a control character.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refuse(Refusal.MALFORMED, "it is no valid URL.") from None
    if parts.scheme not in ("http", "https"):
        raise _refuse(Refusal.NOT_HTTP, "it must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise _refuse(Refusal.CREDENTIALS, "it holds credentials (user:password@). Give the key as 'api.key'.")
    if not host or port == 0:
        raise _refuse(Refusal.MALFORMED, "it names no host, or no usable port.")
    if parts.fragment:
        raise _refuse(Refusal.MALFORMED, "it has a fragment (#…), which is never sent.")
    _check_query(parts.query)
    _check_host(host)
    return Location(text)


def _check_query(query: str) -> None:
    try:
        holds_key = query_holds_key(query)
    except ValueError:
        raise _refuse(Refusal.MALFORMED, "its query cannot be read.") from None
    if holds_key:
        raise _refuse(
            Refusal.KEY_IN_QUERY, "its query holds what looks like a key. Give it as 'api.key' or 'header.…'."
        )


def _check_host(host: str) -> None:
    name = host.rstrip(".")
    if name in METADATA_HOSTS:
        raise _refuse(Refusal.METADATA, "the host is a cloud's metadata service.")
    address = read_address(name)
    if address is not None and (reason := refuse_address(address)):
        raise _refuse(reason, "the host is a link-local address or a cloud's metadata service.")


def refuse_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Refusal | None:
    """Say why an address must not be called, or None. The same rule serves at connect, on the resolved address."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour or _nat64(address)
        if embedded is not None:
            return refuse_address(embedded)
    if address in METADATA_ADDRESSES:
        return Refusal.METADATA
    if address.is_link_local:
        return Refusal.LINK_LOCAL
    if address.is_multicast or address.is_unspecified:
        return Refusal.MALFORMED
    return None


_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


def read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address a host text is, also in the short, octal and hexadecimal forms that C libraries accept."""
    try:
        return ipaddress.ip_address(host.split("%", 1)[0])
    except ValueError:
        return _legacy_ipv4(host)


def _legacy_ipv4(host: str) -> ipaddress.IPv4Address | None:
    """Read 2852039166, 0xa9fea9fe or 169.254.43518 the way inet_aton(3) does: the last number fills the rest."""
    pieces = host.split(".")
    if not 1 <= len(pieces) <= 4:
        return None
    numbers = [_c_integer(piece) for piece in pieces]
    if None in numbers:
        return None
    *leading, last = [number for number in numbers if number is not None]
    if any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
        return None
    return ipaddress.IPv4Address(sum(n << (8 * (3 - i)) for i, n in enumerate(leading)) + last)


def _c_integer(text: str) -> int | None:
    if not re.fullmatch(r"0x[0-9a-f]{1,12}|[0-9]{1,14}", text, re.ASCII | re.IGNORECASE):
        return None
    try:
        return int(text, 16 if text[:2].lower() == "0x" else 8 if text[0] == "0" and len(text) > 1 else 10)
    except ValueError:  # an 8 or 9 after a leading zero
        return None


def is_private_host(location: Location) -> bool:
    """Whether a key may go there without TLS: loopback, private ranges, and names without a public suffix.

    A bare word such as ``ray-serve`` or a name under .local, .internal, .svc, .lan, .home.arpa or .test cannot be on
    the public internet (RFC 6762, RFC 8375, RFC 6761, ICANN's reservation of .internal).
    """
    host = location.host.rstrip(".")
    address = read_address(host)
    if address is not None:
        return address.is_private or address.is_loopback
    labels = host.split(".")
    return len(labels) == 1 or labels[-1] in _PRIVATE_SUFFIXES or host.endswith(".home.arpa")


_PRIVATE_SUFFIXES: Final = frozenset({"local", "internal", "svc", "lan", "test", "localhost", "localdomain"})

# What completes a base address, by model.type; the paths of the OpenAI API.
PATHS: Final = {"chat": "/chat/completions", "completions": "/completions", "embedding": "/embeddings"}
_BASE: Final = re.compile(r"(?:/.*)?/v\d+[a-z]*|", re.ASCII)


def type_of_path(location: Location) -> str | None:
    """Return the ``model.type`` that the path says: chat, completions or embedding; None when it says nothing."""
    path = location.path.rstrip("/")
    return next((kind for kind, end in PATHS.items() if path.endswith(end)), None)


def complete(location: Location, model_type: str) -> str:
    """Return the address that is called: ``…/v1`` gets its path from the type, no path at all gets ``/v1`` as well.

    Raises InvalidLocation when the path belongs to another type.
    """
    said = type_of_path(location)
    if said is not None and said != model_type:
        raise _refuse(
            Refusal.WRONG_PATH,
            f"its path is that of 'model.type' = '{said}', but the model's type is '{model_type}'. Change one of them.",
        )
    parts = urlsplit(location.url)
    path = parts.path.rstrip("/")
    if said is not None or not _BASE.fullmatch(path):
        return location.url
    return parts._replace(path=(path or "/v1") + PATHS[model_type]).geturl()


def check_key_transport(location: Location, *, allow_insecure: bool) -> bool:
    """Check that a key may be sent there; returns whether a warning is due (plain http to a private host).

    Raises InvalidLocation for plain http to a public host, unless ``allow.insecure`` is set.
    """
    if location.secure:
        return False
    if not (allow_insecure or is_private_host(location)):
        raise _refuse(
            Refusal.KEY_OVER_HTTP,
            "a key would travel unencrypted to a public host. Use https://, or set 'allow.insecure' = true.",
        )
    return True


def _refuse(reason: Refusal, explanation: str) -> InvalidLocation:
    return InvalidLocation(reason.value, explanation)
