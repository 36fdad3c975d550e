"""What a model's calls carry beside the prompt: fixed headers, and what is secret, fetched from the registry.

Secret are headers and members of the body; they are read again after a 401.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from inferlake.result import CallResult, ErrorCode
from inferlake.worker.calls import Call, CallFailed, Cause, HttpReply, Sender
from inferlake.worker.masked import masked, secret_texts
from inferlake_registry.client import WorkerRegistry
from inferlake_registry.contract.models import Credentials, CredentialsRequest, ModelSnapshot
from inferlake_registry.contract.problems import RegistryUnreachable
from inferlake_sql.errors import InferlakeError
from inferlake_sql.sensitive import is_sensitive_name

_log = logging.getLogger(__name__)

_IN_VAIN_S: Final = 1.0  # after a refusal of what the registry still has: a revoked key is asked about once a second
_AGAIN_S: Final = 1.0  # pause before a registry that did not answer is asked again
_PATIENCE_S: Final = 30.0  # how long rows wait for a key that this process has never had
_FIXED: Final = {"content-type": "application/json", "accept": "application/json"}


class ModelHeaders:
    """Headers of one model's calls to one host.

    A process reads its credentials once, and again only when an endpoint refuses them: once for all rows that were
    refused together.
    """

    def __init__(
        self,
        registry: WorkerRegistry | None,
        snapshot: ModelSnapshot,
        request: CredentialsRequest,
        members: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._snapshot = snapshot
        self._request = request
        self._members = members  # of the body, those that calls get
        self._credentials: Credentials | None = None
        self._clock = clock
        self._reading = asyncio.Lock()
        self._in_vain_until = float("-inf")
        self._silent_since: float | None = None

    async def current(self) -> dict[str, str]:
        """Return a new dictionary with all headers, the secret ones revealed.

        Raises ``CallFailed`` when the registry has not answered for half a minute, and the registry's own errors.
        """
        if not self._snapshot.has_secrets:
            return dict(_FIXED)
        credentials = await self._in_use()
        return _FIXED | {name: value.reveal() for name, value in credentials.headers.items()}

    def complete(self, body: bytes) -> bytes:
        """Return a request's body with the secret members, as they were when ``current`` was called last."""
        if not self._members or self._credentials is None:
            return body
        texts = self._credentials.request
        added = b",".join(orjson.dumps(name) + b":" + texts[name].reveal().encode() for name in self._members)
        return body[:-1] + b"," + added + b"}"

    def masked(self, reply: HttpReply) -> HttpReply:
        """Return an answer that repeats none of the secrets."""
        if self._credentials is None:
            return reply
        sent = [value.reveal() for name, value in self._credentials.headers.items() if is_sensitive_name(name)]
        for name, value in self._credentials.request.items():
            sent += secret_texts(name, orjson.loads(value.reveal()))
        return masked(reply, sent)

    async def epoch(self) -> int | None:
        """Return which credentials the next call has; None for a model without."""
        return (await self._in_use()).epoch if self._snapshot.has_secrets else None

    async def renewed(self, refused: int | None) -> bool:
        """Read the credentials again after a refusal of those of epoch ``refused``; tell whether they have changed."""
        if refused is None:
            return False
        async with self._reading:
            if await self.epoch() == refused and self._clock() >= self._in_vain_until:
                await self._read_again()
                if await self.epoch() == refused:
                    self._in_vain_until = self._clock() + _IN_VAIN_S
        return await self.epoch() != refused

    async def _read_again(self) -> None:
        try:
            self._credentials = await self._read()
        except InferlakeError as error:
            _log.warning("Nobody can say whether model %s has another key by now: %s", self._snapshot.name, error)

    async def _in_use(self) -> Credentials:
        if self._credentials is not None:
            return self._credentials
        async with self._reading:
            if self._credentials is None:
                self._credentials = await self._read_patiently()
        return self._credentials

    async def _read_patiently(self) -> Credentials:
        """Read the first credentials. A registry that is away when a job begins may be back before its rows suffer."""
        while True:
            try:
                return await self._read()
            except RegistryUnreachable as error:
                now = self._clock()
                if self._silent_since is None:
                    self._silent_since = now
                    _log.warning("Rows wait for the key of model %s: %s", self._snapshot.name, error)
                if now - self._silent_since >= _PATIENCE_S:
                    failure = "The registry does not answer, so the model's key cannot be read."
                    raise CallFailed(ErrorCode.NETWORK, failure) from None
                await asyncio.sleep(_AGAIN_S)

    async def _read(self) -> Credentials:
        assert self._registry is not None  # a model with secrets is not called without one
        return await self._registry.credentials(self._snapshot.name, self._request)


class Renewing:
    """After a 401 has the call sent once more, if the registry has other credentials than the refused ones."""

    def __init__(self, inner: Sender, headers: ModelHeaders) -> None:
        self._inner = inner
        self._headers = headers

    async def send(self, call: Call) -> CallResult:
        """Return the answer under the present credentials."""
        used = await self._headers.epoch()  # nothing happens between here and the reading of the headers
        try:
            return await self._inner.send(call)
        except CallFailed as failed:
            if failed.cause is Cause.UNAUTHORISED and await self._headers.renewed(used):
                failed.cause = Cause.RENEWED
            raise
