"""What people look at: lists in pages of 50 by key, counts for their filters; only stored state, never an endpoint."""
