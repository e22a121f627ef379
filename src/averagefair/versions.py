"""Versions: what a result may depend on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

from averagefair import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy")


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python, of what this library computes with, and of more packages."""
    found = {"Python": platform.python_version(), "averagefair": __version__}
    for package in (*PACKAGES, *more):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found
