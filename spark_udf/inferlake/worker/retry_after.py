"""How long an endpoint asks its callers to stay away: every form in which that is said, as seconds."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from math import isfinite

from inferlake.worker.calls import HttpReply


def retry_after_s(reply: HttpReply) -> float | None:
    """Return the wait that the answer asks for; None if it asks for none or for nonsense.

    ``retry-after-ms`` (milliseconds) is more exact and wins over ``retry-after`` (seconds, fractions allowed, or an
    HTTP date, RFC 9110 10.2.3). A date is compared with the answer's own ``date``, so that clocks may differ.
    """
    milliseconds = _number(reply.retry_after_ms)
    if milliseconds is not None:
        return milliseconds / 1_000
    seconds = _number(reply.retry_after)
    return seconds if seconds is not None else _until(reply.retry_after, reply.date)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


def _until(text: str | None, now: str | None) -> float | None:
    if text is None or now is None:
        return None
    try:
        return max(0.0, (parsedate_to_datetime(text) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of the two names its time zone
        return None
