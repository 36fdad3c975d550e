"""EXPLAIN AI: what a query would ask of its models, read from Spark's plan and counted without a call."""
