"""HTTP: decode, ask one service, encode; errors have one shape."""
