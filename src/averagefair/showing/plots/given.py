"""Input of displays: check it and bring it into one shape."""

from __future__ import annotations

from typing import Any

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError
from averagefair.game.promises import Promise


def check_kind(given: Any, kind: type, what: str) -> None:
    """Refuse input of the wrong type."""
    if not isinstance(given, kind):
        raise InputError(f"this figure needs {what}; got {type(given).__name__}.")


def columns(rates: FloatArray) -> FloatArray:
    """Return rates with one column for each rate, shape (n, rates)."""
    return rates if rates.ndim == 2 else rates[:, None]


def value_words(promise: Promise) -> str:
    """Return the promise's own figure and its value: "alpha = 0.1"; "minimax" has none."""
    if not promise.parameter:
        return type(promise).__name__.lower()
    return f"{promise.parameter.replace('_', ' ')} = {promise.value:g}"
