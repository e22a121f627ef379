"""save_evidence: write the folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from averagefair.auditing.result import Audit
from averagefair.auditing.rules import Rules
from averagefair.errors import InputError
from averagefair.estimator import AverageFairClassifier
from averagefair.evidence.audit_record import audit_record
from averagefair.evidence.card import card
from averagefair.evidence.document import (
    CARD,
    EVIDENCE,
    FILES,
    FORMAT,
    REPORT,
    SCHEMA,
    document,
    made_now,
    schema_bytes,
    to_json,
)
from averagefair.evidence.model_record import model_record
from averagefair.evidence.record import Record, check_outcome
from averagefair.files.folders import check_new_folder, write_folder


def save_evidence(
    result: Audit | AverageFairClassifier,
    folder: str | Path,
    *,
    report: bool = True,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    outcome: Mapping[str, Any] | None = None,
    rules: Rules | None = None,
    people: bool = False,
) -> None:
    """Write a folder to hand to a regulator, a lawyer or a reviewer.

    The folder holds ``evidence.json`` (figures, settings, versions, the data's fingerprint, what
    this does not prove, and the hashes of the other files), ``card.md`` (one page in plain words),
    ``report.html`` and ``schema.json``. It appears whole or not at all. Evidence that is already
    there is replaced; any other folder that is not empty is refused.

    Parameters
    ----------
    result : Audit or AverageFairClassifier
        An audit, or a fitted model.
    folder : str or Path
    report : bool, default True
        Whether to write ``report.html``, which needs the extra ``report``.
    title : str, optional
    settings : mapping, optional
        More about how the result was made, e.g. a command or names of files, shown as given.
    outcome : mapping, optional
        The outcome of a gate that was asked of an audit: ``outcome`` is "PASS", "FAIL" or
        "INCONCLUSIVE"; ``parts`` is a list of mappings with ``name``, ``asked``, ``outcome``,
        ``words``, ``bound``, ``value``, ``low`` and ``high``.
    rules : Rules, optional
        Rules on features, from :meth:`Audit.who`, to show beside the audit.
    people : bool, default False
        Whether to write the names of people and their rates. Without it no file names a person:
        audited people are numbered, and the table of single people is left out of
        ``evidence.json``. Groups and tasks are named in any case.

    Examples
    --------
    >>> import tempfile
    >>> from averagefair import audit, check_evidence, read_evidence
    >>> found = audit([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_evidence(found, f"{place}/evidence")
    ...     check_evidence(f"{place}/evidence")
    ...     read_evidence(f"{place}/evidence")["figures"]["mean"]["value"]
    ()
    0.166...
    """
    check_folder(folder)
    checked = check_outcome(outcome)
    if not (rules is None or isinstance(rules, Rules)):
        raise InputError(f"`rules` must be a result of audit.who(); got {type(rules).__name__}.")
    title = None if title is None else str(title)
    if isinstance(result, Audit):
        record = audit_record(
            result, title=title, settings=settings, outcome=checked, rules=rules, people=people
        )
    elif isinstance(result, AverageFairClassifier):
        if checked is not None or rules is not None:
            raise InputError(
                "`outcome` and `rules` belong to an audit, and this is a model. Leave them out."
            )
        record = model_record(result, title=title, settings=settings, people=people)
    else:
        raise InputError(
            f"evidence is of an Audit or an AverageFairClassifier; got {type(result).__name__}."
        )
    write_folder(str(folder), _contents(record, report))


def _contents(record: Record, report: bool) -> dict[str, bytes]:
    made = made_now()
    files = {CARD: card(record, made).encode(), SCHEMA: schema_bytes(record.kind)}
    if report:
        files[REPORT] = record.page(record).encode()
    return {EVIDENCE: to_json(document(record, files, made)), **files}


def check_folder(folder: str | Path) -> None:
    """Refuse, before any work, a folder that evidence cannot be written to.

    Parameters
    ----------
    folder : str or Path
    """
    target = check_new_folder(str(folder))
    if not target.exists():
        return
    try:
        there = sorted(path.name for path in target.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}.") from None
    foreign = [name for name in there if name not in FILES]
    if foreign or (there and not _is_evidence(target)):
        raise InputError(
            f"{folder} is not empty and is not evidence that could be replaced: it holds "
            f"{foreign[0] if foreign else there[0]}. Name a new folder."
        )


def _is_evidence(folder: Path) -> bool:
    try:
        facts = json.loads((folder / EVIDENCE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(facts, dict) and facts.get("format") == FORMAT
