"""How the demo ends: done, interrupted, miscounted, or left alone by its model.

The registry, Spark and the engine are real and the endpoint follows a script, since a real model cannot be made to fail
at will; ``test_demo.py`` runs the whole.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from demo_process import REAL, Demo, end, start, stub

from inferlake.demo.job import SESSIONS

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

Start = Callable[..., Demo]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts demos; what is still running at the end of the test is killed."""
    running: list[Demo] = []

    def begun(command: Sequence[str], *options: str, **environment: str) -> Demo:
        running.append(start(command, tmp_path / str(len(running)), *options, **environment))
        return running[-1]

    yield begun
    for demo in running:
        end(demo)


@pytest.fixture
def few(tmp_path: Path) -> str:
    """A file with every fifth session, which has some of every kind."""
    file = tmp_path / "few.jsonl"
    file.write_text("".join(SESSIONS.read_text(encoding="utf-8").splitlines(keepends=True)[::5]), encoding="utf-8")
    return str(file)


def test_it_stays_up_until_ctrl_c_and_leaves_nothing(begin: Start, few: str) -> None:
    demo = begin(stub("fair"), STUB_SESSIONS=few)
    demo.wait_for("The services are up.", 200)
    url = re.findall(r"http://127\.0\.0\.1:\d+", demo.said)[0]
    assert httpx.get(f"{url}/rejected", trust_env=False).status_code == 200
    assert httpx.get(f"{url}/models/llm_intent_classifier", trust_env=False).status_code == 200
    assert demo.interrupt(signal.SIGINT) == 0
    assert demo.alive() == []
    assert demo.said.rstrip().splitlines()[-1].startswith("  stopped; logs and tables are in work/")
    assert demo.complained == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_it_can_be_stopped_in_the_middle_of_a_run(begin: Start, number: signal.Signals) -> None:
    demo = begin(stub("slow"), "--once")
    demo.wait_for("asking the model: 0 of", 120)
    assert demo.interrupt(number) == 128 + number
    assert demo.alive() == []


def test_it_can_be_stopped_while_ray_starts(begin: Start) -> None:
    demo = begin(REAL, "--once")
    demo.wait_for("registry · http", 60)
    while not any("raylet" in command for command in demo.alive()):
        assert demo.process.poll() is None, demo.complained
    assert demo.interrupt(signal.SIGINT) == 128 + signal.SIGINT
    assert demo.alive() == []


def test_a_request_too_many_is_a_failure(begin: Start, few: str) -> None:
    demo = begin(stub("counting"), "--once", STUB_SESSIONS=few)
    assert demo.process.wait(120) == 1
    assert "✗" in demo.said
    assert re.fullmatch(r"error \[NOT_RECONCILED\] The counts do not agree: .*\n", demo.complained)
    assert demo.alive() == []


def test_an_endpoint_that_dies_loses_no_answer(begin: Start, few: str) -> None:
    demo = begin(stub("dying"), "--once", "--json", STUB_SESSIONS=few)
    assert demo.process.wait(230) == 1
    (run,) = json.loads(demo.said)["runs"]
    assert run["complete"] is False
    assert run["rows"] == run["accepted"] + run["rejected"]
    assert run["accepted"] > 0
    assert run["rejected_by_reason"]["network"] > 0
    assert "error" not in demo.complained  # a problem document, since JSON was asked for
    problem = json.loads(demo.complained.splitlines()[-1])
    assert problem["code"] == "ENDPOINT_LOST"
    assert problem["fields"]["failed"] == run["rejected_by_reason"]["network"]
    assert demo.alive() == []


def test_a_model_that_cannot_be_had_is_said_at_once(begin: Start) -> None:
    demo = begin(REAL, "--once", "--model", "Qwen/Qwen3-0.6B", HF_HUB_OFFLINE="1", HF_HOME="/nowhere")
    assert demo.process.wait(60) == 1
    assert re.match(r"error \[MODEL_UNAVAILABLE\] .*'Qwen/Qwen3-0.6B' cannot be had: .*HF_HUB_OFF", demo.complained)
    assert demo.alive() == []


def test_a_folder_that_cannot_be_written_is_said_in_one_line(begin: Start, tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "work").write_text("in the way")
    demo = begin(REAL, "--once")
    assert demo.process.wait(60) == 1
    assert re.fullmatch(r"error \[WORK_FOLDER\] .*/work.*\n", demo.complained)
