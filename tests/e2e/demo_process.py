"""Runs the demo as a process of its own, as a user would, and finds whatever it leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MARK: Final = "INFERLAKE_TEST_MARK"
_STUB: Final = Path(__file__).with_name("stub_demo.py")
REAL: Final = (sys.executable, "-m", "inferlake.cli", "demo")


def stub(script: str) -> tuple[str, ...]:
    """Return the command of a demo with a scripted endpoint."""
    return (sys.executable, str(_STUB), script)


@dataclass(frozen=True, slots=True)
class Demo:
    """A running demo. Every process that comes of it inherits a mark in its environment, and is found by it."""

    process: subprocess.Popen[str]
    mark: str
    output: Path
    errors: Path

    @property
    def said(self) -> str:
        """What it has printed so far on standard output."""
        return self.output.read_text(encoding="utf-8")

    @property
    def complained(self) -> str:
        """What it has printed so far on standard error."""
        return self.errors.read_text(encoding="utf-8")

    def wait_for(self, text: str, seconds: float) -> None:
        """Wait until it has said something."""
        deadline = time.monotonic() + seconds
        while text not in self.said:
            assert self.process.poll() is None, f"it ended without {text!r}:\n{self.said}\n{self.complained}"
            assert time.monotonic() < deadline, f"no {text!r} within {seconds} s:\n{self.said}\n{self.complained}"
            time.sleep(0.05)

    def interrupt(self, number: signal.Signals, seconds: float = 60) -> int:
        """Send a signal to the demo alone, as a terminal or a supervisor does, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def alive(self) -> list[str]:
        """Return the command lines of all its living processes."""
        return [command for _, command in marked(self.mark)]


def start(command: Sequence[str], folder: Path, *options: str, **environment: str) -> Demo:
    """Start a demo whose files lie in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex
    output, errors = folder / "said.txt", folder / "complained.txt"
    with output.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [*command, *options, "--work-dir", str(folder / "work")],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            cwd=folder,
            env={**os.environ, _MARK: mark, "COLUMNS": "120", **environment},
        )
    return Demo(process, mark, output, errors)


def end(demo: Demo) -> None:
    """Kill what a failed test left running."""
    for pid, _ in marked(demo.mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    demo.process.wait()


def marked(mark: str) -> list[tuple[int, str]]:
    """Return the living processes whose environment holds the mark."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    found.append((int(folder.name), command.strip()))
            except OSError:
                continue  # it ended while we looked, or is a zombie
    return found
