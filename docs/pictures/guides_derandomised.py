"""Everybody's error rate by the mixture's chances, and by ways to avoid draws."""

import matplotlib.pyplot as plt
import numpy as np

from averagefair import AverageFairClassifier, individual_rates
from averagefair.datasets import make_synthetic

ALPHA = 0.03

people = make_synthetic(m=200)
model = AverageFairClassifier(alpha=ALPHA, random_state=0).fit(people.X, people.Y)
free = AverageFairClassifier(alpha=0.5, random_state=0).fit(people.X, people.Y)
chances = model.decision_probability(people.X)
# The first hypothesis decides each task by its most likely rule.
likeliest = model.classifiers_.hypotheses[0]
ways = {
    "chances": chances,
    "draws": model.predict(people.X),
    "cut at 1/2": chances >= 0.5,
    "likeliest\nrule": likeliest.decide(people.X),
    "no\nconstraint": free.decision_probability(people.X),
}

figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
common = model.common_rate_
ax.axvspan(common - ALPHA, common + ALPHA, color="#cfe3f1", zorder=0)
ax.text(common, -0.75, "within alpha", color="#0072b2", fontsize=11, ha="center")
jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(people.X))
for row, way in enumerate(ways.values()):
    rates = individual_rates(people.Y, np.asarray(way, dtype=float))
    inside = np.abs(rates - common) <= ALPHA + 1e-6
    for chosen, colour in [(inside, "#0072b2"), (~inside, "#d55e00")]:
        ax.scatter(rates[chosen], row + jitter[chosen], s=7, color=colour, linewidths=0)
ax.set_yticks(range(len(ways)), labels=ways, fontsize=11)
ax.set_ylim(len(ways) - 0.5, -1.1)
ax.set_xlabel("everybody's error rate over 200 tasks", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
