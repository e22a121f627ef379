"""Paths: the repository, the shared folder beside it, and the import path of other processes."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
"""The published runs and their data; they may be missing."""
COMMUNITIES = SHARED / "datasets" / "communities.csv"


def python_path():
    """Return the ``PYTHONPATH`` with which another process can import ``tests.support``."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
