"""Versions of the software that a result may depend on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib import metadata

from averagefair import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python, of the libraries used, and of the packages in ``more``."""
    numbers = {"Python": platform.python_version(), "averagefair": __version__}
    return numbers | {package: _version(package) for package in (*PACKAGES, *more)}


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
