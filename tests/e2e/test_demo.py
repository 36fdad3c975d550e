"""The whole demo with the real model, once: Ray Serve with vLLM, the registry's process, Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from demo_process import REAL, Demo, end, start

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = start(REAL, tmp_path_factory.mktemp("demo"), "--once", "--json")
    demo.process.wait(580)
    yield demo
    end(demo)


@pytest.fixture(scope="module")
def runs(finished: Demo) -> list[dict[str, Any]]:
    assert finished.process.returncode == 0, finished.complained
    found: list[dict[str, Any]] = json.loads(finished.said)["runs"]
    return found


def test_both_versions_ran_over_every_session(runs: list[dict[str, Any]]) -> None:
    assert [run["model_version"] for run in runs] == ["1", "2.1"]
    assert [run["rows"] for run in runs] == [682, 682]


def test_nothing_is_lost_and_nothing_is_paid_twice(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        assert run["complete"]
        assert len(run["claims"]) == 2
        assert [claim["left"] - claim["right"] for claim in run["claims"]] == [0, 0]


def test_every_rejected_row_has_a_reason(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        reasons = run["rejected_by_reason"]
        assert sum(reasons.values()) == run["rejected"]
        assert (reasons["context_length"], reasons["null_input"]) == (14, 8)
        assert set(reasons) - {"context_length", "null_input"}, "the checks found nothing in the free half"


def test_the_statements_are_shown_as_printed_in_the_article(finished: Demo) -> None:
    assert "SELECT ai_function('llm_intent_classifier', 'test input')" in finished.complained
    assert "ALTER MODEL llm_intent_classifier SET VERSION 2.1" in finished.complained


def test_nothing_is_left_behind(finished: Demo) -> None:
    assert finished.alive() == []
    assert (Path(finished.output.parent) / "work").is_dir()
