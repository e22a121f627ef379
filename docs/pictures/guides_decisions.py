"""How far everybody's error rate is from a common rate: fixed decisions and other ways."""

import matplotlib.pyplot as plt
import numpy as np

from averagefair import AverageFairClassifier, individual_rates
from averagefair.datasets import make_synthetic

ALPHA = 0.03

people = make_synthetic(m=200)
model = AverageFairClassifier(alpha=ALPHA, random_state=0).fit(people.X, people.Y)
free = AverageFairClassifier(alpha=0.5, random_state=0).fit(people.X, people.Y)
chances = model.mixture_.decision_probability(people.X)
ways = {
    "fixed": model.predict(people.X),
    "chances,\non average": chances,
    "drawn": model.mixture_.predict(people.X),
    "cut at 1/2": chances >= 0.5,
    "one draw\nper task": model.mixture_.sparsify(1).predict(people.X),
    "nothing\nasked": free.predict(people.X),
}


def common_rate(rates):
    """Return the middle of the window of two alpha that holds most people."""
    low = rates[:, np.newaxis] - 1e-6
    inside = ((rates >= low) & (rates <= low + 2 * ALPHA + 2e-6)).sum(axis=1)
    return rates[inside.argmax()] + ALPHA


figure, ax = plt.subplots(figsize=(4.8, 3.8), layout="constrained")
ax.axvspan(-ALPHA, ALPHA, color="#cfe3f1", zorder=0)
ax.text(0, -0.75, "within alpha", color="#0072b2", fontsize=11, ha="center")
jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(people.X))
for row, way in enumerate(ways.values()):
    rates = individual_rates(people.Y, np.asarray(way, dtype=float))
    off = rates - common_rate(rates)
    inside = np.abs(off) <= ALPHA + 1e-6
    for chosen, colour in [(inside, "#0072b2"), (~inside, "#d55e00")]:
        ax.scatter(off[chosen], row + jitter[chosen], s=7, color=colour, linewidths=0)
ax.set_yticks(range(len(ways)), labels=ways, fontsize=11)
ax.set_ylim(len(ways) - 0.5, -1.1)
ax.set_xlabel("everybody's error rate minus the common rate", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
