"""Solvers of the game between Learner and Auditor, one family a file."""

from averagefair.solvers.exponentiated_gradient import ExponentiatedGradient
from averagefair.solvers.iterate import Round, Solution, StopReason

__all__ = ["ExponentiatedGradient", "Round", "Solution", "StopReason"]
