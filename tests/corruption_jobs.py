"""Read damaged model files in a process of its own, watched.

As a program: python corruption_jobs.py FOLDER SEED COUNT. The folder holds model files; so many
mutants of them are judged, and one line of JSON says what came of it.
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
from small_fits import STRANGERS

from averagefair import InputError
from averagefair.mixture import Mixture
from averagefair.persistence import load

PATIENCE, APPETITE = 50, 40
"""A mutant may take this many times the processor time, and the memory, of the whole files."""
GUARD = 8192
"""No fault may take more megabytes, and stop the machine. Nothing is judged by this."""
# Where code may come from that reading a file imports or runs.
KNOWN = ("averagefair", "sklearn", "numpy", "scipy", "skops", "safetensors")
FORBIDDEN = ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "pty.", "urllib.", "pickle.")
# Compiling is not forbidden: NumPy parses the heads of its arrays. Running what was compiled is.
FORBIDDEN += ("marshal.", "code.", "webbrowser.", "tempfile.", "exec", "import")
LOOKING = ("os.listdir", "os.scandir", "os.fspath")


class Watch:
    """Notes whatever is run, imported or written while it is on."""

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
    """Tell whether code of the library, or of those it stands on, is imported or run."""
    if event == "import":
        return args[0].split(".")[0] in KNOWN
    if event == "marshal.loads":  # how modules are read, whose import is judged itself
        return sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")
    if event == "exec":
        return any(f"/{name}/" in args[0].co_filename for name in KNOWN)
    return False


class TooLongError(BaseException):
    """Not an Exception, so that nobody swallows it."""


def too_long(*_):
    raise TooLongError


class NotValid(Exception):  # noqa: N818 - a finding
    """What came of a file is no model."""


def judge(path, original, sealed, read=load):
    """Tell what comes of a file: "refused", "equal", "valid", "undecided" or what is wrong."""
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
    """Return what can be seen of a model: its names and decisions."""
    classifiers = one if isinstance(one, Mixture) else one.classifiers_
    X = STRANGERS if classifiers.feature_names is None else _named(classifiers)
    chances, decisions = one.decision_probability(X), one.predict(X)
    names = type(one), classifiers.task_names, classifiers.feature_names, classifiers.seed
    return *names, chances.tobytes(), decisions.tobytes()


def _named(classifiers):
    import pandas as pd

    return pd.DataFrame(STRANGERS, columns=list(classifiers.feature_names))


def assert_valid(one):
    """Judge a model that is another than was written: it decides, within its own rules."""
    model = None if isinstance(one, Mixture) else one
    classifiers = one if model is None else one.classifiers_
    q, m = classifiers.probabilities, len(classifiers.task_names)
    if not (np.isfinite(q).all() and (q >= 0).all() and abs(q.sum() - 1) < 1e-6):
        raise NotValid(f"chances {q}")
    # Later tasks that nobody named are named after their labels, alike if those are.
    named = model is not None or classifiers.named_tasks
    if (named and len({*classifiers.task_names}) < m) or not all(
        isinstance(name, str) for name in classifiers.task_names
    ):
        raise NotValid("names of tasks")
    if classifiers.feature_count > 10_000:  # of nobody's features there are so many
        return "undecided" if _refuses(lambda: classifiers.predict(STRANGERS)) else "WRONG: wide"
    X = np.linspace(-2, 2, 20 * classifiers.feature_count).reshape(20, -1)
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
    """Allow the process so many more than it has taken by now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + megabytes * 2**20
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, most))


class Meter:
    """What a piece of work costs, and how much it may: by what the same process has done before.

    Processor time, and bytes that Python and NumPy ask for; neither depends on what else runs.
    """

    def __init__(self):
        self.most_seconds = self.most_bytes = 0.0
        signal.signal(signal.SIGPROF, too_long)
        tracemalloc.start()

    def control(self, work):
        """Do what everything else is measured by; from then on the guard holds."""
        self._measure(work)
        self.limits = PATIENCE * self.seconds, APPETITE * self.bytes
        limit_memory(GUARD)

    def judge(self, work):
        """Do some work that returns an outcome; return it, or what was wrong."""
        signal.setitimer(signal.ITIMER_PROF, self.limits[0])
        try:
            outcome = self._measure(work)
        except TooLongError:
            return "WRONG: too long"
        except BaseException:
            return f"WRONG: {traceback.format_exc(limit=-4)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        # NumPy notes what it asks for even where the system refuses, as it does above the guard.
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
    """Judge so many mutants of the files in a folder; return what came of them."""
    from mutants import CANARY, compressed, mutate, zeros

    compressed(), zeros()  # which takes memory
    warnings.simplefilter("ignore")
    files = {path: path.read_bytes() for path in sorted(folder.glob("*.model"))}
    originals = {path: load(path) for path in files}

    def read_all():
        for path, one in originals.items():
            assert judge(path, one, False) == "equal"
            assert judge(path, one, True) == "valid"

    read_all()  # whatever is imported when it is needed is there from now on
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
