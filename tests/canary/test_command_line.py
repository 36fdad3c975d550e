"""A key typed at the command line, in each of the ways and with each of the slips, is not repeated and not kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from canary_key import ALL, HOSTILE, LETTERS, PLAIN, Canary, files_below
from canary_statements import carriers, misspelt
from click.testing import CliRunner, Result
from registry_fixtures import RegistryProcess, run_registry
from terminal import Terminal

from inferlake.cli import main
from inferlake.testing import Reply, StubEndpoint
from inferlake_registry.client import Client

Typed = Callable[..., Result]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """Give a registry for this module."""
    running = run_registry(tmp_path_factory.mktemp("typed"), "--no-probes")
    yield running
    running.stop()


@pytest.fixture
def typed(registry: RegistryProcess) -> Typed:
    """Give a way to run ``inferlake …``."""

    def run(*arguments: str, stdin: str | None = None, url: str = registry.url) -> Result:
        environment = {"INFERLAKE_REGISTRY_URL": url, "COLUMNS": "160"}
        return CliRunner().invoke(main, arguments, input=stdin, env=environment)

    return run


def seen(done: Result) -> str:
    """Return all that a command let out: both outputs, and its exception with the causes and the trace."""
    texts = [done.output, done.stdout, done.stderr]
    error: BaseException | None = done.exception
    if error is not None:
        texts += traceback.format_exception(error)
    while error is not None:
        texts += [repr(error), str(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def by_option(typed: Typed, script: Path, text: str) -> Result:
    return typed("sql", "-e", text)


def by_option_as_json(typed: Typed, script: Path, text: str) -> Result:
    return typed("sql", "--json", "-e", text)


def by_file(typed: Typed, script: Path, text: str) -> Result:
    script.write_text(f"SHOW MODELS;\n{text}")
    return typed("sql", "-f", str(script), "--json")


def by_pipe(typed: Typed, script: Path, text: str) -> Result:
    return typed("sql", stdin=text)


def _id(value: object) -> str:
    return str(getattr(value, "core", None) or getattr(value, "__name__", ""))


WAYS = (by_option, by_option_as_json, by_file, by_pipe)


@pytest.mark.parametrize(("canary", "way"), list(zip(ALL, WAYS, strict=True)), ids=_id)
def test_statements_by_option_file_and_pipe(
    typed: Typed,
    tmp_path: Path,
    canary: Canary,
    way: Callable[[Typed, Path, str], Result],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    done = [way(typed, tmp_path / "models.sql", text) for text in (*carriers(canary), *misspelt(canary))]
    done += [typed("sql", "--dry-run", "-e", carriers(canary)[4])]
    done += [typed(*words.split()) for words in ("models", "models m", "health m", "models m --json")]
    done += [typed("sql", "-e", f"{what} m") for what in ("DESCRIBE MODEL EXTENDED", "SHOW CREATE MODEL")]
    assert not any(canary.is_in(seen(result)) for result in done)
    assert not canary.is_in(caplog.text + repr([vars(record) for record in caplog.records]))
    codes = [result.exit_code for result in done]
    assert set(codes) == {0, 1}
    assert codes.count(0) >= 20


MISUSES = [
    ("sql", "ALTER MODEL m SET api.key = {k}"),
    ("ALTER MODEL m SET api.key = {k}",),
    ("sql", "-f", "ALTER MODEL m SET api.key = {k}"),
    ("sql", "-f", "ALTER MODEL m SET api.key = {k}\0"),
    ("sql", "-e", "SET api.key = {k}"),
    ("sql", "-e", "ALTR MODEL m SET api.key = {k}"),
    ("sql", "-e", "OPTIONS(api.key={k})"),
    ("sql", "-e", "api.key={k}"),
    ("sql", "-e", "EXPLAIN ALTER MODEL m SET api.key = {k}"),
    ("sql", "-e", "SHOW MODELS; ALTR MODEL m SET api.key = {k}"),
    ("sql", "--execute=ALTER MODEL m SET api.key = {k}"),
    ("sql", "--json=ALTER MODEL m SET api.key = {k}"),
    ("sql", "-x", "ALTER MODEL m SET api.key = {k}"),
    ("sql", "ALTER", "MODEL", "m", "SET", "api.key", "=", "{k}"),
    ("demo", "ALTER MODEL m SET api.key = {k}"),
    ("serve", "ALTER MODEL m SET api.key = {k}"),
    ("registry", "ALTER MODEL m SET api.key = {k}"),
    ("rejected", "ALTER MODEL m SET api.key = {k}"),
    ("models", "m", "ALTER MODEL m SET api.key = {k}"),
]


@pytest.mark.parametrize("words", MISUSES, ids=" ".join)
@pytest.mark.parametrize("canary", [PLAIN, LETTERS, HOSTILE], ids=lambda canary: canary.core)
def test_a_command_that_is_wrong_repeats_nothing(typed: Typed, words: tuple[str, ...], canary: Canary) -> None:
    done = typed(*(word.replace("{k}", canary.literal) for word in words))
    assert done.exit_code in (1, 2)
    assert not canary.is_in(done.output + done.stderr)


def test_a_file_that_is_no_text_is_not_repeated(typed: Typed, tmp_path: Path) -> None:
    script = tmp_path / "models.sql"
    script.write_bytes(f"ALTER MODEL m SET api.key = '{PLAIN.value}\xff'".encode("latin-1"))
    done = typed("sql", "-f", str(script))
    assert done.exit_code == 1
    assert "UNREADABLE_SCRIPT" in done.stderr
    assert not PLAIN.is_in(seen(done))


def test_registries_that_fail_do_not_uncover_it(typed: Typed) -> None:
    statement = f"ALTER MODEL m SET api.key = {PLAIN.literal}"
    told = Reply(500, f"trouble with {PLAIN.value}".encode(), {"x-request-id": PLAIN.value})
    problem = Reply(400, f'{{"detail": 1, "{PLAIN.value}": 2}}'.encode(), content_type="application/problem+json")
    for answer in (told, problem, Reply(200, b"{}"), Reply(302, headers={"location": f"http://h/?{PLAIN.value}"})):
        with StubEndpoint(answer) as failing:
            done = typed("sql", "-e", statement, url=failing.origin)
        assert done.exit_code == 1
        assert not PLAIN.is_in(seen(done))
    for url in ("http://127.0.0.1:9", f"http://u:{PLAIN.value}@127.0.0.1:9", f"http://{PLAIN.value}@h/"):
        done = typed("sql", "-e", statement, url=url)
        assert done.exit_code == 1
        assert not PLAIN.is_in(seen(done))


def test_a_process_of_its_own(registry: RegistryProcess, tmp_path: Path) -> None:
    """Its outputs, its home and its folder; what it was started with is on the process list, so -f is the way."""
    script = tmp_path / "script" / "models.sql"
    script.parent.mkdir()
    script.write_text(f"ALTER MODEL nobody SET api.key = {PLAIN.literal};")
    home = tmp_path / "home"
    home.mkdir()
    for options in (("-f", str(script)), ("-e", f"ALTER MODEL m SETT api.key = {PLAIN.literal}", "--json")):
        done = subprocess.run(
            [sys.executable, "-m", "inferlake.cli", "sql", *options],
            env={**_environment(registry), "HOME": str(home)},
            cwd=home,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert b"MODEL_NOT_FOUND" in done.stderr or b"SYNTAX_ERROR" in done.stderr
        assert not PLAIN.is_in(done.stdout + done.stderr)
    assert not any(PLAIN.is_in(content) for _, content in files_below(home))


def test_the_prompt_keeps_no_history(registry: RegistryProcess, tmp_path: Path) -> None:
    """At a real terminal: the line itself is echoed while it is typed, nothing below it repeats it, no file has it."""
    with Client(registry.url) as client:
        client.execute("CREATE OR REPLACE MODEL typed LOCATION 'http://127.0.0.1:9/v1/chat/completions'")
    lines = {
        f"ALTER MODEL typed SET api.key = '{PLAIN.value}';": "changed in place",
        f"ALTER MODEL typed SETT api.key = '{PLAIN.value}';": "SYNTAX_ERROR",
        f"SET api.key = '{PLAIN.value}';": "NOT_A_MODEL_STATEMENT",
        "SHOW CREATE MODEL typed;": "'******'",
    }
    said = converse(lines, {**_environment(registry), "HOME": str(tmp_path), "TERM": "dumb"}, tmp_path)
    # The line is echoed where it is typed: behind the prompt, or alone when it came before the prompt was drawn.
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", said)
    echoed = {*lines, *(f"inferlake> {line}" for line in lines)}
    below = [line for line in plain.splitlines() if line.rstrip() not in echoed]
    assert [line for line in below if PLAIN.is_in(line)] == []
    assert len(below) > 10
    assert not any(PLAIN.is_in(content) for _, content in files_below(tmp_path))


def converse(lines: Mapping[str, str], environment: dict[str, str], folder: Path) -> str:
    """Type lines at a terminal, wait for what each must bring, and end; return all that the terminal showed."""
    with Terminal(environment=environment, folder=folder) as terminal:
        said = terminal.until("inferlake> ")
        for line, awaited in lines.items():
            terminal.type(f"{line}\n")
            said += terminal.until(awaited)
        terminal.type("exit;\n")
        assert terminal.ended() == 0
    return said


def _environment(registry: RegistryProcess) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INFERLAKE_")}
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**kept, "INFERLAKE_REGISTRY_URL": registry.url, "PYTHONPATH": paths}
