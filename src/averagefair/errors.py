"""The exceptions and warnings of averagefair.

Every message says what was given, which rule it breaks, and what to do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from averagefair._util.names import in_a_line


class InputError(ValueError):
    """An argument or a file breaks a rule; nothing was changed."""


class InputTypeError(InputError, TypeError):
    """A cell holds something that is not a number."""


class DatasetError(InputError):
    """A data set could not be found or read; the message says how to get it."""


class SolverError(RuntimeError):
    """A solver cannot continue: its linear program was not solved."""


class DeviceMemoryError(MemoryError):
    """A device has too little memory; the message names the work and a remedy."""


class SolverTimeoutError(SolverError):
    """A solver reached its time limit within a round."""


class DegenerateTaskWarning(UserWarning):
    """Some tasks get a constant classifier.

    They show a single label, or too few people have one of the labels for the estimator.
    """


class UndefinedRateWarning(UserWarning):
    """Some individuals carry no constraint: none of their labels counts towards the rate."""


class LevellingDownWarning(UserWarning):
    """Even the worst-off tenth of the people lose by what was promised."""


class NothingToFixWarning(UserWarning):
    """The unconstrained model shows no detectable unfairness: any promise only costs error."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or a resumed run differs from the recorded run."""


def extra(module: str, name: str) -> Any:
    """Import a module of an optional extra, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"this needs {package}, which is not installed: pip install 'averagefair[{name}]'",
            name=package,
        ) from None


@contextmanager
def blaming(source: str | None, what: str) -> Iterator[None]:
    """Turn an exception of a loaded object into an InputError that names its file.

    Parameters
    ----------
    source : str, optional
        The file. None: nothing was loaded, and exceptions pass unchanged.
    what : str
        The loaded object, for the message: "the classifier (SVC)".
    """
    try:
        yield
    except (InputError, SolverError, Warning):
        raise
    except MemoryError as error:  # perhaps there are too many people at once
        if source:
            error.add_note(f"(in {what}, which was loaded from {source})")
        raise
    except Exception as error:
        if not source:
            raise
        message = str(error).strip().partition("\n")[0].rstrip(". ")
        raise InputError(
            f"{source}: {what} in this file failed with {type(error).__name__}: {message}. The "
            "file was changed, or other versions of scikit-learn or NumPy wrote it. Get the file "
            "again from its maker, or fit the model again."
        ) from error


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the nearest caller outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "averagefair":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def some_of(names: Sequence[Any]) -> str:
    """Write the first five names, and the number of the others.

    Examples
    --------
    >>> some_of(["ann", "bo"]), some_of(range(7))
    ('ann, bo', '0, 1, 2, 3, 4 and 2 more')
    """
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(in_a_line(name) for name in names[:5]) + more


def said(error: Exception) -> str:
    """Return an error's message without its full stop."""
    return str(error).rstrip(". ")
