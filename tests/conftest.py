"""Two ways to run the properties, and the line that says how many cases were tried.

The marker ``properties`` is on tests of generated cases (tests/generated.py). By default each has
a few cases, the same every time. ``--hypothesis-profile=nightly`` gives each some hundreds, new
ones every time; what fails is printed with a line that repeats it. Tests with settings of their own
do not look at these profiles.
"""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings
from reliability import TRIED, record

COMMON = settings(
    deadline=None,
    # A busy machine is slow to generate, and some cases say nothing: that is no failure.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("few", COMMON, max_examples=8, derandomize=True, database=None)
settings.register_profile("nightly", COMMON, max_examples=200, print_blob=True)

FAILED: set[str] = set()
# Figures are drawn into memory, whatever screen there is.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and item.get_closest_marker("properties"):
        FAILED.add(item.nodeid)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take over what a process of pytest-xdist has counted."""
    tried, failed = getattr(node, "workeroutput", {}).get("properties", ({}, []))
    TRIED.update(tried)
    FAILED.update(failed)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["properties"] = dict(TRIED), sorted(FAILED)
    elif TRIED:
        failed = f"{len(FAILED)} of {len(TRIED)} properties failed"
        record(
            "properties",
            what=f"generated cases of {len(TRIED)} properties: answers, certificates, oracles, "
            "mappings, invariances, audits and files",
            count=TRIED.total(),
            outcome=failed + "".join(f"; {name}" for name in sorted(FAILED)),
        )


def pytest_terminal_summary(terminalreporter):
    if TRIED:
        terminalreporter.write_line(f"{TRIED.total():,} generated cases of {len(TRIED)} properties")
