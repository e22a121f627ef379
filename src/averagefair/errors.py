"""The exceptions and warnings of averagefair.

Every message says what was given, the rule it breaks and what to do about it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from averagefair.names import in_a_line


class InputError(ValueError):
    """Something handed to averagefair breaks a rule; nothing was changed."""


class InputTypeError(InputError, TypeError):
    """A cell holds something that is not a number at all."""


class DatasetError(InputError):
    """A data set could not be found or read; the message says how to get it."""


class SolverError(RuntimeError):
    """A solver could not go on: the linear program under it was not solved."""


class DeviceMemoryError(MemoryError):
    """The memory of a device does not suffice; the message says what for and what to do."""


class SolverTimeoutError(SolverError):
    """A solver's time ran out within a step."""


class DegenerateTaskWarning(UserWarning):
    """Some tasks show a single label, or too few of one for an estimator: they get a constant."""


class UndefinedRateWarning(UserWarning):
    """Some individuals have no cell that counts towards the rate, so carry no constraint."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or the run that goes on takes another way."""


def extra(module: str, name: str) -> Any:
    """Import a module that comes with an extra of this package, or say how to get it."""
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
    """Turn an exception of something that was loaded into an InputError that names its file.

    Parameters
    ----------
    source : str, optional
        The file. None: nothing was loaded, and exceptions go on as they are.
    what : str
        The part that is used, for the message: "the classifier (SVC)".
    """
    try:
        yield
    except (InputError, SolverError, Warning):
        raise
    except MemoryError as error:  # perhaps too many people at once
        if source:
            error.add_note(f"(in {what}, which was loaded from {source})")
        raise
    except Exception as error:
        if not source:
            raise
        said = str(error).strip().partition("\n")[0].rstrip(". ")
        raise InputError(
            f"{source}: {what} in this file failed with {type(error).__name__}: {said}. The file "
            "was changed, or other versions of scikit-learn or NumPy wrote it. Get the file again "
            "from its maker, or fit the model again."
        ) from error


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led here: the user's own."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "averagefair":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def some_of(names: Sequence[Any]) -> str:
    """Write out the first five of some names, and how many more there are.

    Examples
    --------
    >>> some_of(["ann", "bo"]), some_of(range(7))
    ('ann, bo', '0, 1, 2, 3, 4 and 2 more')
    """
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(in_a_line(name) for name in names[:5]) + more
