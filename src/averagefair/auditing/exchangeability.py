"""Cochran's Q: are people exchangeable within each task? Equal rates do not imply this.

Similar people make the same mistakes, so people with equal rates need not be exchangeable. Then Q
rejects too often. At level 0.05, it rejected 13% of the time with 200 people, and 44% with 100,000.
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
    """Cochran's Q over tasks, for complete tables.

    Attributes
    ----------
    q : float
        (n - 1) sum_i (T_i - Tbar)^2 / sum_ij (L_ij - Lbar_j)^2; NaN if some cells do not
        count, or if no task distinguishes people.
    freedom : int
        n - 1.
    p : float
        The p-value, from the chi-squared distribution.
    reason : str
        Why Q is NaN; empty otherwise.
    """

    q: float
    freedom: int
    p: float
    reason: str = ""


NOT_COMPUTED = Exchangeability(nan, 0, nan, REASON)
"""The result for learned tasks, which the model was trained on."""


def cochran(tally: Tally) -> Exchangeability:
    """Return Cochran's Q."""
    n = len(tally.counted)
    inner = tally.squares - float(tally.task_wrong @ tally.task_wrong) / n
    if not tally.complete:
        return Exchangeability(nan, n - 1, nan, "some cells do not count; Q needs a complete table")
    if n < 2 or inner <= 1e-12 * tally.squares:
        return Exchangeability(nan, n - 1, nan, "no task distinguishes people")
    q = (n - 1) * float(np.square(tally.wrong - tally.wrong.mean()).sum()) / inner
    return Exchangeability(q, n - 1, float(chdtrc(n - 1, q)))
