"""Cost-sensitive classification oracles, one file each.

``RegressionOracle`` and ``WeightedOracle`` are heuristics; ``FiniteOracle`` and ``StumpOracle``
are exact, and what is learned with them comes with a proof. ``FeatureMap`` puts transformers in
front of any of them.
"""

from averagefair.oracles.feature_map import FeatureMap
from averagefair.oracles.finite import FiniteOracle
from averagefair.oracles.regression import RegressionOracle
from averagefair.oracles.stump import StumpOracle
from averagefair.oracles.weighted import WeightedOracle

__all__ = ["FeatureMap", "FiniteOracle", "RegressionOracle", "StumpOracle", "WeightedOracle"]
