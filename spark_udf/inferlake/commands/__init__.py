"""The subcommands that need no more than the base: each is one module here."""
