"""From `up` to `down` with nothing left: no process, no file, no port."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
from serving_fixtures import LONG_START, need_engine, serve_up, serving_environment

from inferlake_serve.model_source import SHIPPED_MODEL

pytestmark = [pytest.mark.processes, LONG_START]


@pytest.fixture(autouse=True)
def engine() -> None:
    need_engine()


def inferlake(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inferlake.cli", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=serving_environment(home), timeout=280)


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def alive(processes: list[psutil.Process]) -> list[str]:
    left = [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    return [" ".join(process.cmdline())[:120] for process in left]


def ray_folders() -> set[Path]:
    return set(Path("/tmp").glob("inferlake-serve-*"))


def test_up_status_down_where_the_starting_command_is_long_gone(tmp_path: Path) -> None:
    folders = ray_folders()
    home = tmp_path / "home"
    # `up` runs below a shell that ends with it: the server has lost both before anybody asks for it.
    up = inferlake(home, "up", "--port", "0", "--name", "labels", "--json")
    assert up.returncode == 0, up.stderr
    facts = json.loads(up.stdout)
    assert "s  starting Ray" in up.stderr
    assert "s  labels answers at" in up.stderr

    [shown] = json.loads(inferlake(home, "status", "--json").stdout)
    assert (shown["name"], shown["url"], shown["health"]["ok"]) == ("labels", facts["url"], True)
    assert shown["health"]["requests"] == 0  # the proof of its readiness is not among them
    assert inferlake(home, "down", "other").returncode == 1

    server = psutil.Process(facts["pid"])
    helpers = below(server.pid)
    assert len(helpers) > 5
    assert server.ppid() != os.getpid()
    down = inferlake(home, "down", "labels")
    assert down.stdout == f"stopped labels ({facts['url']})\n"
    assert alive([server, *helpers]) == []
    assert ray_folders() == folders
    assert json.loads(inferlake(home, "status", "--json").stdout) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(facts["url"], trust_env=False)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_starts_leaves_nothing(sign: signal.Signals, tmp_path: Path) -> None:
    folders = ray_folders()
    served = serve_up(tmp_path)
    deadline = time.monotonic() + 120
    while "loading" not in served.log.read_text() and time.monotonic() < deadline:
        assert served.process.poll() is None, served.log.read_text()
        time.sleep(0.05)
    helpers = below(served.process.pid)
    assert len(helpers) > 3
    assert served.stop(sign) == 0, served.log.read_text()
    assert alive(helpers) == []
    assert ray_folders() == folders
    assert list((tmp_path / "home" / "serve").glob("*.json")) == []


def test_a_killed_server_takes_its_processes_along(tmp_path: Path) -> None:
    served = serve_up(tmp_path)
    served.announced()
    helpers = below(served.process.pid)
    served.process.kill()
    served.process.wait()
    inferlake(tmp_path / "home", "down")
    deadline = time.monotonic() + 30
    while alive(helpers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(helpers) == []


def test_weights_that_cannot_be_read_end_the_start_with_their_cause(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(SHIPPED_MODEL, broken)
    (broken / "model.safetensors").write_bytes(b"these are no weights")
    refused = inferlake(tmp_path / "home", "up", "--model", str(broken), "--name", "broken", "--port", "0")
    assert refused.returncode == 1
    assert "The model 'broken' did not start" in refused.stderr
    found = re.search(r"Logs are in (/tmp/inferlake-serve-\w+/session_latest/logs)\.", refused.stderr)
    assert found, refused.stderr
    logs = Path(found[1])
    assert any(logs.iterdir())
    shutil.rmtree(logs.resolve().parents[1])
    assert json.loads(inferlake(tmp_path / "home", "status", "--json").stdout) == []


def test_a_port_in_use_is_named_with_its_option(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = inferlake(tmp_path, "up", "--foreground", "--port", port)
    assert refused.returncode == 1
    assert f"Port {port} of 127.0.0.1 is in use" in refused.stderr
    assert "--port" in refused.stderr


def test_a_model_that_cannot_be_had_is_said_before_anything_starts(tmp_path: Path) -> None:
    begun = time.monotonic()
    refused = inferlake(tmp_path, "up", "--model", "./no/such/folder")
    assert refused.returncode == 1
    assert "[MODEL_UNAVAILABLE]" in refused.stderr
    assert "starting Ray" not in refused.stderr
    assert time.monotonic() - begun < 60
