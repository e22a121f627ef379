"""The rates: which mistakes count against an individual, and how they add up.

A rate gives each cell (person, task) a weight by its label: e = ``negatives`` where y = 0, e =
``positives`` where y = 1, e = 0 where unobserved. Task weights b sum to 1. The rate of person i is

    R_i = (1 / rho_i) sum_j b_j e_ij P[h_j(x_i) != y_ij]   with   rho_i = sum_j b_j e_ij.

The pair (``negatives``, ``positives``) is (1, 1) for the error rate, (1, 0) for the false-positive
rate and (0, 1) for the false-negative rate. The paper has these rates in Definition "Individual and
Overall Error Rates" and, in the appendix, "Individual False Positive/Negative Error Rates". Where
rho_i = 0 the rate of person i is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from averagefair._util.checks import whole_number
from averagefair.errors import InputError
from averagefair.game.protocols import Rate
from averagefair.people.frames import read_numbers

_PARAMETERS = """

Parameters
----------
rho : array-like of shape (n,), optional
    Outside estimates (the paper's rho tilde), made without the training labels: the share of *all*
    tasks that counts for each individual, in (0, 1]. Tasks are weighted as in the fit, and a blank
    is a task that does not count. The Learner divides by these estimates. Without them, the Learner
    divides by the shares in the training labels. Measurements always use the labels themselves.
holdout_tasks : int, default 0
    Set aside this many tasks, drawn at random, to make the estimates (the batch F_0 of
    FPAIF-Learn). These tasks take no part in the game; the mapping makes their classifiers, as for
    any new task. A person for whom none of these tasks counts gets the share of half a task.
"""

_LEAST_RHO = 1e-100


@dataclass(frozen=True, eq=False)
class _LabelRate:
    """A rate whose cells count by their label, and the source of its rho."""

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
            raise InputError("give either rho or holdout_tasks, not both: each is a source of rho.")
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
                f"{rule}, and at least {_LEAST_RHO:g}, since costs are divided by rho; got "
                f"{float(rho.min())!r}."
            )
        rho.flags.writeable = False
        object.__setattr__(self, "rho", rho)

    def with_rho(self, rho: ArrayLike) -> Self:
        """Return the same rate with these outside estimates."""
        return replace(self, rho=rho, holdout_tasks=0)


class ErrorRate(_LabelRate):
    """Every observed cell counts: AIF, the definition in the paper's main text."""

    negatives, positives, name = 1.0, 1.0, "error"


class FalsePositiveRate(_LabelRate):
    """Only cells with label 0 count: FPAIF, the definition in the paper's appendix."""

    negatives, positives, name = 1.0, 0.0, "false_positive"


class FalseNegativeRate(_LabelRate):
    """Only cells with label 1 count: the false-negative twin of FPAIF."""

    negatives, positives, name = 0.0, 1.0, "false_negative"


RATES: dict[str, type[_LabelRate]] = {
    kind.name: kind for kind in (ErrorRate, FalsePositiveRate, FalseNegativeRate)
}


# Other names of these rates, and of 1 minus these rates.
_OTHER_NAMES = {
    "error": ("accuracy", "acc", "err", "error_rate", "errors", "misclassification", "zero_one"),
    "false_positive": ("fpr", "fp", "fall_out", "type_1", "tnr", "specificity", "fpaif"),
    "false_negative": ("fnr", "fn", "miss_rate", "type_2", "tpr", "recall", "sensitivity"),
}


def meant(name: str) -> str | None:
    """Return the rate that a word probably means, or None.

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
    """Return a rate's name as written in a sentence: "false-positive"."""
    return name.replace("_", "-")


def resolve_rate(rate: str | Rate) -> Rate:
    """Return the rate with this name, or the rate itself.

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
    # With a weight above 1, rho would not be a share. With one below 0, mistakes would lower rates.
    if not all(0.0 <= weight <= 1.0 for weight in weights) or not any(weights):
        raise InputError(
            "a rate must weigh labels 0 (negatives) and labels 1 (positives) by numbers in [0, 1], "
            f"not both 0; {rate.name!r} weighs them {weights[0]!r} and {weights[1]!r}. Only their "
            "ratio matters: divide both by the larger."
        )
    return rate


@dataclass(frozen=True)
class Rates(Sequence[Rate]):
    """The rates that a fit equalises, each around its own common rate.

    Attributes
    ----------
    each : tuple of Rate
    listed : bool
        Whether the user gave a list. If so, results have one column (or entry) for each rate, even
        for a list of one rate. Otherwise they have the shape of a single rate.
    """

    each: tuple[Rate, ...]
    listed: bool = False

    @classmethod
    def of(cls, rate: str | Rate | Sequence[str | Rate]) -> Rates:
        """Return the rates that a user gave.

        Parameters
        ----------
        rate : str, Rate, or list of these; or Rates

        Examples
        --------
        >>> [rate.name for rate in Rates.of(["false_positive", "false_negative"])]
        ['false_positive', 'false_negative']
        """
        if isinstance(rate, Rates):
            return rate
        if not isinstance(rate, list | tuple):
            return cls((resolve_rate(rate),))  # type: ignore[arg-type]
        each = tuple(map(resolve_rate, rate))
        names = [rate.name for rate in each]
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"a list of rates needs at least one rate, and none twice; got {names}."
            )
        return cls(each, listed=True)

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, index: Any) -> Any:
        return self.each[index]

    @property
    def given(self) -> Rate | list[Rate]:
        """The rates as the user gave them: a list, or a single rate."""
        return list(self.each) if self.listed else self.each[0]

    def per_rate(self, values: Sequence[float]) -> float | tuple[float, ...]:
        """Return a tuple of these values if the user gave a list of rates, else the one value.

        Parameters
        ----------
        values : sequence of float
        """
        return tuple(values) if self.listed else values[0]
