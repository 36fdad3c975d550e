"""Failed calls of one task: never silent, and stopped when they are too many."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

from inferlake.call import CallDescriptor, OnError, Returns
from inferlake.result import CallResult, ErrorCode
from inferlake.worker.errors import RowFailed, TooManyErrors

_log = logging.getLogger(__name__)

_JUDGED_FROM_ROWS: Final = 200  # max_error_ratio says nothing about fewer rows


class Failures:
    """Counts a task's results by error; rows that needed no call do not count."""

    def __init__(self, descriptor: CallDescriptor) -> None:
        self._descriptor = descriptor
        self._raises = descriptor.returns is Returns.VALUE and descriptor.on_error is OnError.RAISE
        self._rows = 0
        self._by_code: Counter[str] = Counter()

    def check(self, results: Sequence[CallResult]) -> None:
        """Raise ``RowFailed`` for the first that failed, if that was asked for; in a struct errors are data."""
        if self._raises:
            for result in results:
                if result.error_code is not None and result.error_code is not ErrorCode.NULL_INPUT:
                    raise RowFailed(self._descriptor.reference, result.error_code.value, result.error or "")

    def count(self, results: Sequence[CallResult]) -> None:
        """Count a batch that has been put out, and raise ``TooManyErrors`` if the ratio is exceeded."""
        for result in results:
            if result.error_code is None:
                self._rows += result.response is not None
            elif result.error_code is not ErrorCode.NULL_INPUT:
                self._rows += 1
                self._by_code[result.error_code.value] += 1
        failed = self._by_code.total()
        ratio = self._descriptor.max_error_ratio
        if self._rows >= _JUDGED_FROM_ROWS and failed > ratio * self._rows:
            raise TooManyErrors(self._descriptor.reference, failed, self._rows, ratio, self._by_code)

    def warn(self) -> None:
        """Say in the log of the task which failed rows have become nulls that nobody could tell from others."""
        if self._by_code and self._descriptor.returns is Returns.VALUE:
            codes = ", ".join(f"{code} {count}" for code, count in self._by_code.most_common())
            _log.warning(
                "%d of %d rows that %s was called for are null because their calls failed (%s). The struct form, "
                "returns = 'struct', has the reason of each row.",
                self._by_code.total(),
                self._rows,
                self._descriptor.reference,
                codes,
            )
