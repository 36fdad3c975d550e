"""A place in a list as text: the key of the last row shown, so that new rows move nothing and no page is counted to."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from inferlake_sql.errors import InferlakeError

PAGE_SIZE: Final = 50


class UnreadablePlace(InferlakeError):
    """The address of a list names a place that this registry never gave out."""

    code = "UNREADABLE_PLACE"
    status = 400

    def __init__(self) -> None:
        super().__init__("The address names a place in the list that cannot be read. Start again at the first page.")


@dataclass(frozen=True, slots=True)
class Place:
    """The key of a row in a list that is ordered by time, the latest first, and by identity within one moment."""

    at: datetime
    identity: str

    def write(self) -> str:
        """Return the place as text that fits into an address."""
        key = json.dumps([self.at.astimezone(UTC).isoformat(), self.identity])
        return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def read_place(text: str) -> Place | None:
    """Read a place; empty text is the beginning of the list. Raises UnreadablePlace."""
    if not text:
        return None
    try:
        at, identity = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return Place(datetime.fromisoformat(at).astimezone(UTC), str(identity))
    except (binascii.Error, ValueError, TypeError, OverflowError) as error:
        raise UnreadablePlace from error
