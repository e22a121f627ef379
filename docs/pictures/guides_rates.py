"""False-negative rates in two places, by what was equalised."""

import matplotlib.pyplot as plt
import numpy as np

from averagefair import AverageFairClassifier, individual_rates

rng = np.random.default_rng(1)
n, m = 200, 60
elsewhere = np.arange(n) % 4 == 0
traits = rng.normal(size=(n, 4))
score = traits @ rng.normal(size=(4, m)) - 1.5 * elsewhere[:, None]
Y = (score + rng.normal(size=(n, m)) > 0).astype(int)
X = np.column_stack([traits, elsewhere])

asked = {
    "nothing": {"alpha": 0.5},
    "error": {"rate": "error"},
    "false\npositives": {"rate": "false_positive"},
    "false\nnegatives": {"rate": "false_negative"},
}
figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
for row, options in enumerate(asked.values()):
    model = AverageFairClassifier(**({"alpha": 0.1, "random_state": 0} | options)).fit(X, Y)
    rates = individual_rates(Y, model.decision_probability(X), "false_negative")
    here, there = rates[~elsewhere].mean(), rates[elsewhere].mean()
    ax.plot([here, there], [row, row], color="#bbbbbb", linewidth=3, zorder=1)
    ax.scatter(here, row, s=90, color="#0072b2", zorder=2)
    ax.scatter(there, row, s=90, color="#d55e00", marker="s", zorder=2)
    if row == 0:
        for place, name, colour in [(here, "here", "#0072b2"), (there, "elsewhere", "#d55e00")]:
            ax.annotate(
                name,
                (place, row),
                (0, 10),
                textcoords="offset points",
                color=colour,
                fontsize=11,
                ha="center",
            )
ax.set_yticks(range(len(asked)), labels=asked, fontsize=11)
ax.set_ylabel("equalised", fontsize=11)
ax.set_ylim(3.5, -0.7)
ax.set_xlim(0, 0.4)
ax.set_xticks([0, 0.1, 0.2, 0.3, 0.4])
ax.set_xlabel("mean false-negative rate", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
