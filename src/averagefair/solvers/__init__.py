"""Solvers of the fair learning problem, one family a file."""

from averagefair.solvers.column_generation import ColumnGeneration
from averagefair.solvers.exponentiated_gradient import ExponentiatedGradient
from averagefair.solvers.iterate import Round, Solution, StopReason

__all__ = ["ColumnGeneration", "ExponentiatedGradient", "Round", "Solution", "StopReason"]
