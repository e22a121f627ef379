"""The paper's figure of generalisation: the cost of fairness in training and held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair._util.frozen import Frozen
from averagefair._util.text import percent
from averagefair.errors import InputError
from averagefair.evaluation.generalisation import BETA, CORNERS, Generalisation, same_curve
from averagefair.frontier import Frontier
from averagefair.showing import drawing
from averagefair.showing.drawing import BLACK, NOISE, REQUEST, SERIES
from averagefair.showing.plots.given import check_kind

PANELS = ("error", "near")


@dataclass(frozen=True, eq=False, repr=False)
class FrontierDisplay(Frozen):
    """The cost of fairness in training and held out: the paper's figure of generalisation.

    Attributes
    ----------
    measured : Generalisation
        The curve on training data and on held-out data. Each corner of it combines training or new
        people with training or new tasks.
    coin_flips : array, shape (k,)
        A baseline: the error if the unconstrained model is mixed with coin flips until its rates
        are equally close together. NaN if unknown.
    unconstrained_error, unconstrained_alpha : float
        The error and half the spread without a constraint. From this alpha on the constraint never
        binds. NaN if unknown.
    parameter : str
        What the curve varies: "alpha", "max_rate" or "price". Coin flips, and the line of what was
        requested, are drawn for alpha only.

    Examples
    --------
    >>> import averagefair
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=40, m=20, n_holdout=40)
    >>> curve = averagefair.frontier(people.X, people.Y, [0.05, 0.1], random_state=0)
    >>> new = {"X_new": people.X_new, "Y_new_people": people.Y_new_people}
    >>> test = averagefair.generalisation(curve, **new)
    >>> panels = FrontierDisplay.from_frontier(curve, test).figure()
    >>> [ax.get_ylabel() for ax in panels.axes]
    ['overall error, 95% CI', 'distance of all but 5% from a common rate']
    """

    measured: Generalisation
    coin_flips: FloatArray
    unconstrained_error: float
    unconstrained_alpha: float
    parameter: str = "alpha"

    @classmethod
    def from_frontier(
        cls, curve: Frontier, measured: Generalisation | None = None
    ) -> FrontierDisplay:
        """Make the display from a curve and, if given, its held-out results.

        Parameters
        ----------
        curve : Frontier
        measured : Generalisation, optional
            From ``generalisation(curve, ...)``. Default: training data only.
        """
        check_kind(curve, Frontier, "a frontier")
        measured = same_curve(curve, measured)
        flips = np.array([point.coin_flips for point in curve])
        free = curve.unconstrained
        return cls(measured, flips, free.error, free.spread / 2, curve.parameter)

    @classmethod
    def from_measured(cls, measured: Generalisation) -> FrontierDisplay:
        """Make the display from held-out results alone, without the unconstrained model.

        Parameters
        ----------
        measured : Generalisation
            From ``generalisation(curve, ...)``.
        """
        check_kind(measured, Generalisation, "a result of generalisation()")
        unknown = np.full(measured.training.value.size, np.nan)
        return cls(measured, unknown, np.nan, np.nan, measured.parameter)

    def figure(self) -> drawing.Panels:
        """Draw both panels side by side in a new pyplot figure.

        Returns
        -------
        Panels
            ``savefig(file)`` writes the figure; ``figure`` and ``axes`` are matplotlib's.
        """
        panels = drawing.Panels.new(len(PANELS), (11, 4.8))
        for ax, panel in zip(panels.axes, PANELS, strict=True):
            self.plot(ax, panel)
        return panels

    def plot(self, ax: Any = None, y: str = "error", corner: str | None = None) -> Any:
        """Draw one panel against the requested alpha, cap or price; returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows.
        y : {"error", "near"}, default "error"
            "error": the overall error of all corners, with intervals. "near": the distance of all
            but 5% of the people from a common rate. On new tasks it also shows the distance that
            noise alone would give.
        corner : {"training", "people", "tasks", "both"}, optional
            The corner for y="near". Default: the last of these that was measured.
        """
        known = self.measured.corners
        corner = list(known)[-1] if corner is None else corner
        if y not in PANELS or corner not in known:
            raise InputError(
                f"`y` must be one of {', '.join(PANELS)} and `corner` one of {', '.join(known)} "
                f"(those measured); got y={y!r} and corner={corner!r}."
            )
        ax = drawing.axes(ax, (5.5, 4.8))
        if y == "error":
            self._plot_error(ax)
        else:
            self._plot_near(ax, corner)
        ax.set(xlabel=f"requested {self.parameter.replace('_', ' ')}")
        ax.set_xlim(left=0.0)
        return drawing.finish(ax, above=True)

    def _plot_error(self, ax: Any) -> None:
        for name, at in self.measured.corners.items():
            style = SERIES[list(CORNERS).index(name)]
            if not np.isnan(at.error_low).all():
                # With a single alpha the area has no width; only its edge shows the interval.
                band = {"color": style.colour, "alpha": 0.13, "linewidth": 1.5}
                ax.fill_between(at.value, at.error_low, at.error_high, **band)
            drawing.draw_line(ax, at.value, at.error, style, CORNERS[name])
        if np.isnan(self.unconstrained_error):
            pass  # made from held-out results alone
        elif self.parameter == "alpha":
            self._plot_baselines(ax)
        else:
            look = {"color": BLACK, "linestyle": ":", "linewidth": 1.0, "zorder": 1.5}
            ax.axhline(self.unconstrained_error, label="without a constraint", **look)
        several = len(self.measured.corners) > 1
        level = f", {percent(self.measured.training.confidence)} CI" if several else ""
        ax.set(ylabel=f"overall error{level}")

    def _plot_baselines(self, ax: Any) -> None:
        alpha, free = self.measured.training.value, (self.unconstrained_alpha,)
        look = {"color": REQUEST, "linestyle": (0, (8, 2)), "zorder": 1.5}
        ax.plot(alpha, self.coin_flips, label="coin flips", **look)
        look = {"color": "white", "markeredgecolor": BLACK, "markersize": 12, "zorder": 4}
        ax.plot(free, self.unconstrained_error, "*", label="without a constraint", **look)

    def _plot_near(self, ax: Any, corner: str) -> None:
        at, training = self.measured.corners[corner], self.measured.training
        if not np.isnan(at.floor).all():
            noise = {"color": NOISE, "alpha": 0.4, "linewidth": 1.5, "label": "noise alone"}
            ax.fill_between(at.value, 0.0, at.floor, **noise)
        if self.parameter == "alpha":
            ax.plot(at.value, at.value, color=REQUEST, linestyle=(0, (8, 2)), label="requested")
        drawing.draw_line(ax, training.value, training.near, SERIES[0], CORNERS["training"])
        if corner != "training":
            style = SERIES[list(CORNERS).index(corner)]
            name = CORNERS[corner]
            drawing.draw_line(ax, at.value, at.near, style._replace(dash="-"), f"{name}, observed")
            if not at.learned_tasks:
                style = style._replace(dash="--")
                drawing.draw_line(ax, at.value, at.denoised, style, f"{name}, without noise")
        ax.set(ylabel=f"distance of all but {percent(BETA)} from a common rate")
        ax.set_ylim(bottom=0.0)
