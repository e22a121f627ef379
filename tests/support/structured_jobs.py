"""Judge structured mutants in a separate process, so that a crash is counted and named.

As a program: python -m tests.support.structured_jobs WHAT FOLDER SEED FIRST COUNT. WHAT is
"models", "checkpoints", "attacks", or "both": models, then a checkpoint of each kind. It prints a
line of JSON before and after each mutant. `Survey` starts it; after a crash, `Survey` starts it
again with the next mutant.
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from averagefair import InputError
from averagefair.persistence import UntrustedError, load
from averagefair.persistence.fitted_contents import each_part
from tests.support.corruption_jobs import TooLongError, Watch, too_long
from tests.support.model_files import raw_table
from tests.support.places import python_path

MEGABYTES = 4096
"""A process that reads files of some kilobytes may take this much more memory."""
PATIENCE = 100
"""A mutant may take this many times as long as the slowest unchanged file."""
OUTCOMES = ("untrusted", "refused", "complains", "decides")


def strangers():
    """Return people with varied features: categories, usual numbers, large numbers."""
    X = 3 * np.random.default_rng(3).normal(size=(12, 3))
    X[8:] *= 30
    X[:, 0] = np.abs(np.round(X[:, 0])) % 300
    X[-2:] *= 1e5
    return X


def judge(path, thorough=False, read=load):
    """Read a file; return one of ``OUTCOMES`` or what is wrong, and a digest of the decisions."""
    try:
        found = read(path)
    except UntrustedError as error:
        return ("untrusted" if str(path) in str(error) else f"WRONG: no name in {error}"), ""
    except InputError as error:
        return ("refused" if str(path) in str(error) else f"WRONG: no name in {error}"), ""
    loaded = held_by_model(found)
    busy = [type(part).__name__ for part in each_part(loaded) if _workers(part)]
    if busy:
        return f"WRONG: workers in {busy}", ""
    try:
        return "decides", _used(found, loaded, thorough)
    except InputError as error:
        return ("complains" if str(path) in str(error) else f"WRONG: no name in {error}"), ""


def held_by_model(found):
    """Return the scikit-learn objects of a model."""
    mixture = found.classifiers_
    members = [it for one in mixture.hypotheses for it in getattr(one, "hypotheses", [one])]
    classifiers = [getattr(one, "classifiers", []) for one in members]
    transformer = mixture.feature_map and mixture.feature_map.transformer
    return [classifiers, transformer, found.oracle, found.mapping_ and found.mapping_.oracle]


def _workers(part):
    held = getattr(part, "__dict__", {})
    counts = [held.get(name) for name in ("n_jobs", "_n_jobs", "n_threads", "_n_threads")]
    return held.get("memory") is not None or any(count not in (None, 1) for count in counts)


def _used(found, loaded, thorough):
    repr(found), repr(loaded)
    X = strangers()
    if found.encoder_ is not None:
        X = raw_table(X)
    chances = found.decision_probability(X)
    if chances.shape != (len(X), 2) or not ((chances >= 0) & (chances <= 1)).all():
        raise AssertionError(f"chances {chances}")
    found.predict(X)
    if thorough:
        str(found.audit(X, np.arange(2 * len(X)).reshape(-1, 2) % 3 % 2))
    if found.mapping_ is not None:
        n = found.training_individuals().n
        later = found.extend(np.arange(2 * n).reshape(n, 2) % 3 % 2)
        later.decision_probability(X)
    return hashlib.blake2b(chances.tobytes(), digest_size=8).hexdigest()


def limit_memory():
    """Limit memory, so that allocations far larger than the file fail."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + MEGABYTES * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def judge_checkpoint(path, kind):
    """Resume a run from a checkpoint; return its outcome and a digest."""
    from tests.support.structured_mutants import resumed

    try:
        found = resumed(path.parent, kind)
        return "decides", found.decision_probability(strangers()).tobytes().hex()[:99]
    except InputError as error:
        return ("refused" if str(path.parent) in str(error) else f"WRONG: no name in {error}"), ""


