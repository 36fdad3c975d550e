"""A model that is up registers itself, by the statements that a person would type."""

from __future__ import annotations

from typing import Final

from inferlake_registry.client import Client
from inferlake_sql.names import quote_part
from inferlake_sql.render import quote_string
from inferlake_sql.secret import Secret

CHAT_PATH: Final = "/v1/chat/completions"


def create_statement(name: str, url: str) -> str:
    """Return the CREATE MODEL of a model that is served under its own name at ``url``.

    Temperature 0 gives the same label each time, and makes equal requests worth storing.
    """
    properties = {"model.type": "chat", "model.name": name, "request.temperature": "0"}
    listed = ", ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in properties.items())
    location = quote_string(url + CHAT_PATH)
    return f"CREATE MODEL IF NOT EXISTS {quote_part(name)} USING 'ray-serve' LOCATION {location} PROPERTIES ({listed})"


def announce(registry_url: str, name: str, url: str, token: Secret | None = None) -> str:
    """Register the model, or point one of that name to where it is now; return the registry's sentence about it.

    Raises what the registry raises.
    """
    with Client(registry_url, token) as registry:
        done = registry.execute(create_statement(name, url))
        if done.rows[0][0] == "unchanged":
            location = quote_string(url + CHAT_PATH)
            done = registry.execute(f"ALTER MODEL {quote_part(name)} SET LOCATION {location}")
        return str(done.rows[0][3])
