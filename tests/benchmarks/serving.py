"""Start time and throughput of the served model: ``python tests/benchmarks/serving.py [--model FOLDER]``."""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import click
import httpx
import psutil

from inferlake_serve.training.generator import examples

SCHEMA = {"type": "object", "properties": {"label": {"enum": ["normal", "abnormal", "pending"]}}, "required": ["label"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "label", "schema": SCHEMA}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--requests", type=int, default=600)
    options = parser.parse_args()
    command = [sys.executable, "-m", "inferlake.cli", "serve", "up", "--foreground", "--json", "--port", "0"]
    command += ["--model", options.model, "--name", "session-classifier"] if options.model else []
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        click.echo(f"ready after {time.monotonic() - begun:.1f} s of a command that began at 0")
        tree = psutil.Process(server.pid).children(recursive=True)
        click.echo(f"{len(tree) + 1} processes, {sum(one.memory_info().rss for one in tree) / 1e9:.1f} GB resident")
        click.echo(f"{sum(sum(one.cpu_times()[:2]) for one in [psutil.Process(server.pid), *tree]):.1f} s of a core")
        texts = [example.user for example in itertools.islice(examples(99), options.requests)]
        for constrained in (False, True):
            for clients in (1, 16, 64):
                measure(url, texts if clients > 1 else texts[:100], clients, constrained)
        server.terminate()
        ended = time.monotonic()
        server.wait()
        click.echo(f"gone after {time.monotonic() - ended:.1f} s")


def measure(url: str, texts: list[str], clients: int, constrained: bool) -> None:
    more = {"response_format": FORMAT} if constrained else {}
    limits = httpx.Limits(max_connections=clients)
    with httpx.Client(base_url=url, timeout=120, limits=limits, trust_env=False) as http:

        def ask(text: str) -> float:
            begun = time.monotonic()
            body = {"model": "session-classifier", "messages": [{"role": "user", "content": text}], **more}
            http.post("/v1/chat/completions", json=body).raise_for_status()
            return time.monotonic() - begun

        begun = time.monotonic()
        with ThreadPoolExecutor(clients) as pool:
            times = sorted(pool.map(ask, texts))
        rate = len(texts) / (time.monotonic() - begun)
    how = "json_schema" if constrained else "free"
    p95 = times[int(len(times) * 0.95)]
    click.echo(f"{how:12} {clients:3} in flight  {rate:6.1f}/s  p50 {statistics.median(times):.3f} s  p95 {p95:.3f} s")


if __name__ == "__main__":
    main()
