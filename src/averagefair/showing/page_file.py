"""Write a report to a file: what ``to_html`` of a result does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import check_output, write_whole

ENDINGS = (".html", ".htm")


def write_page(path: str | Path, make: Callable[[], str]) -> Path:
    """Write a page to a file, which appears whole or not at all; return its path.

    Parameters
    ----------
    path : str or Path
        Checked before the page is made.
    make : callable
        Returns the page.
    """
    name = os.fspath(path)
    if name == STREAM:
        raise InputError("to_html writes a file; got '-'. Name a file, such as report.html.")
    check_output(name, ENDINGS)
    write_whole(name, make().encode())
    return Path(path)
