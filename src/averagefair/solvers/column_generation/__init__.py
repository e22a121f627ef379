"""Column generation: the fair learning problem as a linear program over the Learner's answers."""

from averagefair.solvers.column_generation.solver import ColumnGeneration

__all__ = ["ColumnGeneration"]
