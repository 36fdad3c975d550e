"""Which version comes next, what a rollback returns to, and what keeps a version from being dropped."""

from __future__ import annotations

import pytest

from inferlake_registry.domain.versions import Activated, next_version, rollback_depth, uses_of

ONE, TWO, THREE = Activated("1"), Activated("2"), Activated("3")
SPLIT = Activated("1", {"1": 90, "2": 10})


@pytest.mark.parametrize(
    ("known", "following"),
    [
        ([], "1"),
        (["1"], "2"),
        (["1", "3"], "4"),  # never one that history may know
        (["2.1"], "1"),
        (["1", "2.1", "v7", "02"], "3"),
        (["٣"], "1"),  # a digit, but no ASCII one
        (["999999999999"], "1"),
    ],
)
def test_the_next_unused_integer(known: list[str], following: str) -> None:
    assert next_version(known) == following
    assert next_version(known) not in known


@pytest.mark.parametrize(
    ("stack", "version", "depth"),
    [
        ([ONE], None, None),
        ([ONE, TWO], None, 1),
        ([ONE, SPLIT, TWO], None, 1),
        ([ONE, TWO, THREE], "1", 2),
        ([ONE, TWO, ONE, THREE], "1", 1),
        ([ONE, TWO], "2", None),
        ([ONE, TWO], "9", None),
        ([], None, None),
    ],
)
def test_how_far_a_rollback_goes(stack: list[Activated], version: str | None, depth: int | None) -> None:
    assert rollback_depth(stack, version) == depth


@pytest.mark.parametrize(
    ("version", "live", "aliases", "said"),
    [
        ("1", ONE, {}, "active"),
        ("2", SPLIT, {}, "share"),
        ("3", SPLIT, {"champion": "3", "best": "3"}, "best, champion"),
        ("3", SPLIT, {"champion": "1"}, None),
    ],
)
def test_what_uses_a_version(version: str, live: Activated, aliases: dict[str, str], said: str | None) -> None:
    use = uses_of(version, live, aliases)
    assert (use is None) if said is None else (use is not None and said in use)


def test_weights_sum_to_100() -> None:
    assert ONE.weights == {"1": 100}
    assert SPLIT.weights == {"1": 90, "2": 10}
