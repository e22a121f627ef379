"""``averagefair evidence``, and the option ``--evidence`` of ``fit`` and ``audit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from averagefair.cli import options as given
from averagefair.cli.console import NOT_MET, WHOLE, WIDTH, answer, command_line
from averagefair.errors import InputError
from averagefair.files.reading import STREAM
from averagefair.files.writing import resolved


def evidence(
    folder: Annotated[str, typer.Argument(help="Folder of evidence.", show_default=False)],
    as_json: given.AsJson = False,
) -> None:
    """Check a folder of evidence, and print its card.

    Computes the hashes of all files again, and compares them with evidence.json. Exit code 1:
    something does not agree.

    Example: averagefair evidence evidence
    """
    from averagefair.evidence.document import CARD, EVIDENCE
    from averagefair.evidence.reading import examine

    facts, problems = examine(folder)
    own = sha256((Path(folder) / EVIDENCE).read_bytes()).hexdigest()
    if problems:
        text = "\n".join([f"{folder} is not as it was written:", *(f"- {one}" for one in problems)])
    else:
        card = (Path(folder) / CARD).read_text("utf-8", "replace")
        text = f"{_wrapped(card)}\nEvery file agrees with {EVIDENCE}. Its SHA-256:\n{own}"
    told = {"folder": folder, "agrees": not problems, "problems": [*problems], "sha256": own}
    answer({**told, "evidence": facts}, text, as_json=as_json)
    if problems:
        raise typer.Exit(NOT_MET)


def check_evidence_folder(folder: str | None, outputs: Sequence[str | None]) -> None:
    """Refuse, before any work, a folder that ``--evidence`` cannot be written to.

    Parameters
    ----------
    folder : str, or None
    outputs : sequence of str or None
        The other files that the command writes; none may lie in the folder.
    """
    if folder is None:
        return
    from averagefair.evidence.folder import check_folder

    check_folder(folder)
    target = resolved(folder)
    for output in outputs:
        if output not in (None, STREAM) and target in (
            place := resolved(str(output)),
            *place.parents,
        ):
            raise InputError(
                f"{output} lies in {folder}, which --evidence replaces as a whole. Name another "
                "folder."
            )


def write_evidence(
    result: Any,
    folder: str | None,
    settings: Mapping[str, str],
    *,
    outcome: Mapping[str, Any] | None = None,
    **more: Any,
) -> list[str]:
    """Write the evidence of ``--evidence``; return the lines to print about it.

    Parameters
    ----------
    result : Audit or AverageFairClassifier
    folder : str, or None
        None: nothing was asked.
    settings : mapping
        The names and hashes of the files that were read.
    outcome : mapping, optional
        The outcome of the audit's gate, from its ``to_dict``.
    **more
        For :func:`averagefair.save_evidence`.
    """
    if folder is None:
        return []
    from averagefair.evidence import save_evidence

    asked = outcome if outcome is not None and outcome["outcome"] is not None else None
    shown = {"command": command_line(), **settings}
    save_evidence(result, folder, settings=shown, outcome=asked, **more)
    return [f"evidence: {folder} (names nobody)"]


def _wrapped(card: str) -> str:
    """Break long lines of a card, but not its tables, headings and code."""
    out, code = [], False
    for line in card.splitlines():
        code ^= line.startswith("```")
        indent = "  " if line.startswith("- ") else ""
        whole = code or line.startswith(("|", "#", "`"))
        out.append(line if whole else fill(line, WIDTH, subsequent_indent=indent, **WHOLE))
    return "\n".join(out)
