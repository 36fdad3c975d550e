"""The prompt at a real terminal: several lines, completion, and a history without keys."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from registry_fixtures import RegistryProcess

KEY = "sk-prompt-5417-canary"


class Terminal:
    """A person at the prompt."""

    def __init__(self, url: str, home: Path) -> None:
        self._parent, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "INFERLAKE_HOME": str(home)}
        command = [sys.executable, "-m", "inferlake.cli", "sql", "--registry", url]
        self.process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment)
        os.close(child)
        self._unread = ""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._parent, text.encode())

    def until(self, awaited: str) -> str:
        """Read what is shown up to the awaited text; the rest is for the next time."""
        deadline = time.monotonic() + 30
        while awaited not in self._unread:
            ready, _, _ = select.select([self._parent], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no {awaited!r} in {self._unread!r}"
            self._unread += os.read(self._parent, 65_536).decode(errors="replace")
        shown, _, self._unread = self._unread.partition(awaited)
        return shown

    def close(self) -> None:
        """Go away."""
        self.process.kill()
        self.process.wait()
        os.close(self._parent)


@pytest.fixture
def terminal(fresh_registry: RegistryProcess, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(fresh_registry.url, tmp_path)
    opened.until("inferlake>")
    yield opened
    opened.close()


def test_a_statement_of_several_lines_runs_when_it_is_complete(terminal: Terminal) -> None:
    terminal.type("CREATE MODEL first_model\r")
    terminal.until("->")
    terminal.type("LOCATION 'http://h:1/v1/chat/completions';\r")
    terminal.until("created")
    terminal.type("quit\r")
    assert terminal.process.wait(20) == 0


def test_tab_completes_words_keys_and_models(terminal: Terminal) -> None:
    terminal.type("CREATE MODEL first_model LOCATION 'http://h:1/v1/chat/completions';\r")
    terminal.until("created")
    terminal.until("inferlake>")
    terminal.type("UND\t")
    terminal.until("UNDROP")
    terminal.type("\x03")  # Ctrl-C forgets the line and goes on
    terminal.until("inferlake>")
    terminal.type("ALTER MODEL firs\t")
    terminal.until("first_model")
    terminal.type(" SET qps\t")
    terminal.until("qps.limit")
    terminal.type("=7;\r")
    terminal.until("qps.limit = 7")
    terminal.until("inferlake>")
    terminal.type("\x04")  # Ctrl-D
    assert terminal.process.wait(20) == 0


def test_an_arrow_brings_back_what_was_typed_and_the_file_has_no_key(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(
        f"CREATE MODEL kept LOCATION 'http://127.0.0.1:1/v1/chat/completions' PROPERTIES ('api.key'='{KEY}');\r"
    )
    terminal.until("created")
    terminal.until("inferlake>")
    terminal.type("SHOW MODELS;\r")
    terminal.until("kept")
    terminal.until("inferlake>")
    terminal.type("\x1b[A\r")  # up, enter
    assert "SHOW MODELS" in terminal.until("chat")
    terminal.until("inferlake>")
    terminal.type("\x04")
    assert terminal.process.wait(20) == 0
    file = tmp_path / "sql_history"
    written = file.read_text()
    assert "SHOW MODELS;" in written and "CREATE MODEL kept" in written
    assert KEY not in written and "canary" not in written
    assert file.stat().st_mode & 0o777 == 0o600
