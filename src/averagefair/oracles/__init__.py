"""Cost-sensitive classification oracles, one file each.

``FiniteOracle`` and ``StumpOracle`` are exact: models learned with them come with a proof. The
others are heuristics. ``FeatureMap`` puts transformers in front of any oracle.
"""

from typing import Any

from averagefair.errors import InputError
from averagefair.game.protocols import Oracle, is_oracle
from averagefair.oracles.feature_map import FeatureMap, split_map
from averagefair.oracles.finite import FiniteOracle
from averagefair.oracles.logistic import LogisticOracle
from averagefair.oracles.polished import Polished
from averagefair.oracles.portfolio import Portfolio
from averagefair.oracles.regression import RegressionOracle
from averagefair.oracles.stump import StumpOracle
from averagefair.oracles.weighted import WeightedOracle

__all__ = [
    "FeatureMap",
    "FiniteOracle",
    "LogisticOracle",
    "Polished",
    "Portfolio",
    "RegressionOracle",
    "StumpOracle",
    "WeightedOracle",
    "default_oracle",
]


def default_oracle() -> Oracle:
    """Return the oracle for callers who name none.

    It asks least squares and logistic regression, keeps the cheaper answer of each task and
    improves this answer by a local search. It was chosen by its held-out error at equal unfairness
    on new people and new tasks. With many people the default errs less than least squares. With few
    people it errs about as often, or less. In docs/oracles.md a fit takes two to ten times as long
    as with least squares.
    """
    return Polished(Portfolio([RegressionOracle(), LogisticOracle()]))


def resolve_oracle(oracle: Any, default: Oracle | None = None) -> tuple[Any | None, Oracle]:
    """Return the transformer in front of an oracle (or None), and the oracle itself.

    Parameters
    ----------
    oracle : Oracle, FeatureMap, scikit-learn classifier or pipeline, or None
        None (alone or behind a feature map) means the default.
    default : Oracle, optional
        Default: :func:`default_oracle`.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> resolve_oracle(FeatureMap(StandardScaler()), default=StumpOracle())
    (StandardScaler(), StumpOracle())
    """
    transformer, named = split_map(oracle)
    if named is None:
        return transformer, default_oracle() if default is None else default
    if is_oracle(named):
        return transformer, named
    if hasattr(named, "bind") and not isinstance(named, type):
        raise InputError(
            f"{type(named).__name__} has a method bind but lacks other attributes of an oracle. "
            "Subclass averagefair.game.protocols.Oracle, which has the defaults, and define exact "
            "and bind."
        )
    return transformer, WeightedOracle(named)
