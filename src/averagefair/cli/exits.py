"""The exit code of an audit, by the outcome of its request."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from averagefair.cli.console import INCONCLUSIVE, NOT_MET
from averagefair.errors import InputError

if TYPE_CHECKING:
    from averagefair.auditing.gate import Gate


class Figure(str, Enum):  # noqa: UP042 - typer shows the value
    """A figure that --fail-above can bound: ``averagefair.auditing.gate.FIGURES``."""

    sigma = "sigma"
    denoised = "denoised"
    mean = "mean"
    near = "near"
    sd = "sd"
    spread = "spread"


def exit_code(gate: Gate, inconclusive_passes: bool) -> int:
    """Return 0, or the code of an outcome that fails a build."""
    if gate.failed:
        return NOT_MET
    return INCONCLUSIVE if gate.inconclusive and not inconclusive_passes else 0


def check_gate(
    alpha: float | None,
    fail_above: float | None,
    fail_on: Figure | None,
    inconclusive_passes: bool,
) -> None:
    """Refuse options of a gate that do not fit together."""
    if fail_on is not None and fail_above is None:
        raise InputError("--fail-on needs a bound: add --fail-above, e.g. --fail-above 0.05.")
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise InputError(
            f"--fail-above must lie between 0 and 1, as rates do (5% is 0.05); got {fail_above}."
        )
    if inconclusive_passes and fail_above is None and alpha is None:
        raise InputError(
            "--inconclusive-passes needs a request: add --fail-above, e.g. --fail-above 0.05, or "
            "--alpha."
        )
