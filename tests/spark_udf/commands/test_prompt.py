"""The prompt at a real terminal: several lines, completion, and a history without keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from registry_fixtures import RegistryProcess
from terminal import Terminal

KEY = "sk-prompt-5417-canary"


@pytest.fixture
def terminal(fresh_registry: RegistryProcess, tmp_path: Path) -> Iterator[Terminal]:
    environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "INFERLAKE_HOME": str(tmp_path)}
    with Terminal("--registry", fresh_registry.url, environment=environment) as opened:
        opened.until("inferlake>")
        yield opened


def test_a_statement_of_several_lines_runs_when_it_is_complete(terminal: Terminal) -> None:
    terminal.type("CREATE MODEL first_model\r")
    terminal.until("->")
    terminal.type("LOCATION 'http://h:1/v1/chat/completions';\r")
    terminal.until("created")
    terminal.type("quit\r")
    assert terminal.ended() == 0


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
    assert terminal.ended() == 0


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
    assert terminal.ended() == 0
    file = tmp_path / "sql_history"
    written = file.read_text()
    assert "SHOW MODELS;" in written and "CREATE MODEL kept" in written
    assert KEY not in written and "canary" not in written
    assert file.stat().st_mode & 0o777 == 0o600
