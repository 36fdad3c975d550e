"""What each reason for a rejected row means, in a sentence."""

from __future__ import annotations

from typing import Final

MEANINGS: Final = {
    "no_output": "There is no output to check.",
    "code_fence": "The JSON is wrapped in a Markdown fence.",
    "trailing_text": "Something follows the JSON.",
    "not_json": "The output is not JSON.",
    "duplicate_key": "A key of the JSON occurs twice.",
    "not_finite": "A number of the JSON is NaN or infinite.",
    "too_deep": "The JSON is nested too deeply.",
    "validators_disagree": "Two validators judge the output differently.",
    "schema": "The output does not fit the schema.",
    "null_input": "Every input of the row is null, so no call was made.",
    "media": "An image or another file of the row could not be read.",
    "timeout": "No answer came within the row's time.",
    "rate_limited": "The endpoint kept refusing for too many requests.",
    "auth": "The endpoint refused the key.",
    "not_found": "The endpoint knows no such model or path.",
    "bad_request": "The endpoint refused the request.",
    "context_length": "The input is longer than the model can read.",
    "content_filter": "The endpoint's content filter stopped the answer.",
    "truncated": "The answer was cut at its longest permitted length.",
    "server": "The endpoint failed.",
    "network": "The endpoint could not be reached.",
    "decode": "The endpoint's answer could not be read.",
    "empty": "The model answered with nothing.",
    "cancelled": "The job ended before the call did.",
}


def meaning_of(reason: str) -> str:
    """Return the sentence for a reason; one that a newer client reports is its own explanation."""
    return MEANINGS.get(reason, reason.replace("_", " ").capitalize() + ".")
