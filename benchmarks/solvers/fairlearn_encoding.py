"""Average individual fairness by fairlearn: the same problem, written the way fairlearn takes it.

fairlearn's reductions equalise the error rates of groups. With one row for each person and task,
and the person as the sensitive feature, a group's error rate is one person's error rate averaged
over the tasks. fairlearn's ``ExponentiatedGradient`` runs here with its default settings. Least
squares on cost gaps fits the classifiers of all tasks at once, as ``RegressionOracle`` does. The
features are factored before the clock starts, so almost all of the time is fairlearn's own work.

The two problems are close, not equal. ``ErrorRateParity(difference_bound=alpha)`` asks for
|R_i - overall error| <= alpha: in fairlearn 0.15, ``UtilityParity.gamma`` is a group's mean error
less the mean over all rows, and the negative of that, and ``bound`` is alpha for both. Ours asks
for |R_i - gamma| <= alpha for some gamma, that is, for a spread of at most 2 alpha. So every model
that meets fairlearn's request meets ours, and fairlearn's least error is at least ours.

``python -m benchmarks.solvers.fairlearn_encoding`` runs it. It needs fairlearn, which averagefair
does not depend on.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from fairlearn.reductions import ErrorRateParity, ExponentiatedGradient
from numpy.typing import ArrayLike, NDArray

ALPHA = 0.1


class FairlearnRun(NamedTuple):
    """The result of a run of fairlearn.

    Attributes
    ----------
    error : float
        Overall training error of the randomised classifier, in expectation.
    spread : float
        Largest minus smallest individual error rate of that classifier.
    seconds : float
        Wall time of ``ExponentiatedGradient.fit`` alone.
    calls : int
        How often fairlearn asked for classifiers; each answer is for all tasks. If fairlearn's new
        labels are all equal, it takes a constant classifier instead, which counts too.
    """

    error: float
    spread: float
    seconds: float
    calls: int


def fairlearn_fit(X: ArrayLike, Y: ArrayLike, alpha: float, *, max_iter: int = 50) -> FairlearnRun:
    """Solve the problem with fairlearn and measure its answer on the people it learned from.

    Parameters
    ----------
    X : array-like, shape (n, d)
    Y : array-like, shape (n, m)
        Labels 0 and 1, none missing.
    alpha : float
        How far anybody's error rate may be from the overall error.
    max_iter : int
        fairlearn's iterations; 50 is its own default.
    """
    labels = np.asarray(Y, dtype=int)
    rows = np.arange(labels.size)[:, None]  # a row's only feature: the number of its cell
    people = np.repeat(np.arange(len(labels)), labels.shape[1])
    design = np.column_stack([np.ones(len(labels)), np.asarray(X)])
    model = ExponentiatedGradient(
        AllTasks(design, np.linalg.pinv(design)),
        ErrorRateParity(difference_bound=alpha),
        max_iter=max_iter,
    )
    start = perf_counter()
    model.fit(rows, labels.ravel(), sensitive_features=people)
    seconds = perf_counter() - start
    # Look weights up by key: they need not be in the order of the predictors.
    chance = sum(w * model.predictors_[k].predict(rows) for k, w in model.weights_.items())
    rates = np.abs(labels - np.reshape(chance, labels.shape)).mean(axis=1)
    return FairlearnRun(float(rates.mean()), float(np.ptp(rates)), seconds, model.n_oracle_calls_)


class AllTasks:
    """An estimator over the rows of all people and tasks; its clones share the factored features.

    The features are in ``design``, so X only holds the numbers of the rows.

    Parameters
    ----------
    design : array, shape (n, d + 1)
        A column of ones and the features.
    inverse : array, shape (d + 1, n)
        The pseudo-inverse of ``design``.
    """

    def __init__(self, design: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
        self.design, self.inverse = design, inverse

    def __sklearn_clone__(self) -> AllTasks:
        return AllTasks(self.design, self.inverse)

    def fit(self, X: NDArray[np.intp], y: Any, sample_weight: Any) -> AllTasks:
        """Learn from all rows in order; a decision other than y costs the row's weight."""
        gaps = (1 - 2 * np.asarray(y)) * np.asarray(sample_weight)
        coefficients = self.inverse @ gaps.reshape(len(self.design), -1)
        self.decisions = (self.design @ coefficients < 0).ravel().astype(int)
        return self

    def predict(self, X: NDArray[np.intp]) -> NDArray[np.int_]:
        """Look up the decisions of these rows."""
        return self.decisions[X[:, 0]]


def main() -> None:
    from benchmarks.common import paper_data

    data, source = paper_data()
    run = fairlearn_fit(data.X, data.Y, ALPHA)
    print(f"fairlearn on {source}, alpha = {ALPHA}:")
    print(f"error {run.error:.4f}, spread {run.spread:.4f}", end=", ")
    print(f"{run.seconds:.2f} s, {run.calls} oracle calls")


if __name__ == "__main__":
    main()
