"""What the registry can do, one use case a function: a transaction, the rules, and what is written down."""
