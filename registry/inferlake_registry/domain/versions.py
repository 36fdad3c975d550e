"""Versions and activations: what is live, what a rollback returns to, which version comes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Activated:
    """One entry of the stack: the active version, and the shares while a split is set."""

    version: str
    shares: Mapping[str, int] | None = None

    @property
    def weights(self) -> Mapping[str, int]:
        """Percent of the traffic by version; they sum to 100."""
        return self.shares if self.shares is not None else {self.version: 100}


def next_version(known: Iterable[str]) -> str:
    """Return the next unused integer: the name of a version that nobody named."""
    taken = set(known)
    highest = max((int(name) for name in taken if name.isdecimal() and name.isascii() and len(name) < 10), default=0)
    return str(highest + 1)


def rollback_depth(stack: Sequence[Activated], version: str | None) -> int | None:
    """Return how many entries at the top of the stack a rollback undoes, or None when there is nothing to return to.

    ``stack`` holds what is not undone, the live entry last. Without a version it is one entry; with one, everything
    above the last earlier activation of that version.
    """
    if version is None:
        return 1 if len(stack) > 1 else None
    for depth in range(1, len(stack)):
        if stack[-1 - depth].version == version:
            return depth
    return None


def uses_of(version: str, live: Activated, aliases: Mapping[str, str]) -> str | None:
    """Say why a version cannot be dropped, or None."""
    if live.version == version:
        return "it is the active version"
    if version in live.weights:
        return "it has a share of the traffic"
    pointing = sorted(alias for alias, target in aliases.items() if target == version)
    return f"the alias {', '.join(pointing)} points at it" if pointing else None
