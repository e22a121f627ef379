"""The paper's experiments and some further ones, as functions that return tables.

Kearns, Roth and Sharifi-Malvajerdi (2019), section "Experimental Evaluation" and appendix
"Additional Experimental Results". From a checkout ``python -m reproduction`` runs all of them.

>>> from averagefair.datasets import make_synthetic
>>> from averagefair.experiments import error_spread, learn
>>> people = make_synthetic(n=40, m=20)
>>> curves = learn(people, [0.1], solvers=["column generation"])
>>> error_spread(curves, people)["individual_rate"].shape
(40,)
"""

from averagefair.experiments.figures import (
    GRID,
    RATES,
    SOLVERS,
    error_spread,
    generalise,
    learn,
    trajectories,
)
from averagefair.experiments.findings import (
    at_equal_unfairness,
    envelope,
    exponents,
    point_by_point,
    power_law,
)
from averagefair.experiments.sweeps import Setting, coin_biases, growth, random_splits
from averagefair.experiments.tidy import ResultTable

__all__ = [
    "GRID",
    "RATES",
    "SOLVERS",
    "ResultTable",
    "Setting",
    "at_equal_unfairness",
    "coin_biases",
    "envelope",
    "error_spread",
    "exponents",
    "generalise",
    "growth",
    "learn",
    "point_by_point",
    "power_law",
    "random_splits",
    "trajectories",
]
