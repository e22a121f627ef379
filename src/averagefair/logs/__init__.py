"""Logs: long tables of events, each one decision about a person on a task.

:class:`DecisionLog` keeps sums for each person and task, never the events. Sums of parts can be
added in any order, so a log can be extended month by month.
"""

from averagefair.logs.labels import labels_from_log
from averagefair.logs.log import DecisionLog, audit_log

__all__ = ["DecisionLog", "audit_log", "labels_from_log"]
