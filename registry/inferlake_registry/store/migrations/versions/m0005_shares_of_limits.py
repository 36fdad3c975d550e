"""Which workers have a share of a limit for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("lease_holder") as table:
        table.add_column(sa.Column("share", sa.Double(), nullable=False, server_default="0"))
        table.add_column(sa.Column("share_until", sa.Double(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("lease_holder") as table:
        table.drop_column("share_until")
        table.drop_column("share")
