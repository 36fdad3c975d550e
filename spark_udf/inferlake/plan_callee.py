"""Which model a function in Spark's plan calls: the function is there as it was pickled on the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark import Broadcast
from pyspark.serializers import CPickleSerializer

from inferlake.calling import Callee, callee_of
from inferlake.plan_tree import Expression

_NAMES: Final = ("ai_function", "try_ai_function")


def is_ours(function: Expression) -> bool:
    """Tell whether a Python function of a plan may be one of ours; nothing of others is ever unpickled."""
    return bool(function.name().startswith(_NAMES))


def command_of(function: Expression) -> bytes:
    """Return a Python function of a plan as it was pickled."""
    return bytes(function.func().command().unsafeArray())


def callee_in(command: bytes) -> Callee | None:
    """Return what a pickled function calls; None for one that calls no model."""
    return callee_of(_function(command))


def _function(command: bytes) -> Any:
    """Return the function of a pickled command; Spark broadcasts a large one."""
    read: Callable[[bytes], Any] = CPickleSerializer().loads
    content = read(command)
    return (read(content.value) if isinstance(content, Broadcast) else content)[0]
