"""Small tables to audit, with losses worked out by hand."""

from math import nan

import numpy as np
import pytest

from averagefair import audit
from tests.support.audit_by_hand import counted, losses

RATES = ("error", "false_positive", "false_negative")
FAMILIES = np.array([0, 1, 1, 2, 0, 2, 3, 3])
BLANKS = ("complete", "blank labels", "observed")


def of_losses(L, **options):
    """Audit a table of losses: if every label is 0, the chance of deciding 1 is the loss."""
    return audit(np.zeros(np.shape(L)), L, **options)


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9, nan_ok=True)


def nearly(value):
    return pytest.approx(value, rel=0, abs=1e-6)


def whole(L):
    return np.ones(np.shape(L), dtype=bool)


def drawn(seed, rate, blanks, chances):
    """Draw a small table: its labels, decisions and mask, and the losses that count.

    With blanks, one person has no cell, one has a single cell, and one task has no cell.
    """
    random = np.random.default_rng(seed)
    n, m = random.integers(5, 9, size=2)
    labels = random.integers(0, 2, size=(n, m)).astype(float)
    tilt = 0.1 + 0.8 * random.random((n, 1)) * random.random(m) ** 0.5
    decisions = random.random((n, m)) if chances else (random.random((n, m)) < tilt).astype(float)
    options, seen = {}, None
    if blanks != "complete":
        seen = random.random((n, m)) < 0.9
        seen[0], seen[1], seen[:, 0] = False, False, False
        seen[1, 2] = True
    if blanks == "blank labels":
        labels[~seen] = np.nan
    if blanks == "observed":
        options["observed"] = seen
        labels[0, 0] = nan
    W = counted(labels, rate, seen)
    return labels, decisions, options, losses(labels, decisions), W


def by_family(L, W, mean, cells, families):
    """Sum Z within families, for people with a rate: shape (people, families)."""
    Z = np.where(W, (np.nan_to_num(L) - mean) / np.maximum(cells, 1)[:, None], 0.0)[cells > 0]
    there = [f for f in dict.fromkeys(families) if any(W[:, np.array(families) == f].ravel())]
    return np.array([Z[:, [g == f for g in families]].sum(axis=1) for f in there]).T


def task_factor(W, families):
    """Return the factor from squared deviations of families of copies to a variance."""
    sizes = np.array([np.sum(W[:, np.array(families) == f]) for f in dict.fromkeys(families)])
    sizes = sizes[sizes > 0]
    left = np.diag(sizes) - np.outer(sizes, sizes) / sizes.sum()
    return np.sum(sizes**2) / np.sum(left**2)
