"""What each alpha costs, on people learned from and on others, beside coin flips."""

import matplotlib.pyplot as plt

from averagefair import frontier, generalisation
from averagefair.datasets import make_synthetic

people = make_synthetic(n_holdout=400)
curve = frontier(people.X, people.Y, [0.05, 0.1, 0.15, 0.2], random_state=0)
test = generalisation(curve, X_new=people.X_new, Y_new_people=people.Y_new_people)

figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
by_coins = [point.coin_flips for point in curve]
for name, error, colour, style, offset, place in [
    ("coin flips, as equal", by_coins, "#666666", "--", (10, 4), 1),
    ("new people", test.people.error, "#d55e00", "-", (-72, 9), 3),
    ("people learned from", test.training.error, "#0072b2", "-", (-125, -18), 3),
]:
    ax.plot(curve.values, error, style, color=colour, marker="o", linewidth=2)
    point = (curve.values[place], error[place])
    ax.annotate(name, point, offset, textcoords="offset points", color=colour, fontsize=11)
ax.set_xlabel("alpha", fontsize=11)
ax.set_ylabel("error", fontsize=11)
ax.set_ylim(0, 0.5)
ax.set_xticks(curve.values)
ax.spines[["top", "right"]].set_visible(False)
