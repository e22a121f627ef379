"""Fairness on other tasks by the number of tasks learned from, with and without a request."""

import matplotlib.pyplot as plt

from averagefair import AverageFairClassifier, RegressionOracle
from averagefair.datasets import make_synthetic

TASKS = (10, 30, 100, 300)


def on_other_tasks(m: int, alpha: float) -> float:
    """Return how far all but 5% are from a common rate on 300 other tasks, noise removed."""
    made = make_synthetic(m=m, m_holdout=300)
    model = AverageFairClassifier(
        alpha=alpha, oracle=RegressionOracle(), decisions="drawn", random_state=0
    )
    later = model.fit(made.X, made.Y).extend(made.Y_new_tasks)
    found = model.audit(made.X, made.Y_new_tasks, classifiers=later)
    return float(found.curve.at(0.05)["denoised"])


figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
for alpha, name, colour, place in [
    (0.03, "asked for 0.03", "#0072b2", (-4, -18)),
    (0.5, "asked for nothing", "#666666", (-4, 8)),
]:
    within = [on_other_tasks(m, alpha) for m in TASKS]
    ax.plot(TASKS, within, "-o", color=colour, linewidth=2)
    ax.annotate(
        name,
        (TASKS[-1], within[-1]),
        xytext=place,
        textcoords="offset points",
        color=colour,
        fontsize=11,
        ha="right",
    )
ax.set_xscale("log")
ax.set_xticks(TASKS, labels=map(str, TASKS))
ax.minorticks_off()
ax.set_ylim(0, 0.15)
ax.set_xlabel("tasks learned from", fontsize=11)
ax.set_ylabel("all but 5% within", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
