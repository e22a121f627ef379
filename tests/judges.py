"""Independent judges: plain loops and SciPy, nothing from the library.

``labels`` are n x m with entries 0, 1 or NaN; ``kind`` is the name of a rate.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

COUNTS = {"error": (0, 1), "false_positive": (0,), "false_negative": (1,)}


def cells(labels, kind, person):
    """The tasks that count towards one person's rate."""
    return [j for j, y in enumerate(labels[person]) if y in COUNTS[kind]]


def plain_rates(labels, chances, kind, task_weights=None):
    """Individual rates by double loop; NaN where undefined."""
    b = np.ones(labels.shape[1]) if task_weights is None else np.asarray(task_weights)
    rates = []
    for i in range(len(labels)):
        counted = [j for j in cells(labels, kind, i) if b[j] > 0]
        wrong = [
            b[j] * (1 - chances[i, j] if labels[i, j] == 1 else chances[i, j]) for j in counted
        ]
        rates.append(sum(wrong) / sum(b[j] for j in counted) if counted else np.nan)
    return np.array(rates)


def plain_error(labels, chances, task_weights=None, individual_weights=None):
    """Overall error: the weighted mean of the individual error rates that exist."""
    rates = plain_rates(labels, chances, "error", task_weights)
    a = np.ones(len(labels)) if individual_weights is None else np.asarray(individual_weights)
    seen = ~np.isnan(rates) & (a > 0)
    return float(np.average(rates[seen], weights=a[seen]))


def chances_of(hypotheses, probabilities, features):
    """The chance of deciding 1, from the hypotheses' decisions one by one."""
    total = 0.0
    for share, hypothesis in zip(probabilities, hypotheses, strict=True):
        total = total + share * np.asarray(hypothesis.decide(features), dtype=float)
    return total


def optimum(labels, decisions, kind, slack, task_weights=None, individual_weights=None):
    """OPT of the fair learning problem by the full linear program.

    ``decisions`` (h, n) are all that the class can decide on these people. Variables: for each
    task a distribution over the h decisions, and gamma. Returns the least error.
    """
    n, m = labels.shape
    h = len(decisions)
    b = np.ones(m) / m if task_weights is None else np.asarray(task_weights) / np.sum(task_weights)
    a = np.ones(n) if individual_weights is None else np.asarray(individual_weights, dtype=float)

    def row(i, which):
        """R_i as a linear function of the variables, or None where undefined."""
        counted = [j for j in cells(labels, which, i) if b[j] > 0]
        if not counted or a[i] == 0:
            return None
        out = np.zeros((m, h))
        for j in counted:
            out[j] = b[j] * (decisions[:, i] != labels[i, j])
        return out.ravel() / sum(b[j] for j in counted)

    errors = {i: row(i, "error") for i in range(n)}
    seen = [i for i in errors if errors[i] is not None]
    objective = sum(a[i] * errors[i] for i in seen) / sum(a[i] for i in seen)
    rows = [r for r in (row(i, kind) for i in range(n)) if r is not None]
    upper = [np.append(r, -1.0) for r in rows]
    lower = [-r for r in upper]
    simplex = np.zeros((m, m * h + 1))
    for j in range(m):
        simplex[j, j * h : (j + 1) * h] = 1.0
    done = linprog(
        np.append(objective, 0.0),
        A_ub=np.array(upper + lower) if rows else None,
        b_ub=np.full(2 * len(rows), slack) if rows else None,
        A_eq=simplex,
        b_eq=np.ones(m),
        bounds=[(0, None)] * (m * h) + [(0, 1)],
    )
    assert done.status == 0, done.message
    return done.fun


def stump_decisions(features):
    """Everything that one-feature thresholds and constants can decide on these people, (h, n)."""
    n, d = features.shape
    found = {(False,) * n, (True,) * n}
    for k in range(d):
        for value in features[:, k]:
            below = features[:, k] <= value
            found |= {tuple(below), tuple(~below)}
    return np.array(sorted(found), dtype=bool)


def assert_fair_solution(model, X, labels, kind, *, allowed, sample_weight=None, task_weight=None):
    """Recompute all that a fitted model claims, from the data and its hypotheses alone.

    ``allowed`` is the largest |R_i - gamma| that was promised.
    """
    mixture = model.classifiers_
    q = np.asarray(mixture.probabilities)
    assert (q >= 0).all(), "a probability is negative"
    assert abs(q.sum() - 1) < 1e-9, "the probabilities do not sum to 1"
    chances = chances_of(mixture.hypotheses, q, X)
    rates = plain_rates(labels, chances, kind, task_weight)
    if sample_weight is not None:
        rates = np.where(np.asarray(sample_weight) > 0, rates, np.nan)
    np.testing.assert_allclose(model.decision_probability(X), chances, atol=1e-12)
    error = plain_error(labels, chances, task_weight, sample_weight)
    assert abs(model.error_ - error) < 1e-9, "the error is not the classifiers' error"
    present = ~np.isnan(rates)
    np.testing.assert_allclose(model.individual_rates_[present], rates[present], atol=1e-9)
    gamma = model.common_rate_
    assert 0 <= gamma <= 1, "the common rate is no rate"
    off = np.abs(rates[present] - gamma).max(initial=0.0)
    assert abs(model.certificate_.deviation - off) < 1e-9, "the deviation is not the one reached"
    assert off <= allowed + 1e-9, f"somebody is {off} from the common rate; allowed {allowed}"
    if present.any():
        assert abs(model.certificate_.spread - np.ptp(rates[present])) < 1e-9
