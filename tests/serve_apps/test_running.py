"""The notes of running servers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from inferlake_serve.processes import entry_of
from inferlake_serve.running import Running, forget, home, list_running, note


def running(pid: int, name: str = "labels") -> Running:
    entry = entry_of(pid)
    assert entry is not None
    return Running(name, "/models/labels", pid, entry.started, "2026-01-01T00:00:00+00:00", logs="/tmp/logs")


def test_a_server_is_listed_as_long_as_it_is_noted(tmp_path: Path) -> None:
    one = running(os.getpid())
    note(one, tmp_path)
    up = replace(one, url="http://127.0.0.1:8000")
    note(up, tmp_path)
    assert list_running(tmp_path) == (up,)
    forget(up, tmp_path)
    assert list_running(tmp_path) == ()


def test_the_note_of_a_process_that_ended_is_thrown_away(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        note(running(process.pid), tmp_path)
        assert len(list_running(tmp_path)) == 1
        process.communicate(b"\n")
    assert list_running(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_another_process_got_is_not_the_server(tmp_path: Path) -> None:
    note(replace(running(os.getpid()), started=1), tmp_path)
    assert list_running(tmp_path) == ()


def test_nothing_noted_is_nothing_running(tmp_path: Path) -> None:
    assert list_running(tmp_path / "nowhere") == ()
    assert home({"INFERLAKE_HOME": "/x"}) == Path("/x/serve")
