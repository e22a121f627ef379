"""The trade-off: error against how far the worst-off and the best-off are apart."""

import matplotlib.pyplot as plt
import numpy as np
from neighbours import ALPHA, CALM, STYLE, neighbours

from averagefair import frontier

alphas = np.round(np.arange(0.02, 0.41, 0.02), 2)
curve = frontier(*neighbours(), alphas, random_state=0)
free, chosen = curve[0].unconstrained, curve.at(ALPHA)

plt.rcParams.update(STYLE)
figure, axis = plt.subplots(figsize=(5.2, 3.5), layout="constrained")
axis.plot([0, free.spread], [0.5, free.error], "--", color="#777777")
axis.plot([point.spread for point in curve], [point.error for point in curve], "o-", color=CALM)
axis.plot(free.spread, free.error, "s", color="black", markersize=9)
axis.plot(chosen.spread, chosen.error, "o", color=CALM, markersize=11)
axis.text(0.3, 0.35, "mixing in coin flips", color="#555555")
axis.text(chosen.spread, chosen.error + 0.03, "learned together", color=CALM)
axis.text(chosen.spread, chosen.error - 0.055, "alpha = 0.1", color=CALM, ha="center")
axis.text(free.spread, free.error - 0.045, "nothing asked", ha="right")
axis.set(xlabel="worst-off less best-off person's rate", ylabel="error of all decisions")
axis.set(xlim=(0, free.spread * 1.04), ylim=(0, 0.52))
