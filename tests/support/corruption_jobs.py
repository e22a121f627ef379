"""Read damaged model files in a separate process, and watch what the process does.

As a program: python -m tests.support.corruption_jobs FOLDER SEED COUNT. The folder holds model
files. The program judges COUNT mutants of them and prints the results as one line of JSON.
"""

import json
import resource
import signal
import sys
import time
import traceback
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from averagefair import InputError
from averagefair.game.mixture import Mixture
from averagefair.persistence import load
from tests.support.model_files import strangers_of
from tests.support.small_fits import STRANGERS

PATIENCE, APPETITE = 50, 40
"""A mutant may take this many times the processor time, and the memory, of the intact files."""
GUARD = 8192
"""A limit in megabytes that protects the machine. Judgements do not depend on it."""
# Reading a file may import and run code of these packages only.
KNOWN = ("averagefair", "sklearn", "numpy", "scipy", "skops", "safetensors")
FORBIDDEN = ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "pty.", "urllib.", "pickle.")
# Compiling is allowed, because NumPy parses the heads of its arrays; running the result is not.
FORBIDDEN += ("marshal.", "code.", "webbrowser.", "tempfile.", "exec", "import")
LOOKING = ("os.listdir", "os.scandir", "os.fspath")


class Watch:
    """Records what is run, imported or written while the watch is on."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self._hook)

    def _hook(self, event, args):
        if not self.on:
            return
        if event == "open":
            _, mode, flags = args
            if flags & 3 or (mode and set(mode) & set("wax+")):
                self.seen.append(f"open {args[0]}")
        elif event.startswith(FORBIDDEN) and event not in LOOKING and not _known(event, args):
            self.seen.append(f"{event} {str(args)[:200]}")

    def __enter__(self):
        self.on, self.seen = True, []
        return self

    def __exit__(self, *_):
        self.on = False


def _known(event, args):
    """Return whether the imported or run code belongs to the library or its dependencies."""
    if event == "import":
        return args[0].split(".")[0] in KNOWN
    if event == "marshal.loads":  # reads a module, whose import is judged by itself
        return sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")
    if event == "exec":
        return any(f"/{name}/" in args[0].co_filename for name in KNOWN)
    return False


class TooLongError(BaseException):
    """Not an Exception, so that no handler swallows it."""


def too_long(*_):
    raise TooLongError


class NotValid(Exception):  # noqa: N818 - a finding
    """The result of reading a file is not a valid model."""


def judge(path, original, sealed, read=load):
    """Read a file; return "refused", "equal", "valid", "undecided" or what is wrong."""
    try:
        found = read(path)
    except InputError as error:
        return "refused" if str(path) in str(error) else f"WRONG: no name in {error}"
    try:
        if not sealed:
            return "equal" if looks(found) == looks(original) else "WRONG: another model"
        return assert_valid(found)
    except NotValid as error:
        return f"WRONG: {error}"


def looks(one):
    """Return the visible properties of a model: its names and decisions."""
    classifiers = one if isinstance(one, Mixture) else one.classifiers_
    X = strangers_of(classifiers)
    chances, decisions = one.decision_probability(X), one.predict(X)
    names = type(one), classifiers.task_names, classifiers.feature_names, classifiers.seed
    return *names, chances.tobytes(), decisions.tobytes()


def assert_valid(one):
    """Check that a changed model decides, and obeys its own rules."""
    model = None if isinstance(one, Mixture) else one
    classifiers = one if model is None else one.classifiers_
    q, m = classifiers.probabilities, len(classifiers.task_names)
    if not (np.isfinite(q).all() and (q >= 0).all() and (np.abs(q.sum(axis=0) - 1) < 1e-6).all()):
        raise NotValid(f"chances {q}")
    # Unnamed later tasks are named after their labels; tasks with equal labels share a name.
    named = model is not None or classifiers.named_tasks
    if (named and len({*classifiers.task_names}) < m) or not all(
        isinstance(name, str) for name in classifiers.task_names
    ):
        raise NotValid("names of tasks")
    if classifiers.feature_count > 10_000:  # no table here has that many features
        return "undecided" if _refuses(lambda: classifiers.predict(STRANGERS)) else "WRONG: wide"
    X = np.linspace(-2, 2, 20 * classifiers.feature_count).reshape(20, -1)
    if classifiers.encoder is not None:
        X = strangers_of(classifiers)
    try:
        _assert_decides(classifiers, X, m)
        if model is not None:
            str(model.certificate_)
            if model.mapping_ is not None:
                n = model.training_individuals().n
                labels = np.arange(2 * n).reshape(n, 2) % 3 % 2
                _assert_decides(model.extend(labels), X, 2)
    except InputError:
        return "undecided"
    return "valid"


def _refuses(ask):
    try:
        ask()
    except InputError:
        return True
    return False


def _assert_decides(classifiers, X, m):
    chances, decisions = classifiers.decision_probability(X), classifiers.predict(X)
    if chances.shape != (len(X), m) or not ((chances >= 0) & (chances <= 1)).all():
        raise NotValid("chances of deciding 1")
    if not np.isin(decisions, (0, 1)).all():
        raise NotValid("decisions")


def limit_memory(megabytes):
    """Allow the process this many megabytes more than it has taken by now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + megabytes * 2**20
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, most))


