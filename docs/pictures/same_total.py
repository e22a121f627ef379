"""Schematic: ten wrong decisions out of a hundred, in one row or one in each row."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from neighbours import RIGHT, STYLE, WRONG

one_row, every_row = np.zeros((2, 10, 10))
one_row[6] = 1
every_row[np.arange(10), [3, 8, 1, 6, 9, 4, 0, 7, 2, 5]] = 1

plt.rcParams.update(STYLE)
figure, axes = plt.subplots(1, 2, figsize=(5.2, 3.3), layout="constrained")
panels = {"always the same": one_row, "everybody once": every_row}
for axis, (title, wrong) in zip(axes, panels.items(), strict=True):
    axis.pcolormesh(wrong, cmap=ListedColormap([RIGHT, WRONG]), edgecolors="white", linewidth=2)
    axis.invert_yaxis()
    axis.set(title=title, xlabel="tasks", xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
axes[0].set_ylabel("people")
figure.supxlabel("Schematic. Orange: wrong, 10 of 100 in both.")
