"""The command line: a thin layer over the public names, one file for each command.

Exit codes: 0 done; 1 done, but what was asked for was not met; 2 bad input; 3 a failure inside; 4
ended early, by a limit, Ctrl-C or SIGTERM, with the best answer so far saved; 130 and 143: by
Ctrl-C or SIGTERM, with nothing to save.
With ``--json`` the result is one JSON object on standard output; messages go to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import Any


def main() -> None:
    """Run the command line, and leave with its exit code."""
    code: Any = 0
    signal.signal(signal.SIGTERM, _terminate)
    _fill_closed_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        # Names of files may hold what is no letter, or none that the terminal knows.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app = _app()
        if "--json" in sys.argv:
            code = _for_programs(app)
        else:
            app(prog_name="averagefair")
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt as end:
        code = getattr(end, "code", 130)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # At once: threads that pyarrow may have left would abort the process on its way out, and a
    # build that goes by the exit code would be told something else.
    os._exit(code if isinstance(code, int) else 0)


def _fill_closed_streams() -> None:
    """Let nothing else get the numbers of streams that are closed (``2>&-``).

    The next file to be opened would get such a number, and what libraries say would be written
    into it. Messages are lost, as was asked for; a closed standard output is told of where it is
    needed.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): as Ctrl-C does, with the best answer so far kept."""

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
            f"error: the command line needs {error.name}, which is not installed: "
            "pip install 'averagefair[cli]'\n"
        )
        sys.exit(2)
    return app


def _for_programs(app: Any) -> int:
    """Run a command whose complaints, those about its options too, are wanted as JSON."""
    from averagefair.cli.speech import BAD_INPUT, complain

    try:
        code = app(prog_name="averagefair", standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises of options it cannot read
            raise
        complain(error.format_message())
        return BAD_INPUT
    return code if isinstance(code, int) else 0
