"""The headers of a model: fixed ones, and secret ones that are fetched from the registry and renewed after a 401."""

from __future__ import annotations

import asyncio
from typing import Final

from inferlake.result import CallResult
from inferlake.worker.calls import Call, CallFailed, Cause, Sender
from inferlake_registry.client import WorkerRegistry
from inferlake_registry.contract.models import Credentials, CredentialsRequest, ModelSnapshot

_FIXED: Final = {"content-type": "application/json", "accept": "application/json"}


class ModelHeaders:
    """Headers of one model's calls to one host.

    A process reads its credentials once, and again only when an endpoint refuses them.
    """

    def __init__(self, registry: WorkerRegistry | None, snapshot: ModelSnapshot, host: str) -> None:
        self._registry = registry
        self._snapshot = snapshot
        self._request = CredentialsRequest(snapshot.model_id, host)
        self._credentials: Credentials | None = None
        self._reading = asyncio.Lock()

    async def current(self) -> dict[str, str]:
        """Return a new dictionary with all headers, the secret ones revealed."""
        if not self._snapshot.has_secrets:
            return dict(_FIXED)
        if self._credentials is None:
            await self._read(None)
        assert self._credentials is not None
        return _FIXED | {name: value.reveal() for name, value in self._credentials.headers.items()}

    @property
    def epoch(self) -> int | None:
        """Which credentials are in use; None for none."""
        return None if self._credentials is None else self._credentials.epoch

    async def renewed(self, refused: int | None) -> bool:
        """Read the credentials again after a refusal of those of epoch ``refused``; tell whether they have changed."""
        if not self._snapshot.has_secrets:
            return False
        await self._read(refused)
        return self.epoch != refused

    async def _read(self, known: int | None) -> None:
        async with self._reading:
            if self.epoch != known:
                return  # another call has read them while this one waited
            assert self._registry is not None  # a model with secrets is not called without one
            self._credentials = await self._registry.credentials(self._snapshot.name, self._request)


class Renewing:
    """After a 401 sends once more, if the registry has other credentials than the refused ones."""

    def __init__(self, inner: Sender, headers: ModelHeaders) -> None:
        self._inner = inner
        self._headers = headers

    async def send(self, call: Call) -> CallResult:
        """Return the answer under the present credentials."""
        refused = self._headers.epoch
        try:
            return await self._inner.send(call)
        except CallFailed as failed:
            if failed.cause is not Cause.UNAUTHORISED or not await self._headers.renewed(refused):
                raise
        return await self._inner.send(call)
