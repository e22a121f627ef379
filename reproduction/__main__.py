"""``python -m reproduction communities`` or ``synthetic``."""

from averagefair.cli import run
from reproduction.command import PROGRAM, make_app

if __name__ == "__main__":
    run(make_app, " ".join(PROGRAM))
