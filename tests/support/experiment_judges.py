"""Independent judges of the experiments: plain NumPy, nothing from the library.

The published setting is implemented here a second time, from its description
(../shared/reference/README.md). So runs that the authors did not publish can be checked too.
"""

from __future__ import annotations

import csv
import hashlib
import struct
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.judges import plain_error, plain_rates
from tests.support.places import COMMUNITIES, SHARED

DATA = COMMUNITIES
RUNS = SHARED / "reference" / "communities_runs.csv"

needs_data = pytest.mark.skipif(
    not (DATA.exists() and RUNS.exists()),
    reason="the published runs and their data are not beside the repository (../shared)",
)


def published_rows():
    """The authors' numbers, by alpha; empty if the file is missing."""
    if not RUNS.exists():
        return {}
    with RUNS.open(newline="") as file:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    return {row["alpha"]: row for row in rows}


@dataclass(frozen=True)
class Population:
    """Features and labels of the four corners."""

    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray
    Y_new_people: np.ndarray
    Y_new_tasks: np.ndarray
    Y_new_both: np.ndarray


def communities_by_hand():
    """Communities and Crime as the reference prepares it, from the file's own cells."""
    with DATA.open(newline="") as file:
        _, *rows = filter(None, csv.reader(file))
    table = np.array([[float(cell or 0) for cell in row] for row in rows])
    table[:, :122] -= table[:, :122].mean(axis=0)

    def labels(people, columns):
        part = table[people, columns]
        return (part > part.mean(axis=0)).astype(float)

    old, new, tasks, later = slice(0, 200), slice(200, 400), slice(0, 50), slice(70, 95)
    return Population(
        X=table[old, 50:70],
        Y=labels(old, tasks),
        X_new=table[new, 50:70],
        Y_new_people=labels(new, tasks),
        Y_new_tasks=labels(old, later),
        Y_new_both=labels(new, later),
    )


def with_intercept(features):
    return np.column_stack([np.ones(len(features)), features])


def counted(labels, kind):
    wanted = {"error": (0, 1), "false_positive": (0,), "false_negative": (1,)}[kind]
    return np.isin(labels, wanted)


def costs_of(labels, kind, weights, rho):
    """The costs of mistakes in the Lagrangian at weights lambda+ - lambda-, equal for all tasks.

    ``rho`` is each person's share of labels that count, over the tasks learned from.
    """
    return 1.0 / len(labels) + (weights / rho)[:, None] * counted(labels, kind)


