"""The guide of twenty thousand people: run its own code, time each step, write both tables.

The code is read from docs/guides/twenty-thousand.md, block by block, so the page cannot show other
code than what was timed. Only its numbers of people and tasks are changed. ``make bench-town`` runs
this; ``--docs`` writes the tables into the page.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import warnings
from time import perf_counter
from typing import Any

from averagefair._util.text import counted
from benchmarks.common import DOCS, machine, markdown, write_section

PAGE = DOCS / "guides" / "twenty-thousand.md"
PEOPLE, TASKS = 20_000, 120
SIZES = re.compile(r"^PEOPLE, TASKS = .*$", flags=re.MULTILINE)
BLOCK = re.compile(r"^## (.*?)$|^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def steps(text: str, people: int, tasks: int) -> list[tuple[str, str]]:
    """Return the page's steps: heading and code, with other numbers of people and tasks."""
    code, changes = SIZES.subn(f"PEOPLE, TASKS = {people}, {tasks}", text)
    if changes != 1:
        raise SystemExit(f"{PAGE.name} must have one line PEOPLE, TASKS = ...; found {changes}.")
    heading, found = "", []
    for block in BLOCK.finditer(code):
        heading = block[1] or heading
        if block[2]:
            found.append((heading, block[2]))
    return found


def run(blocks: list[tuple[str, str]]) -> list[tuple[str, float, str]]:
    """Run the steps in one session; return each step's heading, seconds and output."""
    session: dict[str, Any] = {"__name__": "page"}
    done = []
    for heading, code in blocks:
        printed, start = io.StringIO(), perf_counter()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, heading, "exec"), session)
        done.append((heading, perf_counter() - start, printed.getvalue().rstrip()))
        print(f"{heading}: {done[-1][1]:.1f} s\n{done[-1][2]}\n", flush=True)
    return done


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--docs", action="store_true", help="write the tables into the guide")
    arguments.add_argument("--people", type=int, default=PEOPLE)
    arguments.add_argument("--tasks", type=int, default=TASKS)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    import pandas  # noqa: F401  (the time of imports is not the time of a step)

    import averagefair.estimator  # noqa: F401

    measured = machine()
    done = run(steps(PAGE.read_text("utf-8"), given.people, given.tasks))
    rows = [(heading, f"{seconds:.1f}") for heading, seconds, _ in done]
    rows.append(("**all**", f"{sum(seconds for _, seconds, _ in done):.1f}"))
    said = "\n\n".join(f"# {heading}\n{output}" for heading, _, output in done if output)
    print(f"{counted(given.people, 'person', 'people')} x {counted(given.tasks, 'task')}")
    print(markdown(("step", "seconds"), rows))
    if given.docs:
        about = f"```text\n{measured}\n```"
        write_section(PAGE, "times", f"\n{markdown(('step', 'seconds'), rows)}\n\n{about}\n")
        write_section(PAGE, "results", f"```text\n{said}\n```")


if __name__ == "__main__":
    main()
