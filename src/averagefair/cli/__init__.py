"""The command line: a thin layer over the public names, one file for each command.

Exit codes: 0 done; 1 done, but the request was not met; 2 bad input; 3 internal error; 4 ended
early by a limit, Ctrl-C or SIGTERM, with the best answer so far saved; 5 done, but the audit of a
request is inconclusive; 130 and 143: ended by Ctrl-C or SIGTERM with nothing to save.
With ``--json`` the result is one JSON object on standard output; messages go to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any


def main() -> None:
    """Run ``averagefair`` and exit with its code."""
    run(_app, "averagefair")


def run(make_app: Callable[[], Any], name: str) -> None:
    """Run a command line and exit with its code.

    Parameters
    ----------
    make_app : callable
        Return the typer application; called after signals and streams are set up.
    name : str
        The program's name in its help.
    """
    code: Any = 0
    signal.signal(signal.SIGTERM, _terminate)
    _fill_closed_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        # File names may hold characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        make_app()(prog_name=name)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt as end:
        code = getattr(end, "code", 130)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # Exit without clean-up: leftover pyarrow threads could abort the process and change the code.
    os._exit(code if isinstance(code, int) else 0)


def _fill_closed_streams() -> None:
    """Open the null device in place of closed standard streams (``2>&-``).

    Otherwise the next file to be opened gets the stream's number, and messages of libraries are
    written into that file. Messages to a closed standard error are lost. A command that needs
    standard output reports that it is closed.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled as Ctrl-C: the best answer so far is saved."""

    code = 143


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


def _app() -> Any:
    try:
        from averagefair.cli.app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "averagefair":
            raise
        sys.stderr.write(
            f"error: the command line needs {error.name}, which is not installed. Run: "
            "pip install 'averagefair[cli]'\n"
        )
        sys.exit(2)
    return app
