"""Registers a served model by the statement that a person would type."""

from __future__ import annotations

from inferlake_registry.client import Client
from inferlake_sql.names import quote_part
from inferlake_sql.render import quote_string
from inferlake_sql.secret import Secret


def register(registry_url: str, name: str, url: str, token: Secret | None = None) -> str:
    """Tell a registry where a model is; returns what it did. A model of that name is pointed at the new address."""
    location = quote_string(f"{url}/v1/chat/completions")
    kind = "'model.type' = 'chat'"
    create = f"CREATE MODEL IF NOT EXISTS {quote_part(name)} USING 'ray-serve' LOCATION {location} PROPERTIES ({kind})"
    with Client(registry_url, token) as registry:
        created = registry.execute(create)
        if created.rows[0][0] != "unchanged":
            return str(created.rows[0][3])
        moved = registry.execute(f"ALTER MODEL {quote_part(name)} SET LOCATION {location}")
        return str(moved.rows[0][3])
