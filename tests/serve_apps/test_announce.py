"""A served model registers itself, at a real registry."""

from __future__ import annotations

from registry_fixtures import RegistryProcess

from inferlake_registry.client import Client
from inferlake_serve.announce import announce


def test_it_is_created_once_and_follows_its_address(fresh_registry: RegistryProcess, fresh_client: Client) -> None:
    announce(fresh_registry.url, "labels", "http://127.0.0.1:9001")
    [arm] = fresh_client.resolve("labels").arms
    assert arm.endpoint.url == "http://127.0.0.1:9001/v1/chat/completions"
    assert arm.endpoint.model_name == "labels"
    assert arm.endpoint.request == {"temperature": 0}

    announce(fresh_registry.url, "labels", "http://127.0.0.1:9001")
    assert fresh_client.resolve("labels").arms == (arm,)

    announce(fresh_registry.url, "labels", "http://127.0.0.1:9002")
    [moved] = fresh_client.resolve("labels").arms
    assert moved.endpoint.url == "http://127.0.0.1:9002/v1/chat/completions"


def test_a_name_with_odd_letters_is_quoted(fresh_registry: RegistryProcess, fresh_client: Client) -> None:
    announce(fresh_registry.url, "Qwen/Qwen3-0.6B's `best`", "http://127.0.0.1:9001")
    [arm] = fresh_client.resolve("`Qwen/Qwen3-0.6B's ``best```").arms
    assert arm.endpoint.model_name == "Qwen/Qwen3-0.6B's `best`"
