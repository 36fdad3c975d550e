"""Words from the command line as parts of a statement, quoted so that they can be nothing else."""

from __future__ import annotations


def text(value: str) -> str:
    """Return a string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def name(value: str) -> str:
    """Return a model's name: a plain or dotted one as it is, anything else as one quoted part."""
    parts = value.split(".")
    if all(part.isidentifier() for part in parts):
        return ".".join(f"`{part}`" for part in parts)
    if value.startswith("`"):
        return value
    escaped = value.replace("`", "``")
    return f"`{escaped}`"
