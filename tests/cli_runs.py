"""The command line as a stranger meets it: real processes, real files, nothing imported from it."""

import csv
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

N, M, LATER, D = 40, 8, 3, 4
FEATURES = [f"x{place + 1}" for place in range(D)]
TASKS = [f"task_{place + 1}" for place in range(M)]
NEW_TASKS = [f"new_{place + 1}" for place in range(LATER)]
IDS = [f"{place + 1:03}" for place in range(N)]
COMMANDS = ("demo", "fit", "frontier", "predict", "extend", "audit", "theory", "reproduce")

_rng = np.random.default_rng(3)
X = _rng.normal(size=(N, D)).round(3)
LABELS = (X @ _rng.normal(size=(D, M + LATER)) + _rng.normal(size=(N, M + LATER)) > 0).astype(int)
Y, Y_LATER = LABELS[:, :M], LABELS[:, M:]
SHUFFLED = _rng.permutation(N)

# What would change the output's width or colours.
_LOUD = ("COLUMNS", "LINES", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def command(*args):
    return [sys.executable, "-m", "averagefair", *map(str, args)]


def environment(**more):
    quiet = {name: value for name, value in os.environ.items() if name not in _LOUD}
    return {**quiet, "OPENBLAS_NUM_THREADS": "1", **more}


def run(folder, *args, code=0, stdin=b"", **more):
    """Run a command in a folder; whatever it was asked, no Python shines through."""
    done = subprocess.run(
        command(*args), cwd=folder, input=stdin, capture_output=True, env=environment(**more)
    )
    done.out, done.err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.out + done.err, done.err
    assert not _ESCAPE.search(done.out + done.err), "escape codes where there is no terminal"
    if code is not None:
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.out}\n{done.err}"
    return done


def together(jobs):
    """Call all at once, two at a time; results in their order."""
    with ThreadPoolExecutor(2) as pool:
        return [one.result() for one in [pool.submit(job) for job in jobs]]


def strict(text):
    """Read exactly one JSON object, without NaN or infinity."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    assert text.count("\n") == 1
    return found


def without_escapes(text):
    return _ESCAPE.sub("", text)


def write(path, head, rows, *, encoding="utf-8", **dialect):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, **{"lineterminator": "\n", **dialect})
        writer.writerow(head)
        writer.writerows(rows)


def read(text):
    """Read a CSV as its letters stand: {column: list of str}."""
    head, *rows = csv.reader(text.splitlines())
    return {name: [row[place] for row in rows] for place, name in enumerate(head)}


def cells(columns, names):
    return np.array([[float(cell) for cell in columns[name]] for name in names]).T


def write_people(folder):
    """Write the population: all in one table, and apart."""
    write(
        folder / "people.csv",
        ["person", *FEATURES, *TASKS],
        [[one, *x, *y] for one, x, y in zip(IDS, X, Y, strict=True)],
    )
    write(
        folder / "new_labels.csv",
        ["person", *NEW_TASKS],
        [[one, *y] for one, y in zip(IDS, Y_LATER, strict=True)],
    )
    write(
        folder / "labels.csv",
        ["person", *TASKS],
        [[one, *y] for one, y in zip(IDS, Y, strict=True)],
    )
