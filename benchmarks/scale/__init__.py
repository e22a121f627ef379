"""Large tables: one machine, a GPU, scikit-learn oracles, a million decisions."""
