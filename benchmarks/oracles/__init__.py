"""Which oracle to use: costs, fits, held-out error and speed."""
