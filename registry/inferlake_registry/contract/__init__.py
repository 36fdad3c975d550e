"""What goes over the wire between the registry and its callers: plain values, no web framework, no database."""
