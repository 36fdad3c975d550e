"""What the contract's suite runs on: everything that says it is a registry."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from registry_fixtures import RegistryProcess, run_registry
from registry_subject import Subject

from inferlake_registry.client import AsyncClient, Client

_NUMBERS: Final = itertools.count(1)


@pytest.fixture(scope="package")
def real_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    registry = run_registry(tmp_path_factory.mktemp("contract"), "--no-probes")
    yield registry
    registry.stop()


@pytest.fixture
def subject(real_registry: RegistryProcess) -> Iterator[Subject]:
    """Give the real registry over HTTP; a double would be a parameter here, to promise the same."""

    @asynccontextmanager
    async def worker() -> AsyncIterator[AsyncClient]:
        client = AsyncClient(real_registry.url)
        try:
            yield client
        finally:
            await client.close()

    with Client(real_registry.url) as driver:
        yield Subject(driver, worker, f"m{next(_NUMBERS)}")
