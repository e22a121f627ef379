"""Judges of generated cases, from the definitions alone, without the library.

``world`` has labels ``Y`` (n, m) and the weights ``a`` of people and ``b`` of tasks. A rate is a
name, or a list of names.
"""

from __future__ import annotations

import math

import numpy as np

from tests.support.judges import COUNTS, plain_error, plain_rates


def names_of(rate):
    return [rate] if isinstance(rate, str) else list(rate)


def rates_by_hand(world, chances, rate):
    """Return everybody's rates, (n,), or (n, rates) for a list."""
    found = [plain_rates(world.Y, chances, name, world.b) for name in names_of(rate)]
    return found[0] if isinstance(rate, str) else np.column_stack(found)


def constrained(world, rate):
    """Return who is constrained in each rate, (n, rates): weight above 0 and a cell that counts."""
    counts = [
        [
            world.a[i] > 0
            and any(y in COUNTS[name] and b > 0 for y, b in zip(row, world.b, strict=True))
            for name in names_of(rate)
        ]
        for i, row in enumerate(world.Y)
    ]
    return np.array(counts, dtype=bool)


def assert_honest(model, world, rate, atol=1e-9):
    """Recompute all figures that a fitted model reports, from its hypotheses and the labels."""
    q = np.asarray(model.classifiers_.probabilities)
    assert (q >= 0).all(), "a probability is negative"
    assert (np.abs(q.sum(axis=0) - 1) < 1e-9).all(), "the probabilities do not sum to 1"
    chances = np.zeros(world.Y.shape)
    for share, hypothesis in zip(q, model.classifiers_.hypotheses, strict=True):
        chances += share * np.asarray(hypothesis.decide(world.X))
    claimed = model.decision_probability(world.X).reshape(world.Y.shape)
    np.testing.assert_allclose(claimed, chances, rtol=0, atol=1e-12)
    rates = rates_by_hand(world, chances, rate)
    assert model.individual_rates_.shape == rates.shape
    np.testing.assert_allclose(model.individual_rates_, rates, rtol=0, atol=atol)
    known, error = model.certificate_, plain_error(world.Y, chances, world.b, world.a)
    assert abs(model.error_ - error) <= atol, "the error is not the classifiers' error"
    assert known.error == model.error_, "the certificate has another error"
    held, table = constrained(world, rate), rates.reshape(len(rates), -1)
    common = np.atleast_1d(model.common_rate_)
    assert common.shape == (held.shape[1],), "not one common rate for each rate"
    assert ((common >= 0) & (common <= 1)).all(), "a common rate is no rate"
    columns = [table[mine, k] for k, mine in enumerate(held.T)]
    off = [np.abs(mine - gamma).max(initial=0) for mine, gamma in zip(columns, common, strict=True)]
    assert abs(known.deviation - max(off)) <= atol, "the deviation is not the one reached"
    spread = max((np.ptp(mine) for mine in columns if mine.size), default=0.0)
    assert abs(known.spread - spread) <= atol, "the spread is not the one reached"
    without = np.flatnonzero(~held.all(axis=1) & (world.a > 0))
    assert list(model.undefined_individuals_) == list(without), "the undefined are others"


def assert_finite(model, world, rate, exact):
    """Check that numbers are missing only where they are undefined."""
    missing = np.isnan(model.individual_rates_.reshape(len(world.Y), -1))
    counts = constrained(world.but(people=None), rate)
    assert (missing == ~counts).all(), "a rate is missing, or made up"
    assert not np.isinf(model.individual_rates_).any()
    known = model.certificate_
    numbers = ["aim", "deviation", "spread", "outside", "error", "upper", "seconds"]
    numbers += ["lower", "gap"] * exact
    for name in numbers:
        assert math.isfinite(getattr(known, name)), f"{name} is no number"
    assert np.isfinite(known.common_rate).all(), "a common rate is no number"
    for name in ("error", "spread", "value"):
        assert np.isfinite(model.history_[name]).all(), f"the history's {name} is no number"
    assert not np.isnan(model.history_["gap"]).any(), "the history's gap is no number"


def fair_within(world, chances, rate, slack):
    """Return whether all constrained people are within the slack of *some* common rate."""
    table = rates_by_hand(world, chances, rate).reshape(len(world.Y), -1)
    held = constrained(world, rate)
    return all(np.ptp(table[mine, k]) <= 2 * slack for k, mine in enumerate(held.T) if mine.any())


