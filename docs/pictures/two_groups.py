"""Fair by group, unfair to individuals: everybody's rate on later tasks, by group."""

import matplotlib.pyplot as plt
import numpy as np
from neighbours import CALM, STYLE, WRONG

from averagefair import AverageFairClassifier, individual_rates

rng = np.random.default_rng(0)
region = np.repeat(["north", "south"], 150)
newcomer = np.tile(np.arange(150) < 22, 2)
traits = rng.normal(size=(300, 8))
rule, other_rule = rng.normal(size=(2, 8, 100))
Y = np.where(newcomer[:, None], traits @ other_rule > 0, traits @ rule > 0).astype(int)
X = np.column_stack([traits, region == "south", newcomer])

plt.rcParams.update(STYLE)
figure, axes = plt.subplots(2, 1, figsize=(5.2, 4.8), sharex=True, layout="constrained")
scatter = np.random.default_rng(1).uniform(-0.3, 0.3, size=300)
titles = {0.5: "nothing asked", 0.1: "learned with alpha = 0.1"}
for axis, (alpha, title) in zip(axes, titles.items(), strict=True):
    model = AverageFairClassifier(alpha=alpha, random_state=0).fit(X, Y[:, :50])
    chances = model.mapping_.extend(Y[:, 50:]).decision_probability(X)
    rates = individual_rates(Y[:, 50:], chances)
    for height, name in ((1, "north"), (0, "south")):
        here = region == name
        for who, color, marker in ((~newcomer, CALM, "o"), (newcomer, WRONG, "D")):
            shown = here & who
            axis.plot(rates[shown], height + scatter[shown], marker, color=color, ms=4, alpha=0.7)
        mean = rates[here].mean()
        axis.plot([mean, mean], [height - 0.42, height + 0.42], color="black", linewidth=2)
        axis.text(0.63, height, f"mean {mean:.2f}", va="center")
    axis.set_title(title, loc="left", fontsize=12.5)
    axis.set_yticks([1, 0], ["north", "south"])
    axis.tick_params(left=False)
    axis.spines["left"].set_visible(False)
axes[0].text(0.43, 1.42, "newcomers", color=WRONG, ha="center", va="bottom")
axes[1].set(xlabel="individual error rate on 50 later tasks", xlim=(-0.02, 0.85))
