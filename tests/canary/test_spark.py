"""Keys that a Spark program says and sends stand in none of what Spark writes: plans, event log, outputs, tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest
from canary_key import ALL, PLAIN, TOKEN, Canary, files_below
from canary_parrot import parrot
from registry_fixtures import RegistryProcess, run_registry

from inferlake.testing import Received, StubEndpoint

_PROGRAM: Final = Path(__file__).with_name("spark_program.py")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program left behind."""

    folder: Path
    out: str
    err: str
    registry: RegistryProcess
    received: tuple[Received, ...]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Run the program once, in a process of its own: its event log is its own."""
    folder = tmp_path_factory.mktemp("canary-spark")
    for name in ("events", "store", "home"):
        (folder / name).mkdir()
    token = {"INFERLAKE_REGISTRY_TOKEN": TOKEN.value}
    registry = run_registry(folder / "registry", "--no-probes", environment=token)
    try:
        with StubEndpoint(parrot) as endpoint:
            done = run_program(folder, registry.url, endpoint.origin)
            received = tuple(endpoint.requests)
        out, err = done.stdout.decode(), done.stderr.decode()
        assert out.endswith("THE END\n"), f"{out[-2_000:]}\n{err[-4_000:]}"
        yield Ran(folder, out, err, registry, received)
    finally:
        registry.stop()


def run_program(folder: Path, registry: str, endpoint: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program with a home, a store and a working folder that can be searched."""
    own = {"HOME": str(folder / "home"), "INFERLAKE_STORE_DIR": str(folder / "store"), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, str(_PROGRAM), registry, endpoint, str(folder)],
        input=f"{TOKEN.value}\n".encode(),
        capture_output=True,
        cwd=folder / "home",
        env={**os.environ, **own, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        check=False,
        timeout=300,
    )


pytestmark = pytest.mark.timeout(320)


@pytest.mark.parametrize("canary", (*ALL, TOKEN), ids=lambda canary: canary.core)
def test_no_output_shows_it(ran: Ran, canary: Canary) -> None:
    """Results, exceptions with their traces, plans, pickles; Spark's own log and Python's, down to DEBUG."""
    lines = [*ran.out.splitlines(), *ran.err.splitlines()]
    if canary is TOKEN:
        # At DEBUG py4j notes all that it hands to the JVM, and the token has to go there: workers get it from it.
        lines = [line for line in lines if line != f"s{TOKEN.value}"]
    assert [line for line in lines if canary.is_in(line)] == []


@pytest.mark.parametrize("canary", (*ALL, TOKEN), ids=lambda canary: canary.core)
def test_no_file_holds_it(ran: Ran, canary: Canary) -> None:
    """The event log, tables, local files, answer store, records for reuse, the registry's files and log."""
    assert [path for path, content in files_below(ran.folder) if canary.is_in(content)] == []


def test_no_row_of_a_rejected_table_holds_it(ran: Ran) -> None:
    tables = [pq.read_table(path) for path in (ran.folder / "warehouse").rglob("*.parquet")]
    rejected = [row for table in tables if "reason" in table.column_names for row in table.to_pylist()]
    assert {row["reason"] for row in rejected} >= {"auth", "not_json"}
    assert not any(canary.is_in(repr(row)) for row in rejected for canary in ALL)


def test_the_search_had_something_to_find(ran: Ran) -> None:
    """The endpoint got each key in both headers; the event log, the store and the records are there and in use."""
    for canary in ALL:
        value = canary.value.encode().decode("latin-1")
        sent = [r for r in ran.received if r.headers.get("x-second") == value]
        assert {r.path.split("/")[1] for r in sent} >= {"200", "401"}
        assert {r.headers["authorization"] for r in sent} == {f"Bearer {value}"}
    assert {r.path.split("/")[1] for r in ran.received if PLAIN.is_in(r.headers["x-second"])} == {
        *("200", "401", "mixed", "302", "500", "silent")
    }
    events = b"".join(content for _, content in files_below(ran.folder / "events"))
    assert b"SparkListenerSQLExecutionStart" in events and b"t0" in events
    assert b"you sent ******" in b"".join(content for _, content in files_below(ran.folder / "reuse"))


def test_what_was_said_was_understood(ran: Ran) -> None:
    lines = ran.out.splitlines()
    assert sum(line.startswith("carrier done:") for line in lines) >= 26
    slips = [line for line in lines if line.startswith(("slip ", "options ", "call "))]
    assert len(slips) > 120
    assert [line for line in slips if " failed: " not in line] == []
    refused = [line for line in slips if "ParseException" in line]  # from Spark, which would have been asked
    assert refused == []
    for what in ("raise", "sql", "disabled"):
        assert any(line.startswith(f"{what} failed:") for line in lines), what
    for what in ("shut", "route", "/silent/v1/chat/completions", "/500/v1/chat/completions"):
        assert any(line.startswith(f"{what} done:") for line in lines), what
