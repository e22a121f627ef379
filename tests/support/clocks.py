"""A clock that moves one second each time it is read, so that a time limit counts its readings.

A test of a time limit must end the same way on a fast, a slow and a busy machine.
"""

import sys
from itertools import count

import highspy

_NO_LIMIT = 1e29


def count_looks(monkeypatch):
    """Give such a clock to every module of the library that reads the time."""
    looks = count()
    for name, module in [*sys.modules.items()]:
        if name.startswith("averagefair.") and "perf_counter" in vars(module):
            monkeypatch.setattr(module, "perf_counter", lambda: float(next(looks)))


def end_linear_programs(monkeypatch, after):
    """Let the linear programs with a time limit run out of time, from a given call on."""
    programs, limits, status = count(), {}, highspy.Highs.getModelStatus
    set_option = highspy.Highs.setOptionValue

    def note(self, option, value):
        if option == "time_limit":
            limits[id(self)] = value
        return set_option(self, option, value)

    def run_out(self):
        if limits[id(self)] < _NO_LIMIT and next(programs) >= after:
            return highspy.HighsModelStatus.kTimeLimit
        return status(self)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", note)
    monkeypatch.setattr(highspy.Highs, "getModelStatus", run_out)
