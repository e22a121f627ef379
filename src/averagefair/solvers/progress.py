"""Show the progress of a long run: what ``verbose=True`` does.

Progress is a bar of tqdm if tqdm is installed, else of rich, else a line every few seconds on
standard error. In Jupyter and VS Code a bar needs tqdm and ipywidgets; without them, a notebook
shows one line that is replaced in place. A display only reports: the answer is the same with and
without it, and a display that breaks never ends a run.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from math import inf
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from averagefair.errors import InputError
from averagefair.game.promises import Promise
from averagefair.game.solution import Callback, Round

EVERY = 3.0
"""Seconds between two plain lines."""
IN_PLACE = 0.2
"""Seconds between two states of a notebook's line."""


class Display(Protocol):
    """Where progress is shown."""

    def show(self, done: int, text: str) -> None:
        """Show how many steps are done, and the state in words."""

    def close(self) -> None:
        """Show the last state and let go of the screen."""


class Watch:
    """A run that is watched: the callback for the solver, and stages before and after it.

    Parameters
    ----------
    display : Display, or None
        None shows nothing.
    callback : callable, optional
        The user's own callback. Its answer is what the solver gets.
    values : sequence of float
        The values of the promise's figure to solve. One value: steps are rounds. Several: steps are
        values.
    promise : Promise
    """

    def __init__(
        self,
        display: Display | None,
        callback: Callback | None,
        values: Sequence[float],
        promise: Promise,
    ) -> None:
        self._display, self._callback, self._values = display, callback, values
        self._figure = promise.parameter.replace("_", " ")
        self._sign = 1.0 if promise.less_is_easier else -1.0
        self._done = 0

    @property
    def callback(self) -> Callback | None:
        """What the solver calls after each round; None if nobody listens."""
        return self._callback if self._display is None else self._after

    def stage(self, text: str) -> None:
        """Show what is done before the first round, or after the last one."""
        self._show(text)

    def finish(self, text: str) -> None:
        """Show that all is done."""
        if len(self._values) > 1:
            self._done = len(self._values)
        self._show(f"done: {text}")

    def _after(self, now: Round) -> object:
        if len(self._values) == 1:
            self._done = now.round
        else:
            # The easiest values come first; those that are easier than the present one are done.
            easier = [self._sign * (now.value - value) > 1e-12 for value in self._values]
            self._done = max(self._done, sum(easier))
        figure = f"{self._figure} {now.value:.3g}, " if self._figure else ""
        self._show(f"{figure}round {now.round}: error {now.error:.3f}, spread {now.spread:.3f}")
        return None if self._callback is None else self._callback(now)

    def _show(self, text: str) -> None:
        if self._display is not None:
            try:
                self._display.show(self._done, text)
            except Exception:  # a closed stream, a notebook that went away: the run goes on
                self._display = _Nothing()


@contextmanager
def watched(
    verbose: Any, callback: Callback | None, values: Sequence[float], promise: Promise
) -> Iterator[Watch]:
    """Yield the watch of a run; the display is closed when the block ends.

    Parameters
    ----------
    verbose : bool or int
        False or 0 shows nothing, and the callback stays as it is.
    callback, values, promise
        As for :class:`Watch`.

    Examples
    --------
    >>> from averagefair import Equal
    >>> with watched(False, print, [0.1], Equal(0.1)) as watch:
    ...     watch.callback is print
    True
    """
    display = _open(len(values)) if _wanted(verbose) else None
    try:
        yield Watch(display, callback, values, promise)
    finally:
        if display is not None:
            with suppress(Exception):  # as above
                display.close()


def _wanted(verbose: Any) -> bool:
    whole = isinstance(verbose, bool | np.bool_ | int | np.integer)
    if not whole or verbose < 0:
        raise InputError(
            f"`verbose` must be True, False or a whole number of 0 or more; got {verbose!r}. "
            "verbose=True shows progress."
        )
    return bool(verbose)


def _open(values: int) -> Display:
    """Return a display: a notebook's line where it has no bar, else tqdm's, rich's or lines."""
    total = values if values > 1 else None
    for make in (_Cell, _Tqdm, _Rich):
        try:
            # tqdm and rich warn where a notebook has no widgets; their text works there too.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return make(total)
        except Exception:
            continue
    return _Lines()


class _Nothing:
    def show(self, done: int, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class _Cell:
    """A line in a notebook without a bar, replaced in place: one output, however long it runs."""

    def __init__(self, total: int | None) -> None:
        if not _in_notebook() or (_installed("ipywidgets") and _installed("tqdm")):
            raise ImportError("not a notebook, or one that can draw a bar")
        display = import_module("IPython.display").display
        self._total, self._last, self._waiting = total, -inf, ""
        self._handle = display(_plain("averagefair"), raw=True, display_id=True)

    def show(self, done: int, text: str) -> None:
        count = "" if self._total is None else f"{done}/{self._total} values, "
        self._waiting = f"averagefair: {count}{text}"
        if perf_counter() - self._last >= IN_PLACE:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()

    def _write(self) -> None:
        self._handle.update(_plain(self._waiting), raw=True)
        self._last, self._waiting = perf_counter(), ""


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module without a specification, e.g. one that was blocked
        return False


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


def _in_notebook() -> bool:
    """Return whether this runs in a kernel, as in Jupyter and VS Code."""
    if "IPython" not in sys.modules:
        return False
    shell = import_module("IPython").get_ipython()
    return getattr(shell, "kernel", None) is not None


class _Tqdm:
    """A bar of tqdm: a widget in notebooks that have widgets, else text."""

    def __init__(self, total: int | None) -> None:
        count = (
            "{desc}: {n_fmt} rounds"
            if total is None
            else ("{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} values")
        )
        self._bar = import_module("tqdm.auto").tqdm(
            total=total, desc="averagefair", bar_format=f"{count} [{{elapsed}}{{postfix}}]"
        )

    def show(self, done: int, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Rich:
    """A bar of rich, in a terminal."""

    def __init__(self, total: int | None) -> None:
        console = import_module("rich.console").Console(stderr=True)
        if console.is_jupyter or not console.is_terminal:
            raise ImportError("rich draws no bar here")
        rich = import_module("rich.progress")
        self._progress = rich.Progress(
            rich.BarColumn(bar_width=12),
            rich.TextColumn("{task.description}"),
            rich.TimeElapsedColumn(),
            console=console,
        )
        self._progress.start()
        self._task = self._progress.add_task("averagefair", total=total)

    def show(self, done: int, text: str) -> None:
        self._progress.update(self._task, completed=done, description=text)

    def close(self) -> None:
        if self._progress.tasks[0].total is None:  # no bar should move on after the end
            self._progress.update(self._task, total=1, completed=1)
        self._progress.stop()


class _Lines:
    """Plain lines on standard error: the first state, one every few seconds, and the last."""

    def __init__(self) -> None:
        self._last, self._waiting = -inf, ""

    def show(self, done: int, text: str) -> None:
        self._waiting = text
        if perf_counter() - self._last >= EVERY:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()

    def _write(self) -> None:
        if sys.stderr is not None:
            print(f"averagefair: {self._waiting}", file=sys.stderr, flush=True)
        self._last, self._waiting = perf_counter(), ""
