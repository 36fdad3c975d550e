"""Secret members of the body come from the registry when a call is sent, and are in nothing that travels or is kept."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from engine_calls import answers, calling
from registry_fixtures import StartRegistry

from inferlake.testing import Received, Reply, StubEndpoint, chat, embedding
from inferlake.worker.errors import ModelUnusable
from inferlake_registry.client import Client
from inferlake_registry.contract.models import ModelSnapshot

KEY: Final = "canary-member-7f3a"
DEEP: Final = '{"auth_token": "canary-deep-7f3a", "region": "eu-central-frankfurt"}'
MEMBERS: Final = f"'request.api_key'='{KEY}', 'request.extra'='{DEEP}', 'request.seed'=1"


class Registered:
    """A registry with models at one endpoint."""

    def __init__(self, client: Client, stub: StubEndpoint) -> None:
        self.client = client
        self.stub = stub

    def model(self, properties: str = MEMBERS, path: str = "chat/completions") -> ModelSnapshot:
        """Create or replace the model, and return it as it is resolved."""
        location = f"{self.stub.origin}/v1/{path}"
        self.client.execute(f"CREATE OR REPLACE MODEL m LOCATION '{location}' PROPERTIES ({properties})")
        return self.client.resolve("m")

    def ask(self, model: ModelSnapshot, *rows: str, **changes: Any) -> list[Any]:
        """Call the model, and return the bodies that the endpoint got for it."""
        before = self.stub.calls
        self.results = answers(calling(model, registry_url=self.client.url, reference="m", **changes), rows)
        return [request.json for request in self.stub.requests[before:]]


@pytest.fixture
def registered(start_registry: StartRegistry, stub: StubEndpoint) -> Iterator[Registered]:
    """Give a registry of this test's own."""
    with start_registry("--no-probes").client() as client:
        yield Registered(client, stub)


def test_they_are_sent_in_the_body_and_travel_in_nothing(registered: Registered) -> None:
    model = registered.model()
    (body,) = registered.ask(model, "x")
    assert (body["api_key"], body["seed"]) == (KEY, 1)
    assert body["extra"] == {"auth_token": "canary-deep-7f3a", "region": "eu-central-frankfurt"}
    assert body["messages"] == [{"role": "user", "content": "x"}]
    assert "canary" not in f"{model!r}{pickle.dumps(model)!r}"


def test_what_a_call_says_itself_wins(registered: Registered) -> None:
    model = registered.model()
    (body,) = registered.ask(model, "x", options={"extra": {"region": "us"}})
    assert (body["extra"], body["api_key"]) == ({"region": "us"}, KEY)
    assert registered.stub.requests[-1].body.count(b'"extra"') == 1


def test_a_version_has_its_own(registered: Registered) -> None:
    first = registered.model()
    registered.client.execute(f"ALTER MODEL m SET request.api_key='{KEY}-2'")
    second = registered.client.resolve("m")
    assert [body["api_key"] for model in (first, second) for body in registered.ask(model, "x")] == [KEY, f"{KEY}-2"]


def test_a_batch_of_embeddings_has_them_once(registered: Registered) -> None:
    registered.stub.script = lambda received: embedding(*([1.0] for _ in received.json["input"]))
    bodies = registered.ask(registered.model(path="embeddings"), *"abc")
    assert {body["api_key"] for body in bodies} == {KEY}
    assert sum(len(body["input"]) for body in bodies) == 3


def test_an_endpoint_that_gives_them_back_gives_back_nothing(registered: Registered, tmp_path: Path) -> None:
    def parrot(received: Received) -> Reply:
        body = received.json
        return chat(f"{body['api_key']} and {body['extra']['auth_token']} of {body['extra']['region']}")

    registered.stub.script = parrot
    registered.ask(registered.model(), "x")
    assert registered.results[0]["response"] == "****** and ****** of eu-central-frankfurt"


def test_a_call_without_a_registry_is_refused(registered: Registered) -> None:
    with pytest.raises(ModelUnusable):
        answers(calling(registered.model()), ["x"])
