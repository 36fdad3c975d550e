"""The statements and the schema of the demo: what one would type, with only the endpoint's address filled in."""

from __future__ import annotations

from typing import Final

MODEL: Final = "llm_intent_classifier"
NEW_VERSION: Final = "2.1"

SET_VERSION: Final = f"ALTER MODEL {MODEL} SET VERSION {NEW_VERSION}"
FIRST_CALL: Final = f"SELECT ai_function('{MODEL}', 'test input')"

# A label is required: without that an empty object would be a valid answer.
SCHEMA: Final = """\
{"type": "object",
 "properties": {"label": {"enum": ["normal", "abnormal", "pending"]}},
 "required": ["label"]}"""

# A label is short; a model that was left free may go on talking, and would be paid for it.
MAX_TOKENS: Final = 64

# Only where the model is left free; as people let models talk who want variety.
FREE_TEMPERATURE: Final = 1.5

PIPELINE: Final = f"""\
schema = '''{SCHEMA}'''

labelled = sessions.select(
    "session_id",
    F.col("events"),
    F.col("media_url"),
    F.ai_function(
        model="{MODEL}",
        input_columns=["events", "media_url"],
        output_type=StringType(),
        timeout_ms=30000,
        options={{"max_tokens": {MAX_TOKENS}}},
        returns="struct",
    ).alias("ai_output"),
)
routed = inferlake.route_rejected(labelled, "ai_output", schema)"""


def create_model(location: str) -> str:
    """Return the statement that registers the model at an address."""
    return f"""\
CREATE MODEL {MODEL}
USING 'ray-serve'
LOCATION '{location}'
PROPERTIES (
'model.type' = 'chat',
'api.key' = 'sk-xxx',
'timeout.ms' = '30000'
)"""
