"""Decisions about the neighbours, task by task and learned together: one square for each."""

import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap
from neighbours import ALPHA, DARK, ODD, RIGHT, STYLE, WRONG, learned, neighbours

X, Y = neighbours()
plt.rcParams.update(STYLE)
figure, axes = plt.subplots(1, 2, figsize=(5.2, 3.9), layout="constrained")
for axis, alpha, title in zip(
    axes, (0.5, ALPHA), ("each task by itself", "learned together"), strict=True
):
    wrong = learned(alpha).predict(X, ids=range(len(X))) != Y
    axis.pcolormesh(wrong, cmap=ListedColormap([RIGHT, WRONG]), edgecolors="white", linewidth=0.6)
    axis.invert_yaxis()
    axis.set(xticks=[], yticks=[], xlabel=f"in all {100 * wrong.mean():.0f} in 100 wrong")
    axis.set_title(f"{title}:\nperson 8 wrong {wrong[ODD].sum()} of 30", fontsize=12.5)
    axis.spines[:].set_visible(False)
    axis.axhline(ODD, color=DARK, linewidth=1.2)
    axis.axhline(ODD + 1, color=DARK, linewidth=1.2)
axes[0].set_yticks([ODD + 0.5], ["8"])
axes[0].set_ylabel("24 people")
