"""Figures of models and curves (matplotlib, the extra ``plots``).

A display holds the data of a figure, computed once from models or a frontier. ``plot`` draws it and
returns the axes; ``axes.figure.savefig(...)`` writes the figure to a file. Without given axes,
``plot`` makes a new pyplot figure: notebooks show it, and ``pyplot.close()`` frees it. Up to a
thousand people are drawn as dots; more people are drawn as a density. An audit has its own figure:
:meth:`averagefair.Audit.plot`.
"""

from averagefair.showing.plots.error_spread import ErrorSpreadDisplay
from averagefair.showing.plots.frontier import FrontierDisplay
from averagefair.showing.plots.rates import RatesDisplay
from averagefair.showing.plots.trajectory import TrajectoryDisplay

__all__ = ["ErrorSpreadDisplay", "FrontierDisplay", "RatesDisplay", "TrajectoryDisplay"]
