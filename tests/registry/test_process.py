"""The process: how it says where it is, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

import httpx
import pytest
from registry_fixtures import RegistryProcess, StartRegistry

SERVE = (sys.executable, "-m", "inferlake_registry", "serve")


def gone(process: subprocess.Popen[str], seconds: float = 10) -> int:
    return process.wait(seconds)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(start_registry: StartRegistry, number: signal.Signals) -> None:
    registry = start_registry()
    registry.process.send_signal(number)
    assert gone(registry.process) == 0
    assert registry.log.read_text() == ""


def test_it_ends_with_its_parents_pipe(start_registry: StartRegistry) -> None:
    registry = start_registry()
    assert registry.process.stdin is not None
    registry.process.stdin.close()
    assert gone(registry.process) == 0
    assert registry.log.read_text() == ""


def test_it_ends_when_its_parent_is_killed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The parent here is a Python that starts a registry as the driver does, and dies without a word."""
    folder = tmp_path_factory.mktemp("orphan")
    database = f"sqlite:///{folder / 'registry.db'}"
    command = [*SERVE, "--port", "0", "--json", "--until-eof", "--database", database]
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            f"child = subprocess.Popen({command!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
            "print(child.stdout.readline(), flush=True)\n"
            "time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child = json.loads(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _runs(child["pid"]):
        time.sleep(0.1)
    assert not _runs(child["pid"])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - gone between two looks is FileNotFoundError either way
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_a_port_in_use_names_the_option(
    fresh_registry: RegistryProcess, tmp_path_factory: pytest.TempPathFactory
) -> None:
    port = httpx.URL(fresh_registry.url).port
    database = f"sqlite:///{tmp_path_factory.mktemp('busy') / 'registry.db'}"
    done = subprocess.run(
        [*SERVE, "--port", str(port), "--database", database], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "[PORT_IN_USE]" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "address",
    ["nonsense://u:canary-password@h/d", "no address", "sqlite:////proc/canary/r.db", "sqlite:////dev/null/r.db"],
)
def test_a_database_that_cannot_be_used(address: str) -> None:
    done = subprocess.run(
        [*SERVE, "--port", "0", "--database", address],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "--database" in done.stderr
    assert "canary" not in done.stderr
    assert "Traceback" not in done.stderr


def test_it_says_where_it_is_in_one_line(start_registry: StartRegistry) -> None:
    registry = start_registry()
    url = httpx.URL(registry.url)
    assert url.host == "127.0.0.1"
    with socket.create_connection((url.host, url.port or 0)):
        pass


def test_models_survive_a_restart_and_so_do_their_secrets(start_registry: StartRegistry) -> None:
    first = start_registry("--no-probes")
    with first.client() as client:
        client.execute(
            "CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions' PROPERTIES ('api.key'='canary-restart')"
        )
    first.stop()
    second = start_registry("--no-probes")
    answer = httpx.post(f"{second.url}/v1/models/m/credentials", json={})
    assert answer.json()["headers"] == {"authorization": "Bearer canary-restart"}


def test_a_killed_registry_leaves_a_database_that_works(start_registry: StartRegistry) -> None:
    first = start_registry("--no-probes")
    with first.client() as client:
        client.execute("CREATE MODEL m LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
        first.process.kill()
        first.process.wait()
    with start_registry("--no-probes").client() as client:
        assert client.resolve("m").name == "m"
        client.execute("ALTER MODEL m SET VERSION 2.1")


def test_the_key_file_is_for_its_owner_only(fresh_registry: RegistryProcess) -> None:
    key = fresh_registry.database.with_name("registry.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