class PublishedGame:
    """The published setting, round by round.

    ``path`` holds (error, spread) of the averages after each round; ``plays`` the weights of each
    distinct answer, ``shares`` how often each was played.
    """

    def __init__(self, X, Y, alpha, kind="error", rounds=1000):
        self.X, self.Y, self.alpha, self.kind = X, Y, alpha, kind
        n, bound = len(X), 1.0 / alpha
        step, theta = 100.0 / bound, np.zeros((2, n))
        answers, picks, multipliers = [], [], np.zeros((2, n))
        design, basis = np.linalg.pinv(with_intercept(X)), with_intercept(X)
        last_check, last_gap, best_gap = 5, np.inf, np.inf
        total_error, total_rates, total_gamma = 0.0, np.zeros(n), 0.0
        cells = counted(Y, kind)
        self.rho = cells.mean(axis=1)
        self.path = []
        for t in range(rounds):
            top = max(0.0, theta.max())
            powers = np.exp(theta - top)
            now = bound * powers / (np.exp(-top) + powers.sum())
            weights = now[0] - now[1]
            costs = costs_of(Y, kind, weights, self.rho)
            difference = design @ np.where(Y == 0, costs, -costs)
            wrong = np.abs((basis @ difference < 0) - Y)
            rates = (wrong * cells).sum(axis=1) / cells.sum(axis=1)
            gamma = 1.0 if weights.sum() > 0 else 0.0
            answer = (wrong.mean(), rates, gamma, weights)
            pick = len(answers)
            if answers:
                values = [e + weights @ (r - g) for e, r, g, _ in answers]
                best = int(np.argmin(values))
                if answer[0] + weights @ (rates - gamma) >= values[best] - 1e-12:
                    pick = best
            if pick == len(answers):
                answers.append(answer)
            error, rates, gamma, _ = answers[pick]
            picks.append(pick)
            total_error, total_rates = total_error + error, total_rates + rates
            total_gamma, multipliers = total_gamma + gamma, multipliers + now
            mean_error, mean_rates = total_error / (t + 1), total_rates / (t + 1)
            common, mean_now = total_gamma / (t + 1), multipliers / (t + 1)
            off = mean_rates - common
            value = mean_error + mean_now[0] @ (off - alpha) + mean_now[1] @ (-off - alpha)
            high = mean_error + bound * max(0.0, np.abs(off).max() - alpha)
            gap = max(0.0, high - value)
            best_gap = min(best_gap, gap)
            self.path.append((mean_error, np.ptp(mean_rates)))
            if gap < 0.001 and t > 0:
                break
            if t >= 1.6 * last_check:
                if best_gap > 0.8 * last_gap:
                    step *= 0.8
                last_check, last_gap = t, best_gap
            theta = theta + step * (np.array([rates - gamma, gamma - rates]) - alpha)
        self.error, self.rates, self.common_rate = mean_error, mean_rates, common
        self.shares = np.bincount(picks) / len(picks)
        self.plays = [answer[3] for answer in answers]

    def chances(self, labels, people):
        """The chance of deciding 1 about ``people`` on the tasks with these training labels.

        This works for new tasks too: the oracle answers each round's weights, and the answers are
        averaged.
        """
        design, basis = np.linalg.pinv(with_intercept(self.X)), with_intercept(people)
        total = np.zeros((len(people), labels.shape[1]))
        for share, weights in zip(self.shares, self.plays, strict=True):
            costs = costs_of(labels, self.kind, weights, self.rho)
            total += share * (basis @ (design @ np.where(labels == 0, costs, -costs)) < 0)
        return total

    def corners(self, data):
        """Error and individual rates on the four corners, of a Population or a Split."""
        wanted = {
            "training": (data.Y, data.X, data.Y),
            "people": (data.Y, data.X_new, data.Y_new_people),
            "tasks": (data.Y_new_tasks, data.X, data.Y_new_tasks),
            "both": (data.Y_new_tasks, data.X_new, data.Y_new_both),
        }
        found = {}
        for name, (learned, people, labels) in wanted.items():
            chances = self.chances(np.asarray(learned), people)
            labels = np.asarray(labels)
            found[name] = plain_error(labels, chances), plain_rates(labels, chances, self.kind)
        return found


def half_window(rates, beta=0.05):
    """Half the width of the narrowest window that leaves out at most a share beta of the people."""
    ordered = sorted(rate for rate in rates if not np.isnan(rate))
    needed = int(np.ceil(round((1 - beta) * len(ordered), 9)))
    starts = range(len(ordered) - needed + 1)
    return min(ordered[i + needed - 1] - ordered[i] for i in starts) / 2


def free_of_charge(X, Y):
    """The decisions of least squares without fairness weights, as chances."""
    design = with_intercept(X)
    return (design @ np.linalg.lstsq(design, 2.0 * Y - 1.0, rcond=None)[0] > 0).astype(float)


PARTS = ("X", "Y", "X_new", "Y_new_people", "Y_new_tasks", "Y_new_both")


def plain_digest(split):
    """The sha256 of all cells, eight bytes for a feature and one byte for a label."""
    found = hashlib.sha256()
    for name in PARTS:
        part = getattr(split, name)
        for row in part.tolist():
            for cell in row:
                found.update(struct.pack("<d", cell) if name.startswith("X") else bytes([cell]))
    return found.hexdigest()


def table_digest(values):
    """The digest of a table, row by row, eight bytes a cell; all missing values are equal."""
    found = hashlib.sha256()
    for row in values.tolist():
        cells = [float("nan") if cell != cell else cell for cell in row]
        found.update(struct.pack(f"<{len(cells)}d", *cells))
    return found.hexdigest()
