"""The paper's experiments, run in full from a checkout: ``python -m reproduction communities``.

The experiments themselves are functions of :mod:`averagefair.experiments`. This package cuts them
into jobs, runs the jobs side by side, and writes tables, figures and a report into a folder.
"""
