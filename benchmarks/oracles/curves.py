"""The default oracle against least squares on held-out people and tasks, at equal unfairness.

Communities and Crime is split at random into 1,595 training people and 399 new people. There are 50
training tasks and 25 new tasks. Both oracles learn on the same splits. Unfairness is the standard
deviation of people's true error rates, without the noise from few tasks. A curve is the mean over
the splits, and the lower envelope of its models' mixtures with each other and with coin flips. The
two curves are compared at equal held-out unfairness. Intervals are the jackknife's over the splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.experiments.findings import Interval, envelope, jackknife
from benchmarks.common import heading, table, verdict
from benchmarks.oracles.fits import LIMIT, UNCONSTRAINED, Fit, as_dict, fits, mean_curve
from benchmarks.oracles.tables import COMMUNITIES_LARGE, DEFAULT, LEAST_SQUARES

ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.30, UNCONSTRAINED)
LEVELS = (0.4, 0.6, 0.8, 0.9, 1.0)
SPLITS = 10
CORNERS = {"people": "new people", "tasks": "new tasks", "both": "new people and tasks"}
TARGET_GAIN = 0.005

Splits = Sequence[Sequence[Fit]]
"""The fits of one oracle: each split has one fit for each alpha."""


def report_held_out(
    names: Sequence[str], splits: int = SPLITS, limit: float = LIMIT
) -> dict[str, Any]:
    """Print both curves and their differences; return the figures."""
    if COMMUNITIES_LARGE not in names:
        print("\nOut of sample: left out, there is no file of Communities and Crime here.")
        return {}
    curves = {oracle: learned(oracle, splits, limit) for oracle in (LEAST_SQUARES, DEFAULT)}
    heading(
        "Out of sample: error / unfairness",
        f"{splits} random splits of Communities and Crime, 1,595 people and 399 new ones; means "
        f"over the splits; a fit has {limit:g} s of processor time; ended by that: "
        f"{ended(curves)}",
    )
    table(["", "alpha", "training", *CORNERS.values(), "seconds"], curve_rows(curves))
    print(
        "\nError of the default less that of least squares at equal unfairness, as a share of the\n"
        "unfairness of least squares without a constraint; 95% intervals over the splits"
    )
    found = {corner: differences(curves, corner) for corner in CORNERS}
    table(
        ["", *(f"{level:.1f}" for level in LEVELS)],
        [[CORNERS[corner], *map(told, found[corner])] for corner in CORNERS],
    )
    judge(found)
    return {
        "splits": splits,
        "limit": limit,
        "levels": LEVELS,
        "fits": {
            oracle: [[as_dict(one) for one in run] for run in runs]
            for oracle, runs in curves.items()
        },
        "differences": {corner: [one._asdict() for one in found[corner]] for corner in CORNERS},
    }


def ended(curves: dict[str, Splits]) -> str:
    """Return how many fits of each oracle the time limit ended; their curves could be better."""
    counts = {
        oracle: [one.cut_short for run in runs for one in run] for oracle, runs in curves.items()
    }
    return ", ".join(f"{own}: {sum(cut)} of {len(cut)}" for own, cut in counts.items())


def learned(oracle: str, splits: int, limit: float) -> list[list[Fit]]:
    """Return an oracle's fits: each split has one fit for each alpha."""
    found = fits(
        (COMMUNITIES_LARGE, oracle, alpha, limit, split)
        for split in range(splits)
        for alpha in ALPHAS
    )
    return [found[start : start + len(ALPHAS)] for start in range(0, len(found), len(ALPHAS))]


def curve_rows(curves: dict[str, Splits]) -> list[list[str]]:
    """Return a row for each oracle and alpha, means over the splits."""
    rows = []
    for oracle, runs in curves.items():
        every = [one for run in runs for one in run]
        means = {corner: mean_curve(every, corner) for corner in CORNERS}
        for place, alpha in enumerate(ALPHAS):
            here = [run[place] for run in runs]
            training = (
                np.mean([getattr(one, what) for one in here]) for what in ("error", "seconds")
            )
            error, seconds = training
            cells = [f"{means[c][1][place]:.4f} / {means[c][0][place]:.4f}" for c in CORNERS]
            rows.append([oracle, f"{alpha:.2f}", f"{error:.4f}", *cells, f"{seconds:.1f}"])
    return rows


def differences(curves: dict[str, Splits], corner: str) -> list[Interval]:
    """Return the default's error minus that of least squares at each level, with intervals."""

    def difference(kept: NDArray[np.intp]) -> NDArray[np.float64]:
        base, ours = (
            mean_curve([one for split in kept for one in curves[oracle][split]], corner)
            for oracle in (LEAST_SQUARES, DEFAULT)
        )
        at = base[0][ALPHAS.index(UNCONSTRAINED)] * np.array(LEVELS)
        return np.asarray(envelope(*ours).at(at) - envelope(*base).at(at))

    return jackknife(difference, len(curves[DEFAULT]))


def told(difference: Interval) -> str:
    return f"{difference.value:+.4f} ({difference.low:+.4f} to {difference.high:+.4f})"


def judge(found: dict[str, list[Interval]]) -> None:
    """Print whether the targets are met."""
    people, tasks = found["people"], found["tasks"]
    verdict(
        f"new people: at least {TARGET_GAIN} less error at every level",
        all(one.value <= -TARGET_GAIN for one in people),
        f"at least {-max(one.value for one in people):.4f} less, surely "
        f"{-max(one.high for one in people):.4f}",
    )
    # A single split has no interval, so it cannot show that the default is worse.
    verdict(
        "new tasks: at no level more error, beyond what chance explains",
        not any(one.low > 0 for one in tasks),
        f"at most {max(one.value for one in tasks):+.4f}; upper ends up to "
        f"{max(one.high for one in tasks):+.4f}",
    )
