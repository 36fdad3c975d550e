"""Throws mutated statements at the language: whatever comes out is a statement, "not ours", or one family of errors.

    python tests/benchmarks/fuzz_language.py --count 1000000 --processes 2

The seeds are the titled texts of ``tests/fixtures``. A run is a function of its seed and count, so a finding can be
repeated. Prints one JSON object with the figures; ends with status 1 when anything was found.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pickle
import random
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from inferlake_sql.calls import find_calls
from inferlake_sql.errors import LanguageError
from inferlake_sql.grammar import is_model_statement
from inferlake_sql.parse import parse
from inferlake_sql.redact import redact
from inferlake_sql.render import render
from inferlake_sql.scan import Shape, find_unclosed, lexemes
from inferlake_sql.script import split_script

FIXTURES = Path(__file__).parents[1] / "fixtures"
BUDGET_S = 0.050  # for a model statement of 10 kB
LONG = 10_000  # characters
HEAD = 14

PIECES = (
    "'", '"', "`", "\\", "\0", "\n", "\r", ";", "--", "/*", "*/", "/*+", "(", ")", "[", "]", "{", "}", "<", ">", "=",
    "==", ",", ".", "..", "@", ":", "::", "?", "$", "$$", "%", "{{", "{#", "{%", "0", "1e999", "0x", "1L", "1.", ".5",
    "9" * 400, "\ud800", "\udfff", "\u2028", "\ufeff", "é", "e\u0301", "İ", "ß", "ﬁ", "😀", "NULL", "TRUE",
    "IF EXISTS", "MODEL", "VERSION", "SET", "PROPERTIES", "LOCATION", "TRAFFIC", "VALIDATE", "AGAINST",
    "REJECTED INTO", "'a'", "'{'", "'[[[['", "'http://'", "'http://[::1'", "'http://\u2100.example'", "r'", "x'",
    "n'", "ai_function(", "ARRAY<", "STRUCT<a:", "'request.x'='", "\\u0000", "\\ud800", "\\777", "'******'", "sk-x",
    "e9", "-", "+",
)  # fmt: skip


@dataclass(slots=True)
class Figures:
    """What a run saw."""

    texts: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    slowest: str = ""
    findings: list[str] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        self.texts += other.texts
        self.outcomes += other.outcomes
        self.findings += other.findings
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest

    def as_json(self) -> dict[str, object]:
        return {
            "texts": self.texts,
            "slowest_ms": round(self.slowest_s * 1_000, 2),
            "slowest_text": f"{len(self.slowest)} characters: {self.slowest[:60]!r}",
            "outcomes": dict(self.outcomes.most_common()),
            "findings": self.findings[:20],
        }


def seeds() -> list[str]:
    """Return the texts of the fixtures, without their titles and answers."""
    found = []
    for name in ("statements.sql", "refused_statements.sql", "not_ours.sql"):
        text = (FIXTURES / name).read_text(encoding="utf-8")
        blocks = re.split(r"^-- title: .*$", text, flags=re.MULTILINE)[1:]
        times = 1 if name == "not_ours.sql" else 3
        found += times * [
            re.sub(r"^-- (canonical|error): .*$", "", block, flags=re.MULTILINE).strip() for block in blocks
        ]
    return found


def mutate(text: str, other: str, random_: random.Random) -> str:
    """Return a text with one to six random changes; at most ``LONG`` characters."""
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        at = random_.randrange(len(text) + 1)
        if at < HEAD and random_.random() < 0.8:  # most changes leave the leading words, so that the text stays ours
            at = random_.randrange(min(HEAD, len(text)), len(text) + 1)
        end = min(len(text), at + random_.choice((1, 1, 2, 5, 20)))
        match random_.randrange(9):
            case 0:
                text = text[:at] + text[end:]
            case 1 | 2:
                text = text[:at] + random_.choice(PIECES) + text[at:]
            case 3:
                text = text[:at] + random_.choice(PIECES) + text[end:]
            case 4:
                text = text[:at] + text[at:end] * random_.choice((2, 3, 50, 500)) + text[end:]
            case 5:
                text = text[:at]
            case 6:
                text = text[:at] + other[random_.randrange(len(other) + 1) :]
            case 7:
                words = re.split(r"(\W)", text)
                left, right = random_.randrange(len(words)), random_.randrange(len(words))
                words[left], words[right] = words[right], words[left]
                text = "".join(words)
            case 8:
                text = text[:at] + chr(random_.randrange(0x11000)) + text[at:]
    return text[:LONG]


def judge(text: str, figures: Figures) -> None:
    """Put one text through everything that reads texts, and note what came out."""
    began = time.thread_time()  # the processor's time, free of what else the machine does
    try:
        outcome = _parse(text)
    except Exception as error:  # noqa: BLE001 - that there is none of another family is what is measured
        outcome = "finding"
        figures.findings.append(f"{type(error).__name__} at {text!r}"[:300])
    elapsed = time.thread_time() - began
    if elapsed > figures.slowest_s:
        figures.slowest_s, figures.slowest = elapsed, text
    figures.texts += 1
    figures.outcomes[outcome] += 1
    try:
        _check_the_rest(text, outcome)
    except Exception as error:  # noqa: BLE001 - as above
        figures.findings.append(f"{type(error).__name__}: {error} at {text!r}"[:300])


def _parse(text: str) -> str:
    try:
        return "not ours" if parse(text) is None else "statement"
    except LanguageError as error:
        return error.code


def _check_the_rest(text: str, outcome: str) -> None:
    assert is_model_statement(text) == (outcome != "not ours"), "recognised and parsed disagree"
    assert len(redact(text)) == len(text), "masking changed the length"
    unclosed = next((lexeme.start for lexeme in lexemes(text) if lexeme.shape is Shape.UNCLOSED), None)
    assert find_unclosed(text) == unclosed, "two ways to find an open quote disagree"
    if outcome == "statement":
        statement = parse(text)
        assert statement is not None
        revealed = render(statement, reveal=True)
        again = parse(revealed)
        assert again is not None and render(again, reveal=True) == revealed, "printed text means something else"
    elif outcome != "not ours":
        _check_error(text)
    for step in (split_script, find_calls):
        with contextlib.suppress(LanguageError):
            list(step(text))


def _check_error(text: str) -> None:
    try:
        parse(text)
    except LanguageError as error:
        assert "line" in error.fields, "an error without its place"
        assert str(pickle.loads(pickle.dumps(error))) == str(error), "an error that cannot travel"
        json.dumps(dict(error.fields))


def fuzz(count: int, seed: int) -> Figures:
    """Judge ``count`` mutations of the fixtures; the same seed gives the same texts."""
    random_ = random.Random(seed)
    texts = seeds()
    figures = Figures()
    for _ in range(count):
        judge(mutate(random_.choice(texts), random_.choice(texts), random_), figures)
    return figures


def long_statements() -> list[str]:
    """Return statements of 10 kB each, right ones and wrong ones, every kind of repetition among them."""
    head = "CREATE MODEL m LOCATION 'http://h/v1' "

    def fill(before: str, piece: str, after: str) -> str:
        return before + piece * ((LONG - len(before) - len(after)) // len(piece)) + after

    numbered = ", ".join(f"'tag.k{i}' = 'v''{i}'" for i in range(450))
    keys = ", ".join(f"'tag.k{i}'" for i in range(900))
    return [
        f"{head}PROPERTIES ({numbered})",
        f"{head}PROPERTIES ({numbered}, 'nonsense' = 1)",
        f"ALTER MODEL m UNSET PROPERTIES ({keys})",
        fill(f"{head}COMMENT '", "it''s ", "'"),
        fill(f"{head}COMMENT '", "\\\\\\'", "'"),
        fill(f"{head}COMMENT '", "x", ""),
        fill(f"{head}INPUT (", "a ARRAY<MAP<STRING, INT>>, ", "a INT)"),
        fill(head, "/* x */ ", ""),
        fill(head, "-- '\n", ""),
        fill(head, "/*", ""),
        fill(f"{head}PROPERTIES (api.key = ", "a-b.", ")"),
        fill("ALTER MODEL m SET request.x = '[", "1,", "1]'"),
        fill("ALTER MODEL m SET request.x = '[", "[1],", "1"),
        fill("ALTER MODEL m SET TRAFFIC ('a' = 0", ", b = 0", ")"),
        fill("ALTER MODEL ", "a.", "a ENABLE"),
        fill("DROP MODEL `", "``", "`"),
        fill("EXPLAIN AI SELECT ", "ai_function('m', x), ", "1"),
        fill("EXPLAIN AI SELECT ", "(", ""),
        fill("CREATE TABLE t AS SELECT ", "validate, ", "1 FROM b VALIDATE a AGAINST '{}' REJECTED INTO r"),
        fill("CREATE TABLE t AS SELECT a FROM b VALIDATE a AGAINST '[", "{},", "1]' REJECTED INTO r"),
        fill("CREATE MODEL m LOCATION 'http://", "a.", "a/v1'"),
        fill("CREATE MODEL m LOCATION 'http://h/?", "a=b&", "'"),
        fill("GRANT ", "USE, ", "USE ON MODEL m TO p"),
        fill("COMMENT ON MODEL m IS ", "?", ""),
        fill("SHOW MODEL PROPERTIES m (", "'", ""),
        fill("ALTER MODEL m SET qps.limit = ", "1", "x"),
        fill("ALTER MODEL m SET qps.limit = ", "1.", "x"),
        fill("ALTER MODEL m SET timeout.ms = '", "1", "x'"),
        fill("ALTER MODEL m SET request.x = '", "9", "'"),
        fill("ALTER MODEL m SET ", "api.", "key = 1"),
        fill("ALTER MODEL m SET api.key = 'secret://", "a/", "'"),
        fill(f"{head}VERSION '", "v", "'"),
        fill("CREATE MODEL m LOCATION 'http://h/", "v1/", "x'"),
    ]


def time_long_statements(rounds: int = 5) -> Figures:
    """Judge the long statements; a statement's time is the best of its rounds."""
    figures = Figures()
    for text in long_statements():
        best: Figures | None = None
        for _ in range(rounds):
            one = Figures()
            judge(text, one)
            best = one if best is None or one.slowest_s < best.slowest_s else best
        assert best is not None
        figures.add(best)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    shares = [options.count // options.processes] * options.processes
    began = time.perf_counter()
    total = Figures()
    with ProcessPoolExecutor(options.processes) as pool:
        for figures in pool.map(fuzz, shares, range(options.seed, options.seed + options.processes)):
            total.add(figures)
    long = time_long_statements()
    report = {
        "wall_s": round(time.perf_counter() - began, 1),
        "mutations": total.as_json(),
        "statements_of_10_kB": long.as_json(),
        "budget_ms": BUDGET_S * 1_000,
    }
    print(json.dumps(report, indent=2, ensure_ascii=True))  # noqa: T201 - the figures are the output
    return 1 if total.findings or long.findings or long.slowest_s > BUDGET_S else 0


if __name__ == "__main__":
    sys.exit(main())
