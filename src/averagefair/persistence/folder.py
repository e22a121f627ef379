"""The folder of a checkpoint: whole files of one run at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from averagefair.errors import InputError
from averagefair.files.writing import check_output
from averagefair.persistence.container import CHECKPOINT, unpack
from averagefair.persistence.contents import MISFITS, Contents
from averagefair.persistence.estimators import UntrustedError

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two runs out of one folder
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".checkpoint"
_LOCK = "lock"


class Folder:
    """The folder that holds a checkpoint.

    Parameters
    ----------
    path : str or Path
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._held: int | None = None

    def file(self, name: str) -> Path:
        """Return the path of a part."""
        return self.path / f"{name}{SUFFIX}"

    def answers(self, first: int) -> Path:
        """Return the path of the file whose first answer has this number."""
        return self.file(f"answers-{first:08d}")

    def take(self, *, resume: bool) -> None:
        """Create or take over the folder.

        Refuse a folder that another run uses. Without ``resume``, also refuse one with a record.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be made a folder for checkpoints: {error.strerror}. Give "
                "another folder."
            ) from None
        check_output(str(self.file("trial")))
        self._lock()
        with self.released_on_error():
            if not resume and any(self._own()):
                raise InputError(
                    f"{self.path} holds the checkpoint of an earlier run. Resume it by --resume "
                    "(resume=True in Python), or give another folder."
                )
            for part in self.path.glob(".*.part"):  # half-written by a killed run
                part.unlink(missing_ok=True)

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            held = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(
                f"{self.path / _LOCK} cannot be used: {error.strerror}. Give another folder."
            ) from None
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            raise InputError(
                f"{self.path} is in use by another run. Wait for its end, or give another folder."
            ) from None
        self._held = held

    def release(self) -> None:
        """Let other runs use the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    @contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Let other runs use the folder if the block fails."""
        try:
            yield
        except BaseException:
            self.release()
            raise

    @contextmanager
    def reading(
        self, path: Path, run: Mapping[str, Any], trusted: Sequence[str] = ()
    ) -> Iterator[Contents]:
        """Read a file of this run; refuse damaged files and files of another run."""
        arrays, manifest = unpack(path, CHECKPOINT)
        known = manifest.get("run")
        if known != dict(run):
            raise InputError(
                f"{self.path} holds the checkpoint of another run: {_difference(known, run)}. "
                "Resume with the settings and data of that run, or give another folder."
            )
        try:
            yield Contents(arrays, manifest, tuple(trusted), str(path))
        except UntrustedError as error:
            raise UntrustedError(f"{path}: {error}") from None
        except MISFITS as error:
            raise InputError(
                f"{path} is damaged: its contents do not fit ({error}). Remove {self.path} and "
                "start again."
            ) from error

    def remove_answers(self) -> None:
        """Remove all answers, the last ones first, so that an interruption leaves no gap."""
        for path in reversed(self._own()):
            if path.name.startswith("answers-"):
                path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all files of a checkpoint, and the folder if it is empty then."""
        for path in (*self._own(), self.path / _LOCK):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()

    def _own(self) -> list[Path]:
        return sorted(self.path.glob(f"*{SUFFIX}"))


def _difference(known: Any, run: Mapping[str, Any]) -> str:
    """Return how a recorded run differs from this one."""
    if not isinstance(known, dict):
        return "its settings are missing"
    for name in (*run, *known):
        if known.get(name) != run.get(name):
            if name == "data":
                return "its data differ"
            return f"its {name} was {known.get(name)!r}, and is {run.get(name)!r}"
    return "something differs"
