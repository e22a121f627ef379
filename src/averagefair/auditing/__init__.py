"""The audit: how unfair decisions are, to whom, and whether that is more than chance."""

from averagefair.auditing.assessment import Verdict
from averagefair.auditing.audit import audit
from averagefair.auditing.comparison import Comparison, compare
from averagefair.auditing.drift import Drift, drift
from averagefair.auditing.result import Audit

__all__ = ["Audit", "Comparison", "Drift", "Verdict", "audit", "compare", "drift"]
