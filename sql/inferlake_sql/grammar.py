"""The grammar as one table: which leading words make a statement ours, and the form of each.

``lead`` is a regular expression over the text's first words in upper case, one space after each; a piece in quotes is
its quote only. Nothing else decides whether a text is ours, so another front end can share the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inferlake_sql.routing import find_routing
from inferlake_sql.scan import leading_words


class Kind(StrEnum):
    """The kinds of statement, as the parser tells them apart; the value names the section of the manual."""

    CREATE = "CREATE MODEL"
    ALTER = "ALTER MODEL"
    DROP = "DROP MODEL"
    UNDROP = "UNDROP MODEL"
    COMMENT = "COMMENT ON MODEL"
    SHOW_MODELS = "SHOW MODELS"
    SHOW_CREATE = "SHOW CREATE MODEL"
    SHOW_VERSIONS = "SHOW VERSIONS"
    SHOW_HEALTH = "SHOW MODEL HEALTH"
    SHOW_PROPERTIES = "SHOW MODEL PROPERTIES"
    SHOW_OTHER = "SHOW MODEL"
    DESCRIBE = "DESCRIBE MODEL"
    HISTORY = "DESCRIBE HISTORY MODEL"
    TEST = "TEST MODEL"
    EXPLAIN = "EXPLAIN AI"
    GRANT = "GRANT ON MODEL"
    REVOKE = "REVOKE ON MODEL"
    ROUTE = "CREATE TABLE … VALIDATE"


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the grammar."""

    kind: Kind
    lead: str
    syntax: str  # canonical; what an error shows
    ambiguous: bool = False  # Spark understands these words too, when a table called model exists


@dataclass(frozen=True, slots=True)
class Recognition:
    """Says that a text is ours. ``ambiguous``: only if the session sees no table or view called ``model``."""

    kind: Kind
    syntax: str
    ambiguous: bool = False


# One part or several of a name; a lone word that could begin something of Spark's own is excluded where it matters.
# Double quotes are names too where the session says so; one doubled inside shows as two.
_PART: Final = r"""(?:\w+|`|"(?: ")*)"""
_NAME: Final = rf"{_PART}(?: \. {_PART})* "

FORMS: Final[tuple[Form, ...]] = (
    Form(
        Kind.CREATE,
        r"CREATE (?:OR REPLACE )?(?:TEMPORARY |TEMP )?MODEL ",
        "CREATE [OR REPLACE] [TEMPORARY] MODEL [IF NOT EXISTS] name [VERSION 'v'] USING 'provider' LOCATION 'http://…' "
        "[INPUT (column TYPE, …)] [OUTPUT (column TYPE, …)] [PROPERTIES ('key' = 'value', …)] [COMMENT 'text'], "
        "or CREATE MODEL name LIKE other",
    ),
    Form(
        Kind.ALTER,
        r"ALTER MODEL ",
        "ALTER MODEL [IF EXISTS] name ADD VERSION | SET … | UNSET … | RENAME TO | VERSION 'v' SET ALIAS | ROLLBACK | "
        "DROP VERSION | ENABLE | DISABLE",
    ),
    Form(Kind.DROP, r"DROP (?:TEMPORARY |TEMP )?MODEL ", "DROP [TEMPORARY] MODEL [IF EXISTS] name"),
    Form(Kind.UNDROP, r"UNDROP MODEL ", "UNDROP MODEL name"),
    Form(Kind.COMMENT, r"COMMENT ON MODEL ", "COMMENT ON MODEL name IS 'text' | NULL"),
    Form(Kind.SHOW_MODELS, r"SHOW MODELS ", "SHOW MODELS [IN namespace] [LIKE 'pattern']"),
    Form(Kind.SHOW_CREATE, r"SHOW CREATE MODEL ", "SHOW CREATE MODEL name [VERSION 'v']"),
    Form(Kind.SHOW_VERSIONS, r"SHOW (?:VERSIONS|MODEL VERSIONS) ", "SHOW VERSIONS IN MODEL name"),
    Form(Kind.SHOW_HEALTH, r"SHOW MODEL (?:HEALTH|STATUS) ", "SHOW MODEL HEALTH [LIKE 'pattern']"),
    Form(Kind.SHOW_PROPERTIES, r"SHOW MODEL PROPERTIES ", "SHOW MODEL PROPERTIES name [('key')]"),
    Form(Kind.SHOW_OTHER, r"SHOW MODEL ", "SHOW MODEL HEALTH | PROPERTIES | VERSIONS …"),
    # Delta reads DESCRIBE HISTORY model [LIMIT n] as a table's history, so a name has to follow.
    Form(Kind.HISTORY, rf"(?:DESCRIBE|DESC) HISTORY MODEL (?!LIMIT \d){_PART}", "DESCRIBE HISTORY MODEL name"),
    # Spark reads these as a column of a table called model.
    Form(
        Kind.DESCRIBE,
        rf"(?:DESCRIBE|DESC) (?:(?:EXTENDED|FORMATTED) MODEL|MODEL) {_NAME}(?:; )*$",
        "DESCRIBE MODEL [EXTENDED] name [VERSION 'v']",
        ambiguous=True,
    ),
    # These begin something that Spark itself understands about such a table.
    Form(
        Kind.DESCRIBE,
        rf"(?:DESCRIBE|DESC) (?:EXTENDED |FORMATTED )?MODEL (?!PARTITION \(|AS JSON|{_NAME}AS JSON){_PART}",
        "DESCRIBE MODEL [EXTENDED] name [VERSION 'v']",
    ),
    Form(Kind.TEST, r"TEST MODEL ", "TEST MODEL name [VERSION 'v'] [WITH 'text']"),
    Form(Kind.EXPLAIN, r"EXPLAIN AI ", "EXPLAIN AI [APPROXIMATE] SELECT …"),
    # GRANT SELECT ON model TO … is about a table called model.
    Form(Kind.GRANT, r"GRANT (?:\w+ |, )+?ON MODEL (?!TO )", "GRANT USE ON MODEL name TO principal"),
    Form(Kind.REVOKE, r"REVOKE (?:\w+ |, )+?ON MODEL (?!FROM )", "REVOKE USE ON MODEL name FROM principal"),
)

ROUTE_SYNTAX: Final = "CREATE TABLE [IF NOT EXISTS] name AS query VALIDATE column AGAINST 'schema' REJECTED INTO name"

_LOOK_AHEAD: Final = 16  # pieces; the longest lead is GRANT with a list of privileges
_COMPILED: Final = tuple((re.compile(form.lead), form) for form in FORMS)
_CTAS: Final = re.compile(r"CREATE (?:OR REPLACE )?TABLE ")


def recognise(text: str) -> Recognition | None:
    """Say whether a text is a statement about models, by its leading words only; never fails.

    The one exception is routing: CREATE TABLE is ours when ``VALIDATE column AGAINST 'schema'`` follows outside of
    brackets, which nothing in Spark's grammar allows.
    """
    lead = leading_words(text, _LOOK_AHEAD)
    for pattern, form in _COMPILED:
        if pattern.match(lead):
            return Recognition(form.kind, form.syntax, form.ambiguous)
    if _CTAS.match(lead) and find_routing(text) is not None:
        return Recognition(Kind.ROUTE, ROUTE_SYNTAX)
    return None


def is_model_statement(text: str) -> bool:
    """Say whether a text is ours, the ambiguous DESCRIBE included; see ``recognise``."""
    return recognise(text) is not None
