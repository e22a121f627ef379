"""Hypothesis profiles for the property tests, and the record of how many cases they tried.

Tests of generated cases (tests/support/generated.py) have the marker ``properties``. By default
each test tries a few cases, the same every time. With ``--hypothesis-profile=nightly`` each test
tries hundreds of new cases; a failure is printed with a line that repeats it. Tests with their own
settings ignore these profiles.
"""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.support.reliability import TRIED, record

COMMON = settings(
    deadline=None,
    # Slow generation on a busy machine and many filtered cases are not failures.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("usual", COMMON)
settings.load_profile("usual")
settings.register_profile("few", COMMON, max_examples=8, derandomize=True, database=None)
settings.register_profile("nightly", COMMON, max_examples=200, print_blob=True)

FAILED: set[str] = set()
# Draw figures into memory, not on a screen.
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
    """Add the counts of a worker of pytest-xdist."""
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
