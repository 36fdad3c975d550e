"""The outgoing side of the registry: which addresses may be asked, and how an endpoint is asked for its health."""
