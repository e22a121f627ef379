"""
Your own oracle
===============

An oracle solves one problem: each mistake has a price, and the oracle chooses for every task the
people to say yes to. The library does everything else (the game, fairness, new tasks, the
certificate). So a new kind of classifier is a small class. This page writes an oracle in about
thirty lines: a map cut into neighbourhoods, with a decision for each neighbourhood. The oracle is
exact, so its results come with a proof.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from averagefair import AverageFairClassifier, Sample
from averagefair.game.costs import Costs
from averagefair.game.protocols import Hypothesis, Oracle

# %%
# The contract
# ------------
#
# There are two objects. A *hypothesis* is a classifier for each of k tasks: ``decide`` says yes or
# no for people (rows) and tasks (columns), and ``key`` is equal only for hypotheses that decide
# alike. The base classes have defaults for everything else.


@dataclass(frozen=True, eq=False)
class Neighbourhoods(Hypothesis):
    """A decision for each neighbourhood and task; people get that of the nearest centre."""

    centres: np.ndarray  # (cells, features)
    decisions: np.ndarray  # bool, (cells, tasks)

    def decide(self, features: np.ndarray) -> np.ndarray:
        """Decide for each person and task; shape (n, tasks)."""
        return self.decisions[pairwise_distances_argmin(features, self.centres)]

    def key(self) -> tuple[bytes, bytes]:
        """Return a value that is equal for two objects only if they decide alike."""
        return self.centres.tobytes(), self.decisions.tobytes()


# %%
# An *oracle* subclasses ``Oracle`` and writes ``exact`` and ``bind``. ``bind`` does once what
# depends on the people alone: here, cutting the map. It returns a function that is called in every
# round, with costs. ``costs.gaps()`` is a table, people x tasks: how much more a yes costs than a
# no. In each neighbourhood the gaps add up, and yes is right where the sum is below zero. One
# matrix product answers all tasks.
#
# ``exact = True`` is a promise: no other table of decisions over these neighbourhoods costs less.
# It is true here, because neighbourhoods do not depend on each other. For nearly every other
# learner it is false. Then write ``exact = False``, and the certificate claims no proof.


@dataclass(frozen=True)
class NeighbourhoodOracle(Oracle):
    """The cheapest decision in each neighbourhood, for every task."""

    cells: int = 16
    exact = True

    def bind(self, sample: Sample) -> Callable[[Costs], Neighbourhoods]:
        """Cut the map once, and return the function that answers."""
        clusters = KMeans(self.cells, n_init=3, random_state=0).fit(sample.features)
        centres = clusters.cluster_centers_
        home = pairwise_distances_argmin(sample.features, centres)
        members = np.equal.outer(np.arange(self.cells), home).astype(float)

        def answer(costs: Costs) -> Neighbourhoods:
            return Neighbourhoods(centres, members @ costs.gaps() < 0)

        return answer


# %%
# A town to try it on
# -------------------
#
# Thirty shops deliver to homes near them: a home is served if it lies within the shop's reach. A
# straight line through the map is a poor description of a circle. East of the river addresses are
# often wrong, and so are the labels.

rng = np.random.default_rng(0)
shops, reach = rng.uniform(-1, 1, size=(30, 2)), rng.uniform(0.5, 1.0, size=30)


def make_homes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where homes are, and which shops serve them."""
    homes = rng.uniform(-1, 1, size=(count, 2))
    served = np.linalg.norm(homes[:, None] - shops, axis=2) < reach
    wrong = rng.random(served.shape) < np.where(homes[:, :1] > 0.3, 0.25, 0.05)
    return homes, (served != wrong).astype(int)


homes, served = make_homes(300)
new_homes, new_served = make_homes(300)

# %%
# Used like any other oracle
# --------------------------

models, rows = {}, {}
for name, oracle in (("default", None), ("neighbourhoods", NeighbourhoodOracle())):
    for alpha in (0.5, 0.1):
        start = perf_counter()
        model = AverageFairClassifier(alpha, oracle=oracle, random_state=0).fit(homes, served)
        models[name, alpha], known = model, model.certificate_
        rows[name, "none" if alpha == 0.5 else alpha] = {
            "error": known.error,
            "spread": known.spread,
            "error, new homes": 1 - model.score(new_homes, new_served),
            "proved: at least": known.lower,
            "seconds": perf_counter() - start,
        }
table = pd.DataFrame(rows).T.rename_axis(["oracle", "alpha"])
print(table.round(3).to_string(na_rep="unknown"))

# %%
# Nothing is proved about the default, which learns linear thresholds: it is a heuristic. For the
# neighbourhoods, the certificate says how much better any mixture of their decisions could do.

print(models["neighbourhoods", 0.1].certificate_)

# %%
# The figure shows what both oracles have learned for one shop. The colour is the chance of a yes at
# each place. Without a constraint the chance is 0 or 1. With a constraint it is mixed, so that
# homes in the west, where labels are right, are not decided correctly much more often than homes in
# the east.

SHOP = int(np.linalg.norm(shops, axis=1).argmin())  # the shop nearest to the middle
side = np.linspace(-1, 1, 80)
places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

figure, panels = plt.subplots(2, 2, figsize=(5.8, 7.2), layout="constrained")
for ax, ((name, alpha), model) in zip(panels.T.flat, models.items(), strict=True):
    chance = model.decision_probability(places)[:, SHOP].reshape(80, 80)
    picture = ax.pcolormesh(side, side, chance, vmin=0, vmax=1, cmap="cividis", shading="nearest")
    edge = plt.Circle(shops[SHOP], reach[SHOP], fill=False, edgecolor="#d55e00", linewidth=2.5)
    ax.add_patch(edge)
    asked = "no constraint" if alpha == 0.5 else f"alpha = {alpha:g}"
    ax.set(title=f"{name}, {asked}", aspect="equal", xticks=[], yticks=[])
    ax.title.set_fontsize("medium")
figure.colorbar(picture, ax=panels, label="chance of a yes", shrink=0.6, location="bottom")
figure.suptitle("Where one shop delivers, as learned by two oracles;\nthe circle is its true reach")
plt.show()

# %%
# There is one limit. Model files hold the library's own classifiers and scikit-learn's, so this
# model cannot be saved (:meth:`~averagefair.AverageFairClassifier.save` says so).
#
# To add an oracle to the library itself, write one file in ``src/averagefair/oracles`` and one row
# in the table of ``tests/contracts/test_oracles.py``. The row runs every shared test on it.
# :doc:`/oracles` has the ready-made oracles.
