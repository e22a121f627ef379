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
    """Return the chance of deciding 1, from the decisions of each hypothesis."""
    total = 0.0
    for share, hypothesis in zip(probabilities, hypotheses, strict=True):
        total = total + share * np.asarray(hypothesis.decide(features), dtype=float)
    return total


def optimum(
    labels,
    decisions,
    kind,
    slack,
    task_weights=None,
    individual_weights=None,
    *,
    constants=False,
    whole_plays=False,
    excused=(),
    prices=None,
):
    """OPT of the fair learning problem by the full linear program.

    ``decisions`` (h, n) are all decisions of the class on these people. The variables are, for each
    task, a distribution over the h decisions, and gamma. Returns the least error.

    ``kind`` may be a list of rates, each with a gamma of its own. With ``constants`` each task may
    also use "always 0" and "always 1". With ``whole_plays`` these two serve all tasks at once, and
    each task's distribution adds up to the rest of the probability. People in ``excused`` have no
    constraint. With ``prices``, one for each person, a person may lie outside at that price per
    unit, which is added to the error.
    """
    n, m = labels.shape
    if constants and not whole_plays:
        decisions, constants = with_constants(decisions), False
    h, kinds = len(decisions), [kind] if isinstance(kind, str) else list(kind)
    b = np.ones(m) / m if task_weights is None else np.asarray(task_weights) / np.sum(task_weights)
    a = np.ones(n) if individual_weights is None else np.asarray(individual_weights, dtype=float)
    plays = m * h + 2  # the last two: always 0, always 1

    def row(i, which):
        """Return R_i as a linear function of the chances, or None if undefined."""
        counted = [j for j in cells(labels, which, i) if b[j] > 0]
        if not counted or a[i] == 0:
            return None
        out, alike = np.zeros((m, h)), np.zeros(2)
        for j in counted:
            out[j] = b[j] * (decisions[:, i] != labels[i, j])
            alike[int(labels[i, j] == 0)] += b[j]
        return np.append(out.ravel(), alike) / sum(b[j] for j in counted)

    errors = {i: row(i, "error") for i in range(n)}
    seen = [i for i in errors if errors[i] is not None]
    objective = sum(a[i] * errors[i] for i in seen) / sum(a[i] for i in seen)
    held = [
        (k, i, row(i, which))
        for k, which in enumerate(kinds)
        for i in range(n)
        if i not in excused and row(i, which) is not None
    ]
    # Columns: chances, the chance of the classifiers, gammas, how far each person is outside.
    width = plays + 1 + len(kinds) + len(held)
    costs, sides = np.zeros(width), []
    costs[:plays] = objective
    for place, (k, i, rates) in enumerate(held):
        side = np.zeros(width)
        side[:plays], side[plays + 1 + k] = rates, -1.0
        for sign in (1.0, -1.0):
            outside = sign * side
            outside[plays + 1 + len(kinds) + place] = -1.0
            sides.append(outside)
        costs[plays + 1 + len(kinds) + place] = 0.0 if prices is None else prices[i]
    sums = np.zeros((m + 1, width))
    for j in range(m):
        sums[j, j * h : (j + 1) * h], sums[j, plays] = 1.0, -1.0
    sums[m, plays - 2 : plays + 1] = 1.0
    done = linprog(
        costs,
        A_ub=np.array(sides) if sides else None,
        b_ub=np.full(len(sides), slack) if sides else None,
        A_eq=sums,
        b_eq=np.append(np.zeros(m), 1.0),
        bounds=[(0, None)] * (m * h)
        + [(0, None if constants else 0)] * 2
        + [(0, 1)] * (1 + len(kinds))
        + [(0, 0 if prices is None else None)] * len(held),
    )
    assert done.status == 0, done.message
    return done.fun


def with_constants(decisions):
    """Return the decisions of a class with "always 0" and "always 1" added, (h + 2, n)."""
    n = np.shape(decisions)[1]
    return np.vstack([decisions, np.zeros((1, n), bool), np.ones((1, n), bool)])


def stump_decisions(features):
    """Return all decisions of one-feature thresholds and constants on these people, (h, n)."""
    n, d = features.shape
    found = {(False,) * n, (True,) * n}
    for k in range(d):
        for value in features[:, k]:
            below = features[:, k] <= value
            found |= {tuple(below), tuple(~below)}
    return np.array(sorted(found), dtype=bool)


def rates_of(model, X, Y, rate, people=None, tasks=None):
    """Return the constrained people's rates from the chances, a list for each rate."""
    chances = model.decision_probability(X).reshape(Y.shape)
    present = np.ones(len(Y), bool) if people is None else np.asarray(people) > 0
    found = [
        plain_rates(Y, chances, kind, tasks) for kind in ([rate] if isinstance(rate, str) else rate)
    ]
    return [np.where(present, one, np.nan) for one in found]


def spread_of(rates):
    return max([np.ptp(one[~np.isnan(one)]) for one in rates if (~np.isnan(one)).any()], default=0)


def share_outside(rates, weights, width):
    """Return the least share of people with a rate outside a window of this width."""
    people = [i for i, rate in enumerate(rates) if not np.isnan(rate)]
    inside = [
        sum(weights[i] for i in people if rates[low] <= rates[i] <= rates[low] + width)
        for low in people
    ]
    return 1 - max(inside) / sum(weights[i] for i in people) if people else 0.0


def assert_fair_solution(model, X, labels, kind, *, allowed, sample_weight=None, task_weight=None):
    """Recompute all figures of a fitted model, from the data and its hypotheses alone.

    ``allowed`` is the largest |R_i - gamma| that was promised.
    """
    mixture = model.classifiers_
    q = np.asarray(mixture.probabilities)
    assert (q >= 0).all(), "a probability is negative"
    assert (np.abs(q.sum(axis=0) - 1) < 1e-9).all(), "the probabilities do not sum to 1"
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
