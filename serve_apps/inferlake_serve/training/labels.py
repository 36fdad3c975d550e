"""The three answers of the session classifier and the text that the model gives for each."""

from __future__ import annotations

import json
from enum import StrEnum


class Label(StrEnum):
    """What a session is. Abnormal wins over pending: a failed payment that somebody reviews still failed."""

    NORMAL = "normal"  # an ordinary session, also one whose open question was settled
    ABNORMAL = "abnormal"  # something failed, broke or looks fraudulent, or the user met an error
    PENDING = "pending"  # someone or something has yet to decide, or work is still in process


def answer(label: Label) -> str:
    """Return the JSON text that the model is trained to give."""
    return json.dumps({"label": label.value})


def parse_answer(text: str) -> Label | None:
    """Return the label of an answer, or None where it is not exactly the JSON that was asked for."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return None
    if not isinstance(value, dict) or set(value) != {"label"}:
        return None
    try:
        return Label(value["label"])
    except ValueError:
        return None
