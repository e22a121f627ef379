"""The paper's figure "convergence": error (x) and unfairness (y), round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.game.promises import Equal
from averagefair.showing import drawing
from averagefair.showing.drawing import BLACK, REQUEST, SERIES
from averagefair.showing.plots.given import value_words


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryDisplay:
    """Error and unfairness, round by round: the paper's figure 1(a), with its axes.

    The x axis is the overall error, the y axis the spread of individual rates. Dashed lines mark
    the allowed spread, 2 alpha.

    Attributes
    ----------
    names : tuple of str
        The name of each run.
    alphas : tuple of float
        The requested alpha of each run; its target is a spread of 2 alpha. NaN for a run that does
        not promise equal rates.
    errors, spreads : tuple of array, shape (rounds + 1,)
        The values after each round of a run, on average over draws. The last values are the fitted
        model's: with fixed decisions, those of the decisions made.

    Examples
    --------
    >>> from averagefair import AverageFairClassifier
    >>> from averagefair.datasets import make_synthetic
    >>> people = make_synthetic(n=40, m=10)
    >>> model = AverageFairClassifier(alpha=0.2, random_state=0).fit(people.X, people.Y)
    >>> TrajectoryDisplay.from_models(model).plot().get_xlabel()
    'overall error'
    """

    names: tuple[str, ...]
    alphas: tuple[float, ...]
    errors: tuple[FloatArray, ...]
    spreads: tuple[FloatArray, ...]

    @classmethod
    def from_models(
        cls,
        models: AverageFairClassifier | Sequence[AverageFairClassifier],
        names: Sequence[str] | None = None,
    ) -> TrajectoryDisplay:
        """Make the display from the paths of one or more fitted models.

        With column generation, every round keeps the promise on average over draws: the error
        falls. With fixed decisions, the last step goes from these averages to the decisions made.

        Parameters
        ----------
        models : AverageFairClassifier, or sequence of these
            Fitted models.
        names : sequence of str, optional
            The name of each model. Default: its alpha, cap or price.
        """
        runs = [models] if isinstance(models, AverageFairClassifier) else list(models)
        others = [type(run).__name__ for run in runs if not isinstance(run, AverageFairClassifier)]
        if not runs or others:
            raise InputError(
                "a trajectory needs one AverageFairClassifier or more; got "
                f"{', '.join(others) or 'none'}. For a pipeline, pass its last step, pipeline[-1]."
            )
        for model in runs:
            check_is_fitted(model)
        promises = [model.certificate_.promise for model in runs]
        alphas = tuple(own.alpha if isinstance(own, Equal) else np.nan for own in promises)
        names = [value_words(own) for own in promises] if names is None else list(names)
        if len(names) != len(runs):
            raise InputError(f"`names` must name each of {len(runs)} models; got {len(names)}.")
        # A model can be a little better than its last round, or have no rounds at all.
        paths = [(model.history_, model.certificate_) for model in runs]
        return cls(
            names=tuple(names),
            alphas=alphas,
            errors=tuple(np.append(past["error"], end.error) for past, end in paths),
            spreads=tuple(np.append(past["spread"], end.spread) for past, end in paths),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the paths, from light to dark, and the allowed spread; returns the axes.

        Parameters
        ----------
        ax : Axes, optional
            Default: the axes of a new pyplot figure, which a notebook shows.
        """
        ax = drawing.axes(ax, (6.0, 4.8))
        targets = sorted({alpha for alpha in self.alphas if not np.isnan(alpha)})
        if targets:
            ax.plot([], [], "--", color=REQUEST, linewidth=0.9, label="allowed: 2 alpha")
        ax.plot([], [], "o", mfc="white", mec=BLACK, markersize=6, label="start")
        for alpha in targets:
            ax.axhline(2 * alpha, color=REQUEST, linestyle="--", linewidth=0.9, zorder=1)
        for run, (name, x, y) in enumerate(zip(self.names, self.errors, self.spreads, strict=True)):
            colour, _, marker = SERIES[run % len(SERIES)]
            drawing.draw_path(ax, x, y, colour)
            ax.plot(x[:1], y[:1], "o", mfc="white", mec=colour, markersize=6, zorder=3)
            look = {"color": colour, "markeredgecolor": "white", "markersize": 9, "zorder": 4}
            look |= {"label": f"end, {drawing.words(name)}"}
            ax.plot(x[-1:], y[-1:], linestyle="", marker=marker, **look)
        ax.set(xlabel="overall error", ylabel="unfairness: spread of individual rates")
        ax.set_ylim(bottom=0.0)
        return drawing.finish(ax, above=True)
