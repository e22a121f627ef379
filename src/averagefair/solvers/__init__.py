"""Solvers of the fair learning problem, one family in each file or folder."""

from averagefair.game.solution import Round, Solution, StopReason
from averagefair.solvers.column_generation import ColumnGeneration
from averagefair.solvers.exponentiated_gradient import ExponentiatedGradient

__all__ = ["ColumnGeneration", "ExponentiatedGradient", "Round", "Solution", "StopReason"]
