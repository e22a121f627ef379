"""Average Individual Fairness: learn many classifiers together, fair to every individual.

Kearns, Roth and Sharifi-Malvajerdi (2019), "Average Individual Fairness: Algorithms,
Generalization and Experiments".
"""

from averagefair.auditing import Audit, Comparison, Drift, Verdict, audit, compare, drift
from averagefair.certificate import Certificate, Status
from averagefair.errors import (
    CheckpointWarning,
    DegenerateTaskWarning,
    InputError,
    UndefinedRateWarning,
)
from averagefair.estimator import AverageFairClassifier
from averagefair.frontier import Frontier, frontier
from averagefair.generalisation import Generalisation, generalisation
from averagefair.held_out import HeldOut, held_out
from averagefair.learner import Learner
from averagefair.mapping import Mapping
from averagefair.measure import individual_rates
from averagefair.mixture import Mixture
from averagefair.oracles import (
    FeatureMap,
    FiniteOracle,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from averagefair.persistence import Checkpoint, load, save
from averagefair.rates import ErrorRate, FalseNegativeRate, FalsePositiveRate
from averagefair.request import Request
from averagefair.sample import Sample
from averagefair.solvers import ColumnGeneration, ExponentiatedGradient, Round, StopReason

__version__ = "0.1.0.dev0"

__all__ = [
    "Audit",
    "AverageFairClassifier",
    "Certificate",
    "Checkpoint",
    "CheckpointWarning",
    "ColumnGeneration",
    "Comparison",
    "DegenerateTaskWarning",
    "Drift",
    "ErrorRate",
    "ExponentiatedGradient",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "FeatureMap",
    "FiniteOracle",
    "Frontier",
    "Generalisation",
    "HeldOut",
    "InputError",
    "Learner",
    "LogisticOracle",
    "Mapping",
    "Mixture",
    "Polished",
    "Portfolio",
    "RegressionOracle",
    "Request",
    "Round",
    "Sample",
    "Status",
    "StopReason",
    "StumpOracle",
    "UndefinedRateWarning",
    "Verdict",
    "WeightedOracle",
    "audit",
    "compare",
    "drift",
    "frontier",
    "generalisation",
    "held_out",
    "individual_rates",
    "load",
    "save",
]
