"""Each test has an engine and an answer store of its own, and leaves no thread and no connection behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inferlake.testing import StubEndpoint
from inferlake.worker import engine as engine_module
from inferlake.worker.answer_store import DIRECTORY_VARIABLE


@pytest.fixture(autouse=True)
def own_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the test an engine that no other test has used."""
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "answers"))
    engine_module.forget_engine()
    yield
    for window in engine_module.engine().windows if engine_module.is_running() else ():
        assert window.in_use == 0, "a call has kept its place"
    engine_module.forget_engine()


@pytest.fixture
def stub() -> Iterator[StubEndpoint]:
    """Give an endpoint that answers each prompt with itself until told otherwise."""
    with StubEndpoint() as endpoint:
        yield endpoint
