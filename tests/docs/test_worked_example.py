"""The worked example's tables are about the code on its page."""

from __future__ import annotations

import re

import pytest

from benchmarks.town import PAGE, PEOPLE, TASKS, steps

TEXT = PAGE.read_text("utf-8")


def section(name):
    return TEXT.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0]


def test_its_code_is_run_with_the_numbers_that_the_page_names():
    found = steps(TEXT, PEOPLE, TASKS)
    assert sum(f"PEOPLE, TASKS = {PEOPLE}, {TASKS}" in code for _, code in found) == 1
    assert f"Seconds for {PEOPLE:,} people and {TASKS} tasks" in TEXT
    for heading, code in found:
        compile(code, heading, "exec")


def test_every_step_has_its_seconds_and_they_add_up():
    rows = re.findall(r"^\| (.*?) \| ([\d.]+) \|$", section("times"), flags=re.MULTILINE)
    assert [heading for heading, _ in rows[:-1]] == [
        heading for heading, _ in steps(TEXT, PEOPLE, TASKS)
    ]
    *parts, total = (float(seconds) for _, seconds in rows)
    assert sum(parts) == pytest.approx(total, abs=0.3)


def test_the_results_are_of_the_large_town():
    assert f"{PEOPLE:,} people x {TASKS} tasks" in section("results")


def test_a_page_without_numbers_to_change_is_refused():
    with pytest.raises(SystemExit, match="one line PEOPLE, TASKS"):
        steps("```python\nprint(1)\n```\n", 5, 5)
