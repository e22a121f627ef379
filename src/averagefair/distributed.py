"""People on a cluster: their rows stay with the workers of a Dask cluster for the whole fit.

Rows are cut where the Dask arrays are. A worker turns its rows into a part (features, and labels
as one byte each) once and keeps it. A best response then moves what is small: prices and rates, a
number for each person, sums of features x tasks, and coefficients. Where a worker is lost, Dask
makes its parts again from their source, on another worker, and the fit goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.errors import InputError, extra
from averagefair.parts import Part, Work
from averagefair.rows import check_precision, map_part, read_only, read_part
from averagefair.spaces import NUMPY, Space
from averagefair.tables import Table, read_table

_AT_A_TIME = 64


def is_dask(data: Any) -> bool:
    """Return whether this is a collection of Dask (an array, a DataFrame)."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr")


def read_dask(data: Any, what: str) -> Table:
    """Return a table whose cells are a Dask array with chunks of rows, all of them known."""
    if not is_dask(data):
        raise InputError(
            "X and Y must both be Dask collections, or neither; "
            f"{what} is {type(data).__name__}. Put it beside the other with "
            "dask.array.from_array(...)."
        )
    columns = row_names = None
    delayed = type(data).__name__.startswith("Delayed")  # which has whatever it is asked for
    if not delayed and hasattr(data, "to_dask_array"):
        names = getattr(data, "columns", (data.name,) if hasattr(data, "name") else ())
        columns, row_names = tuple(map(str, names)) or None, np.asarray(data.index.compute())
        data = data.to_dask_array(lengths=True)
    if delayed or not hasattr(data, "rechunk"):
        raise InputError(f"{what} must be a Dask array or DataFrame; got {type(data).__name__}.")
    if data.ndim == 1 and what != "X":
        data = data[:, None]
    if data.ndim != 2:
        raise InputError(f"{what} must be a table, rows x columns; got shape {data.shape}.")
    if any(np.isnan(size) for size in data.shape):
        data = data.compute_chunk_sizes()
    return Table(data.rechunk({1: -1}), columns, row_names)


def cluster_rows(
    people: Table, labels: Table, task_names: Sequence[str], dtype: str
) -> ClusterRows:
    """Have the workers read features and labels, and keep them."""
    check_precision(dtype, NUMPY)
    client, make = _client(), extra("dask", "dask").delayed(_make_part)
    rows = people.cells.chunks[0]
    starts = tuple(np.cumsum([0, *rows]).tolist())
    blocks = zip(_blocks(people.cells), _blocks(labels.cells.rechunk({0: rows})), strict=True)
    made = [
        make(features, cells, people.columns, task_names, dtype, first)
        for (features, cells), first in zip(blocks, starts[:-1], strict=True)
    ]
    return ClusterRows(tuple(client.compute(made)), starts, people.cells.shape[1], dtype)


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows in parts that the workers hold. Vectors over the people are NumPy's, on this machine.

    Attributes
    ----------
    parts : tuple of Future
        Of ``averagefair.parts.Part``.
    starts : tuple of int
        Where each part's people begin, and where the last ones end.
    d : int
        Number of features.
    precision : str
    """

    parts: tuple[Any, ...]
    starts: tuple[int, ...]
    d: int
    precision: str

    @property
    def features(self) -> Any:
        """Nowhere on this machine."""
        raise self._away("features")

    @property
    def signs(self) -> Any:
        """Nowhere on this machine."""
        raise self._away("labels")

    def _away(self, what: str) -> InputError:
        return InputError(
            f"the {what} of these people are with the workers of a Dask cluster; this needs them "
            "on this machine. Pass NumPy arrays (X.compute()), if they fit."
        )

    @property
    def space(self) -> Space:
        """NumPy, on this machine."""
        return NUMPY

    @property
    def local(self) -> bool:
        """They are not."""
        return False

    @property
    def whereabouts(self) -> str:
        """Where features and labels are, in words."""
        return "a Dask cluster"

    def results(
        self, work: Work, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Have the workers do some work on the parts they hold; the results in order."""
        client, config = self._client(), extra("dask", "dask").config
        cuts = [slice(*ends) for ends in pairwise(self.starts)]
        # Vectors travel with the calls; that they may be large is known here.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = [
                client.submit(
                    _at_worker,
                    work,
                    part,
                    [None if vector is None else vector[rows] for vector in by_person],
                    settings,
                    pure=False,
                )
                for part, rows in zip(self.parts, cuts, strict=True)
            ]
        # A batch at a time: sums of all parts together may be more than this machine holds.
        for start in range(0, len(futures), _AT_A_TIME):
            yield from client.gather(futures[start : start + _AT_A_TIME])

    def read_labels(self, Y: Any) -> Table:
        """Read labels, a Dask collection or any other table."""
        if is_dask(Y):
            return read_dask(Y, "Y")
        table = read_table(Y, "Y", labels=True)
        array = extra("dask.array", "dask")
        cells = array.from_array(table.cells, chunks=(self._rows(), -1))
        return table._replace(cells=cells)

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> ClusterRows:
        """Return the same people with these labels."""
        relabel = extra("dask", "dask").delayed(_relabel)
        blocks = _blocks(cells.rechunk({0: self._rows()}))
        made = [
            relabel(part, block, task_names, first)
            for part, block, first in zip(self.parts, blocks, self.starts[:-1], strict=True)
        ]
        return replace(self, parts=tuple(self._client().compute(made)))

    def map_features(self, feature_map: Any) -> ClusterRows:
        """Have the workers map the features of the parts they hold, once."""
        client = self._client()
        parts = tuple(
            client.submit(map_part, part, feature_map, first, pure=False)
            for part, first in zip(self.parts, self.starts[:-1], strict=True)
        )
        return replace(self, parts=parts, d=feature_map.width)

    def without_labels(self) -> ClusterRows:
        """Return the people alone."""
        return self._each(_without_labels)

    def take_tasks(self, tasks: NDArray[np.intp]) -> ClusterRows:
        """Return the same people with only the tasks of these positions."""
        return self._each(_take_tasks, tasks)

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""
        by_task = zip(*self.results(_digests, (), {}), strict=True)
        return [blake2b(b"".join(parts), digest_size=8).hexdigest() for parts in by_task]

    def _client(self) -> Any:
        """Return the client that knows the parts, if it is still running."""
        client = getattr(self.parts[0], "client", None)
        if client is None or client.status != "running":
            raise InputError(
                "the training people are with a Dask cluster whose client is gone. Extend a model "
                "while its client runs, or fit it anew."
            )
        return client

    def _rows(self) -> tuple[int, ...]:
        return tuple(end - start for start, end in pairwise(self.starts))

    def _each(self, change: Callable[..., Part], *arguments: Any) -> ClusterRows:
        client = self._client()
        parts = tuple(client.submit(change, part, *arguments) for part in self.parts)
        return replace(self, parts=parts)


