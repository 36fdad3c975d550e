"""Names of models and the ways a call refers to one."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from inferlake_sql.errors import InvalidName, InvalidReference
from inferlake_sql.vocabulary import KEYWORDS

MAX_NAME_LENGTH: Final = 255  # characters of the whole name, dots included
MAX_PARTS: Final = 3  # catalog.database.name
_PLAIN: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name as written, in one to three parts; two spellings of one model have the same ``key``."""

    parts: tuple[str, ...]

    @property
    def display(self) -> str:
        """The name as SQL, in the user's own letters, backquoted where a part needs it."""
        return ".".join(quote_part(part) for part in self.parts)

    @property
    def key(self) -> str:
        """The name to look up by: case-folded, NFC, unambiguous about dots inside a part. It is what is stored."""
        return ".".join(_quote_unless_plain(unicodedata.normalize("NFC", part.casefold())) for part in self.parts)

    @property
    def namespace(self) -> str:
        """What stands before the last dot, as SQL; empty for a name of one part."""
        return ".".join(quote_part(part) for part in self.parts[:-1])

    @property
    def last(self) -> str:
        """The last part, bare: the default of ``model.name``."""
        return self.parts[-1]

    def __str__(self) -> str:
        return self.display


@dataclass(frozen=True, slots=True)
class ModelReference:
    """What a call's first argument says: a model, and at most one of a version and an alias.

    ``verbatim`` is the other reading of a bare text such as ``gpt-4.1``: one name, dots and all. ``name`` goes first.
    """

    name: ModelName
    version: str | None = None
    alias: str | None = None
    verbatim: ModelName | None = None

    @property
    def pinned(self) -> bool:
        """Whether a traffic split is to be ignored."""
        return self.version is not None or self.alias is not None


def make_name(parts: tuple[str, ...]) -> ModelName:
    """Return the name in NFC; raises InvalidName for an empty part, control characters, or too much of either."""
    if not 1 <= len(parts) <= MAX_PARTS:
        raise InvalidName(
            "model name",
            f"it has {len(parts)} parts, at most catalog.database.name is possible; what holds dots goes in backquotes",
        )
    normal = tuple(unicodedata.normalize("NFC", part) for part in parts)
    for part in normal:
        _check_text("model name", part)
    if sum(map(len, normal)) + len(normal) - 1 > MAX_NAME_LENGTH:
        raise InvalidName("model name", f"it is longer than {MAX_NAME_LENGTH} characters")
    return ModelName(normal)


def check_label(what: str, text: str) -> str:
    """Return a version or alias as it is, or raise InvalidName; labels keep their case and are never numbers."""
    _check_text(what, text)
    if len(text) > MAX_NAME_LENGTH:
        raise InvalidName(what, f"it is longer than {MAX_NAME_LENGTH} characters")
    return text


def _check_text(what: str, text: str) -> None:
    if not text.strip():
        raise InvalidName(what, "it is empty")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise InvalidName(what, "it holds a control character")


def quote_part(part: str) -> str:
    """Return one part of a name as SQL: bare when it is a plain word outside the language, else in backquotes."""
    return _quote(part) if part.upper() in KEYWORDS else _quote_unless_plain(part)


def _quote_unless_plain(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else _quote(part)


def _quote(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def parse_name(text: str) -> ModelName:
    """Read a name from text outside a statement (a command line, a URL): ``db.m``, ``db.`a.b```, ``gpt-4o``."""
    reference = parse_reference(text)
    if reference.pinned:
        raise InvalidName("model name", "it names a version or alias; only the model was asked for")
    return reference.name


def parse_reference(text: str) -> ModelReference:
    """Read the first argument of a call: ``m``, ``m@alias``, ``m:version``, each part of m possibly in backquotes."""
    parts, end, quoted = _read_parts(text)
    verbatim = make_name((text[:end],)) if len(parts) > 1 and not quoted else None
    name = verbatim if verbatim and len(parts) > MAX_PARTS else make_name(parts)
    rest = text[end:]
    if not rest:
        return ModelReference(name, verbatim=verbatim)
    mark, label = rest[0], rest[1:]
    if not label or any(character in label for character in "@:$`"):
        raise InvalidReference("There is no single version or alias after the name.")
    if mark == ":":
        return ModelReference(name, version=check_label("version", label), verbatim=verbatim)
    if mark == "@":
        return ModelReference(name, alias=check_label("alias", label), verbatim=verbatim)
    raise InvalidReference("The name is followed by something else than @ or :.")


_QUOTED_PART: Final = re.compile(r"`((?:[^`]|``)*)`")
_BARE_PART: Final = re.compile(r"[^`@:$.\s][^`@:$.]*")


def _read_parts(text: str) -> tuple[tuple[str, ...], int, bool]:
    """Return the parts of the leading name, where it ends, and whether any part was in backquotes."""
    parts: list[str] = []
    position, quoted = 0, False
    while True:
        if match := _QUOTED_PART.match(text, position):
            parts.append(match[1].replace("``", "`"))
            quoted = True
        elif match := _BARE_PART.match(text, position):
            parts.append(match[0])
        else:
            raise InvalidReference("There is no name.")
        position = match.end()
        if text[position : position + 1] != ".":
            return tuple(parts), position, quoted
        position += 1


def near(word: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return up to ``limit`` known words that look like ``word``, the closest first."""
    folded = {candidate.casefold(): candidate for candidate in known}
    return tuple(
        folded[match] for match in difflib.get_close_matches(word.casefold()[:MAX_NAME_LENGTH], folded, n=limit)
    )