class Meter:
    """Measures the cost of work, and limits it relative to earlier work of the same process.

    The cost is processor time, and bytes that Python and NumPy allocate. Neither depends on the
    load of the machine.
    """

    def __init__(self):
        self.most_seconds = self.most_bytes = 0.0
        signal.signal(signal.SIGPROF, too_long)
        tracemalloc.start()

    def control(self, work):
        """Do the reference work that sets the limits; then limit the process's memory."""
        self._measure(work)
        self.limits = PATIENCE * self.seconds, APPETITE * self.bytes
        limit_memory(GUARD)

    def judge(self, work):
        """Do some work; return its outcome, or what was wrong."""
        signal.setitimer(signal.ITIMER_PROF, self.limits[0])
        try:
            outcome = self._measure(work)
        except TooLongError:
            return "WRONG: too long"
        except BaseException:
            return f"WRONG: {traceback.format_exc(limit=-4)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        # NumPy also counts allocations that the system refuses, as it does above GUARD.
        if self.limits[1] < self.bytes < GUARD * 2**20:
            return f"WRONG: took {self.bytes:,} bytes, more than {self.limits[1]:,}"
        self.most_seconds = max(self.most_seconds, self.seconds)
        self.most_bytes = max(self.most_bytes, self.bytes)
        return outcome

    def _measure(self, work):
        tracemalloc.reset_peak()
        before, start = tracemalloc.get_traced_memory()[0], time.process_time()
        try:
            return work()
        finally:
            self.seconds = time.process_time() - start
            self.bytes = tracemalloc.get_traced_memory()[1] - before


def survey(folder, seed, count, read=load):
    """Judge ``count`` mutants of the files in a folder; return the results."""
    from tests.support.mutants import CANARY, compressed, mutate, zeros

    compressed(), zeros()  # build these large mutants now: that takes memory
    warnings.simplefilter("ignore")
    files = {path: path.read_bytes() for path in sorted(folder.glob("*.model"))}
    originals = {path: load(path) for path in files}

    def read_all():
        for path, one in originals.items():
            assert judge(path, one, False) == "equal"
            assert judge(path, one, True) == "valid"

    read_all()  # load the modules that are imported on first use
    meter = Meter()
    meter.control(read_all)
    watch, tally, wrong, ways = Watch(), Counter(), [], Counter()
    mutant = folder / "mutant"
    for place in range(count):
        rng = np.random.default_rng([seed, place])
        path = [*files][place % len(files)]
        content, way, sealed = mutate(rng, files[path])
        mutant.write_bytes(content)
        with watch:
            outcome = meter.judge(
                lambda path=path, sealed=sealed: judge(mutant, originals[path], sealed, read)
            )
        if watch.seen:
            outcome = f"WRONG: did {watch.seen[:3]}"
        if Path(CANARY).exists():
            outcome = "WRONG: it was obeyed"
            Path(CANARY).unlink()
        kind = outcome.split(":")[0]
        tally[kind] += 1
        ways[way] += 1
        if kind == "WRONG":
            wrong.append(f"{path.name} {way} [{seed}, {place}]: {outcome}")
    return {
        "tally": dict(tally),
        "ways": dict(ways),
        "wrong": wrong,
        "seconds": meter.most_seconds,
        "bytes": meter.most_bytes,
        "limits": meter.limits,
    }


if __name__ == "__main__":
    folder, seed, count = sys.argv[1:]
    print(json.dumps(survey(Path(folder), int(seed), int(count))))
