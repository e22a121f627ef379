"""The command line: a thin layer over the public names, one file for each command.

Exit codes: 0 done; 1 done, but what was asked for was not met; 2 bad input. With ``--json`` the
result is one JSON object on standard output; messages go to standard error.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from averagefair.cli.app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "averagefair":
            raise
        sys.exit(
            f"error: the command line needs the package {error.name}: "
            "pip install 'averagefair[cli]'"
        )
    app(prog_name="averagefair")