def linear_in_decisions(world, name, i):
    """Return the coefficients (m, 2) of R_i = sum_jy c[j, y] [h_j(x_i) = y]; None if undefined."""
    out = np.zeros((world.Y.shape[1], 2))
    for j, (y, b) in enumerate(zip(world.Y[i], world.b, strict=True)):
        if y in COUNTS[name]:
            out[j, int(1 - y)] = b
    rho = out.sum()
    return None if rho == 0 else out / rho


def least_lagrangian(world, decisions, rate, weights, slack, constants=False):
    """Return min over (h, gamma) of err + sum w (R - gamma) - slack sum |w|, by trying all h.

    ``weights`` (n, rates) are 0 for people without a constraint; ``decisions`` is (h, n). With
    ``constants``, h may also be "always 0" or "always 1" in all tasks at once.
    """
    n, m = world.Y.shape
    price = np.zeros((n, m, 2))
    errors = {i: linear_in_decisions(world, "error", i) for i in range(n)}
    seen = [i for i in range(n) if errors[i] is not None and world.a[i] > 0]
    total = sum(world.a[i] for i in seen)
    for i in seen:
        price[i] += world.a[i] / total * errors[i]
        for k, name in enumerate(names_of(rate)):
            row = linear_in_decisions(world, name, i)
            if row is not None:
                price[i] += weights[i, k] * row
    least = 0.0
    for j in range(m):
        least += min(
            sum(price[i, j, int(one)] for i, one in enumerate(choice)) for choice in decisions
        )
    if constants:
        least = min(least, price[:, :, 0].sum(), price[:, :, 1].sum())
    subtracted = slack * np.abs(weights).sum() + sum(max(0.0, w) for w in weights.sum(axis=0))
    return least - subtracted


def costs_by_hand(signs, false_positive, false_negative, decisions):
    """Return the cost of decisions (n, k) for each task: the sum of the prices of mistakes."""
    cost = np.zeros(signs.shape[1])
    for i, row in enumerate(signs):
        for j, sign in enumerate(row):
            if sign > 0 and decisions[i, j]:
                cost[j] += false_positive[i]
            elif sign < 0 and not decisions[i, j]:
                cost[j] += false_negative[i]
    return cost


def stake_of(signs, false_positive, false_negative):
    """Return the sum of |price| of each task; rounding errors are a share of it."""
    return np.abs(np.where(signs > 0, false_positive[:, None], 0)).sum(axis=0) + np.abs(
        np.where(signs < 0, false_negative[:, None], 0)
    ).sum(axis=0)


def narrowest_by_hand(rates, outside):
    """Return the least width of a window with all but a share of the rates, by brute force."""
    some = sorted(rates)
    needed = [k for k in range(1, len(some) + 1) if len(some) - k <= outside * len(some) + 1e-9]
    return min(
        some[start + needed[0] - 1] - some[start] for start in range(len(some) - needed[0] + 1)
    )


def outside_by_hand(rates, width):
    """Return the least share outside a window of this width; try all that start at a rate."""
    inside = max(sum(low <= one <= low + width + 1e-12 for one in rates) for low in rates)
    return 1 - inside / len(rates)


def assert_same_outcome(one, other, atol=1e-9, *, rows=None, columns=None, X=None):
    """Compare what a user can see: figures, individual rates, and chances.

    ``rows`` and ``columns`` are the positions of the first's people and tasks in the second.
    """
    rows = slice(None) if rows is None else rows
    columns = slice(None) if columns is None else columns
    for name in ("error_", "common_rate_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol)
    np.testing.assert_allclose(
        one.individual_rates_, other.individual_rates_[rows], rtol=0, atol=atol
    )
    if X is not None:
        found = (model.decision_probability(X).reshape(len(X), -1) for model in (one, other))
        mine, theirs = found
        np.testing.assert_allclose(mine, theirs[:, columns], rtol=0, atol=atol)


def assert_same_optimum(one, other, slippage=1e-6):
    """Check that the certified intervals of two answers to the same problem overlap."""
    assert one.lower <= other.upper + slippage, "one is proved dearer than the other is"
    assert other.lower <= one.upper + slippage, "one is proved dearer than the other is"
    assert abs(one.error - other.error) <= max(one.gap, other.gap) + slippage, "errors differ"
