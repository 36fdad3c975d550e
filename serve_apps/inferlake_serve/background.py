"""A server that outlives the command that started it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from inferlake_serve.errors import ServeStopped
from inferlake_serve.processes import ProcessEntry, end_each, process_table, send
from inferlake_serve.running import Running

_STOP_SECONDS: Final = 30.0


def start_in_background(name: str, arguments: Sequence[str], folder: Path, tell: Callable[[str], None]) -> str:
    """Run ``inferlake serve up --foreground`` with ``arguments`` in a session of its own; return its line of JSON.

    Its progress is told as it comes. Raises ServeStopped when it ends first. When this process is interrupted while it
    waits, the server is stopped; when it is killed, the server comes up all the same.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stem = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    output, log = folder / f"{stem}.out", folder / f"{stem}.log"
    command = [sys.executable, "-m", "inferlake_serve", "up", "--foreground", "--json", *arguments]
    with output.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, close_fds=True
        )
    shown = 0
    try:
        while True:
            ended = process.poll()
            shown = _tell_new(log, shown, tell)
            line, newline, _ = output.read_text(encoding="utf-8").partition("\n")
            if newline:
                return line
            if ended is not None:
                raise ServeStopped(name, ended, _last_words(log), str(log))
            time.sleep(0.05)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        raise


def stop(running: Running) -> None:
    """End a server and wait until it and everything below it is gone."""
    process = running.process
    if process is None:
        return
    helpers = running.helpers()
    send(process, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < deadline and running.process is not None:
        time.sleep(0.05)
    end_each(_left_of(process, helpers))


def _left_of(process: ProcessEntry, helpers: Sequence[ProcessEntry]) -> tuple[ProcessEntry, ...]:
    return tuple(entry for entry in process_table() if entry in (process, *helpers))


def _tell_new(log: Path, shown: int, tell: Callable[[str], None]) -> int:
    """Tell the whole lines that were written since, and return how many bytes have been told."""
    new = log.read_bytes()[shown:]
    whole = new[: new.rfind(b"\n") + 1]
    for line in whole.decode("utf-8", "replace").splitlines():
        tell(line)
    return shown + len(whole)


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("error ")[:500] if lines else ""
