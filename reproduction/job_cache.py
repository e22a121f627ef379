"""Finished jobs in a checkpoint's folder, so that a stopped reproduction can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from averagefair._util.text import plain
from averagefair.experiments.tidy import ResultTable
from averagefair.files.writing import write_whole
from averagefair.persistence.container import CHECKPOINT, Arrays, pack
from averagefair.persistence.contents import Contents, as_text, from_text
from averagefair.persistence.folder import Folder
from reproduction.plan import Job, Tables


class JobCache:
    """The tables of finished jobs, one file per job.

    Parameters
    ----------
    folder : str or Path
    run : mapping
        The settings that identify this reproduction; files of another one are refused.
    resume : bool
        Whether to use the finished jobs in the folder. If False, the folder must be empty.
    """

    def __init__(self, folder: str | Path, run: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = Folder(folder)
        self.run = json.loads(json.dumps(plain(dict(run))))
        self.folder.take(resume=resume)

    def find(self, job: Job) -> Tables | None:
        """Return the tables of a finished job, or None."""
        path = self._file(job)
        if not path.exists():
            return None
        with self.folder.reading(path, self.run) as contents:
            if contents.manifest["job"] != job.name:
                raise ValueError("it is another job's")
            tables = contents.manifest["tables"]
            return {name: _read(name, tables[name], contents) for name in tables}

    def keep(self, job: Job, tables: Tables) -> None:
        """Write the tables of a finished job."""
        arrays: Arrays = {}
        manifest = {
            "run": self.run,
            "job": job.name,
            "tables": {name: _write(name, table, arrays) for name, table in tables.items()},
        }
        write_whole(str(self._file(job)), pack(arrays, manifest, CHECKPOINT), private=True)

    def close(self) -> None:
        """Release the folder for other processes."""
        self.folder.release()

    def clear(self) -> None:
        """Remove all finished jobs."""
        self.close()
        self.folder.clear()

    def _file(self, job: Job) -> Path:
        return self.folder.file(f"job-{blake2b(job.name.encode(), digest_size=8).hexdigest()}")


def _write(name: str, table: ResultTable, arrays: Arrays) -> dict[str, Any]:
    """Add a table's columns to the arrays; return its length, columns, and which are text."""
    words = [column for column, values in table.columns.items() if values.dtype.kind in "UO"]
    for column, values in table.columns.items():
        arrays[f"{name}.{column}"] = as_text(values) if column in words else values
    return {"rows": len(table), "columns": list(table.columns), "words": words}


def _read(name: str, written: Mapping[str, Any], contents: Contents) -> ResultTable:
    known = Contents(contents.arrays, written)
    rows, words = known.whole("rows"), known.words("words")
    columns = {}
    for column in known.words("columns"):
        values = known.arrays[f"{name}.{column}"]
        if column in words:
            values = np.array(from_text(values, rows).tolist())
        if values.shape != (rows,):
            raise ValueError(f"{name}.{column} has shape {values.shape}")
        columns[column] = values
    return ResultTable(columns)
