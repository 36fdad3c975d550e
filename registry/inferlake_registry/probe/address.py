"""Connections to addresses that callers chose: each resolved address is checked at the moment of connecting.

Checking a host name before and resolving it again when connecting would leave a gap that a changing DNS answer can use.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any, Final

import httpcore
from httpcore import AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream

from inferlake_sql.location import refuse_address

_RESOLVE_S: Final = 5.0


class AddressRefused(httpcore.ConnectError):
    """The host resolves to an address that must not be called."""


class CheckedBackend(AsyncNetworkBackend):
    """Resolves, checks and connects to the very address that it checked."""

    def __init__(self) -> None:
        self._inner = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 # httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to the first allowed address of a host. Raises AddressRefused when none is allowed."""
        loop = asyncio.get_running_loop()
        try:
            found = await asyncio.wait_for(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM), _RESOLVE_S)
        except (OSError, TimeoutError):
            raise httpcore.ConnectError("the host name is not known") from None
        allowed = [str(info[4][0]) for info in found if _allowed(str(info[4][0]))]
        if not allowed:
            raise AddressRefused("the host resolves to an address that must not be called")
        failure: Exception | None = None
        for address in dict.fromkeys(allowed):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as error:
                failure = error
        raise httpcore.ConnectError("the connection is refused") from failure

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> AsyncNetworkStream:
        """Refuse: an endpoint is never a local socket."""
        raise AddressRefused("unix sockets are not called")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


def _allowed(address: str) -> bool:
    return refuse_address(ipaddress.ip_address(address.split("%", 1)[0])) is None
