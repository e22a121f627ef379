"""Versions of the software that a result may depend on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

from averagefair import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python, of the libraries used, and of the packages in ``more``."""
    numbers = {"Python": platform.python_version(), "averagefair": __version__}
    for package in (*PACKAGES, *more):
        try:
            numbers[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            numbers[package] = "unknown"
    return numbers
