"""Rules for every test: the shared fixtures, and no network but loopback."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

pytest_plugins = ["registry_fixtures", "serving_fixtures", "spark_fixtures"]


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """Refuse a connection of this process to any address that is not loopback: no test may need a network."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])
            own = host in ("localhost", socket.gethostname()) or _is_own(host)
            if not own:
                raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    yield
    patch.undo()


def _is_own(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    return address.is_loopback or str(address) in own
