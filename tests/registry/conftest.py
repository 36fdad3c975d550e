"""A registry that the tests of this folder share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest
from registry_fixtures import RegistryProcess, run_registry
from registry_sql import Sql

from inferlake_registry.client import Client

_NUMBERS: Final = itertools.count(1)


@pytest.fixture(scope="package")
def quiet_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """Give one registry for this folder; it probes nothing."""
    registry = run_registry(tmp_path_factory.mktemp("quiet"), "--no-probes")
    yield registry
    registry.stop()


@pytest.fixture(scope="package")
def quiet_client(quiet_registry: RegistryProcess) -> Iterator[Client]:
    """Give a client of the shared registry."""
    with quiet_registry.client() as client:
        yield client


@pytest.fixture
def sql(quiet_client: Client) -> Sql:
    """Give a way to run statements about a model that only this test knows."""
    return Sql(quiet_client, f"m{next(_NUMBERS)}")
