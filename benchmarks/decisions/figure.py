"""The figure: deviations of running rates while tasks arrive, a panel for each population."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from averagefair.showing.drawing import REQUEST, SERIES, finish, new_figure, tint
from benchmarks.decisions.records import Result
from benchmarks.decisions.stream import ALPHA, WAYS

LABELS = dict(
    zip(WAYS, ("fixed, with the balance", "fixed, each task alone", "drawn"), strict=True)
)
TITLES = {"synthetic": "Synthetic", "communities": "Communities and Crime"}
DPI = 150


def draw(found: dict[str, list[Result]], file: Path) -> None:
    """Draw the means over populations, and their range; tasks arrive one by one.

    Parameters
    ----------
    found : dict
        The results of each population.
    file : Path
        Where the picture goes.
    """
    figure = new_figure((4.1 * len(found), 3.4))
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for ax, (population, results) in zip(panels, found.items(), strict=True):
        for way, style in zip(WAYS, SERIES, strict=False):
            runs = [result["1"][way] for result in results]
            tasks = np.array(runs[0]["tasks"])
            deviations = 100 * np.array([run["deviation"] for run in runs])
            low, high = deviations.min(axis=0), deviations.max(axis=0)
            ax.fill_between(tasks, low, high, color=tint(style.colour, 0.2), linewidth=0)
            look = {"color": style.colour, "linestyle": style.dash, "linewidth": 1.6}
            ax.plot(tasks, deviations.mean(axis=0), label=LABELS[way], **look)
        ax.axhline(100 * ALPHA, color=REQUEST, linewidth=0.9, linestyle=(0, (1, 2)))
        ax.text(tasks[-1], 100 * ALPHA, "alpha", color=REQUEST, ha="right", va="top")
        ax.set(title=TITLES.get(population, population), xlabel="tasks so far")
        ax.title.set_fontsize(10)
    panels[0].set_ylim(0, None)
    panels[0].set_ylabel("half the spread of running rates, points")
    finish(panels[0])
    for ax in panels[1:]:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=DPI)
