"""Everybody's error rate before and after, a dot for each of the neighbours."""

import matplotlib.pyplot as plt
import numpy as np
from neighbours import ALPHA, CALM, ODD, STYLE, WRONG, learned

plt.rcParams.update(STYLE)
figure, axis = plt.subplots(figsize=(5.2, 3.3), layout="constrained")
for height, alpha in ((1, 0.5), (0, ALPHA)):
    model = learned(alpha)
    rates = model.individual_rates_
    others = np.delete(rates, ODD)
    column = np.round(others / 0.02)  # who is about as badly off stands above the other
    above = np.array([np.sum(column[:place] == column[place]) for place in range(len(others))])
    axis.plot(others, height - 0.35 + 0.08 * above, "o", color=CALM, markersize=6)
    axis.plot(rates[ODD], height, "D", color=WRONG, markersize=9)
    beside = (rates[ODD] + 0.03, height) if rates[ODD] < 0.5 else (rates[ODD] - 0.03, height)
    axis.annotate(
        "person 8", beside, color=WRONG, va="center", ha="left" if rates[ODD] < 0.5 else "right"
    )
    axis.plot([model.error_] * 2, [height - 0.38, height + 0.38], color="black", linewidth=1.5)
common = model.common_rate_
axis.fill_betweenx([-0.45, 0.45], common - ALPHA, common + ALPHA, color="#F0E442", alpha=0.35, lw=0)
axis.text(common + ALPHA + 0.03, -0.32, "all within 0.1 of one rate", va="center")
axis.set(xlabel="individual error rate (line: mean)", ylim=(-0.55, 1.75), xlim=(-0.02, 0.85))
axis.set_yticks([1, 0], ["each task\nby itself", "learned\ntogether"])
axis.spines["left"].set_visible(False)
axis.tick_params(left=False)
