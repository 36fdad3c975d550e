"""From answers to accepted and rejected rows: one evaluation, one write, one metadata change."""
