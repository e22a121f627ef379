"""Choosing: one classifier for each task, so that the decisions made keep the promise."""

from averagefair.choosing.balance import Balance
from averagefair.choosing.fixed import fix_decisions
from averagefair.choosing.new_tasks import DEFAULT_INFLUENCE, fix_new_tasks

__all__ = ["DEFAULT_INFLUENCE", "Balance", "fix_decisions", "fix_new_tasks"]
