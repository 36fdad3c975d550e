"""The engine alone, as a Spark worker runs it but without Spark; prints one line of JSON.

worker_job.py cpu --model m --registry URL --rows 50000 [--profile FILE]
worker_job.py one-by-one --model m --registry URL --rows 500 --url URL
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import orjson
import pyarrow as pa
from spark_job import SCHEMA

from inferlake.call import CallDescriptor, Returns
from inferlake.judging import validating
from inferlake.schema import check_schema
from inferlake.worker.engine import Engine, forget_engine
from inferlake.worker.runner import run
from inferlake_registry.client import Client

_BATCH: Final = 10_000  # rows that Spark puts into one Arrow batch
_PROFILED: Final = 15  # lines of the profile that are kept


def texts(start: int, count: int) -> pa.Array:
    """Return session logs of about sixty bytes."""
    return pa.array([f"user {at} opened a plain page, error 500, left" for at in range(start, start + count)])


def descriptor(options: argparse.Namespace) -> CallDescriptor:
    """Return the call that a driver would send to its workers."""
    with Client(options.registry) as client:
        snapshot = client.resolve(options.model)
    return CallDescriptor(
        options.registry, options.model, snapshot, ("text",), returns=Returns.STRUCT, query_id=uuid4().hex,
        application_id=f"bench-{os.getpid()}",
    )  # fmt: skip


def cpu(options: argparse.Namespace) -> dict[str, Any]:
    """Return the CPU of the whole process a call, in ms: rendering, store, limit, transport, parsing and validation."""
    profile = cProfile.Profile() if options.profile else None
    if profile is not None:
        _profile_the_loop(profile)
    call = descriptor(options)
    batches = [(texts(at, _BATCH),) for at in range(0, options.rows, _BATCH)]
    list(run(replace(call, prompt="warm {text}"), iter([(texts(0, 100),)])))
    began, spent = time.monotonic(), time.process_time()
    verdicts = validating(check_schema(SCHEMA))(run(call, iter(batches)))
    valid = sum(part.field("valid").true_count for part in verdicts)
    spent, seconds = time.process_time() - spent, time.monotonic() - began
    assert valid == options.rows, valid
    forget_engine()
    if profile is not None:
        _write_profile(profile, Path(options.profile))
    return {"cpu_ms": spent * 1_000 / options.rows, "seconds": seconds}


def one_by_one(options: argparse.Namespace) -> dict[str, Any]:
    """Return the milliseconds of single calls: through the engine, one task a row, and by a bare client, in turns."""
    call = descriptor(options)
    warm = replace(call, prompt="warm {text}")
    for at in range(20):
        list(run(warm, iter([(texts(at, 1),)])))
    engine, bare = [], []
    with asyncio.Runner() as runner:
        client = runner.run(_client())
        for at in range(options.rows):
            began = time.perf_counter()
            runner.run(_bare_call(client, options.url, f"user {at} opened a plain page, error 500, left"))
            bare.append((time.perf_counter() - began) * 1_000)
            began = time.perf_counter()
            parts = list(run(call, iter([(texts(at, 1),)])))
            engine.append((time.perf_counter() - began) * 1_000)
            assert parts[0][0]["response"].as_py() == '{"label":"normal"}', parts
    forget_engine()
    return {"engine_ms": engine, "bare_ms": bare}


async def _client() -> Any:
    from pyreqwest.client import ClientBuilder

    return ClientBuilder().max_connections(4).build()


async def _bare_call(client: Any, url: str, text: str) -> str:
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "temperature": 0})
    headers = {"content-type": "application/json"}
    reply = await client.post(url).body_bytes(body).headers(headers).build().send()
    return str(orjson.loads(bytes(await reply.bytes()))["choices"][0]["message"]["content"])


def _profile_the_loop(profile: cProfile.Profile) -> None:
    """Have the engine's own thread profiled: a profiler sees one thread alone."""
    original = Engine._run

    def profiled(self: Engine) -> None:
        profile.enable()
        original(self)
        profile.disable()

    Engine._run = profiled


def _write_profile(profile: cProfile.Profile, file: Path) -> None:
    with file.open("w") as out:
        pstats.Stats(profile, stream=out).strip_dirs().sort_stats("tottime").print_stats(_PROFILED)


_JOBS: Final[Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]]] = {"cpu": cpu, "one-by-one": one_by_one}


def main() -> None:
    """Run what the arguments say and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=_JOBS)
    parser.add_argument("--rows", type=int)
    for name in ("--profile", "--model", "--registry", "--url"):
        parser.add_argument(name)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="inferlake-bench-store-")
    os.environ["INFERLAKE_STORE_DIR"] = folder
    try:
        print(json.dumps(_JOBS[options.job](options)))  # noqa: T201
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
