# The public names and where they live: read by type checkers, and by __init__.py, which loads
# each when it is first used.

from .auditing import Audit, Comparison, Drift, Verdict, audit, compare, drift
from .certificate import Certificate, Status
from .errors import CheckpointWarning, DegenerateTaskWarning, InputError, UndefinedRateWarning
from .estimator import AverageFairClassifier
from .frontier import Frontier, frontier
from .generalisation import Generalisation, generalisation
from .held_out import HeldOut, held_out
from .learner import Learner
from .mapping import Mapping
from .measure import individual_rates
from .mixture import Mixture
from .oracles import (
    FeatureMap,
    FiniteOracle,
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from .persistence import Checkpoint, load, save
from .rates import ErrorRate, FalseNegativeRate, FalsePositiveRate
from .request import Request
from .sample import Sample
from .solvers import ColumnGeneration, ExponentiatedGradient, Round, StopReason

__version__: str

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
