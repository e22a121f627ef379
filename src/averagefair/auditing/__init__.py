"""The audit: how unfair decisions are, to whom, and whether it is more than chance."""

from averagefair.auditing.audit import Audit, audit

__all__ = ["Audit", "audit"]
