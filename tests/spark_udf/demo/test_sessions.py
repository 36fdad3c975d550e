"""The demo's input: what the file promises to hold, and that it is what the script makes."""

from __future__ import annotations

import json
from collections import Counter

from inferlake.demo.make_sessions import HERE, records

ROWS = [json.loads(line) for line in (HERE / "sessions.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_file_is_what_the_script_makes() -> None:
    assert list(records()) == ROWS


def test_the_file_holds_every_kind_of_trouble() -> None:
    assert len(ROWS) >= 600
    assert len({row["session_id"] for row in ROWS}) == len(ROWS)
    null = [row for row in ROWS if row["events"] is None]
    assert {row["media_url"] is None for row in null} == {True, False}
    assert sum(row["events"] == [] for row in ROWS) == 10
    assert sum(len(row["events"] or ()) >= 120 for row in ROWS) == 14
    contents = Counter(json.dumps([row["events"], row["media_url"]]) for row in ROWS if row["events"])
    assert sum(count - 1 for count in contents.values()) == 14


def test_every_label_and_every_script_occurs() -> None:
    assert {row["expected"] for row in ROWS} == {"normal", "abnormal", "pending", None}
    text = json.dumps(ROWS, ensure_ascii=False)
    for sample in (
        "微信",
        "Fertig",
        "¡Qué",
        "Où est",
        "ログイン",
        "تم الدفع",
        "धन्यवाद",
        "👩‍👩‍👧‍👦",
        "\\n",
        '\\"',
        "<script>",
    ):
        assert sample in text


def test_no_slot_is_left_unfilled() -> None:
    messages = [event["message"] or "" for row in ROWS for event in row["events"] or ()]
    assert not [text for text in messages if "{item}" in text or "{price}" in text or "{person}" in text]
