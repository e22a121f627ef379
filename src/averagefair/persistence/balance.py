"""The running balance in a file: what the training people have had so far."""

from __future__ import annotations

from typing import Any

from averagefair.choosing import Balance
from averagefair.game.mapping import Mapping
from averagefair.persistence.container import Arrays
from averagefair.persistence.contents import Contents


def write_balance(balance: Balance | None, arrays: Arrays) -> dict[str, Any] | None:
    """Add the arrays of a balance; return its entry in the manifest.

    Parameters
    ----------
    balance : Balance, or None
    arrays : Arrays
        Changed.
    """
    if balance is None:
        return None
    arrays |= {"balance.wrong": balance.wrong, "balance.seen": balance.seen}
    return {"tasks": balance.tasks, "names": list(balance.names)}


def read_balance(contents: Contents, mapping: Mapping, rates: int) -> Balance | None:
    """Return the balance that `write_balance` wrote; None if the file holds none.

    Parameters
    ----------
    contents : Contents
    mapping : Mapping
        Its people are those of the balance.
    rates : int
        The number of rates.
    """
    known = contents.manifest.get("balance")
    if known is None:
        return None
    n = mapping.individuals.n
    wrong, seen = (contents.array(f"balance.{name}", rates, n) for name in ("wrong", "seen"))
    own = Contents({}, known)
    tasks, names = known["tasks"], own.words("names", distinct=False)
    if isinstance(tasks, bool) or not isinstance(tasks, int | float) or not 0 <= tasks < 2**53:
        raise ValueError("balance has no number of tasks")
    # Sums of a few hundred terms: allow for rounding.
    if (wrong < 0).any() or (wrong > seen * (1 + 1e-9) + 1e-9).any() or (seen > 2**53).any():
        raise ValueError("balance counts more mistakes than decisions")
    return Balance(wrong, seen, float(tasks), names)
