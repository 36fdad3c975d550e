"""The command line against a real registry process, as a user would type it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from registry_fixtures import RegistryProcess
from terminal import Terminal

from inferlake import cli
from inferlake.cli import main
from inferlake_registry.client import Client
from inferlake_registry.contract.runs import RejectedSample

CREATE = "CREATE MODEL {name} USING 'ray-serve' LOCATION 'http://127.0.0.1:9/v1/chat/completions'"


@pytest.fixture
def typed(fresh_registry: RegistryProcess) -> Iterator[object]:
    """Run `inferlake …` with the test's own registry and a terminal of 160 columns."""

    def run(*arguments: str, stdin: str | None = None) -> Result:
        environment = {"INFERLAKE_REGISTRY_URL": fresh_registry.url, "COLUMNS": "160"}
        return CliRunner().invoke(main, arguments, input=stdin, env=environment)

    yield run


def commands(group: click.Command, path: Sequence[str] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, (*path, name))
    else:
        yield tuple(path), group


def test_every_command_has_help_and_json() -> None:
    found = dict(commands(main))
    assert len(found) >= 8
    for path, command in found.items():
        done = CliRunner().invoke(main, [*path, "--help"])
        assert done.exit_code == 0, path
        assert "--json" in done.output, path
        assert (command.help or "").strip(), path


def test_the_list_of_commands_is_the_promised_one() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    for name in ("demo", "registry", "sql", "models", "health", "serve", "rejected"):
        assert f"\n  {name} " in done.output


