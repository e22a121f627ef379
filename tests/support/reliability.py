"""Records of what the long tests tried and found, for the table of docs/reliability.md."""

import json
import os
from collections import Counter
from pathlib import Path

TRIED: Counter[str] = Counter()
"""The number of generated cases of each property that this process has tried
(tests/support/generated.py); tests/conftest.py records it at the end."""

_NAMED = os.environ.get("AVERAGEFAIR_RECORD")
FOLDER = Path(_NAMED).absolute() if _NAMED else None
"""The folder of records; resolved at the start, because tests change the current folder."""


def record(name, *, what, count, outcome):
    """Write a line of the table, if ``AVERAGEFAIR_RECORD`` names a folder (make test-long).

    Parameters
    ----------
    name : str
        The line's name; a later record of the same name replaces it.
    what : str
        What was tried, in a few words: "model files with bits flipped, cut short, ...".
    count : int
        How often it was tried.
    outcome : str
        The results with their figures: "9,871 refused, 129 loaded to an equal model; 0 others".
    """
    if FOLDER is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        line = {"what": what, "count": int(count), "outcome": outcome}
        (FOLDER / f"{name}.json").write_text(json.dumps(line, indent=1) + "\n")