def map_people(work: Callable[..., Any], X: Table, ids: Any | None, tasks: int, dtype: type) -> Any:
    """Return a lazy Dask array (n, tasks) of what a function makes of the features of each chunk.

    ``work`` takes features (rows, d), and ids (rows,) where some are given.
    """
    array, features = extra("dask.array", "dask"), X.cells
    rows = features.chunks[0]
    given = []
    if ids is not None:
        names = ids if is_dask(ids) else array.from_array(np.asarray(ids), chunks=-1)
        given = [names.rechunk((rows,))[:, None]]
    return array.map_blocks(
        _at_chunk, features, *given, work=work, dtype=dtype, chunks=(rows, (tasks,))
    )


def _client() -> Any:
    distributed = extra("distributed", "dask")
    try:
        return distributed.get_client()
    except ValueError:
        raise InputError(
            "Dask collections are learned from on a cluster, and no client is running. Start one "
            "first: from dask.distributed import Client; client = Client() (this machine), or "
            "Client(address of the scheduler)."
        ) from None


def _blocks(cells: Any) -> list[Any]:
    return list(cells.to_delayed().ravel())


def _make_part(
    features: Any,
    labels: Any,
    columns: tuple[str, ...] | None,
    task_names: Sequence[str],
    dtype: str,
    first_row: int,
) -> Part:
    people = Table(np.asarray(features), columns, None)
    return read_only(read_part(people, np.asarray(labels), task_names, dtype, first_row))


def _relabel(part: Part, labels: Any, task_names: Sequence[str], first_row: int) -> Part:
    people = Table(part.features, None, None)
    return read_only(read_part(people, np.asarray(labels), task_names, part.precision, first_row))


def _without_labels(part: Part) -> Part:
    return Part(part.features, np.empty((len(part), 0), dtype=np.int8), part.precision)


def _take_tasks(part: Part, tasks: NDArray[np.intp]) -> Part:
    return Part(part.features, part.signs[:, tasks], part.precision)


def _at_worker(work: Work, part: Part, vectors: list[Any], settings: dict[str, Any]) -> Any:
    return work(part, *vectors, **settings)


def _at_chunk(features: Any, ids: Any = None, *, work: Callable[..., Any]) -> Any:
    return work(features) if ids is None else work(features, ids[:, 0])


def _digests(part: Part) -> list[bytes]:
    return [blake2b(column.tobytes(), digest_size=8).digest() for column in part.signs.T]
