"""A hundredth of the benchmark ``tests/benchmarks/fuzz_language.py``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from inferlake_sql.parse import parse

MUTATIONS = 10_000


@pytest.fixture(scope="module")
def fuzz_language() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "fuzz_language.py"
    spec = importlib.util.spec_from_file_location("fuzz_language", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_language"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_mutated_text_is_a_statement_not_ours_or_a_language_error(fuzz_language: ModuleType) -> None:
    figures = fuzz_language.fuzz(MUTATIONS, seed=7)
    assert figures.findings == []
    assert figures.texts == MUTATIONS
    assert figures.outcomes["statement"] > MUTATIONS / 50  # the mutations are not all nonsense
    assert len(figures.outcomes) > 12


def test_long_texts_of_every_kind_stay_in_the_family_and_within_a_wide_margin(fuzz_language: ModuleType) -> None:
    figures = fuzz_language.time_long_statements(rounds=2)
    assert figures.findings == []
    assert figures.slowest_s < 10 * fuzz_language.BUDGET_S  # the benchmark holds the budget; a busy machine may not


def test_the_benchmark_notices_what_it_looks_for(fuzz_language: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> object:
        if text.startswith("DROP"):
            raise RecursionError
        return parse(text)

    monkeypatch.setattr(fuzz_language, "parse", broken)
    figures = fuzz_language.Figures()
    fuzz_language.judge("DROP MODEL m", figures)
    assert "RecursionError" in figures.findings[0]
