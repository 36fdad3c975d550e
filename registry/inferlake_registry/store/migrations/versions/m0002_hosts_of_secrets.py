"""A secret belongs to a host: that of the version which was active when the column came."""

from urllib.parse import urlsplit

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLE = "model_property"


def upgrade() -> None:
    with op.batch_alter_table(_TABLE) as table:
        table.add_column(sa.Column("host", sa.String(), nullable=False, server_default=""))
        table.drop_constraint(op.f("pk_model_property"), type_="primary")
        table.create_primary_key(op.f("pk_model_property"), ["model_id", "key", "host"])
    _bind_secrets()
    with op.batch_alter_table(_TABLE) as table:
        table.alter_column("host", server_default=None)


def _bind_secrets() -> None:
    properties = sa.table(
        _TABLE,
        sa.column("model_id"),
        sa.column("key"),
        sa.column("secret"),
        sa.column("reference"),
        sa.column("host"),
    )
    activation = sa.table("activation", *map(sa.column, ("model_id", "ordinal", "version", "undone_at")))
    version = sa.table("model_version", *map(sa.column, ("model_id", "version", "location")))
    active = (
        sa.select(activation.c.model_id, version.c.location)
        .join(
            version,
            sa.and_(version.c.model_id == activation.c.model_id, version.c.version == activation.c.version),
        )
        .where(activation.c.undone_at.is_(None))
        .order_by(activation.c.ordinal)
    )
    connection = op.get_bind()
    is_header = sa.or_(properties.c.key == "api.key", properties.c.key.startswith("header."))
    is_secret = sa.or_(properties.c.secret.is_not(None), properties.c.reference.is_not(None))
    # The last activation of a model comes last and stays.
    for model_id, location in connection.execute(active).all():
        connection.execute(
            sa.update(properties)
            .where(properties.c.model_id == model_id, is_header, is_secret)
            .values(host=urlsplit(location).hostname or "")
        )


def downgrade() -> None:
    op.execute("DELETE FROM model_property WHERE host <> ''")
    with op.batch_alter_table(_TABLE) as table:
        table.drop_constraint(op.f("pk_model_property"), type_="primary")
        table.create_primary_key(op.f("pk_model_property"), ["model_id", "key"])
        table.drop_column("host")
