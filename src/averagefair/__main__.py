"""``python -m averagefair``: the command line."""

from averagefair.cli import main

main()
