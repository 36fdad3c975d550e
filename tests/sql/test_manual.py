"""docs/sql.md tells the truth: its tables are the catalogue's, its forms the grammar's, its examples parse."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from inferlake_sql import manual
from inferlake_sql.grammar import FORMS, ROUTE_SYNTAX, Kind
from inferlake_sql.parse import parse
from inferlake_sql.render import render
from inferlake_sql.script import split_script

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
TEXT = PAGE.read_text(encoding="utf-8")
GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
EXAMPLES = [piece for block in re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL) for piece in split_script(block)]


@pytest.mark.parametrize("name", ["property_table", "alias_table", "error_table"])
def test_a_generated_table_is_up_to_date(name: str) -> None:
    """INFERLAKE_WRITE_DOCS=1 brings the page up to date."""
    table = getattr(manual, name)()
    if os.environ.get("INFERLAKE_WRITE_DOCS"):
        written = GENERATED.sub(
            lambda match: f"{match[1]}{table}\n{match[4]}" if match[2] == name else match[0],
            PAGE.read_text(encoding="utf-8"),
        )
        PAGE.write_text(written, encoding="utf-8")
    tables = {match[2]: match[3].strip() for match in GENERATED.finditer(PAGE.read_text(encoding="utf-8"))}
    assert tables[name] == table


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda piece: piece.text[:50])
def test_an_example_is_a_statement(example: object) -> None:
    text = example.text  # type: ignore[attr-defined]
    statement = parse(text)
    assert statement is not None
    assert parse(render(statement)) == statement


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 50


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.SHOW_OTHER], ids=str)
def test_each_kind_of_statement_has_its_section(kind: Kind) -> None:
    assert f"\n## {kind.value}\n" in TEXT


@pytest.mark.parametrize("syntax", [form.syntax for form in FORMS if form.kind is not Kind.SHOW_OTHER] + [ROUTE_SYNTAX])
def test_the_form_in_an_error_is_the_form_in_the_manual(syntax: str) -> None:
    forms = {" ".join(block.split()) for block in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)}
    assert " ".join(syntax.split()) in forms


def test_links_inside_the_page_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert links - anchors == set()
