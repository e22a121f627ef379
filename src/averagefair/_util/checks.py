"""Checks of parameters: a number in its range, or an InputError."""

from __future__ import annotations

import operator
from math import inf
from numbers import Real
from typing import Any

from averagefair.errors import InputError


def whole_number(name: str, value: Any, least: int = 1, remedy: str = "") -> int:
    """Return ``value`` as an int of at least ``least``, or refuse it.

    Examples
    --------
    >>> whole_number("rounds", 2.5)
    Traceback (most recent call last):
    averagefair.errors.InputError: `rounds` must be a whole number, 1 or more; got 2.5.
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        rule = f"`{name}` must be a whole number, {least} or more; got {value!r}."
        raise InputError(f"{rule} {remedy}".rstrip())
    return number


def positive_number(name: str, value: Any, most: float = inf) -> float:
    """Return ``value`` as a finite float in (0, most], or refuse it.

    Examples
    --------
    >>> positive_number("step", -1)
    Traceback (most recent call last):
    averagefair.errors.InputError: `step` must be finite and positive; got -1.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and 0 < float(value) <= most and float(value) < inf:
        return float(value)
    rule = "be finite and positive" if most == inf else f"lie in (0, {most:g}]"
    raise InputError(f"`{name}` must {rule}; got {value!r}.")


def number_between(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """Return ``value`` as a float in (low, high), or refuse it.

    Examples
    --------
    >>> number_between("confidence", 95)
    Traceback (most recent call last):
    averagefair.errors.InputError: `confidence` must lie in (0, 1); got 95.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and low < value < high:
        return float(value)
    raise InputError(f"`{name}` must lie in ({low:g}, {high:g}); got {value!r}.")


def number_below(name: str, value: Any, bound: float) -> float:
    """Return ``value`` as a float in [0, bound), or refuse it.

    Examples
    --------
    >>> number_below("beta", 1.0, 1.0)
    Traceback (most recent call last):
    averagefair.errors.InputError: `beta` must lie in [0, 1); got 1.0.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and 0 <= value < bound:
        return float(value)
    raise InputError(f"`{name}` must lie in [0, {bound:g}); got {value!r}.")
