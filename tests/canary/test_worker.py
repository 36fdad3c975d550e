"""A worker sends the key in its header, and what an endpoint gives back of it reaches no result and no store."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from canary_key import ALL, Canary, files_below
from canary_parrot import parrot
from engine_calls import answers, calling

from inferlake.call import OnError
from inferlake.fake_registry import FakeRegistry
from inferlake.testing import StubEndpoint
from inferlake.worker.answer_store import DIRECTORY_VARIABLE
from inferlake.worker.engine import forget_engine
from inferlake.worker.errors import RowFailed
from inferlake.worker.runner import run_values
from inferlake_registry.contract.models import CallSettings


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder for the answer store, and an engine of this test's own."""
    forget_engine()
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "store"))
    yield tmp_path
    forget_engine()


@pytest.mark.parametrize("canary", ALL, ids=lambda canary: canary.core)
def test_nothing_that_comes_back_holds_it(canary: Canary, store: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[object] = []
    settings = CallSettings(retry_attempts=1, timeout_ms=2_000)
    with FakeRegistry() as registry, StubEndpoint(parrot) as endpoint:
        for kind in ("200", "401", "403", "302", "500", "429", "reset", "half", "noise"):
            url = f"{endpoint.origin}/{kind}/v1/chat/completions"
            model = registry.add_model(kind, url, api_key=canary.value, settings=settings)
            call = calling(model, registry_url=registry.url, reference=kind, application_id="a", reuse=str(store / "r"))
            results = answers(call, ["row 0"])
            assert [result["response"] is None for result in results] == [kind != "200"], kind
            told += [call, pickle.dumps(call), results]
        with pytest.raises(RowFailed) as caught:
            raising = calling(model, registry_url=registry.url, reference=kind, on_error=OnError.RAISE)
            list(run_values(raising, iter([(pa.array(["row 0"]),)])))
        told += [caught.value, caught.value.__cause__, caught.value.__context__, caught.getrepr(style="short")]
        heard = [request.headers["authorization"] for request in endpoint.requests]
    assert set(heard) == {f"Bearer {canary.value}".encode().decode("latin-1")}
    assert len(heard) >= 10
    assert not any(canary.is_in(f"{value!r} {value}") for value in told)
    assert not canary.is_in(caplog.text)
    forget_engine()
    files = dict(files_below(store))
    assert [path for path, content in files.items() if canary.is_in(content)] == []
    assert sum(b"you sent ******" in content for content in files.values()) == 2  # the store and the record for reuse
