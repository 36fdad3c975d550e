"""Our code on the executors: the part of the project that a worker needs, as a zip that Spark puts on its path."""

from __future__ import annotations

import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Final

from inferlake.connection import log

_PACKAGES: Final = ("inferlake", "inferlake_registry", "inferlake_sql")
# What a worker never imports, and what would make the zip large.
_LEFT_OUT: Final = frozenset({"demo", "commands", "api", "web", "store", "services", "probe", "domain"})


def make_zip(folder: Path | None = None) -> Path:
    """Write ``inferlake.zip`` and return its path; a temporary folder of its own unless one is given."""
    path = (folder or Path(tempfile.mkdtemp(prefix="inferlake-"))) / "inferlake.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _PACKAGES:
            root = _root(name)
            for file in sorted(root.rglob("*.py")):
                inside = file.relative_to(root)
                if not _LEFT_OUT.intersection(inside.parts[:-1]):
                    archive.write(file, Path(name) / inside)
    log.debug("Packed %s for the executors.", path)
    return path


def shipped_already(py_files: str) -> bool:
    """Tell whether a list of ``spark.submit.pyFiles`` holds a zip of ours."""
    return any(Path(item).name.startswith("inferlake") for item in py_files.split(",") if item)


def _root(name: str) -> Path:
    file = import_module(name).__file__
    assert file is not None
    return Path(file).parent
