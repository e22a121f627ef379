"""Figures of models and curves (matplotlib, the extra ``plots``).

A display holds what is drawn, made once from models or a frontier. ``plot`` only lays it out, and
returns the axes; ``axes.figure.savefig(...)`` writes the figure to a file. Axes that are not given
are those of a new pyplot figure: notebooks show it, and ``pyplot.close()`` frees it. Up to a
thousand people are drawn as dots, more as a density. An audit draws itself:
:meth:`averagefair.Audit.plot`.
"""

from averagefair.plots.error_spread import ErrorSpreadDisplay
from averagefair.plots.frontier import FrontierDisplay
from averagefair.plots.rates import RatesDisplay
from averagefair.plots.trajectory import TrajectoryDisplay

__all__ = ["ErrorSpreadDisplay", "FrontierDisplay", "RatesDisplay", "TrajectoryDisplay"]
