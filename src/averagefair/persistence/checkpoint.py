"""Checkpoints: resume an interrupted run, however it was interrupted.

The oracle's answers take most of a run's time, and everything else follows from them. So a
checkpoint records these answers, in order. A resumed run repeats all rounds from the start, and
takes answers from the record as long as there are any. So it reaches exactly the state at the
interruption: the linear program, the random draws and the Auditor's multipliers. This works for
every solver. The result equals that of an uninterrupted run, to the last bit.

The record holds classifiers, as a model file does, but no people's data.
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

from averagefair._util.checks import number_below
from averagefair._util.text import counted, plain
from averagefair.errors import CheckpointWarning, InputError, warn
from averagefair.files.writing import write_whole
from averagefair.game.costs import Costs
from averagefair.game.protocols import BestResponse, Hypothesis, Oracle, memory_of, remind
from averagefair.people.backends import to_host
from averagefair.people.sample import Sample
from averagefair.persistence.classifiers import Sizes, read_hypotheses, storable, write_hypotheses
from averagefair.persistence.container import CHECKPOINT, Arrays, pack
from averagefair.persistence.folder import Folder

MEMORY = "memory"
# A resumed run may have other limits.
_LIMITS = ("max_rounds", "time_limit")


class Kept(NamedTuple):
    """A recorded answer: a digest of its question, the number of tasks, and the classifiers."""

    key: bytes
    tasks: int
    answer: Hypothesis


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which a fit or a frontier records its progress, so that it can be resumed.

    Parameters
    ----------
    folder : str or Path
        A missing folder is created, for its owner only. Only one run may use the folder at a time.
    resume : bool, default False
        Resume the run recorded there, if there is one. If False, the folder must not hold a record.
    every : float, default 10
        The longest time between two writes, in seconds. A killed run loses no more than that.
    trusted : sequence of str
        Types that scikit-learn's classifiers in the record may hold, as for
        :func:`averagefair.load`.

    Notes
    -----
    The resumed run must have the same data, request, oracle, solver and seed (an int). Limits
    (``max_rounds``, ``time_limit``) may differ, and start again from zero. Recorded answers are
    measured again, which is quick compared with finding them. On the same machine with the same
    versions, the result equals the uninterrupted one to the last bit. If the run departs from its
    record, a CheckpointWarning says so, and the run continues from there.

    The folder stays when the run is complete; :meth:`clear` empties it.

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
    >>> whole = fair().fit(people.X, people.Y)  # continues with the sixth round
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

    def wrap_oracle(self, run: Mapping[str, Any]) -> Callable[[Oracle, str | None], Oracle]:
        """Return a function that wraps an oracle in a recorder, for a run with these settings.

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
        """Refuse, before any work, a folder that cannot be written or is in use."""
        folder = Folder(self.folder)
        folder.take(resume=self.resume)
        folder.release()

    def clear(self) -> None:
        """Remove the record, and the folder if it is empty then."""
        Folder(self.folder).clear()


class RecordedOracle(Oracle):
    """An oracle that records its answers, and takes known ones from the record.

    Parameters
    ----------
    oracle : Oracle
    checkpoint : Checkpoint
    run : mapping
        The settings of this run; the record of another run is refused.
    """

    def __init__(self, oracle: Oracle, checkpoint: Checkpoint, run: Mapping[str, Any]) -> None:
        self.oracle, self.checkpoint, self.run = oracle, checkpoint, dict(run)
        self.exact, self.reads_in_parts = oracle.exact, oracle.reads_in_parts
        # A cheaper oracle's answers are quick to find again, so they are not recorded.
        self.effort, self.cheaper = oracle.effort, oracle.cheaper
        self.bound: _Recorder | None = None

    def bind(self, sample: Sample) -> _Recorder:
        """Bind the oracle, and read the record."""
        response = self.oracle.bind(sample)
        memory_of(response)  # raises an error if the oracle cannot be resumed
        run = {**self.run, "size": [sample.n, sample.m, sample.d]}
        self.bound = _Recorder(response, self.checkpoint, run, sample.d)
        return self.bound

    def close(self) -> None:
        """Write all answers, and stop using the record."""
        if self.bound is not None:
            self.bound.close()


class _Recorder:
    """Answers from the record while it has answers; then asks the oracle and records."""

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
            self._depart()
        self.busy = True
        answer = self._ask(costs)
        if not storable(answer):
            raise InputError(
                f"answers of type {type(answer).__name__} cannot be kept in a checkpoint; only "
                "linear classifiers, stumps, constants and scikit-learn's own can. Run without a "
                "checkpoint."
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

    def _depart(self) -> None:
        """Stop using the record: the run asks another question than the recorded one."""
        warn(
            f"the run departs from its record in {self.checkpoint.folder} after "
            f"{counted(self.taken, 'answer')} "
            "(other versions of a library, or other limits?); the run continues from there.",
            CheckpointWarning,
        )
        self._keep_first(self.taken)

    def _keep_first(self, count: int) -> None:
        """Forget all answers but the first ``count``, and plan to write these again."""
        self.known, self.memory = self.known[:count], {}
        self.pending, self.written = list(self.known), 0
        self.folder.remove_answers()

    def close(self) -> None:
        """Write the remaining answers, and release the folder."""
        if not self.closed:
            self.closed = True
            self._write()
            self.folder.release()

    def _write(self) -> None:
        """Write the answers since the last write, and the oracle's memory after them."""
        self.last = perf_counter()
        if not self.pending:
            return
        try:
            for some in _alike(self.pending):
                self._write_answers(some)
                self.pending = self.pending[len(some) :]
            # Write the old memory if the oracle has not been asked yet. Write none if the oracle
            # was interrupted while answering: it may remember half of that answer.
            memory = {} if self.busy else self.memory or memory_of(self.response)
            if memory:
                manifest = {"run": self.run, "after": self.written}
                write_whole(
                    str(self.folder.file(MEMORY)), pack(memory, manifest, CHECKPOINT), private=True
                )
            self.failed = False
        except InputError as error:
            if not self.failed:  # warn once
                warn(
                    f"the checkpoint could not be written: {error} The run goes on without it.",
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
        """Read the answers; drop answers that are newer than the oracle's saved memory."""
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
                remind(self.response, self.memory)  # raises an error if the memory does not fit
                remind(self.response, fresh)
        if after < len(self.known):  # killed before the memory was written
            memory = self.memory
            self._keep_first(after)
            self.memory = memory
        elif after > len(self.known):
            self._keep_first(0)


def _alike(answers: Sequence[Kept]) -> list[Sequence[Kept]]:
    """Split the answers where the number of tasks changes."""
    tasks = np.array([answer.tasks for answer in answers])
    cuts = [0, *(np.flatnonzero(np.diff(tasks)) + 1).tolist(), len(answers)]
    return [answers[start:end] for start, end in pairwise(cuts)]


def _key(costs: Costs) -> bytes:
    """Return a digest of the question: the prices of mistakes, and the tasks."""
    found = blake2b(digest_size=16)
    for part in (*costs.prices, costs.tasks):
        found.update(b"none" if part is None else np.ascontiguousarray(to_host(part)).tobytes())
    return found.digest()


def _described(setting: Any) -> Any:
    """Return a setting as words and numbers, the same in every process."""
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
