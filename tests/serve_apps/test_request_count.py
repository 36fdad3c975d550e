"""The counter alone, with an application that it wraps."""

from __future__ import annotations

import asyncio
import json

import httpx

from inferlake_serve.request_count import Receive, RequestCount, Scope, Send


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    if scope["path"] == "/v1/completions":
        raise RuntimeError("the engine is dead")
    await send({"type": "http.response.start", "status": 200 if scope["path"] != "/v1/score" else 400, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def counted(replicas: int = 1) -> dict[str, object]:
    counter = RequestCount(application, replica="r1", replicas=replicas)
    transport = httpx.ASGITransport(app=counter, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as http:
        for path in ("/v1/chat/completions", "/v1/chat/completions", "/v1/score", "/v1/completions"):
            await http.post(path)
        for path in ("/health", "/v1/models", "/v1/chat/completions", "/v1/requests"):
            await http.get(path)
        answer = await http.get("/v1/requests")
    assert answer.headers["cache-control"] == "no-store"
    return dict(json.loads(answer.text))


def test_what_reaches_the_model_counts_whatever_comes_of_it() -> None:
    assert asyncio.run(counted()) == {
        "requests": 4,
        "answered": {"200": 2, "400": 1},
        "exact": True,
        "replica": "r1",
    }


def test_one_of_several_replicas_says_that_it_does_not_know_all() -> None:
    assert asyncio.run(counted(replicas=2))["exact"] is False
