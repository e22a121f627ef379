"""Fits with digests of all their bits, to be repeated under other circumstances.

As a program, it runs the fits named on its command line and prints their names and digests as JSON.
Its first argument is "idle", "busy" or "side by side". Decisions are made as each solver does by
default: fixed by column generation, drawn by exponentiated gradient.
"""

import json
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    LogisticOracle,
    RegressionOracle,
    StumpOracle,
    WeightedOracle,
    frontier,
)

ORACLES = {
    "default": lambda: None,
    "least squares": RegressionOracle,
    "logistic": LogisticOracle,
    "stump": StumpOracle,
    "tree": lambda: WeightedOracle(DecisionTreeClassifier(max_depth=3), n_jobs=1),
    "tree, two workers": lambda: WeightedOracle(DecisionTreeClassifier(max_depth=3), n_jobs=2),
    "scikit-learn's logistic": lambda: WeightedOracle(LogisticRegression()),
}
SOLVERS = {
    "columns": lambda rounds: ColumnGeneration(max_rounds=rounds),
    "gradient": lambda rounds: ExponentiatedGradient(max_rounds=rounds, tol=None),
}
# People, tasks, features. Searches along lines use threads from the second size on; blocks of
# people use threads at the third size.
SIZES = {"small": (40, 6, 3), "medium": (6_000, 40, 10), "large": (45_000, 40, 4)}


def people(size, seed=0):
    """Draw features and labels, a few of them blank."""
    n, m, d = SIZES[size] if isinstance(size, str) else size
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) * np.geomspace(1, 100, d)
    signal = X / np.geomspace(1, 100, d) @ draw.normal(size=(d, m))
    Y = (signal + 2 * draw.normal(size=(n, m)) > 0).astype(float)
    Y[draw.random(Y.shape) < 0.02] = np.nan
    return X, Y


def fit(name):
    """Return the model, or the curve, of "size / oracle / solver / rounds".

    With " / drawn" behind it, decisions are drawn, whatever the solver's default.
    """
    size, oracle, solver, rounds, *decisions = name.split(" / ")
    X, Y = people(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few rounds, or few steps of lbfgs
        if solver == "frontier":
            own = {"oracle": ORACLES[oracle](), "solver": SOLVERS["columns"](int(rounds))}
            return frontier(X, Y, [0.05, 0.1, 0.2], random_state=0, **own)
        return AverageFairClassifier(
            alpha=0.1,
            oracle=ORACLES[oracle](),
            solver=SOLVERS[solver](int(rounds)),
            decisions=decisions[0] if decisions else None,
            random_state=0,
        ).fit(X, Y)


def digest(found, strangers):
    """Return digests of all results of a model, or of a curve's models, by name."""
    models = [found.model(value) for value in found.values] if hasattr(found, "values") else [found]
    total = {}
    for place, model in enumerate(models):
        for what, value in contents(model, strangers).items():
            total[f"{place} {what}"] = blake2b(value, digest_size=8).hexdigest()
    return total


def contents(model, strangers):
    """Return the bytes of a model's parts, figures and decisions, by name."""
    certificate = model.certificate_.to_dict()
    del certificate["seconds"]
    mixture = model.classifiers_
    linear = [one for one in mixture.hypotheses if hasattr(one, "coefficients")]
    stumps = [one for one in mixture.hypotheses if hasattr(one, "thresholds")]
    history = [model.history_[name] for name in model.history_.dtype.names]
    balance = model.balance_
    counts = (
        {} if balance is None else {"balance": balance.wrong.tobytes() + balance.seen.tobytes()}
    )
    return counts | {
        "certificate": repr(certificate).encode(),
        "rates": np.asarray(model.individual_rates_).tobytes(),
        "common rate": repr(model.common_rate_).encode(),
        "history": b"".join(column.tobytes() for column in history),
        "shares": np.asarray(mixture.probabilities).tobytes(),
        "coefficients": b"".join(
            one.coefficients.tobytes() + one.intercepts.tobytes() for one in linear
        ),
        "thresholds": b"".join(repr(one.key()).encode() for one in stumps),
        "chances": model.decision_probability(strangers).tobytes(),
        "decisions": model.predict(strangers).tobytes(),
    }


def strangers(name, count=200):
    """Draw people that a fit has not seen."""
    _, m, d = SIZES[name.split(" / ")[0]]
    return people((count, m, d), seed=1)[0]


def keep_busy():
    """Multiply matrices in the background for as long as the program runs."""
    table = np.random.default_rng(0).normal(size=(400, 400))

    def work():
        while True:
            table @ table

    threading.Thread(target=work, daemon=True).start()


def told(name):
    return digest(fit(name), strangers(name))


def side_by_side(names):
    """Run all fits at once, each in its own thread."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # threads share these settings
    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(told, names))


if __name__ == "__main__":
    how, *names = sys.argv[1:]
    if how == "busy":
        keep_busy()
    found = side_by_side(names) if how == "side by side" else [told(name) for name in names]
    print(json.dumps(list(zip(names, found, strict=True))))
