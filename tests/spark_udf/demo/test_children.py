"""Processes of the demo: ready or a clear error, and none left behind, however deep it hides."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

# Runs apart from pytest, since a process that adopts orphans changes whose child they are.
PRELUDE = """
import os, subprocess, sys, time
from pathlib import Path
from inferlake.demo.children import Children, descendants
folder = Path(sys.argv[1])
children = Children(folder)
"""


def run(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    source = PRELUDE + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-c", source, str(folder)], capture_output=True, text=True, timeout=60)


def test_a_grandchild_that_left_its_parent_is_ended_too(tmp_path: Path) -> None:
    done = run(
        """
        # The shell starts a sleeper in a session of its own, says so, and ends: the sleeper is an orphan.
        child = children.start("Shell", ["sh", "-c", "setsid sleep 1000 & echo ready $!"])
        orphan = int(child.first_line(10).split()[1])
        child.process.wait()
        assert descendants(os.getpid()) == (orphan,), descendants(os.getpid())
        children.stop(lambda text: None)
        assert descendants(os.getpid()) == ()
        print(orphan)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    done = run(
        """
        import inferlake.demo.children as module
        module._GRACE_SECONDS = module._LAST_GRACE_SECONDS = 0.3
        deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); "
        child = children.start("Deaf", [sys.executable, "-c", deaf + "time.sleep(99)"])
        assert child.first_line(10) == "up"
        children.stop(print)
        assert descendants(os.getpid()) == ()
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Deaf\n"


def test_a_process_that_ends_early_tells_its_last_words(tmp_path: Path) -> None:
    done = run(
        """
        from inferlake.demo.errors import ServiceFailed
        child = children.start("Model", ["sh", "-c", "echo no such folder: /m >&2; exit 3"])
        try:
            child.first_line(10)
        except ServiceFailed as error:
            print(error)
        """,
        tmp_path,
    )
    assert done.stdout == (
        f"[SERVICE_FAILED] The Model ended with status 3 before it was ready: no such folder: /m "
        f"(all of it: {tmp_path}/model.log).\n"
    )


def test_a_process_that_says_nothing_is_slow_not_failed(tmp_path: Path) -> None:
    done = run(
        """
        from inferlake.demo.errors import ServiceSlow
        child = children.start("Model", ["sleep", "1000"])
        try:
            child.first_line(0.2)
        except ServiceSlow as error:
            print(error.code)
        children.stop(lambda text: None)
        """,
        tmp_path,
    )
    assert done.stdout == "SERVICE_SLOW\n"
