"""The notes of running servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from inferlake_serve.processes import entry_of
from inferlake_serve.running import Running, forget, home, list_running, note, sweep


def running(pid: int, name: str = "labels") -> Running:
    entry = entry_of(pid)
    assert entry is not None
    return Running(name, "/models/labels", pid, entry.started, "2026-01-01T00:00:00+00:00", files="/nowhere/files")


def test_a_server_is_listed_as_long_as_it_is_noted(tmp_path: Path) -> None:
    one = running(os.getpid())
    note(one, tmp_path)
    up = replace(one, url="http://127.0.0.1:8000")
    note(up, tmp_path)
    assert list_running(tmp_path) == (up,)
    forget(up, tmp_path)
    assert list_running(tmp_path) == ()


def test_what_a_killed_server_left_is_swept_away(tmp_path: Path) -> None:
    notes, files = tmp_path / "notes", tmp_path / "files"
    files.mkdir()
    holder = "import sys; held = open(sys.argv[1], 'w'); print(flush=True); input()"
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server,
        subprocess.Popen(
            [sys.executable, "-c", holder, str(files / "log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as helper,
    ):
        assert helper.stdout is not None
        helper.stdout.readline()
        note(replace(running(server.pid), files=str(files)), notes)
        sweep(notes)
        assert len(list_running(notes)) == 1
        assert helper.poll() is None
        server.kill()
        server.wait()
        assert list_running(notes) == ()
        sweep(notes)
        assert helper.wait(10) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == [notes]
    assert list(notes.iterdir()) == []


def test_a_number_that_another_process_got_is_not_the_server(tmp_path: Path) -> None:
    note(replace(running(os.getpid()), started=1), tmp_path)
    assert list_running(tmp_path) == ()


def test_nothing_noted_is_nothing_running(tmp_path: Path) -> None:
    assert list_running(tmp_path / "nowhere") == ()
    assert home({"INFERLAKE_HOME": "/x"}) == Path("/x/serve")
