"""The progress line of long work: round, error, spread, gap, and the time left."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from averagefair.solvers.iterate import Callback, Round


@contextmanager
def progress(
    shown: bool,
    alphas: Sequence[float],
    *,
    max_rounds: int,
    time_limit: float | None = None,
) -> Iterator[Callback | None]:
    """Show how a solver stands, on standard error, while the block runs.

    Quiet where standard error is no terminal.

    Parameters
    ----------
    shown : bool
    alphas : sequence of float
        What is solved for. Several are taken one after the other, the largest first.
    max_rounds : int
        For each alpha.
    time_limit : float, optional
        In seconds, for all of them.
    """
    with bar(shown) as say:
        if say is None:
            yield None
            return
        clock = Clock(alphas, max_rounds, time_limit)

        def show(now: Round) -> None:
            share = clock.done(now) / len(alphas) if len(alphas) > 1 else None
            say(clock.describe(now), share)

        yield show


@contextmanager
def bar(shown: bool) -> Iterator[Callable[[str, float | None], None] | None]:
    """Yield what shows a line and the share that is done, on standard error; None where quiet."""
    if not (shown and sys.stderr.isatty()):
        yield None
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


class Clock:
    """Tells how far along a run is, and how long it may still take.

    Parameters
    ----------
    alphas, max_rounds, time_limit
        As for :func:`progress`.
    """

    def __init__(
        self, alphas: Sequence[float], max_rounds: int, time_limit: float | None = None
    ) -> None:
        self.alphas, self.max_rounds, self.time_limit = sorted(alphas), max_rounds, time_limit
        self.start = perf_counter()

    def done(self, now: Round) -> int:
        """Return how many alphas are behind: those larger than the one at work."""
        return sum(alpha > now.alpha + 1e-12 for alpha in self.alphas)

    def left(self, now: Round) -> tuple[str, float]:
        """Return "about" or "at most", and so many seconds.

        On a curve, by the alphas that are done. For one alpha nobody knows when the last round
        comes: what is told is what the limits allow, if rounds go on taking as long as they did.
        """
        spent = perf_counter() - self.start
        bounds = [] if self.time_limit is None else [max(0.0, self.time_limit - spent)]
        if len(self.alphas) == 1:
            bounds.append(spent / now.round * (self.max_rounds - now.round))
        elif self.done(now):
            about = spent / self.done(now) * (len(self.alphas) - self.done(now))
            if about <= min(bounds, default=math.inf):
                return "about", about
        return "at most", min(bounds, default=math.inf)

    def describe(self, now: Round) -> str:
        """Say where the run stands, in a line that leaves 80 columns room for a bar.

        "~0:10 left" is about ten seconds, "<0:10 left" at most so many.
        """
        kind, seconds = self.left(now)
        sign = "~" if kind == "about" else "<"
        left = f" {sign}{in_minutes(seconds)} left" if math.isfinite(seconds) else ""
        gap = f" gap {now.gap:.2g}" if math.isfinite(now.gap) else ""
        return (
            f"alpha {now.alpha:.3g} round {now.round} error {now.error:.3f} "
            f"spread {now.spread:.3f}{gap}{left}"
        )


def in_minutes(seconds: float) -> str:
    """Write a time as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
