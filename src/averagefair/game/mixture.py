"""The mixture: one randomised classifier for each task (the paper's p-hat in Delta(H)^m)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair._util.text import counted
from averagefair.errors import InputError
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.protocols import Hypothesis
from averagefair.people.backends import Space
from averagefair.people.blocks import row_blocks
from averagefair.people.dask import is_dask, map_people, read_dask
from averagefair.people.draws import count_draws, id_keys, person_keys, task_keys, uniform
from averagefair.people.encoder import TableEncoder
from averagefair.people.feature_map import FittedMap
from averagefair.people.frames import Table, read_numbers, to_frame_like
from averagefair.people.sample import Sample, check_columns, read_features


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Randomised classifiers for k tasks: task j uses hypothesis r with probability q_rj.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        Each decides all k tasks. Equal hypotheses are merged, and those without a chance in any
        task are dropped.
    probabilities : array, shape (r,) or (r, k)
        Not negative. Shape (r,): the same chances in every task, which sum to 1. Shape (r, k): each
        task has its own chances, a column, which sum to 1.
    sample : Sample
        The training sample. The mixture keeps only the names of its tasks, the names and number of
        its features, and its feature map.
    seed : int
        Seed of the draws.
    chosen_together : bool, default False
        Whether the classifiers of these tasks, or of these and other tasks, were chosen together,
        so that mistakes offset each other. Rates on these tasks can then be observed, but they say
        little about other tasks (``auditing/learned.py``).

    Attributes
    ----------
    task_names : tuple of str, length k
    named_tasks : bool
        Whether the user gave these names, so that other tables must have them too.
    feature_names : tuple of str, or None
        The columns of X; with an encoder, the encoded columns.
    feature_count : int
        Their number.
    feature_map : FittedMap, or None
        Turns these columns into the features that the hypotheses use.
    encoder : TableEncoder, or None
        Encodes words, dates and blanks in X.
    """

    hypotheses: Sequence[Hypothesis]
    probabilities: FloatArray
    sample: InitVar[Sample]
    seed: int = 0
    chosen_together: bool = False
    task_names: tuple[str, ...] = field(init=False)
    named_tasks: bool = field(init=False)
    feature_names: tuple[str, ...] | None = field(init=False)
    feature_count: int = field(init=False)
    feature_map: FittedMap | None = field(init=False)
    encoder: TableEncoder | None = field(init=False)

    def __post_init__(self, sample: Sample) -> None:
        object.__setattr__(self, "task_names", sample.task_names)
        object.__setattr__(self, "named_tasks", sample.named_tasks)
        object.__setattr__(self, "feature_names", sample.feature_names)
        object.__setattr__(self, "feature_count", sample.feature_count)
        object.__setattr__(self, "feature_map", sample.feature_map)
        object.__setattr__(self, "encoder", sample.encoder)
        self._hold(self.hypotheses, self.probabilities)

    def _hold(self, hypotheses: Sequence[Hypothesis], probabilities: Any) -> None:
        """Keep the distinct hypotheses that have a chance."""
        q = _read_chances(probabilities, len(hypotheses), len(self.task_names))
        first, q = merge_equal((h.key() for h in hypotheses), q)
        possible = (q > 0) if q.ndim == 1 else (q > 0).any(axis=1)
        kept = tuple(hypotheses[index] for index in first[possible])
        object.__setattr__(self, "hypotheses", kept)
        object.__setattr__(self, "probabilities", q[possible])

    @classmethod
    def fixed(cls, hypothesis: Hypothesis, sample: Sample, seed: int = 0) -> Mixture:
        """Return classifiers that draw nothing: one hypothesis, chosen for all k tasks together.

        Parameters
        ----------
        hypothesis : Hypothesis
        sample : Sample
            The training sample.
        seed : int, default 0
            Names the model; nothing is drawn.
        """
        return cls([hypothesis], np.ones(1), sample, seed, chosen_together=True)

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is drawn: each task has one classifier."""
        return bool(((self.probabilities == 0.0) | (self.probabilities == 1.0)).all())

    @classmethod
    def by_task(
        cls, hypotheses: Sequence[Hypothesis], chances: ArrayLike, sample: Sample, seed: int = 0
    ) -> Mixture:
        """Return a mixture in which each task has its own chances, with as few hypotheses as fit.

        Hypothesis l of the result decides each task by its l-th most likely classifier. So the
        result has as many hypotheses as the task with the most classifiers, however many were
        given. The chances of decisions are those of ``Mixture(hypotheses, chances, ...)``.

        Parameters
        ----------
        hypotheses : sequence of Hypothesis
            Each decides all k tasks.
        chances : array, shape (r, k)
            The chance of each hypothesis in each task; not negative, and each column sums to 1.
        sample : Sample
            The training sample.
        seed : int, default 0
            Seed of the draws.

        Examples
        --------
        >>> from averagefair.game.constant_classifiers import Constant
        >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
        >>> some = [Constant(False, 2), Constant(True, 2)]
        >>> mixture = Mixture.by_task(some, [[1.0, 0.25], [0.0, 0.75]], sample)
        >>> mixture.probabilities
        array([[1.  , 0.75],
               [0.  , 0.25]])
        >>> mixture.decision_probability([[5.0]])
        array([[0.  , 0.75]])
        """
        q = _read_chances(chances, len(hypotheses), sample.m)
        if q.ndim == 1:
            return cls(hypotheses, q, sample, seed)
        first, q = merge_equal((hypothesis.key() for hypothesis in hypotheses), q)
        return cls(*_pack([hypotheses[index] for index in first.tolist()], q), sample, seed)

    def sparsify(self, r: int, *, random_state: int = 0) -> Mixture:
        """Return the average of r classifiers that each task draws by its chances.

        The tasks draw independently, so the draws average out over tasks as well as over r. With
        r = 1 each task keeps one classifier, for everybody: decisions are fixed. All rates of n
        people are within alpha of this mixture's with probability 1 - delta, if each person has m
        labels and r >= log(2n / delta) / (2 m alpha^2). :func:`averagefair.theory.draws_per_task`
        computes this r, and :func:`averagefair.theory.draws_deviation` the alpha of a given r. This
        is a sample of p-hat as in the proof of Generalization over P (Definition "Sparse Randomized
        Classifiers").

        A task's draws depend on its name, its chances and ``random_state``. The order of the tasks
        and the other tasks do not matter. Two tasks of the same name share their draws. The first
        draws of a larger r are those of a smaller r.

        Parameters
        ----------
        r : int
            Number of draws for each task.
        random_state : int, default 0
            Seeds these draws. Other seeds draw other classifiers.

        Returns
        -------
        Mixture
            Chances are multiples of 1 / r.

        Examples
        --------
        >>> from averagefair.game.constant_classifiers import Constant
        >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
        >>> coins = Mixture([Constant(False, 2), Constant(True, 2)], [0.5, 0.5], sample)
        >>> coins.sparsify(4).decision_probability([[5.0]])
        array([[0.25, 0.25]])
        >>> coins.sparsify(1).is_fixed
        True
        """
        r, seed = whole_number("r", r), whole_number("random_state", random_state, least=0)
        q = self.probabilities
        if q.ndim == 1:
            q = np.repeat(q[:, np.newaxis], len(self.task_names), axis=1)
        counts = count_draws(q, r, seed, self.task_names)
        drawn = np.flatnonzero(counts.any(axis=1))
        sparse = copy(self)
        kept = [self.hypotheses[index] for index in drawn.tolist()]
        sparse._hold(*_pack(kept, counts[drawn] / r))
        return sparse

    def decision_probability(self, X: Any) -> Any:
        """Return the chance of deciding 1 for each person and task, shape (n, k).

        This is how often the mixture decides 1, not how likely the label is 1.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
            The result is in the array library and on the device of X; for a Dask collection it is a
            lazy Dask array.
        """
        if is_dask(X) and self.encoder is None:
            return self._lazily(self.decision_probability, X, None, np.float64)
        return self._map_and_decide(self._features(X))

    def encoded(self, X: Any) -> Any:
        """Return X with its words, dates and blanks encoded; unchanged without an encoder.

        Parameters
        ----------
        X : array-like or DataFrame
            A ``Table`` of this package has been encoded before.
        """
        return X if self.encoder is None or isinstance(X, Table) else self.encoder.table(X)

    def _features(self, X: Any) -> Any:
        """Read and check the columns of X."""
        return read_features(self.encoded(X), self.feature_names, self.feature_count)

    def _map_and_decide(self, features: Any, first_row: int = 0) -> Any:
        """Return decision probabilities for columns of X that have been read; shape (n, k)."""
        if self.feature_map is None:
            return self.chances(features)
        n, k = features.shape[0], len(self.task_names)
        out = np.empty((n, k))
        for rows in row_blocks(n, max(k, self.feature_map.width)):
            out[rows] = self.chances(self.feature_map(features[rows, :], first_row + rows.start))
        return out

    def map_sample(self, sample: Sample) -> Sample:
        """Return a sample with the features that the hypotheses use.

        Parameters
        ----------
        sample : Sample
            Its features are the columns of X, or are mapped already.
        """
        if self.feature_map is None or sample.feature_map is self.feature_map:
            return sample
        return sample.map_features(self.feature_map)

    def chances(self, features: Any) -> Any:
        """Return decision probabilities for features that have been read and mapped; shape (n, k).

        Parameters
        ----------
        features : array, shape (n, d)
            The features that the hypotheses use.
        """
        space = Space.of(features)
        xp = space.xp
        out = space.zeros((features.shape[0], len(self.task_names)))
        parts = [
            (chance if isinstance(chance, float) else space.asarray(chance), hypothesis)
            for chance, hypothesis in self.parts()
        ]
        for rows in row_blocks(*out.shape):
            block = features[rows, :]
            total = 0.0
            for share, hypothesis in parts:
                total = total + share * xp.astype(hypothesis.decide(block), xp.float64)
            # If all hypotheses decide 1, the shares add up to 1 only up to rounding.
            out[rows, :] = xp.where(total > 1.0 - 1e-12, 1.0, total)
        return out

    def parts(self) -> Iterator[tuple[float | FloatArray, Hypothesis]]:
        """Yield each chance and its hypothesis.

        A chance is a float, or an array of shape (k,) if each task has its own chances.
        """
        q = self.probabilities
        chances = q.tolist() if q.ndim == 1 else [*q]
        return zip(chances, self.hypotheses, strict=True)

    def predict(self, X: Any, ids: ArrayLike | None = None, *, as_frame: bool = False) -> Any:
        """Return decisions 0/1, shape (n, k): the same person and task always get the same.

        Parameters
        ----------
        X : array-like or DataFrame, shape (n, d)
        ids : array-like of shape (n,), optional
            Identifier of each row's person. Only drawn decisions depend on it: draws then stay the
            same when features change. Default: a person is identified by their features, so people
            with the same features share draws.
        as_frame : bool, default False
            Return a DataFrame with the tasks' names: in the library of X, with its index; for other
            tables in pandas, with ``ids`` as the index if they are given.
        """
        if is_dask(X) and self.encoder is None:
            if as_frame:
                raise InputError(
                    "`as_frame` is for tables in memory, and X is a Dask collection: decisions are "
                    "then a lazy Dask array. Leave as_frame out."
                )
            return self._lazily(self.predict, X, ids, np.int8)
        features = self._features(X)
        decisions = self._decide(features, ids)
        return to_frame_like(decisions, self.task_names, X, ids) if as_frame else decisions

    def _decide(self, features: Any, ids: ArrayLike | None) -> Any:
        """Return decisions about people whose features have been read."""
        space, rows_of = Space.of(features), features.shape[0]
        drawn = not self.is_fixed
        people = None if ids is None else id_keys(ids)
        if people is not None and len(people) != rows_of:
            raise InputError(
                f"ids must have one entry for each of the {rows_of} rows; got {len(people)}."
            )
        if people is None and drawn:
            people = person_keys(space.to_host(features))
        tasks = task_keys(self.task_names)
        out = np.empty((rows_of, len(self.task_names)), dtype=np.int8)
        for rows in row_blocks(*out.shape):
            chances = space.to_host(self._map_and_decide(features[rows, :], rows.start))
            draws = uniform(self.seed, people[rows], tasks) if drawn and people is not None else 0.5
            out[rows] = draws < chances
        return space.asarray(out)

    def save(self, path: str | Path) -> None:
        """Write the classifiers to one file, without pickle; :func:`averagefair.load` reads it.

        Parameters
        ----------
        path : str or Path
            A failed save leaves no partial file.
        """
        from averagefair.persistence import save

        save(self, path)

    def coefficients(self) -> Any:
        """Return linear classifiers as a pandas DataFrame, a row for each task.

        The columns are the features, in the units of X, and "intercept". The rule: decide 1 where
        ``X @ coefficients + intercept`` is above 0. A score of exactly 0 decides 0. A constant
        classifier has coefficients 0. Features without names are called x0, x1, ...

        Numbers are those that ``predict`` uses, to the last bit. The order in which a program adds
        the products can change the last bits of a score, and so a decision whose score is within
        rounding of 0.

        Raises
        ------
        InputError
            If decisions are drawn, if there is a feature map, or if some task's classifier is not
            linear. Use ``to_onnx`` then.

        Examples
        --------
        >>> import numpy as np
        >>> from averagefair.oracles.linear import LinearThresholds
        >>> sample = Sample([[0.0, 1.0], [1.0, 0.0]], [[0], [1]], task_names=["loan"])
        >>> line = LinearThresholds(np.array([[-2.0], [0.0]]), np.array([1.0]))
        >>> Mixture.fixed(line, sample).coefficients()
               x0   x1  intercept
        task
        loan  2.0  0.0       -1.0
        """
        from averagefair.export import coefficients

        return coefficients(self)

    def to_onnx(self, path: str | Path) -> None:
        """Write the classifiers to an ONNX file, which runs without Python.

        The input is ``features``: doubles of shape (n, d), the columns of X in their order. The
        output is ``decisions`` (int64, shape (n, k)) if nothing is drawn, else ``chances``: the
        chances of deciding 1 (doubles, shape (n, k)). docs/extend/draws.md has the rule that draws
        decisions by these chances. The metadata has the names of tasks and features as JSON, the
        seed, and the version of averagefair.

        Needs ``pip install 'averagefair[onnx]'``.

        Parameters
        ----------
        path : str or Path
            A failed export leaves no partial file.

        Raises
        ------
        InputError
            If the file cannot hold some classifier or the feature map, or would compute it in
            single precision. The message names it, and what works instead.

        Notes
        -----
        Thresholds and trees decide as ``predict`` does, bit by bit. In linear classifiers, the
        order in which a program adds products can change a decision whose score is within rounding
        of 0. The file does not check its input: features must be finite numbers.

        Examples
        --------
        >>> import tempfile, onnx
        >>> from averagefair.game.constant_classifiers import Constant
        >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Mixture.fixed(Constant(True, 2), sample).to_onnx(f"{folder}/rules.onnx")
        ...     onnx.load(f"{folder}/rules.onnx").graph.output[0].name
        'decisions'
        """
        from averagefair.export import to_onnx

        to_onnx(self, path)

    def _lazily(self, work: Any, X: Any, ids: Any | None, dtype: type) -> Any:
        """Return a lazy Dask array for a Dask collection."""
        table = read_dask(X, "X")
        check_columns(table, self.feature_names, self.feature_count)
        return map_people(work, table, ids, len(self.task_names), dtype)

    def __repr__(self) -> str:
        hypotheses = counted(len(self.hypotheses), "hypothesis", "hypotheses")
        return f"Mixture({hypotheses} for {counted(len(self.task_names), 'task')})"


def _read_chances(probabilities: Any, hypotheses: int, tasks: int) -> FloatArray:
    """Return chances of shape (r,) or (r, k); refuse anything else."""
    q = read_numbers(probabilities, "probabilities")
    if q.shape not in ((hypotheses,), (hypotheses, tasks)) or not len(q):
        raise InputError(
            "a mixture needs at least one hypothesis, and one probability for each (or for each "
            f"and every task); got probabilities of shape {q.shape} for {hypotheses} hypotheses "
            f"and {counted(tasks, 'task')}."
        )
    totals = np.atleast_1d(q.sum(axis=0))
    if not ((q >= 0).all() and (np.abs(totals - 1.0) <= 1e-9).all()):
        where = "" if q.ndim == 1 else " in every task"
        worst = float(totals[np.abs(totals - 1.0).argmax()])
        raise InputError(
            f"probabilities must not be negative and must sum to 1{where}; got a minimum of "
            f"{float(q.min())!r} and a sum of {worst!r}."
        )
    return q


def _pack(hypotheses: Sequence[Hypothesis], q: FloatArray) -> tuple[list[Hypothesis], FloatArray]:
    """Join hypotheses, so that number l decides each task by its l-th most likely classifier.

    The chances q have shape (r, k); those returned have as many rows as hypotheses are left.
    """
    order = np.argsort(-q, axis=0, kind="stable")
    q = np.take_along_axis(q, order, axis=0)
    layers = range(int(np.count_nonzero(q, axis=0).max(initial=1)))
    # A task with fewer classifiers repeats its first one, with chance 0.
    choices = [np.where(q[layer] > 0, order[layer], order[0]) for layer in layers]
    return [choose_per_task(hypotheses, choice) for choice in choices], q[: len(choices)]


def merge_equal(
    keys: Iterable[Hashable], chances: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Find the distinct keys: the first index of each, and the sum of its chances.

    Chances have one row for each key.

    Examples
    --------
    >>> merge_equal("aba", np.array([0.25, 0.5, 0.25]))
    (array([0, 1]), array([0.5, 0.5]))
    """
    numbers: dict[Hashable, int] = {}
    labels = [numbers.setdefault(key, len(numbers)) for key in keys]
    first = np.unique(labels, return_index=True)[1]
    if chances.ndim == 1:
        return first, np.asarray(np.bincount(labels, weights=chances), dtype=np.float64)
    sums = np.zeros((len(first), *chances.shape[1:]))
    np.add.at(sums, labels, chances)
    return first, sums
