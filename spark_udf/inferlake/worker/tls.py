"""Whose certificates a connection trusts: the usual authorities, and those of a model's ``tls.ca``."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

import httpx

from inferlake.worker.calls import Break, TransportFailed

_NO_CERTIFICATES: Final = "tls.ca holds no certificates in PEM form, or names no such file that this worker can read."
_NO_AUTHORITIES: Final = "SSL_CERT_FILE or SSL_CERT_DIR names no certificates that this worker can read."


def tls_context(tls_ca: str | None) -> ssl.SSLContext:
    """Return a context that checks certificates and host names. ``tls_ca`` is PEM text or the path of such a file.

    The usual authorities are those of httpx: certifi's, or what ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name. Raises
    ``TransportFailed``.
    """
    try:
        context = httpx.create_ssl_context()
    except OSError:
        raise TransportFailed(Break.FORBIDDEN, _NO_AUTHORITIES) from None
    context.set_alpn_protocols(["http/1.1"])
    if tls_ca is not None:
        try:
            context.load_verify_locations(cadata=_pem(tls_ca))
        except (OSError, ValueError):  # an SSLError is an OSError
            raise TransportFailed(Break.FORBIDDEN, _NO_CERTIFICATES) from None
    return context


def _pem(text: str) -> str:
    pem = text if text.lstrip().startswith("-----BEGIN") else Path(text).read_text(encoding="ascii")
    if "-----BEGIN CERTIFICATE-----" not in pem:
        raise ValueError("no certificate")
    return pem
