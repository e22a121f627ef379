"""The oracles that the benchmark compares, and its five populations.

Two populations are real tables that come with libraries and need no download. The others are
Communities and Crime (200 and 1,595 people) and the paper's synthetic population.

* **Opinions**: 944 voters of the American National Election Study of 1996 (statsmodels' anes96).
  Features: age, schooling, income and size of the place, their squares and products (14 columns).
  Tasks: the voter's own position and that of two candidates, as the voter sees them, on scales of
  seven steps; party, nights of television news in a week, and the vote. A scale of seven steps
  gives up to six tasks, "at least the second step" to "the seventh". No task is a feature.
* **Digits**: 1,797 handwritten digits of 8 x 8 pixels (scikit-learn's load_digits). Features: the
  pixels of the left half that are not constant. Tasks: whether a pixel of the right half is inked
  more than it is on average.

Both leave out tasks whose rarer label fewer than one person in twenty has. A random fifth of the
people and a random quarter of the tasks are held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from time import process_time
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from averagefair import (
    LogisticOracle,
    Polished,
    Portfolio,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
)
from averagefair.datasets import Split, communities_split, make_synthetic
from averagefair.experiments.sweeps import Setting, draw_split
from averagefair.oracles import default_oracle
from benchmarks.common import communities

RAREST = 0.05
JOBS = 2

# The oracles

LEAST_SQUARES, DEFAULT = "least squares", "default"
BOOSTING = "boosted trees"

ORACLES: dict[str, Callable[[], Any]] = {
    LEAST_SQUARES: RegressionOracle,
    "least squares, l2": lambda: RegressionOracle(l2=1.0),
    "logistic": LogisticOracle,
    "least squares, polished": lambda: Polished(RegressionOracle()),
    "portfolio": lambda: Portfolio([RegressionOracle(), LogisticOracle()]),
    DEFAULT: default_oracle,
    "splines, least squares": lambda: make_pipeline(
        SplineTransformer(n_knots=4, degree=2), RegressionOracle()
    ),
    BOOSTING: lambda: WeightedOracle(HistGradientBoostingClassifier(max_iter=20, random_state=0)),
    "stumps (exact)": StumpOracle,
}
WRITTEN = {
    LEAST_SQUARES: "RegressionOracle()",
    "least squares, l2": "RegressionOracle(l2=1.0)",
    "logistic": "LogisticOracle()",
    "least squares, polished": "Polished(RegressionOracle())",
    "portfolio": "Portfolio([RegressionOracle(), LogisticOracle()])",
    DEFAULT: "default_oracle(): Polished(Portfolio([RegressionOracle(), LogisticOracle()]))",
    "splines, least squares": "make_pipeline(SplineTransformer(n_knots=4, degree=2), "
    "RegressionOracle())",
    BOOSTING: "WeightedOracle(HistGradientBoostingClassifier(max_iter=20))",
    "stumps (exact)": "StumpOracle()",
}
"""The Python expression of each oracle."""
QUICK = tuple(name for name in ORACLES if name != BOOSTING)
LINEAR = (*QUICK[: QUICK.index(DEFAULT) + 1],)
"""The oracles that answer with one linear threshold per task in the original features."""

# The populations

COMMUNITIES_SMALL, COMMUNITIES_LARGE = "Communities, 200", "Communities, 1,595"
SYNTHETIC, OPINIONS, DIGITS = "synthetic", "opinions", "digits"
SMALL = (COMMUNITIES_SMALL, SYNTHETIC)
"""The populations that are small enough for boosted trees."""


def populations() -> list[str]:
    """Return the names of the populations; without a file of Communities, only the other three."""
    here = communities() is not None
    return [name for name in POPULATIONS if here or not name.startswith("Communities")]


@cache
def population(name: str) -> Split:
    """Return a population by its name: training people and tasks, and held-out ones."""
    return POPULATIONS[name]()


def communities_large(number: int = 0) -> Split:
    """Return a random split of Communities and Crime into 1,595 people and 399 new people."""
    return random_communities(1595, 399, number)


def random_communities(people: int, new: int, number: int) -> Split:
    """Return a random split of Communities and Crime into training people and new people."""
    return draw_split(_communities(), Setting(people, new, "the paper's", {}), number)


def communities_small() -> Split:
    """Return Communities and Crime in the paper's own split."""
    return communities_split(_communities())


@cache
def _communities() -> Any:
    return communities()


def synthetic() -> Split:
    """Return the paper's synthetic population, with more people and tasks held out."""
    return make_synthetic(n_holdout=500, m_holdout=25)


def opinions() -> Split:
    """Return the voters of 1996: their background as features, their opinions as tasks."""
    from statsmodels.datasets import anes96  # only this population needs it

    voters = anes96.load_pandas().data
    who = voters[["age", "educ", "income", "logpopul"]].to_numpy(dtype=float)
    who = (who - who.mean(axis=0)) / who.std(axis=0)
    features = PolynomialFeatures(2, include_bias=False).fit_transform(who)
    asked = ("selfLR", "ClinLR", "DoleLR", "PID", "TVnews", "vote")
    scales = [voters[name].to_numpy() for name in asked]
    steps = [scale >= step for scale in scales for step in np.unique(scale)[1:]]
    return hold_out(features, np.column_stack(steps))


def digits() -> Split:
    """Return handwritten digits: predict the right half from the left half."""
    images = load_digits().images
    left, right = (half.reshape(len(images), -1) for half in (images[:, :, :4], images[:, :, 4:]))
    return hold_out(left[:, np.ptp(left, axis=0) > 0], right > right.mean(axis=0))


def hold_out(features: NDArray[np.float64], labels: NDArray[np.bool_]) -> Split:
    """Return a table as a split: a fifth of the people and a quarter of the tasks held out."""
    share = labels.mean(axis=0)
    labels = labels[:, np.minimum(share, 1 - share) >= RAREST].astype(np.int8)
    rng = np.random.default_rng(0)
    people, tasks = (rng.permutation(size) for size in labels.shape)
    train, new = np.split(people, [len(people) * 4 // 5])
    old_tasks, new_tasks = np.split(tasks, [len(tasks) * 3 // 4])
    return Split(
        X=features[train],
        Y=labels[np.ix_(train, old_tasks)],
        X_new=features[new],
        Y_new_people=labels[np.ix_(new, old_tasks)],
        Y_new_tasks=labels[np.ix_(train, new_tasks)],
        Y_new_both=labels[np.ix_(new, new_tasks)],
    )


POPULATIONS: dict[str, Callable[[], Split]] = {
    COMMUNITIES_SMALL: communities_small,
    COMMUNITIES_LARGE: communities_large,
    SYNTHETIC: synthetic,
    OPINIONS: opinions,
    DIGITS: digits,
}


def stop_after(seconds: float) -> Callable[[object], bool]:
    """Return a callback that ends a fit after this many seconds of processor time, from now on.

    Processor time does not depend on the load of the machine, so neither does the result.
    """
    end = process_time() + seconds
    return lambda state: process_time() > end


def side_by_side(function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Call a function with each job in two processes of one thread; return the results."""
    with parallel_config("loky", n_jobs=JOBS, inner_max_num_threads=1):
        return Parallel(batch_size=1)(delayed(function)(*job) for job in jobs)
