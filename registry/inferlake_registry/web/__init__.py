"""The dashboard: pages drawn on the server, over the same services as the API."""
