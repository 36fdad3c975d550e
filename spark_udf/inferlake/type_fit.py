"""Which types of Spark fit a column of a model's INPUT: the same one, or one that Spark widens to it without loss.

The rule is a regular expression over the spelling of Spark's ``typeof``, which Spark can apply while it analyses a
query and a worker to the types that it meets. It is written in what Java and Python read alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from inferlake_sql.tokens import Token, TokenKind, tokenize

_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
_INTEGER_DIGITS: Final = (3, 5, 10, 20)  # as Spark counts them when it makes a decimal of an integer
_ANY_DECIMAL: Final = r"decimal\([0-9]+,[0-9]+\)"
_STRING: Final = r"string(?: collate \w+)?"
# What Spark writes as text by itself. Bytes are left out: which text they are is for the user to say.
_WRITTEN_AS_TEXT: Final = (
    _STRING,
    r"char\([0-9]+\)",
    r"varchar\([0-9]+\)",
    "boolean",
    *_INTEGERS,
    "float",
    "double",
    _ANY_DECIMAL,
    "date",
    "timestamp",
    "timestamp_ntz",
    r"time\([0-9]\)",
    "interval [a-z ]+",
)
_SIMPLE: Final = {
    "STRING": _WRITTEN_AS_TEXT,
    "FLOAT": (*_INTEGERS, _ANY_DECIMAL, "float"),
    "DOUBLE": (*_INTEGERS, _ANY_DECIMAL, "float", "double"),
    "TIMESTAMP": ("date", "timestamp_ntz", "timestamp"),
    "TIMESTAMP_NTZ": ("date", "timestamp", "timestamp_ntz"),
    **{name.upper(): _INTEGERS[: at + 1] for at, name in enumerate(_INTEGERS)},
}


@lru_cache(maxsize=1_024)
def fitting(type_text: str) -> str:
    """Return the expression that all fitting types match; ``type_text`` is a column's type as the registry spells it.

    A bare NULL fits everything. Arrays and maps fit by what they hold, structs by the names and order of their fields.
    """
    return f"^{_Reader(tokenize(type_text)).read()}$"


def fits(type_text: str, given: str) -> bool:
    """Tell whether a type as ``typeof`` spells it can be given for a column of INPUT."""
    return re.search(fitting(type_text), given) is not None


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = iter(tokens)
        self._here = next(self._tokens)

    def read(self) -> str:
        """Return the expression of the type that begins here, as one group."""
        return f"(?:void|{self._named(self._take().upper())})"

    def _named(self, name: str) -> str:
        match name:
            case "ARRAY":
                return f"array<{self._inside(self.read)}>"
            case "MAP":
                return f"map<{self._inside(self._pair)}>"
            case "STRUCT":
                return f"struct<{self._inside(self._fields)}>"
            case "DECIMAL":
                return self._decimal()
            case _:
                return "|".join(_SIMPLE.get(name, (name.lower(),)))

    def _inside(self, read: Callable[[], str]) -> str:
        self._take()
        found = read()
        self._take()
        return found

    def _pair(self) -> str:
        key = self.read()
        self._take()
        return f"{key},{self.read()}"

    def _fields(self) -> str:
        fields = [self._field()]
        while self._here.text == "," and self._here.kind is TokenKind.MARK:
            self._take()
            fields.append(self._field())
        return ",".join(fields)

    def _field(self) -> str:
        name = re.escape(self._take())
        self._take()
        return f"{name}:{self.read()}"

    def _decimal(self) -> str:
        self._take()
        precision = int(self._take())
        self._take()
        scale = int(self._take())
        self._take()
        whole = precision - scale
        integers = [name for name, digits in zip(_INTEGERS, _INTEGER_DIGITS, strict=True) if digits <= whole]
        # A decimal fits when it has no more digits on either side of the point.
        narrower = [
            f"{digits + fraction},{fraction}"
            for fraction in range(scale + 1)
            for digits in range(whole + 1)
            if digits + fraction
        ]
        return "|".join([*integers, rf"decimal\((?:{'|'.join(narrower)})\)"])

    def _take(self) -> str:
        text = self._here.text
        self._here = next(self._tokens)
        return text
