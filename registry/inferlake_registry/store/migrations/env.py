"""Runs migrations on the connection that ``store.database.upgrade`` gives."""

from alembic import context

from inferlake_registry.store.schema import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    # SQLite changes a table by making it anew.
    render_as_batch=True,
)
context.run_migrations()
