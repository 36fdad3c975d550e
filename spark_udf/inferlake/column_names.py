"""What a Column is called, asked of the Column itself."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column

_ALIASED: Final = re.compile(r"(?s)^.* AS ([^()]+)$")
_PATH: Final = re.compile(r"^[^()\[\]+*/ ]+$")


def column_name(column: Column) -> str:
    """Return a Column's alias, the last part of its path, or its whole text; it is the key under which it is sent."""
    text = str(column)
    text = text.removeprefix("Column<'").removesuffix("'>")
    if match := _ALIASED.match(text):
        return match[1].strip("`")
    if _PATH.match(text):
        return text.rpartition(".")[2].strip("`")
    return text
