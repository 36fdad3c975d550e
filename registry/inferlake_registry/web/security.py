"""What keeps a page's browser safe: the content policy, the token, and the refusal of what another site asks for.

A page runs only this service's own scripts and styles, loads nothing from elsewhere and cannot be framed. Requests that
change something are refused when the browser says that another site caused them: browsers send ``Sec-Fetch-Site`` on
every request to a trustworthy address and ``Origin`` on every unsafe one, and scripts cannot forge either. A client
that sends neither is not a browser, so nobody's session can be abused through it.

A registry that wants a token wants it for pages too: browsers ask for it by themselves (RFC 7617) and send it as the
password, under any name.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from inferlake_registry.contract.problems import Unauthorised
from inferlake_sql.errors import InferlakeError
from inferlake_sql.secret import Secret

CHALLENGE: Final = 'Basic realm="Inferlake", charset="UTF-8"'

CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

PAGE_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # an address holds filters, and those hold names
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

_SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class CrossSiteRequest(InferlakeError):
    """Another site made the browser send this request."""

    code = "CROSS_SITE_REQUEST"
    status = 403

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"This request was caused by another site ({origin}) and is refused. Open the page here and try again.",
            origin=origin,
        )


def refuse_cross_site(method: str, headers: Mapping[str, str]) -> None:
    """Raise CrossSiteRequest for an unsafe request that a page of another origin caused. ``headers`` in lower case."""
    if method in _SAFE_METHODS:
        return
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise CrossSiteRequest(origin or site)
    elif origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise CrossSiteRequest(origin)


def refuse_stranger(headers: Mapping[str, str], token: Secret | None) -> None:
    """Raise Unauthorised when a token is wanted and the request does not bring it. ``headers`` in lower case."""
    if token is None:
        return
    scheme, _, given = headers.get("authorization", "").partition(" ")
    brought = {"basic": _password(given), "bearer": given.encode()}.get(scheme.casefold(), b"")
    if not hmac.compare_digest(brought, token.reveal().encode()):
        raise Unauthorised


def _password(credentials: str) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
