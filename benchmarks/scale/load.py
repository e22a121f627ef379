"""Memory and seconds of deciding for a million people, block by block.

``python -m benchmarks.scale.load [people]`` decides for this many people (default 1,000,000) on 50
tasks with a model of 20 features. It uses the Python API block by block, and ``averagefair
predict`` from CSV and Parquet to CSV and Parquet. Then it extends a model 1,000 times in a row.
Each part runs in a process of its own. Memory is the peak of the process, less the peak before the
first person.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT

TASKS, FEATURES, TRAINED, BLOCK = 50, 20, 200, 20_000
EXTENDS, SETTLED = 1000, 200


def draw(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, FEATURES)).round(3)


def blocks(people: int, size: int = BLOCK) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the numbers and features of people, block by block; equal calls yield equal blocks."""
    for start in range(0, people, size):
        n = min(size, people - start)
        yield np.arange(start, start + n), draw(np.random.default_rng([1, start]), n)


def make_model(folder: Path) -> None:
    from averagefair import AverageFairClassifier, ColumnGeneration
    from averagefair.persistence import save

    rng = np.random.default_rng(0)
    X = draw(rng, TRAINED)
    Y = X @ rng.normal(size=(FEATURES, TASKS)) + rng.normal(size=(TRAINED, TASKS)) > 0
    names = [f"x{place}" for place in range(FEATURES)]
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AverageFairClassifier(
            alpha=0.1, random_state=0, solver=ColumnGeneration(max_rounds=15)
        ).fit(pd.DataFrame(X, columns=names), pd.DataFrame(Y.astype(int)).add_prefix("task_"))
    save(model, folder / "fair.model", extendable=True, origin={"id": "person"})


def make_table(folder: Path, people: int, kind: str) -> Path:
    """Write the people as a table, block by block."""
    from averagefair.files.writing import writing_table

    path = folder / f"people-{people}.{kind}"
    if not path.exists():
        with writing_table(str(path)) as write:
            for who, X in blocks(people):
                columns = {f"x{place}": X[:, place] for place in range(FEATURES)}
                write({"person": np.array([f"p{one:07}" for one in who]), **columns})
    return path


def peak(reset: bool = False) -> float:
    """Return the process's peak memory since the last reset, in MB."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def held() -> float:
    """Return the process's memory now, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def measured(work: Callable[[], Any]) -> dict[str, Any]:
    """Do some work; return its seconds and by how much it raised the peak memory."""
    gc.collect()
    before, start = peak(reset=True), time.perf_counter()
    found = work()
    return {"seconds": time.perf_counter() - start, "megabytes": peak() - before, "found": found}


def by_api(folder: Path, people: int, compare: bool = False) -> dict[str, Any]:
    """Decide by the Python API, block by block; with ``compare`` also for all people at once."""
    from averagefair.persistence import load

    model = load(folder / "fair.model")
    names = [f"x{place}" for place in range(FEATURES)]

    def decide(count: int, size: int = BLOCK) -> int:
        import pyarrow as pa

        ones = 0
        for who, X in blocks(count, size):
            table = pa.table(dict(zip(names, X.T, strict=True)))
            ones += int(model.predict(table, ids=who).sum())
        return ones

    decide(100)  # load the modules that are imported on first use
    found = measured(lambda: decide(people))
    if compare:
        found["whole"] = measured(lambda: decide(people, people))["megabytes"]
    return found


def by_command(
    folder: Path, people: int, read: str, written: str, compare: bool = False
) -> dict[str, Any]:
    """Decide by the command line, in this process; with ``compare`` also in a single block."""
    from typer.testing import CliRunner

    from averagefair.cli.app import app
    from averagefair.files import streaming

    def decide(count: int) -> None:
        data = folder / f"people-{count}.{read}"
        args = ["predict", str(folder / "fair.model"), str(data)]
        done = CliRunner().invoke(app, [*args, "-o", str(folder / f"out-{count}.{written}")])
        assert done.exit_code == 0, done.output

    decide(100)
    found = measured(lambda: decide(people))
    if compare:
        streaming.BLOCK = 2**40
        found["whole"] = measured(lambda: decide(people))["megabytes"]
    return found


def by_extending(folder: Path, times: int) -> dict[str, Any]:
    """Extend a loaded model many times; compare memory and objects early and late."""
    from averagefair.persistence import load

    model = load(folder / "fair.model")
    rng = np.random.default_rng(2)

    def extend() -> None:
        labels = (rng.random((TRAINED, 3)) < 0.5).astype(float)
        model.extend(labels).predict(draw(rng, 5), ids=list("abcde"))

    def state() -> tuple[float, int]:
        gc.collect()
        return held(), len(gc.get_objects())

    early = (0.0, 0)
    start = time.perf_counter()
    for place in range(times):
        extend()
        if place + 1 == min(SETTLED, times // 2):
            early = state()
    late = state()
    return {
        "seconds": time.perf_counter() - start,
        "megabytes": late[0] - early[0],
        "objects": late[1] - early[1],
    }


def alone(part: str, *args: Any) -> dict[str, Any]:
    """Run a part of this file in a process of its own; return its result."""
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.scale import load; "
        "part, folder, *args = json.loads(sys.argv[1]); "
        "print(json.dumps(getattr(load, part)(Path(folder), *args)))"
    )
    given = json.dumps([part, *(str(one) if isinstance(one, Path) else one for one in args)])
    done = subprocess.run(
        [sys.executable, "-c", code, given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(people: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder)
        found = alone("by_api", folder, people)
        print(f"{people:,} people x {TASKS} tasks, {FEATURES} features")
        print(f"Python API, blocks of {BLOCK:,}: {said(found)}")
        for read in ("csv", "parquet"):
            for count in (100, people):
                path = make_table(folder, count, read)
            size = path.stat().st_size / 2**20
            for written in ("csv", "parquet"):
                found = alone("by_command", folder, people, read, written)
                print(f"predict, {read} ({size:.0f} MB) to {written}: {said(found)}")
            path.unlink()
        found = alone("by_extending", folder, EXTENDS)
        print(
            f"{EXTENDS:,} extends: {found['seconds']:.1f} s, from the {SETTLED}th to the last "
            f"{found['megabytes']:+.1f} MB, {found['objects']:+d} objects"
        )


def said(found: dict[str, Any]) -> str:
    return f"{found['seconds']:.1f} s, {found['megabytes']:.0f} MB more at most"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
