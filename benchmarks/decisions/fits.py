"""One fit gives both ways to decide: fixed decisions, and draws by the chances of ``mixture_``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

from averagefair import AverageFairClassifier, RegressionOracle, pose
from averagefair.datasets import Split

LEAST_SQUARES, DEFAULT = "least squares", "default"
ORACLES = (LEAST_SQUARES, DEFAULT)


@dataclass(frozen=True)
class Fitted:
    """A model with fixed decisions, and where its time went.

    Attributes
    ----------
    model : AverageFairClassifier
    seconds : float
        Of the fit without the choice of fixed decisions.
    choice_seconds : float
        Of the choice.
    """

    model: AverageFairClassifier
    seconds: float
    choice_seconds: float


def fit(data: Split, oracle: str, alpha: float) -> Fitted:
    """Fit with fixed decisions, without the look at the unconstrained model; time the choice.

    Parameters
    ----------
    data : Split
    oracle : str
        One of ``ORACLES``.
    alpha : float
    """
    spent = []
    choose = pose.fix_decisions

    def timed(*args: Any) -> Any:
        start = perf_counter()
        chosen = choose(*args)
        spent.append(perf_counter() - start)
        return chosen

    model = AverageFairClassifier(
        alpha=alpha,
        oracle=RegressionOracle() if oracle == LEAST_SQUARES else None,
        random_state=0,
        look_first=False,
        decisions="fixed",
    )
    with warnings.catch_warnings(), patch.object(pose, "fix_decisions", timed):
        warnings.simplefilter("ignore")  # the records say what was reached
        start = perf_counter()
        model.fit(data.X, data.Y)
        seconds = perf_counter() - start
    return Fitted(model, seconds - sum(spent), sum(spent))
