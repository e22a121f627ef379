"""Checkpoints: a run that was ended, in whatever way, goes on where it was.

What takes time in a run are the oracle's answers; everything else follows from them. So a
checkpoint is the record of these answers, in order. A resumed run plays the game again from the
start, takes each answer from the record as long as there is one, and comes to exactly the state
it was in: the linear program, the draws, the Auditor, all of it. It works for every solver, and
what comes out is what would have come out without the interruption, to the last bit.

The record holds classifiers, as a model file does, and no people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from averagefair.checks import number_below
from averagefair.costs import Costs
from averagefair.errors import CheckpointWarning, InputError, warn
from averagefair.files.writing import write_whole
from averagefair.persistence.classifiers import Sizes, read_hypotheses, storable, write_hypotheses
from averagefair.persistence.container import CHECKPOINT, Arrays, pack
from averagefair.persistence.folder import Folder
from averagefair.protocols import BestResponse, Hypothesis, Oracle, memory_of, remind
from averagefair.sample import Sample
from averagefair.spaces import to_host
from averagefair.text import counted, plain

MEMORY = "memory"
# What may differ between a run and the one that goes on: how long it may take.
_LIMITS = ("max_rounds", "time_limit")


class Kept(NamedTuple):
    """An answer: what was asked (a digest), for how many tasks, and the classifiers."""

    key: bytes
    tasks: int
    answer: Hypothesis


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which a fit or a frontier keeps what it has found, so that it can be resumed.

    Parameters
    ----------
    folder : str or Path
        Made where it is missing, for its owner alone. One run at a time.
    resume : bool, default False
        Go on with the run that is recorded there, if one is. False: the folder must hold none.
    every : float, default 10
        Write what was found at least every so many seconds. A run that is killed loses no more.
    trusted : sequence of str
        Types that scikit-learn's classifiers in the record may hold, as for
        :func:`averagefair.load`.

    Notes
    -----
    The run that goes on must be the same: the same data, request, oracle, solver and seed (an
    int). Limits (``max_rounds``, ``time_limit``) may differ, and count anew. Answers are taken
    from the record and measured again, which is quick beside finding them. Resumed on the same
    machine with the same versions, the result is the uninterrupted one to the last bit; where
    something differs after all, a CheckpointWarning says so, and the run goes on from there.

    The folder stays when the run is done; :meth:`clear` empties it.

    Examples
    --------
    >>> import tempfile
    >>> from averagefair import AverageFairClassifier, ColumnGeneration
    >>> from averagefair.datasets import make_synthetic
    >>> people, folder = make_synthetic(n=40, m=10), tempfile.mkdtemp()
    >>> def fair(**limits):
    ...     solver, keeping = ColumnGeneration(**limits), Checkpoint(folder, resume=True)
    ...     return AverageFairClassifier(solver=solver, random_state=0, checkpoint=keeping)
    >>> first = fair(max_rounds=5).fit(people.X, people.Y)
    >>> whole = fair().fit(people.X, people.Y)  # goes on with the sixth round
    >>> len(first.history_), len(whole.history_) > 5
    (5, True)
    """

    folder: str | Path
    resume: bool = False
    every: float = 10.0
    trusted: Sequence[str] = ()

    def __post_init__(self) -> None:
        number_below("every", self.every, np.inf)
        if not str(self.folder):
            raise InputError(
                "the folder of a checkpoint (--checkpoint) must have a name; got an empty one. "
                "Name the current folder '.'."
            )

    def around(self, run: Mapping[str, Any]) -> Callable[[Oracle, str | None], Oracle]:
        """Return what puts a recorder around an oracle, for a run with these settings.

        Parameters
        ----------
        run : mapping of str to object
            The settings: request, rate, solver, seed and so on.
        """
        described = {name: _described(setting) for name, setting in run.items()}

        def record(oracle: Oracle, fingerprint: str | None) -> Oracle:
            settings = {**described, "data": fingerprint, "oracle": _described(oracle)}
            return RecordedOracle(oracle, self, settings)

        return record

    def check(self) -> None:
        """Refuse, before any work, a folder that cannot be written to or is in use."""
        folder = Folder(self.folder)
        folder.take(resume=self.resume)
        folder.release()

    def clear(self) -> None:
        """Remove the record, and the folder if nothing else is in it."""
        Folder(self.folder).clear()


