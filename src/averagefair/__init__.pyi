# The public names and where they live: read by type checkers, and by __init__.py, which loads
# each when it is first used.

from .auditing import Audit, Comparison, Drift, Verdict, audit, compare, drift
from .auditing.first_look import FirstLook
from .errors import (
    CheckpointWarning,
    DegenerateTaskWarning,
    InputError,
    LevellingDownWarning,
    NothingToFixWarning,
    UndefinedRateWarning,
)
from .estimator import AverageFairClassifier
from .evaluation.cross_fitting import cross_audit
from .evaluation.generalisation import Generalisation, generalisation
from .evaluation.held_out import HeldOut, held_out
from .evaluation.scorer import make_fairness_scorer
from .evidence import check_evidence, read_evidence, save_evidence
from .frontier import Frontier, frontier
from .game.certificate import Certificate, Status
from .game.learner import Learner
from .game.mapping import Mapping
from .game.measure import individual_rates
from .game.mixture import Mixture
from .game.promises import Cap, Equal, Minimax, Promise, WorstOff
from .game.rates import ErrorRate, FalseNegativeRate, FalsePositiveRate
from .game.who_pays import WhoPays, who_pays
from .logs import DecisionLog, audit_log, labels_from_log
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
from .people.encoder import TableEncoder
from .people.sample import Sample
from .persistence import Checkpoint, load, save
from .solvers import ColumnGeneration, ExponentiatedGradient, Round, StopReason

__version__: str

__all__ = [
    "Audit",
    "AverageFairClassifier",
    "Cap",
    "Certificate",
    "Checkpoint",
    "CheckpointWarning",
    "ColumnGeneration",
    "Comparison",
    "DecisionLog",
    "DegenerateTaskWarning",
    "Drift",
    "Equal",
    "ErrorRate",
    "ExponentiatedGradient",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "FeatureMap",
    "FiniteOracle",
    "FirstLook",
    "Frontier",
    "Generalisation",
    "HeldOut",
    "InputError",
    "Learner",
    "LevellingDownWarning",
    "LogisticOracle",
    "Mapping",
    "Minimax",
    "Mixture",
    "NothingToFixWarning",
    "Polished",
    "Portfolio",
    "Promise",
    "RegressionOracle",
    "Round",
    "Sample",
    "Status",
    "StopReason",
    "StumpOracle",
    "TableEncoder",
    "UndefinedRateWarning",
    "Verdict",
    "WeightedOracle",
    "WhoPays",
    "WorstOff",
    "audit",
    "audit_log",
    "check_evidence",
    "compare",
    "cross_audit",
    "drift",
    "frontier",
    "generalisation",
    "held_out",
    "individual_rates",
    "labels_from_log",
    "load",
    "make_fairness_scorer",
    "read_evidence",
    "save",
    "save_evidence",
    "who_pays",
]
