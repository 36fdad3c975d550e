"""What people write today: the same rows to the same endpoint, by pandas functions around the usual clients.

Each takes the URL and the calls in flight per task and returns a column function. ``bare`` is the yardstick: the
fastest client in a plain loop, without retries, limits, store or checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

ANSWER = '{"label":"normal"}'
SYSTEM = "Classify the session log; answer JSON."


def bare(url: str, in_flight: int) -> Callable[..., Column]:
    """pyreqwest on uvloop, one loop for all batches of a task."""

    @F.pandas_udf(StringType())
    def udf(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        import orjson
        import uvloop
        from pyreqwest.client import ClientBuilder

        headers = {"content-type": "application/json", "authorization": "Bearer x"}
        loop = uvloop.new_event_loop()

        async def build() -> Any:
            return ClientBuilder().max_connections(in_flight).build()

        client = loop.run_until_complete(build())

        async def answers(texts: pd.Series) -> pd.Series:
            import asyncio

            out: list[str | None] = [None] * len(texts)
            rows = iter(list(enumerate(texts)))

            async def work() -> None:
                for at, text in rows:
                    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
                    body = orjson.dumps({"model": "m", "messages": messages, "temperature": 0})
                    reply = await client.post(url).body_bytes(body).headers(headers).build().send()
                    out[at] = orjson.loads(bytes(await reply.bytes()))["choices"][0]["message"]["content"]

            await asyncio.gather(*[work() for _ in range(in_flight)])
            return pd.Series(out)

        for texts in batches:
            yield loop.run_until_complete(answers(texts))

    return udf


def aiohttp_gather(url: str, in_flight: int) -> Callable[..., Column]:
    """aiohttp with gather, a session a batch."""

    @F.pandas_udf(StringType())
    def udf(texts: pd.Series) -> pd.Series:
        import asyncio

        import aiohttp

        async def answers() -> pd.Series:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight)) as session:
                out: list[str | None] = [None] * len(texts)
                rows = iter(list(enumerate(texts)))

                async def work() -> None:
                    for at, text in rows:
                        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
                        async with session.post(url, json=body) as reply:
                            out[at] = (await reply.json())["choices"][0]["message"]["content"]

                await asyncio.gather(*[work() for _ in range(in_flight)])
                return pd.Series(out)

        return asyncio.run(answers())

    return udf


def openai_async(url: str, in_flight: int) -> Callable[..., Column]:
    """The openai package's asynchronous client."""
    base, _, query = url.partition("/chat/completions?")
    default_query = dict(pair.split("=") for pair in query.split("&"))

    @F.pandas_udf(StringType())
    def udf(texts: pd.Series) -> pd.Series:
        import asyncio

        import openai

        async def answers() -> pd.Series:
            async with openai.AsyncOpenAI(base_url=base, api_key="x", default_query=default_query) as client:
                out: list[str | None] = [None] * len(texts)
                rows = iter(list(enumerate(texts)))

                async def work() -> None:
                    for at, text in rows:
                        reply = await client.chat.completions.create(
                            model="m", messages=[{"role": "user", "content": text}]
                        )
                        out[at] = reply.choices[0].message.content

                await asyncio.gather(*[work() for _ in range(in_flight)])
                return pd.Series(out)

        return asyncio.run(answers())

    return udf


def requests_threads(url: str, in_flight: int) -> Callable[..., Column]:
    """requests in 64 threads a task."""

    @F.pandas_udf(StringType())
    def udf(texts: pd.Series) -> pd.Series:
        from concurrent.futures import ThreadPoolExecutor

        import requests

        session = requests.Session()
        session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=in_flight))

        def one(text: str) -> str:
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            return str(session.post(url, json=body).json()["choices"][0]["message"]["content"])

        with ThreadPoolExecutor(min(in_flight, 64)) as pool:
            return pd.Series(list(pool.map(one, texts)))

    return udf


def no_call(url: str, in_flight: int) -> Callable[..., Column]:
    """Spark alone."""

    @F.pandas_udf(StringType())
    def udf(texts: pd.Series) -> pd.Series:
        return texts.map(lambda _: ANSWER)

    return udf


PEERS: dict[str, Callable[[str, int], Callable[..., Column]]] = {
    "bare": bare,
    "aiohttp": aiohttp_gather,
    "openai": openai_async,
    "requests": requests_threads,
    "no call": no_call,
}
