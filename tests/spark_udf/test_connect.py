"""Everything works in a Spark Connect session too, over a real Connect server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inferlake.testing import Received, Reply, StubEndpoint, chat
from inferlake_registry.client import Client

PROGRAM = Path(__file__).with_name("connect_program.py")


def answer(received: Received) -> Reply:
    """Answer rows with odd numbers wrongly."""
    text = received.prompt
    number = int(text.removeprefix("row ")) if text.startswith("row ") else 1
    return chat('{"label": "normal"}' if number % 2 == 0 else text)


@pytest.mark.timeout(240)
def test_a_connect_session(quiet_registry: str, tmp_path: Path) -> None:
    with StubEndpoint(answer) as stub, Client(quiet_registry) as client:
        client.execute(f"CREATE MODEL connected LOCATION '{stub.url}'")
        client.execute(f"CREATE MODEL connected_t INPUT (t STRING) OUTPUT (n INT, s STRING) LOCATION '{stub.url}'")
        done = subprocess.run(
            [sys.executable, str(PROGRAM), quiet_registry, "connected", str(tmp_path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        calls = stub.calls
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "session": "pyspark.sql.connect.session",
        "models": ["connected"],
        "none": 0,
        "select": [["ai_function(connected, test input)"], "test input"],
        "args": "marked",
        "expression": "expressed",
        "ambiguous": "name",
        "unknown": "MODEL_NOT_FOUND",
        "explain": "NOT_SUPPORTED",
        "output": "struct<n:int,s:string>",
        "input 0": "INPUT_TYPE_DIFFERS: input 1 (t) of model connected_t is STRING, and the call gives array<int>",
        "input 1": "INPUT_TYPE_DIFFERS: input 1 (t) of model connected_t is STRING, and the call gives array<bigint>",
        "summary": [20, 10, 10, 20],
        "same": True,
        "tables": [10, 10],
        "rejected": ["not_json"],
    }
    assert calls == 3 + 20
