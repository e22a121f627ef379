"""Cochran's Q: are people exchangeable within each task? An extra, and not the question.

Similar people err together on the same task, so that people with equal rates need not be
exchangeable: then Q rejects too often (0.13 for 0.05 among 200 people, 0.44 among 100,000).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from scipy.special import chdtrc

from averagefair.auditing.learned import REASON
from averagefair.auditing.tally import Tally


@dataclass(frozen=True)
class Exchangeability:
    """Cochran's Q over tasks, of complete tables.

    Attributes
    ----------
    q : float
        (n - 1) sum_i (T_i - Tbar)^2 / sum_ij (L_ij - Lbar_j)^2; NaN where cells are left out, or
        where no task tells people apart.
    freedom : int
        n - 1.
    p : float
        By the chi-squared distribution.
    reason : str
        Why there is none, where there is none.
    """

    q: float
    freedom: int
    p: float
    reason: str = ""


NOT_ASKED = Exchangeability(nan, 0, nan, REASON)
"""Of tasks that were learned from."""


def cochran(tally: Tally) -> Exchangeability:
    """Return Cochran's Q."""
    n = len(tally.counted)
    inner = tally.squares - float(tally.task_wrong @ tally.task_wrong) / n
    if not tally.complete:
        return Exchangeability(nan, n - 1, nan, "cells are left out; Q is for complete tables")
    if n < 2 or inner <= 1e-12 * tally.squares:
        return Exchangeability(nan, n - 1, nan, "no task tells people apart")
    q = (n - 1) * float(np.square(tally.wrong - tally.wrong.mean()).sum()) / inner
    return Exchangeability(q, n - 1, float(chdtrc(n - 1, q)))
