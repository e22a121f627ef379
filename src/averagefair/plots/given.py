"""What displays are made from: checked, and put into one shape."""

from __future__ import annotations

from typing import Any

from averagefair.errors import InputError
from averagefair.sample import FloatArray


def check_kind(given: Any, kind: type, what: str) -> None:
    """Refuse what a display cannot be made from."""
    if not isinstance(given, kind):
        raise InputError(f"this figure is drawn from {what}; got {type(given).__name__}.")


def columns(rates: FloatArray) -> FloatArray:
    """Return rates as a column for each rate, shape (n, rates)."""
    return rates if rates.ndim == 2 else rates[:, None]