class RecordedOracle:
    """An oracle whose answers are kept, and taken from the record where they are known.

    Parameters
    ----------
    oracle : Oracle
    checkpoint : Checkpoint
    run : mapping
        Which run this is: a record of another one is refused.
    """

    def __init__(self, oracle: Oracle, checkpoint: Checkpoint, run: Mapping[str, Any]) -> None:
        self.oracle, self.checkpoint, self.run = oracle, checkpoint, dict(run)
        self.anywhere = getattr(oracle, "anywhere", False)
        self.thorough = getattr(oracle, "thorough", False)
        self.bound: _Recorder | None = None

    @property
    def exact(self) -> bool:
        """Whether the oracle's answers are true minima: its own, that is."""
        return self.oracle.exact

    def bind(self, sample: Sample) -> _Recorder:
        """Bind the oracle, and read what is recorded."""
        response = self.oracle.bind(sample)
        memory_of(response)  # one that cannot be resumed says so now
        run = {**self.run, "size": [sample.n, sample.m, sample.d]}
        self.bound = _Recorder(response, self.checkpoint, run, sample.d)
        return self.bound

    def close(self) -> None:
        """Write what is not written yet; from now on nothing is recorded, or taken from there."""
        if self.bound is not None:
            self.bound.close()


class _Recorder:
    """Answers by the record as far as it goes, then by the oracle, recording."""

    def __init__(
        self, response: BestResponse, checkpoint: Checkpoint, run: dict[str, Any], d: int
    ) -> None:
        self.response, self.checkpoint, self.run, self.d = response, checkpoint, run, d
        self.folder = Folder(checkpoint.folder)
        self.folder.take(resume=checkpoint.resume)
        self.known: list[Kept] = []
        self.pending: list[Kept] = []
        self.memory: Arrays = {}
        self.taken = self.written = 0
        with self.folder.released_on_error():
            self._read()
        self.closed = self.busy = self.failed = False
        self.last = perf_counter()

    def __call__(self, costs: Costs) -> Hypothesis:
        """Answer from the record, or ask the oracle."""
        if self.closed:
            return self._ask(costs)
        key, tasks = _key(costs), costs.sample.m
        if self.taken < len(self.known):
            kept = self.known[self.taken]
            if (kept.key, kept.tasks) == (key, tasks):
                self.taken += 1
                return kept.answer
            self._part()
        self.busy = True
        answer = self._ask(costs)
        if not storable(answer):
            raise InputError(
                f"answers of type {type(answer).__name__} cannot be kept in a checkpoint; only "
                "linear classifiers, stumps, constants and scikit-learn's own can. Run without one."
            )
        self.pending.append(Kept(key, tasks, answer))
        self.busy = False
        if perf_counter() - self.last >= self.checkpoint.every:
            self._write()
        return answer

    def _ask(self, costs: Costs) -> Hypothesis:
        if self.memory:
            remind(self.response, self.memory)
            self.memory = {}
        return self.response(costs)

    def _part(self) -> None:
        """Leave the record where the run asks something else."""
        warn(
            f"the run and its record in {self.checkpoint.folder} part after "
            f"{counted(self.taken, 'answer')} "
            "(other versions of a library, or other limits?); the run goes on from there.",
            CheckpointWarning,
        )
        self._keep_first(self.taken)

    def _keep_first(self, count: int) -> None:
        """Forget the answers after the first ``count``; these are to be written anew."""
        self.known, self.memory = self.known[:count], {}
        self.pending, self.written = list(self.known), 0
        self.folder.remove_answers()

    def close(self) -> None:
        """Write what is left, and let go of the folder."""
        if not self.closed:
            self.closed = True
            self._write()
            self.folder.release()

    def _write(self) -> None:
        """Write the answers since the last time, and what the oracle remembers after them."""
        self.last = perf_counter()
        if not self.pending:
            return
        try:
            for some in _alike(self.pending):
                self._write_answers(some)
                self.pending = self.pending[len(some) :]
            # Ended before the oracle was asked anything, it is yet to be reminded. Interrupted in
            # an answer, it may remember half of it: then not.
            memory = {} if self.busy else self.memory or memory_of(self.response)
            if memory:
                manifest = {"run": self.run, "after": self.written}
                write_whole(
                    str(self.folder.file(MEMORY)), pack(memory, manifest, CHECKPOINT), private=True
                )
            self.failed = False
        except InputError as error:
            if not self.failed:  # once is enough
                warn(
                    f"the checkpoint could not be written: {error} The run goes on without.",
                    CheckpointWarning,
                )
            self.failed = True

    def _write_answers(self, some: Sequence[Kept]) -> None:
        keys, tasks, answers = zip(*some, strict=True)
        arrays: Arrays = {"keys": np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)}
        manifest = {
            "run": self.run,
            "first": self.written,
            "count": len(keys),
            "tasks": tasks[0],
            **write_hypotheses(answers, arrays),
        }
        target = self.folder.answers(self.written)
        write_whole(str(target), pack(arrays, manifest, CHECKPOINT), private=True)
        self.written += len(keys)

    def _read(self) -> None:
        """Read answers as far as the oracle's memory, where it has one, goes with them."""
        trusted = tuple(self.checkpoint.trusted)
        while (path := self.folder.answers(len(self.known))).exists():
            with self.folder.reading(path, self.run, trusted) as contents:
                count, tasks = contents.whole("count"), contents.whole("tasks")
                keys = contents.array("keys", count, None, kind="u")
                if contents.whole("first") != len(self.known) or not count:
                    raise ValueError("these are other answers")
                answers = read_hypotheses(contents, count, Sizes(self.d, tasks))
                parts = zip((key.tobytes() for key in keys), answers, strict=True)
                self.known += [Kept(key, tasks, answer) for key, answer in parts]
        self.written = len(self.known)
        fresh = {name: part.copy() for name, part in memory_of(self.response).items()}
        if not fresh:
            return
        after, path = 0, self.folder.file(MEMORY)
        if path.exists():
            with self.folder.reading(path, self.run, trusted) as contents:
                self.memory, after = dict(contents.arrays), contents.whole("after")
                remind(self.response, self.memory)  # refused now if it does not fit
                remind(self.response, fresh)
        if after < len(self.known):  # killed between the answers and the memory
            memory = self.memory
            self._keep_first(after)
            self.memory = memory
        elif after > len(self.known):
            self._keep_first(0)


