"""Gives errors of Spark's that stand for one of ours their own class, where PySpark makes exceptions of Java's.

Classic sessions only: in Connect sessions Spark's own exception carries the same text.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.errors.exceptions import captured

from inferlake.type_guard import refusal

_ORIGINAL: Final = "_inferlake_original_convert_exception"


def translate_errors() -> None:
    """Begin to translate, once."""
    if hasattr(captured, _ORIGINAL):
        return
    original = captured.convert_exception

    @functools.wraps(original)
    def convert_exception(e: Any) -> Any:
        converted = original(e)
        ours = refusal(str(converted)) if isinstance(converted, AnalysisException) else None
        return ours or converted

    setattr(captured, _ORIGINAL, original)
    captured.convert_exception = convert_exception


def leave_errors() -> None:
    """Give PySpark its own function back."""
    original = vars(captured).get(_ORIGINAL)
    if original is not None:
        captured.convert_exception = original
        delattr(captured, _ORIGINAL)
