"""Cost-sensitive classification oracles, one file each.

``FiniteOracle`` and ``StumpOracle`` are exact, and what is learned with them comes with a proof.
The others are heuristics. ``FeatureMap`` puts transformers in front of any of them.
"""

from averagefair.oracles.feature_map import FeatureMap
from averagefair.oracles.finite import FiniteOracle
from averagefair.oracles.logistic import LogisticOracle
from averagefair.oracles.polished import Polished
from averagefair.oracles.portfolio import Portfolio
from averagefair.oracles.regression import RegressionOracle
from averagefair.oracles.stump import StumpOracle
from averagefair.oracles.weighted import WeightedOracle
from averagefair.protocols import Oracle

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
    """Return what learns where no oracle is named.

    Least squares and logistic regression are asked, the cheaper answer of each task is kept and
    polished. Chosen by what carries over (docs/oracles.md): with many people it errs less than
    least squares on new people and new tasks at equal unfairness, with few about as often or less.
    A fit takes two to ten times as long there.
    """
    return Polished(Portfolio([RegressionOracle(), LogisticOracle()]))
