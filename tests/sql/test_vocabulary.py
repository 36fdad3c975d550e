"""The vocabulary knows every word that the parser and the catalogue use."""

from __future__ import annotations

import re
from pathlib import Path

from inferlake_sql import parse as parse_module
from inferlake_sql.grammar import FORMS
from inferlake_sql.properties import CATALOGUE
from inferlake_sql.vocabulary import KEYWORDS, VOCABULARY

SOURCES = Path(parse_module.__file__).parent


def test_every_keyword_that_is_read_is_known() -> None:
    found: set[str] = set()
    for name in ("parse_create", "parse_alter", "parse_show", "parse_query", "clauses"):
        source = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
        for call in re.findall(r"\.(?:accept|accept_one|expect|sees)\(([^)]*)\)", source):
            found |= set(re.findall(r'"([A-Z_]+)"', call))
    for form in FORMS:
        found |= set(re.findall(r"[A-Z]{2,}", form.syntax)) - {"TYPE"}
    assert found - KEYWORDS == set()


def test_every_part_of_a_property_key_may_be_shown() -> None:
    parts = {part.upper() for spec in CATALOGUE for part in spec.key.split(".") if part != "*"}
    choices = {choice.upper() for spec in CATALOGUE for choice in spec.choices if "_" not in choice}
    assert (parts | choices) - VOCABULARY == set()
