"""People on a cluster: their rows stay on the workers of a Dask cluster for the whole fit.

The chunks of the Dask arrays become parts. Each worker reads its rows into a part once (features,
and one byte for each label) and keeps it. A best response then moves only small arrays: prices and
rates (a number for each person), sums of features x tasks, and coefficients. If a worker is lost,
Dask rebuilds its parts from their source on another worker, and the fit goes on.
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
from averagefair.people.backends import NUMPY, Space
from averagefair.people.frames import Table, read_table
from averagefair.people.parts import Part, PartFunction
from averagefair.people.storage import check_precision, map_part, read_only, read_part

_PARTS_AT_A_TIME = 64


def is_dask(data: Any) -> bool:
    """Return whether this is a Dask collection (an array, a DataFrame)."""
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr")


def read_dask(data: Any, what: str) -> Table:
    """Return a table whose cells are a Dask array; its chunks are whole rows, of known sizes."""
    if not is_dask(data):
        raise InputError(
            f"X and Y must both be Dask collections, or neither; {what} is "
            f"{type(data).__name__}. Convert it: dask.array.from_array({what})."
        )
    columns = row_names = None
    delayed = type(data).__name__.startswith("Delayed")  # hasattr is always True for it
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
    """Make the workers read and keep features and labels."""
    check_precision(dtype, NUMPY)
    client, make = _client(), extra("dask", "dask").delayed(_make_part)
    rows = people.cells.chunks[0]
    starts = tuple(np.cumsum([0, *rows]).tolist())
    blocks = zip(_blocks(people.cells), _blocks(labels.cells.rechunk({0: rows})), strict=True)
    parts = [
        make(features, cells, people.columns, task_names, dtype, first)
        for (features, cells), first in zip(blocks, starts[:-1], strict=True)
    ]
    return ClusterRows(tuple(client.compute(parts)), starts, people.cells.shape[1], dtype)


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Rows in parts on the workers. Vectors over the people are NumPy arrays on this machine.

    Attributes
    ----------
    parts : tuple of Future
        Each the future of a ``averagefair.people.parts.Part``.
    starts : tuple of int
        The first row of each part, and the end of the last part.
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
        """Not on this machine: raises InputError."""
        raise self._remote_error("features")

    @property
    def signs(self) -> Any:
        """Not on this machine: raises InputError."""
        raise self._remote_error("labels")

    def _remote_error(self, what: str) -> InputError:
        return InputError(
            f"the {what} of these people are on the workers of a Dask cluster, but this step needs "
            "them on this machine. Pass NumPy arrays (X.compute()) if they fit in memory."
        )

    @property
    def space(self) -> Space:
        """NumPy: vectors over the people are on this machine."""
        return NUMPY

    @property
    def local(self) -> bool:
        """False: features and labels are on the workers."""
        return False

    @property
    def location(self) -> str:
        """Where features and labels are, in words."""
        return "a Dask cluster"

    def apply(
        self, function: PartFunction, by_person: Sequence[Any], settings: dict[str, Any]
    ) -> Iterator[Any]:
        """Apply a function on the workers to the parts they hold; yield the results in order."""
        client, config = self._client(), extra("dask", "dask").config
        cuts = [slice(*ends) for ends in pairwise(self.starts)]
        # Vectors travel with the calls. They may be large: silence Dask's warning about that.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = [
                client.submit(
                    _apply_on_worker,
                    function,
                    part,
                    [None if vector is None else vector[rows] for vector in by_person],
                    settings,
                    pure=False,
                )
                for part, rows in zip(self.parts, cuts, strict=True)
            ]
        # Gather in batches: the sums of all parts together may exceed this machine's memory.
        for start in range(0, len(futures), _PARTS_AT_A_TIME):
            yield from client.gather(futures[start : start + _PARTS_AT_A_TIME])

    def read_labels(self, Y: Any) -> Table:
        """Read labels from a Dask collection or any other table."""
        if is_dask(Y):
            return read_dask(Y, "Y")
        table = read_table(Y, "Y", labels=True)
        array = extra("dask.array", "dask")
        cells = array.from_array(table.cells, chunks=(self._part_sizes(), -1))
        return table._replace(cells=cells)

    def with_labels(self, cells: Any, task_names: Sequence[str]) -> ClusterRows:
        """Return the same people with these labels."""
        relabel = extra("dask", "dask").delayed(_relabel)
        blocks = _blocks(cells.rechunk({0: self._part_sizes()}))
        parts = [
            relabel(part, block, task_names, first)
            for part, block, first in zip(self.parts, blocks, self.starts[:-1], strict=True)
        ]
        return replace(self, parts=tuple(self._client().compute(parts)))

    def map_features(self, feature_map: Any) -> ClusterRows:
        """Make the workers map the features of their parts, once."""
        client = self._client()
        parts = tuple(
            client.submit(map_part, part, feature_map, first, pure=False)
            for part, first in zip(self.parts, self.starts[:-1], strict=True)
        )
        return replace(self, parts=parts, d=feature_map.width)

    def without_labels(self) -> ClusterRows:
        """Return the people without labels."""
        return self._change_parts(_without_labels)

    def take_tasks(self, tasks: NDArray[np.intp]) -> ClusterRows:
        """Return the same people with the tasks at these positions."""
        return self._change_parts(_take_tasks, tasks)

    def digests(self) -> list[str]:
        """Return a digest of each task's labels."""
        by_task = zip(*self.apply(_digests, (), {}), strict=True)
        return [blake2b(b"".join(parts), digest_size=8).hexdigest() for parts in by_task]

    def _client(self) -> Any:
        """Return the client that holds the parts; refuse if it has stopped."""
        client = getattr(self.parts[0], "client", None)
        if client is None or client.status != "running":
            raise InputError(
                "the training people are on a Dask cluster whose client has stopped. Extend a "
                "model while its client runs, or fit it again."
            )
        return client

    def _part_sizes(self) -> tuple[int, ...]:
        return tuple(end - start for start, end in pairwise(self.starts))

    def _change_parts(self, change: Callable[..., Part], *arguments: Any) -> ClusterRows:
        client = self._client()
        parts = tuple(client.submit(change, part, *arguments) for part in self.parts)
        return replace(self, parts=parts)


def map_people(
    function: Callable[..., Any], X: Table, ids: Any | None, tasks: int, dtype: type
) -> Any:
    """Return a lazy Dask array, shape (n, tasks): a function applied to each chunk of people.

    ``function`` takes features (rows, d), and ids (rows,) if they are given.
    """
    array, features = extra("dask.array", "dask"), X.cells
    rows = features.chunks[0]
    given = []
    if ids is not None:
        names = ids if is_dask(ids) else array.from_array(np.asarray(ids), chunks=-1)
        given = [names.rechunk((rows,))[:, None]]
    return array.map_blocks(
        _apply_to_chunk, features, *given, function=function, dtype=dtype, chunks=(rows, (tasks,))
    )


def _client() -> Any:
    distributed = extra("distributed", "dask")
    try:
        return distributed.get_client()
    except ValueError:
        raise InputError(
            "fitting on Dask collections needs a running Dask client; there is none. Start one "
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


def _apply_on_worker(
    function: PartFunction, part: Part, vectors: list[Any], settings: dict[str, Any]
) -> Any:
    return function(part, *vectors, **settings)


def _apply_to_chunk(features: Any, ids: Any = None, *, function: Callable[..., Any]) -> Any:
    return function(features) if ids is None else function(features, ids[:, 0])


def _digests(part: Part) -> list[bytes]:
    return [blake2b(column.tobytes(), digest_size=8).digest() for column in part.signs.T]
