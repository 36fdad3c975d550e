"""The parts of the manual that are made from the catalogue and the error family."""

from __future__ import annotations

from collections.abc import Iterator

from inferlake_sql.errors import LanguageError
from inferlake_sql.properties import ALIASES, CATALOGUE, PropertySpec


def property_table() -> str:
    """Return the catalogue of properties as a Markdown table."""
    head = ("| key | values | default | change | meaning |", "|---|---|---|---|---|")
    return "\n".join((*head, *map(_property_row, CATALOGUE)))


def alias_table() -> str:
    """Return the other spellings of keys as a Markdown table."""
    rows = [f"| `{name}` | `{alias.key}`{_in_unit(alias.unit, alias.key)} |" for name, alias in sorted(ALIASES.items())]
    return "\n".join(("| written | read as |", "|---|---|", "| `endpoint`, `location` | the clause LOCATION |", *rows))


def error_table() -> str:
    """Return the codes of the language with what each means, as a Markdown table."""
    rows = [
        f"| `{cls.code}` | {_first_line(cls)} |" for cls in sorted(_family(LanguageError), key=lambda cls: cls.code)
    ]
    return "\n".join(("| code | meaning |", "|---|---|", *rows))


def _property_row(spec: PropertySpec) -> str:
    unit = f" {spec.unit}" if spec.unit else ""
    values = spec.range_text + unit if spec.range_text else str(spec.kind)
    change = "new version" if spec.effect == "identity" else "in place"
    return f"| `{spec.key}` | {values} | {spec.default_shown or 'none'} | {change} | {spec.meaning} |"


def _in_unit(unit: str, key: str) -> str:
    return ", a plain number in seconds" if unit == "s" and key.endswith(".ms") else ""


def _first_line(cls: type[LanguageError]) -> str:
    return (cls.__doc__ or "").split("\n", 1)[0].replace("``", "`")


def _family(root: type[LanguageError]) -> Iterator[type[LanguageError]]:
    for cls in root.__subclasses__():
        yield from _family(cls)
        yield cls
