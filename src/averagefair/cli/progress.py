"""The progress of a long run: round, error, spread, gap, and the time left.

At a terminal it is a line with a bar that changes in place. Elsewhere, such as in the log of a
build, a line is printed every few seconds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from averagefair.cli.console import say as print_line

if TYPE_CHECKING:
    from averagefair.game.promises import Promise
    from averagefair.game.solution import Callback, Round

INTERVAL = 5.0
"""Seconds between two lines where there is no terminal; a shorter run prints none."""
PREFIX = "progress: "


@contextmanager
def progress(
    shown: bool,
    values: Sequence[float],
    *,
    max_rounds: int,
    time_limit: float | None = None,
    promise: Promise | None = None,
) -> Iterator[Callback | None]:
    """Show a solver's progress on standard error while the block runs.

    Parameters
    ----------
    shown : bool
    values : sequence of float
        The values of the promise's figure to solve, such as alphas; a solver takes the easiest
        first.
    max_rounds : int
        The limit for each value.
    time_limit : float, optional
        The limit in seconds, for all values together.
    promise : Promise, optional
        The promise whose values they are. Default: equal rates.
    """
    with bar(shown) as say:
        if say is None:
            yield None
            return
        clock = Clock(values, max_rounds, time_limit, promise)

        def show(now: Round) -> None:
            share = clock.done(now) / len(values) if len(values) > 1 else None
            say(clock.describe(now) if sys.stderr.isatty() else clock.in_words(now), share)

        yield show


@contextmanager
def bar(shown: bool) -> Iterator[Callable[[str, float | None], None] | None]:
    """Yield a function that shows a line and the share done; None if nothing is shown.

    Without a terminal it prints a line at most every ``INTERVAL`` seconds.
    """
    if not shown:
        yield None
        return
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    drawn = Progress(
        BarColumn(bar_width=6),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with drawn:
        line = drawn.add_task("starting", total=None)

        def say(text: str, share: float | None) -> None:
            total = None if share is None else 1.0
            drawn.update(line, description=text, total=total, completed=share)

        yield say


class Lines:
    """Prints a line on standard error, at most every ``INTERVAL`` seconds."""

    def __init__(self) -> None:
        self.last = perf_counter()

    def __call__(self, text: str, share: float | None) -> None:
        """Print the text, unless a line was printed a moment ago."""
        now = perf_counter()
        if now - self.last < INTERVAL:
            return
        self.last = now
        try:
            print_line(f"{PREFIX}{text}", err=True)
        except OSError:
            self.last = math.inf  # nobody reads: the run goes on in silence


@contextmanager
def cross_progress(
    shown: bool, values: Sequence[float], curves: int, promise: Promise
) -> Iterator[Callable[[int, Round], object] | None]:
    """Show the progress of cross-fitting, which learns several curves in turn.

    Parameters
    ----------
    shown : bool
    values : sequence of float
        The values of each curve.
    curves : int
    promise : Promise
    """
    with bar(shown) as say:
        if say is None:
            yield None
            return
        clock = Clock(values, 1, promise=promise)
        say(f"cross-fitting: {curves} curves of parts of the table", None)

        def show(curve: int, now: Round) -> None:
            share = (curve - 1 + clock.done(now) / len(values)) / curves
            left = ""
            if share > 0:
                spent = perf_counter() - clock.start
                left = f", about {in_minutes(spent / share * (1 - share))} left"
            say(f"cross-fitting: curve {curve} of {curves}{left}", share)

        yield show


class Clock:
    """Estimates how far along a run is, and how long it may still take.

    Parameters
    ----------
    values, max_rounds, time_limit, promise
        As for :func:`progress`.
    """

    def __init__(
        self,
        values: Sequence[float],
        max_rounds: int,
        time_limit: float | None = None,
        promise: Promise | None = None,
    ) -> None:
        self.values, self.max_rounds, self.time_limit = sorted(values), max_rounds, time_limit
        self.figure = "alpha" if promise is None else promise.parameter.replace("_", " ")
        self.sign = 1.0 if promise is not None and promise.less_is_easier else -1.0
        self.start = perf_counter()

    def done(self, now: Round) -> int:
        """Return how many values are done: all that are easier, such as a larger alpha."""
        return sum(self.sign * (now.value - value) > 1e-12 for value in self.values)

    def left(self, now: Round) -> tuple[str, float]:
        """Return "about" or "at most", and a number of seconds.

        On a curve, the time of the finished values gives an estimate. For one value, the number of
        rounds is unknown. Then the limits give a bound, at the average time per round so far.
        """
        spent = perf_counter() - self.start
        bounds = [] if self.time_limit is None else [max(0.0, self.time_limit - spent)]
        if len(self.values) == 1:
            bounds.append(spent / now.round * (self.max_rounds - now.round))
        elif self.done(now):
            about = spent / self.done(now) * (len(self.values) - self.done(now))
            if about <= min(bounds, default=math.inf):
                return "about", about
        return "at most", min(bounds, default=math.inf)

    def describe(self, now: Round) -> str:
        """Return the progress line, short enough to leave room for a bar within 80 columns.

        "~0:10 left" means about ten seconds, "<0:10 left" at most ten.
        """
        kind, seconds = self.left(now)
        sign = "~" if kind == "about" else "<"
        left = f" {sign}{in_minutes(seconds)} left" if math.isfinite(seconds) else ""
        gap = f" gap {now.gap:.2g}" if math.isfinite(now.gap) else ""
        figure = f"{self.figure} {now.value:.3g} " if self.figure else ""
        return f"{figure}round {now.round} error {now.error:.3f} spread {now.spread:.3f}{gap}{left}"

    def in_words(self, now: Round) -> str:
        """Return where the run stands, for a log: the value, the round, and the time left."""
        kind, seconds = self.left(now)
        left = f", {kind} {in_minutes(seconds)} left" if math.isfinite(seconds) else ""
        figure = f"{self.figure} {now.value:.3g}, " if self.figure else ""
        return f"{figure}round {now.round}, error {now.error:.3f}{left}"


def in_minutes(seconds: float) -> str:
    """Write a time as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
