"""Where a run's files lie, and the columns they have. Pure: names in, names out.

    <base>/run_id=<run>/<attempt>/outcome=accepted/part-….parquet
    <base>/run_id=<run>/<attempt>/outcome=rejected/part-….parquet
    <base>/run_id=<run>/marker/                          says which attempt is the run, and what came of it
    <base>/table/                                        the rejected table's own, empty folder

An attempt without a marker is what a driver that died left behind; nothing ever reads it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inferlake.errors import InvalidArgument

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
OUTCOME: Final = "outcome"

# The columns of a rejected table; run_id is its partition.
REJECTED_DDL: Final = (
    "rejected_id string, row_key string, model string, model_version string, request_id string, attempts int, "
    "reason string, errors string, schema_hash string, ai_output string, input string, source string, "
    "replay_of string, rejected_at timestamp"
)
REJECTED_TYPES: Final[Mapping[str, str]] = {
    name: kind for name, _, kind in (item.partition(" ") for item in REJECTED_DDL.split(", "))
}

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,99}")
_MAX_RUN: Final = 200
_PART: Final = r"`(?:[^`]|``)+`|[^.`\s;]+"
_TABLE: Final = re.compile(rf"(?:{_PART})(?:\.(?:{_PART})){{0,2}}")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The folder of one run."""

    base: str
    run: str

    @property
    def folder(self) -> str:
        """The run's own folder."""
        return f"{self.base}/run_id={_file_name(self.run)}"

    @property
    def marker(self) -> str:
        """The folder of the marker."""
        return f"{self.folder}/marker"

    def attempt(self, name: str) -> str:
        """The folder of one attempt."""
        return f"{self.folder}/{name}"


def outcome_folder(attempt: str, outcome: str) -> str:
    """Return the folder of one outcome's files."""
    return f"{attempt}/{OUTCOME}={outcome}"


def check_run(run: str) -> str:
    """Return the run id, or raise InvalidArgument."""
    if not run.strip() or len(run) > _MAX_RUN or not run.isprintable():
        raise InvalidArgument("run", f"a text of 1 to {_MAX_RUN} printable characters.")
    return run


def base_folder(location: str | None, warehouse: str, table: Sequence[str]) -> str:
    """Return the folder of all runs into one rejected table: below ``location``, else below Spark's warehouse."""
    root = (location or f"{warehouse.rstrip('/')}/inferlake").rstrip("/")
    return "/".join([root, *map(_file_name, table)])


def table_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a table's name: ``t``, ``db.t``, ``cat.db.t``, each possibly in backquotes."""
    if not _TABLE.fullmatch(name):
        raise InvalidArgument("table name", f"{name!r} is none; write table, db.table or catalog.db.table.")
    pieces = re.findall(_PART, name)
    return tuple(piece[1:-1].replace("``", "`") if piece.startswith("`") else piece for piece in pieces)


def quoted(parts: Iterable[str]) -> str:
    """Return a name as SQL."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def stored_names(columns: Mapping[str, str]) -> dict[str, str]:
    """Return for each column of the input (name to type) its name in the files.

    A column that has the name of one of ours shares it when the types are the same, since a row has but one outcome;
    else it gets another name there.
    """
    ours = {OUTCOME: "", "run_id": "", **REJECTED_TYPES}
    taken = {*ours, *map(str.casefold, columns)}
    names: dict[str, str] = {}
    for column, type_ in columns.items():
        stored = column
        if ours.get(column.casefold(), type_) != type_:
            while stored.casefold() in taken:
                stored = f"row_{stored}"
        names[column] = stored
        taken.add(stored.casefold())
    return names


def check_names(columns: Sequence[str]) -> None:
    """Raise InvalidArgument for two columns that a table could not tell apart."""
    folded = [column.casefold() for column in columns]
    for at, name in enumerate(folded):
        if name in folded[:at]:
            raise InvalidArgument("df", f"the column {columns[at]!r} is there twice; give one of them another name.")


def _file_name(text: str) -> str:
    """Return a text as a file name that every file system and every part of Spark takes; different texts differ."""
    if _SAFE.fullmatch(text):
        return text
    safe = re.sub(r"[^A-Za-z0-9._+-]", "-", text)[:60].strip(".-") or "run"
    return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
