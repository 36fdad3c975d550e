"""A run whose endpoint reports no usage has unknown tokens, and not none."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TOKENS = ("prompt_tokens", "completion_tokens")


def upgrade() -> None:
    with op.batch_alter_table("run") as run:
        for name in _TOKENS:
            run.alter_column(name, existing_type=sa.Integer(), nullable=True)


def downgrade() -> None:
    op.execute("UPDATE run SET prompt_tokens = coalesce(prompt_tokens, 0)")
    op.execute("UPDATE run SET completion_tokens = coalesce(completion_tokens, 0)")
    with op.batch_alter_table("run") as run:
        for name in _TOKENS:
            run.alter_column(name, existing_type=sa.Integer(), nullable=False)
