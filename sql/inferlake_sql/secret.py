"""A value that never shows itself."""

from __future__ import annotations

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
