"""The solvers: one round, whole runs, growth and memory."""