def _alike(answers: Sequence[Kept]) -> list[Sequence[Kept]]:
    """Cut answers where the number of tasks changes."""
    tasks = np.array([one.tasks for one in answers])
    cuts = [0, *(np.flatnonzero(np.diff(tasks)) + 1).tolist(), len(answers)]
    return [answers[start:end] for start, end in pairwise(cuts)]


def _key(costs: Costs) -> bytes:
    """Return a digest of what is asked: the prices of mistakes, and the tasks."""
    found = blake2b(digest_size=16)
    for part in (*costs.prices, costs.tasks):
        found.update(b"none" if part is None else np.ascontiguousarray(to_host(part)).tobytes())
    return found.digest()


def _described(setting: Any) -> Any:
    """Return a setting as words and numbers that are the same in another process."""
    if isinstance(setting, list | tuple):
        return [_described(part) for part in setting]
    if isinstance(setting, np.ndarray):
        return blake2b(np.ascontiguousarray(setting).tobytes(), digest_size=16).hexdigest()
    if is_dataclass(setting) and not isinstance(setting, type):
        kept = [field for field in fields(setting) if field.repr and field.name not in _LIMITS]
        parts = {field.name: _described(getattr(setting, field.name)) for field in kept}
        return {"kind": type(setting).__name__, **parts}
    if setting is None or isinstance(setting, bool | int | float | str | np.generic):
        return plain(setting)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(setting))
