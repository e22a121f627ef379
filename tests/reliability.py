"""What the tests of trust tried and what came of it, kept for the table of docs/reliability.md."""

import json
import os
from collections import Counter
from pathlib import Path

TRIED: Counter[str] = Counter()
"""How many generated cases of each property have been tried in this process (tests/generated.py);
recorded when the tests are over (tests/conftest.py)."""

_NAMED = os.environ.get("AVERAGEFAIR_RECORD")
FOLDER = Path(_NAMED).absolute() if _NAMED else None
"""Where to keep records: found at the start, since tests go to other folders."""


def record(name, *, what, count, outcome):
    """Keep a line of the table, where ``AVERAGEFAIR_RECORD`` names a folder (make test-long).

    Parameters
    ----------
    name : str
        Of the line; a later record of the same name takes its place.
    what : str
        What was tried, in a few words: "model files with bits flipped, cut short, ...".
    count : int
        How often it was tried.
    outcome : str
        What came of it, with the figures: "9,871 refused, 129 loaded to an equal model; 0 others".
    """
    if FOLDER is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        line = {"what": what, "count": int(count), "outcome": outcome}
        (FOLDER / f"{name}.json").write_text(json.dumps(line, indent=1) + "\n")
