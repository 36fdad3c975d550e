"""A value that never shows itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

MASK: Final = "******"


class Secret:
    """Text that cannot be printed, formatted, compared, hashed or pickled; only ``reveal`` gives it out."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """Return the text. Call it at the last moment: when a header is written or a value is encrypted."""
        return self.__value

    def __repr__(self) -> str:
        return f"Secret('{MASK}')"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a Secret cannot be compared; reveal() both sides where that is really meant")

    def __hash__(self) -> NoReturn:
        raise TypeError("a Secret cannot be hashed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled: it must not travel in a Spark plan")


@dataclass(frozen=True, slots=True)
class SecretReference:
    """Says where a secret lies without being one: ``secret://scope/key``, ``env:NAME`` or ``file:/path``.

    Safe to print, store and compare. Who resolves it, and when, is the registry's business.
    """

    scheme: str  # secret, env or file
    target: str  # scope/key, NAME, /path

    def __str__(self) -> str:
        return f"{self.scheme}://{self.target}" if self.scheme == "secret" else f"{self.scheme}:{self.target}"


_REFERENCE = re.compile(
    r"(?:(secret)://([\w.-]+(?:/[\w.-]+)+)|(env):([A-Za-z_]\w*)|(file):(/[^\x00-\x1f\x7f]+))", re.ASCII
)


def parse_secret_reference(text: str) -> SecretReference | None:
    """Return the reference that a text is, or None when it is anything else (a literal secret, say)."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    scheme, target = (group for group in match.groups() if group is not None)
    return SecretReference(scheme, target)