def mutants_of(what, folder, seed, count):
    """Yield each mutant's number, what it is, and functions that write it and judge it."""
    from tests.support.structured_mutants import ATTACKED, MODELS, RECORDED, Maker, attack

    make, mutant = Maker(folder), folder / f"mutant {os.getpid()}"
    models = {"models": count, "both": count - len(RECORDED)}.get(what, 0)
    if what != "attacks":
        make.pool()
        for place in range(models):
            kind = MODELS[place % len(MODELS)]

            def prepare(place=place, kind=kind):
                content, way = make(seed, place, folder / f"{kind}.model")
                mutant.write_bytes(content)
                return f"{kind}: {way}"

            yield place, "model", prepare, lambda place=place: judge(mutant, place % 8 == 0)
        for place in range(models, count):
            kind = RECORDED[place % len(RECORDED)]
            run = folder / f"run {os.getpid()}"

            def prepare(place=place, kind=kind, run=run):
                shutil.rmtree(run, ignore_errors=True)
                shutil.copytree(folder / f"{kind}.run", run)
                (path,) = run.glob("answers-*")
                content, way = make(seed, place, path)
                path.write_bytes(content)
                return f"{kind}: {way}"

            yield (
                *(place, "checkpoint", prepare),
                lambda kind=kind, run=run: judge_checkpoint(run / "x", kind),
            )
    else:
        for place, name in enumerate([*ATTACKED][:count]):

            def prepare(name=name):
                mutant.write_bytes(attack(folder, name))
                return name

            yield place, "model", prepare, lambda: judge(mutant, True)


def main(what, folder, seed, first, count):
    """Judge mutants; print a line before and after each."""
    from tests.support.structured_mutants import ATTACKED, MODELS, RECORDED

    warnings.simplefilter("ignore")
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # send all other output to standard error
    slowest = 0.0
    used = {"models": MODELS, "checkpoints": RECORDED, "both": MODELS}
    used["attacks"] = sorted({kind for kind, *_ in [*ATTACKED.values()][:count]})
    for kind in used[what]:  # load the modules that are imported on first use
        start = time.process_time()
        outcome, _ = judge(folder / f"{kind}.model", thorough=kind == "tree")
        assert outcome == "decides", (kind, outcome)
        slowest = max(slowest, time.process_time() - start)
    if what in ("models", "both"):  # a file may ask for pandas tables, which import pandas
        found = load(folder / "one hot.model")
        found.classifiers_.feature_map.transformer.set_output(transform="pandas")
        found.predict(strangers())
    watch = Watch()
    signal.signal(signal.SIGPROF, too_long)
    limit_memory()
    for place, of, prepare, ask in mutants_of(what, folder, seed, count):
        if place < first:
            continue
        print(json.dumps({"place": place, "made": prepare()}), file=say)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE * slowest)
        signal.setitimer(signal.ITIMER_VIRTUAL, 2 * PATIENCE * slowest)  # ends compiled code too
        digest = ""
        try:
            with watch:
                outcome, digest = ask()
        except TooLongError:
            outcome = "WRONG: too long"
        except BaseException:
            outcome = f"WRONG: {traceback.format_exc(limit=-5)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if of == "model" and watch.seen and not outcome.startswith("WRONG"):
            outcome = f"WRONG: did {watch.seen[:3]}"
        print(json.dumps({"place": place, "outcome": outcome, "digest": digest}), file=say)


class Survey:
    """Workers that judge mutants of the files of a folder, one after the other.

    Parameters
    ----------
    what : {"models", "checkpoints", "attacks", "both"}
    folder : Path
    seed, count : int
    filler : int
        The byte in freed and fresh memory (glibc); decisions must not depend on it.
    program : str
        The program that the workers run.
    """

    def __init__(self, what, folder, seed, count, filler=85, program=__file__):
        self.args = [str(program), what, str(folder), str(seed)]
        self.count, self.filler = count, filler
        self.outcomes, self.made = {}, {}
        self.worker = self._start(0)

    def _start(self, first):
        known = {
            "PYTHONPATH": python_path(),
            "MALLOC_PERTURB_": str(self.filler),
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
        }
        return subprocess.Popen(
            [sys.executable, *self.args, str(first), str(self.count)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **known},
        )

    def finish(self):
        """Wait for all mutants; return {place: (outcome, digest)}."""
        while True:
            with self.worker:
                for line in self.worker.stdout:
                    said = json.loads(line)
                    if "outcome" in said:
                        self.outcomes[said["place"]] = said["outcome"], said["digest"]
                    else:
                        self.made[said["place"]] = said["made"]
            left = [place for place in self.made if place not in self.outcomes]
            if self.worker.returncode == 0 and not left:
                return self.outcomes
            if not left:
                raise RuntimeError(f"the worker ended by itself: {self.worker.returncode}")
            (place,) = left
            self.outcomes[place] = f"WRONG: crashed with {self.worker.returncode}", ""
            self.worker = self._start(place + 1)


def survey(what, folder, seed, count):
    """Judge mutants twice, with different fillers of memory; return the tally and what is wrong."""
    both = [Survey(what, folder, seed, count, filler) for filler in (85, 170)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(Survey.finish, both)
    wrong, tally = [], Counter()
    for place in range(count):
        outcome = one[place]
        said = outcome[0] if outcome == other[place] else f"WRONG: {outcome} and {other[place]}"
        tally[said.split(":")[0]] += 1
        if said not in OUTCOMES:
            wrong.append(f"[{seed}, {place}] {both[0].made[place]}: {said}")
    return dict(tally), wrong


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
