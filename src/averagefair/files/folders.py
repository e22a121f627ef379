"""Write a folder of files so that it appears whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from averagefair.errors import InputError
from averagefair.files.reading import STREAM, check_path
from averagefair.files.writing import beside, resolved, sync_folder


def check_new_folder(path: str) -> Path:
    """Refuse, before any work, a folder that could not be written; return its whole path.

    The folder itself may exist or not; the folder that it lies in must exist.

    Parameters
    ----------
    path : str
    """
    if not path or path == STREAM:
        raise InputError(f"{path or 'an empty name'} is no folder; name one, e.g. evidence.")
    check_path(path)
    with _naming(path):
        target = resolved(path)
        if target.exists() and not target.is_dir():
            raise InputError(f"{path} is a file; name a folder.")
        if target == Path.cwd() or target in Path.cwd().parents:
            raise InputError(
                f"{path} is the current folder, or holds it. Name a folder of its own, e.g. "
                "evidence."
            )
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {target.parent}.")
        trial = beside(target)
        trial.mkdir()
        trial.rmdir()
    return target


def write_folder(path: str, files: Mapping[str, bytes]) -> None:
    """Write a folder that holds these files and nothing else.

    The files are written to a temporary folder beside it, which then takes its name. An older
    folder of that name is removed once the new one is there.

    Parameters
    ----------
    path : str
    files : mapping of str to bytes
        The content of each file, by name.
    """
    target = check_new_folder(path)
    with _naming(path):
        draft = beside(target)
        draft.mkdir()
        try:
            for name, content in files.items():
                with (draft / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            sync_folder(draft)
            _replace(target, draft)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _replace(target: Path, draft: Path) -> None:
    """Give the draft the name of the target; on an error the old folder stays."""
    if not target.exists():
        draft.rename(target)
        return
    draft.chmod(target.stat().st_mode & 0o777)
    old = beside(target)
    target.rename(old)
    try:
        draft.rename(target)
    except BaseException:  # Ctrl-C too
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn an OSError into an InputError that names the folder."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None
