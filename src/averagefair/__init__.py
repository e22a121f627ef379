"""Average Individual Fairness: learn many classifiers together, fair to every individual.

Kearns, Roth and Sharifi-Malvajerdi (2019), "Average Individual Fairness: Algorithms,
Generalization and Experiments".
"""

from averagefair.certificate import Certificate, Status
from averagefair.errors import (
    DatasetError,
    DegenerateTaskWarning,
    InputError,
    UndefinedRateWarning,
)
from averagefair.estimator import AverageFairClassifier
from averagefair.learner import Learner, Play
from averagefair.mapping import Mapping
from averagefair.measure import Meter, individual_rates
from averagefair.mixture import Mixture
from averagefair.oracles import FiniteOracle, RegressionOracle, StumpOracle, WeightedOracle
from averagefair.rates import ErrorRate, FalseNegativeRate, FalsePositiveRate
from averagefair.sample import Sample
from averagefair.solvers import ExponentiatedGradient, Round, Solution, StopReason

__version__ = "0.1.0.dev0"

__all__ = [
    "AverageFairClassifier",
    "Certificate",
    "DatasetError",
    "DegenerateTaskWarning",
    "ErrorRate",
    "ExponentiatedGradient",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "FiniteOracle",
    "InputError",
    "Learner",
    "Mapping",
    "Meter",
    "Mixture",
    "Play",
    "RegressionOracle",
    "Round",
    "Sample",
    "Solution",
    "Status",
    "StopReason",
    "StumpOracle",
    "UndefinedRateWarning",
    "WeightedOracle",
    "individual_rates",
]
