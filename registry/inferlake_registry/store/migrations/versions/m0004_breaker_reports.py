"""What workers say about endpoints that they have stopped calling."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "breaker_report",
        sa.Column("model_id", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["model.id"], name=op.f("fk_breaker_report_model_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("model_id", "holder", "address", name=op.f("pk_breaker_report")),
    )


def downgrade() -> None:
    op.drop_table("breaker_report")