def test_statements_from_the_command_line_a_file_and_a_pipe(typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert typed("sql", "-e", CREATE.format(name="from_option")).exit_code == 0
    script = tmp_path / "models.sql"
    script.write_text(f"-- two of them; really\n{CREATE.format(name='from_file')};\n{CREATE.format(name='second')};\n")
    assert typed("sql", "-f", str(script)).exit_code == 0
    assert typed("sql", stdin=CREATE.format(name="from_pipe") + ";").exit_code == 0
    listed = typed("models", "--json")
    assert listed.exit_code == 0
    names = [row["name"] for row in json.loads(listed.stdout)["rows"]]
    assert names == ["from_file", "from_option", "from_pipe", "second"]


def test_a_dry_run_changes_nothing(typed) -> None:  # type: ignore[no-untyped-def]
    assert typed("sql", "--dry-run", "-e", CREATE.format(name="m")).exit_code == 0
    assert json.loads(typed("models", "--json").stdout)["rows"] == []


def test_models_as_a_table_and_one_in_full(typed) -> None:  # type: ignore[no-untyped-def]
    typed("sql", "-e", CREATE.format(name="clicks"), "-e", CREATE.format(name="`Qwen/Qwen3-8B`"))
    table = typed("models").stdout
    assert "clicks" in table
    assert "Qwen/Qwen3-8B" in table
    assert "unknown" in table
    assert "Qwen" not in typed("models", "--like", "cl*").stdout
    described = {
        row["name"]: row["value"] for row in json.loads(typed("models", "Qwen/Qwen3-8B", "--json").stdout)["rows"]
    }
    assert described["model.name"] == "Qwen/Qwen3-8B"
    health = json.loads(typed("health", "clicks", "--json").stdout)["rows"]
    assert [(row["model"], row["health"]) for row in health] == [("clicks", "unknown")]


def test_an_error_is_one_line_with_its_code_and_a_status(typed) -> None:  # type: ignore[no-untyped-def]
    typed("sql", "-e", CREATE.format(name="classifier"))
    done = typed("models", "clasifier")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error [MODEL_NOT_FOUND] There is no model 'clasifier'. Did you mean classifier?")
    problem = json.loads(typed("models", "clasifier", "--json").stderr)
    assert (problem["code"], problem["fields"]["near"]) == ("MODEL_NOT_FOUND", ["classifier"])


def test_a_malformed_statement_shows_line_column_and_caret(typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "wrong.sql"
    script.write_text("SHOW MODELS;\n\nCREATE MODEL m\nLOKATION 'http://h/v1/chat/completions';\n")
    done = typed("sql", "-f", str(script))
    assert done.exit_code == 1
    assert f"in the statement at line 3 of {script}:" in done.stderr
    assert "SYNTAX_ERROR" in done.stderr
    assert "line 2, column 1" in done.stderr
    assert "\n^" in done.stderr.replace(" ", "")


def test_a_query_is_sent_to_spark_by_its_error(typed) -> None:  # type: ignore[no-untyped-def]
    done = typed("sql", "-e", "SELECT ai_function('m', 'text')")
    assert done.exit_code == 1
    assert "[NOT_A_MODEL_STATEMENT]" in done.stderr
    assert "spark.sql" in done.stderr


def test_a_script_that_is_no_text(typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "picture.sql").write_bytes(b"\xff\xd8\xff")
    for file in ("picture.sql", "missing.sql"):
        done = typed("sql", "-f", str(tmp_path / file))
        assert done.exit_code == 1
        assert "[UNREADABLE_SCRIPT]" in done.stderr


def test_a_registry_that_is_not_there() -> None:
    done = CliRunner().invoke(main, ["models", "--registry", "http://127.0.0.1:9"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error [REGISTRY_UNREACHABLE] The registry at http://127.0.0.1:9 does not answer")


def test_a_registry_with_a_token(start_registry) -> None:  # type: ignore[no-untyped-def]
    registry = start_registry("--no-probes", token="open-sesame")
    refused = CliRunner().invoke(main, ["models", "--registry", registry.url])
    assert refused.exit_code == 1
    assert "open-sesame" not in refused.output
    environment = {"INFERLAKE_REGISTRY_TOKEN": "open-sesame"}
    assert CliRunner().invoke(main, ["models", "--registry", registry.url], env=environment).exit_code == 0


def sample(number: int, reason: str, output: str | None) -> RejectedSample:
    return RejectedSample(
        rejected_id=f"run-7/{number}",
        run_id="run-7",
        row_key=f"s{number}",
        model="m",
        model_version="2.1",
        reason=reason,
        errors="[]",
        ai_output=output,
        input='{"events": []}',
        rejected_at=f"2026-01-01T00:00:{number % 60:02d}+00:00",
    )


def test_rejected_rows_are_listed_filtered_paged_and_shown(typed, fresh_client: Client) -> None:  # type: ignore[no-untyped-def]
    long = "x" * 5_000
    rows = [sample(number, "not_json", "<b>bold</b> [red]not markup[/red]") for number in range(59)]
    fresh_client.report_rejected("run-7", [*rows, sample(59, "enum", long)])

    table = typed("rejected", "list").stdout
    assert "50 of 60 rejected rows" in table
    assert "[red]not markup[/red]" in table

    first = json.loads(typed("rejected", "list", "--json").stdout)
    assert (len(first["rows"]), first["matching"]) == (50, 60)
    second = json.loads(typed("rejected", "list", "--json", "--after", first["following"]).stdout)
    assert (len(second["rows"]), second["following"]) == (10, None)
    ids = {row["rejected_id"] for row in (*first["rows"], *second["rows"])}
    assert len(ids) == 60

    only = json.loads(typed("rejected", "list", "--json", "--reason", "enum").stdout)["rows"]
    assert [row["row_key"] for row in only] == ["s59"]
    assert len(only[0]["ai_output"]) < 5_000
    assert json.loads(typed("rejected", "show", "run-7/59", "--json").stdout)["ai_output"] == long
    assert "enum" in typed("rejected", "show", "run-7/59").stdout
    missing = typed("rejected", "show", "nobody")
    assert missing.exit_code == 1
    assert "[NOT_FOUND]" in missing.stderr


def test_a_missing_extra_is_named_and_harms_no_other_command(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("registry", "a_package_nobody_has.cli:registry", cli.GROUP)
    monkeypatch.setattr(
        cli, "entry_points", lambda **wanted: [point] if wanted.get("name") in (None, "registry") else []
    )
    done = CliRunner().invoke(main, ["registry", "serve", "--port", "0"])
    assert done.exit_code == 1
    assert done.stderr == (
        "error [MISSING_EXTRA] `inferlake registry` needs the package 'a_package_nobody_has', which comes with an "
        "extra: pip install 'inferlake[registry]'.\n"
    )
    overview = CliRunner().invoke(main, ["--help"])
    assert overview.exit_code == 0
    assert "(not installed: pip install 'inferlake[registry]')" in overview.output


def test_a_prompt_goes_on_after_an_error(fresh_registry: RegistryProcess) -> None:
    """A pseudo-terminal, since the prompt asks only a person."""
    environment = {**os.environ, "TERM": "dumb", "PROMPT_TOOLKIT_NO_CPR": "1"}
    with Terminal("--registry", fresh_registry.url, environment=environment) as terminal:
        terminal.until("inferlake> ")
        terminal.type("CREATE MODEL;\r")
        terminal.until("SYNTAX_ERROR")
        terminal.type("SHOW\r")
        terminal.until("-> ")
        terminal.type("MODELS;\r")
        terminal.until("no rows")
        terminal.type("quit\r")
        assert terminal.ended() == 0
