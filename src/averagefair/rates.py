"""The rates: which mistakes count against an individual, and how they add up.

A rate gives each cell (person, task) a weight by its label: e = ``negatives`` where y = 0, e =
``positives`` where y = 1, e = 0 where unobserved. With task weights b (summing to 1) and

    rho_i = sum_j b_j e_ij,         R_i = (1 / rho_i) sum_j b_j e_ij P[h_j(x_i) != y_ij],

the error rate is (1, 1), the false-positive rate (1, 0), the false-negative rate (0, 1):
Definition "Individual and Overall Error Rates" and, in the appendix, "Individual False
Positive/Negative Error Rates". Where rho_i = 0 the rate of person i is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from averagefair.checks import whole_number
from averagefair.errors import InputError
from averagefair.protocols import Rate
from averagefair.tables import read_numbers

_PARAMETERS = """

Parameters
----------
rho : array-like of shape (n,), optional
    Outside estimates (the paper's rho tilde), made without looking at the training labels: how
    much of *all* tasks counts for each individual, a number in (0, 1]. Tasks are weighted as in
    the fit, and a blank is a task that does not count. The Learner divides by them in place of the
    shares seen in training (the default). What is measured always goes by the labels at hand.
holdout_tasks : int, default 0
    Set aside this many tasks, drawn at random, to make those estimates (the batch F_0 of
    FPAIF-Learn). They play no part in the game; the mapping then serves them like any new task.
    Whoever has nothing that counts among them is taken to have half a task.
"""

_LEAST_RHO = 1e-100


@dataclass(frozen=True, eq=False)
class _LabelRate:
    """A rate whose cells count by their label, and where its rho comes from."""

    negatives: ClassVar[float]
    positives: ClassVar[float]
    name: ClassVar[str]

    rho: ArrayLike | None = None
    holdout_tasks: int = 0

    def __init_subclass__(cls) -> None:
        cls.__doc__ = f"{cls.__doc__ or cls.__name__}{_PARAMETERS}"

    def __post_init__(self) -> None:
        k = whole_number("holdout_tasks", self.holdout_tasks, least=0)
        if self.rho is None:
            return
        if k:
            raise InputError(
                "give either rho or holdout_tasks, not both: each says where rho comes from."
            )
        rule = (
            "rho must be one number in (0, 1] for each individual, the share of tasks in which a "
            "mistake would count"
        )
        try:
            rho = read_numbers(self.rho, "rho")
        except InputError as error:
            raise InputError(f"{rule}; {error}") from None
        if rho.ndim != 1 or not ((rho > 0) & (rho <= 1)).all():
            raise InputError(
                f"{rule}; got shape {rho.shape} and values from {float(rho.min(initial=np.inf))!r} "
                f"to {float(rho.max(initial=-np.inf))!r}."
            )
        if rho.size and rho.min() < _LEAST_RHO:
            raise InputError(
                f"{rule}, and no less than {_LEAST_RHO:g}, since it is divided by; got "
                f"{float(rho.min())!r}."
            )
        rho.flags.writeable = False
        object.__setattr__(self, "rho", rho)

    def with_rho(self, rho: ArrayLike) -> Self:
        """Return the same rate with these outside estimates."""
        return replace(self, rho=rho, holdout_tasks=0)


class ErrorRate(_LabelRate):
    """Every observed cell counts: AIF, the notion of the paper's body."""

    negatives, positives, name = 1.0, 1.0, "error"


class FalsePositiveRate(_LabelRate):
    """Only cells with label 0 count: FPAIF, the notion of the paper's appendix."""

    negatives, positives, name = 1.0, 0.0, "false_positive"


class FalseNegativeRate(_LabelRate):
    """Only cells with label 1 count: the false-negative twin of FPAIF."""

    negatives, positives, name = 0.0, 1.0, "false_negative"


RATES: dict[str, type[_LabelRate]] = {
    kind.name: kind for kind in (ErrorRate, FalsePositiveRate, FalseNegativeRate)
}


# What others call these rates, or the shares that are 1 minus them.
_OTHER_NAMES = {
    "error": ("accuracy", "acc", "err", "error_rate", "errors", "misclassification", "zero_one"),
    "false_positive": ("fpr", "fp", "fall_out", "type_1", "tnr", "specificity", "fpaif"),
    "false_negative": ("fnr", "fn", "miss_rate", "type_2", "tpr", "recall", "sensitivity"),
}


def meant(name: str) -> str | None:
    """Return the rate that a word probably means; None where nothing is near.

    Examples
    --------
    >>> meant("fpr"), meant("recall"), meant("false-negatives"), meant("speed")
    ('false_positive', 'false_negative', 'false_negative', None)
    """
    word = name.strip().lower().replace("-", "_").replace(" ", "_")
    for rate, others in _OTHER_NAMES.items():
        if word in others:
            return rate
    near = get_close_matches(word.removesuffix("_rate"), RATES, 1)
    return near[0] if near else None


def spoken(name: str) -> str:
    """Return a rate's name as one says it: "false-positive"."""
    return name.replace("_", "-")


def resolve_rate(rate: str | Rate) -> Rate:
    """Return the rate of that name, or the rate itself.

    Examples
    --------
    >>> resolve_rate("error").name
    'error'
    """
    if isinstance(rate, str) and rate in RATES:
        return RATES[rate]()
    if isinstance(rate, str | type) or not isinstance(rate, Rate):
        near = meant(rate) if isinstance(rate, str) else None
        raise InputError(
            f"`rate` must be one of {sorted(RATES)}, a Rate, or a list of these; got {rate!r}."
            + (f" Did you mean {near!r}?" if near else "")
        )
    weights = rate.negatives, rate.positives
    # Above 1 a share rho would be no share; below 0 a mistake would count in somebody's favour.
    if not all(0.0 <= weight <= 1.0 for weight in weights) or not any(weights):
        raise InputError(
            "a rate must weigh labels 0 (negatives) and labels 1 (positives) by numbers in [0, 1], "
            f"not both 0; {rate.name!r} weighs them {weights[0]!r} and {weights[1]!r}. Only their "
            "ratio matters: divide both by the larger."
        )
    return rate


def resolve_rates(rates: str | Rate | Sequence[str | Rate]) -> tuple[Rate, ...]:
    """Return the rates named: one, or several that are to hold together.

    Examples
    --------
    >>> [rate.name for rate in resolve_rates(["false_positive", "false_negative"])]
    ['false_positive', 'false_negative']
    """
    if not isinstance(rates, list | tuple):
        return (resolve_rate(rates),)  # type: ignore[arg-type]
    found = tuple(map(resolve_rate, rates))
    names = [rate.name for rate in found]
    if not names or len(set(names)) < len(names):
        raise InputError(f"a list of rates must name at least one, and none twice; got {names}.")
    return found
