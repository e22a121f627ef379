"""The command line at a terminal: help, completion, progress, and the files it leaves."""

from __future__ import annotations

import os
import pty
import re
import shlex
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from averagefair.datasets import make_synthetic
from tests.support.cli_runs import (
    COMMANDS,
    FEATURES,
    IDS,
    TASKS,
    X,
    Y,
    command,
    environment,
    fits_80_columns,
    fixture_bare_forks,  # noqa: F401
    fixture_fitted,  # noqa: F401
    fixture_forks,  # noqa: F401
    fixture_shop,  # noqa: F401
    run,
    together,
    without_escapes,
    write,
    write_people,
)

# Help


@pytest.fixture(scope="module")
def pages(forks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("help")
    return {name: forks.run(folder, name, "--help").out for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_page_has_an_example_and_fits_80_columns(pages, name):
    assert re.search(rf"^ *Example: averagefair {name}\b", pages[name], re.M)
    assert fits_80_columns(pages[name])


@pytest.mark.parametrize("name", ["fit", "frontier"])
def test_long_help_pages_have_groups_in_order(pages, name):
    groups = re.findall(r"^\W*─ (\w[\w ,]*) ─", pages[name], re.M)
    wanted = ["Data", "Promise", "Learning", "Limits and checkpoints", "Output"]
    assert [group for group in groups if group in wanted] == wanted
    assert groups[-1] == "Output"
    assert "Options" not in groups
    places = [pages[name].index(option) for option in ("--ignore", "--beta", "--map", "--resume")]
    assert places == sorted(places)
    assert pages[name].rindex("--help") > pages[name].index("─ Output")


def test_every_example_runs_when_its_files_exist(pages, tmp_path):
    examples = {}
    for name, page in pages.items():
        (found,) = re.findall(r"Example: averagefair (.*?)\n\s*\n", page, re.S)
        examples[name] = shlex.split(found)
    write_people(tmp_path)
    write(
        tmp_path / "others.csv",
        ["person", *FEATURES, *TASKS],
        [[f"q{one}", *x, *y] for one, x, y in zip(IDS, X[::-1], Y[::-1], strict=True)],
    )
    write(
        tmp_path / "decisions.csv",
        ["person", *TASKS],
        [[one, *y] for one, y in zip(IDS, Y, strict=True)],
    )
    write(
        tmp_path / "new_decisions.csv",
        ["person", *TASKS],
        [[one, *1 - y] for one, y in zip(IDS, Y, strict=True)],
    )
    write(
        tmp_path / "events.csv",
        ["id", "school", "hired", "offer", "date"],
        [
            [one, task, right, int(right), f"2026-{1 + place % 3:02}-10"]
            for one, y in zip(IDS, Y, strict=True)
            for place, (task, right) in enumerate(zip(TASKS, y, strict=True))
        ],
    )
    # Run `fit` first: `predict`, `extend` and `export` need its file.
    examples["fit"].append("--extendable")
    run(tmp_path, *examples["fit"])
    # A curve of 21 alphas takes long; two values and a few rounds show that the example runs.
    few = ["--alphas", "0.1,0.2", "--max-rounds", "2", "--oracle", "regression"]
    examples["frontier"] += few
    # 8 tasks are too few to say whether the request of the audit is met.
    codes = {"frontier": 4, "audit": 5}
    together(
        [
            lambda name=name: run(tmp_path, *examples[name], code=codes.get(name, 0))
            for name in ("frontier", "predict", "export", "audit", "theory", "compare", "drift")
        ]
    )
    run(tmp_path, *examples["extend"])  # after those that read the model: it replaces it
    assert examples["demo"] == ["demo"]  # test_demo.py
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        *("people.csv", "labels.csv", "new_labels.csv", "others.csv", "decisions.csv"),
        *("fair.model", "decisions.parquet", "new_tasks.model", "report.html"),
        *("rules.csv", "new_decisions.csv", "events.csv", "comparison.html", "drift.html"),
    }


def test_completion_knows_the_commands_and_the_rates(tmp_path):
    def complete(words, place):
        done = subprocess.run(
            [sys.executable, "-c", "from averagefair.cli import main; main()"],
            cwd=tmp_path,
            env=environment(
                _AVERAGEFAIR_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place)
            ),
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    commands, rates = together(
        [
            lambda: complete("averagefair ", 1),
            lambda: complete("averagefair audit --rate false", 3),
        ]
    )
    assert set(COMMANDS) <= set(commands)
    assert rates == ["false-positive", "false-negative"]


# What a process must and must not do


def test_neither_pandas_nor_polars_nor_matplotlib_is_needed(bare_forks, shop, fitted, tmp_path):
    """They look missing here, whether installed or not."""
    bare_forks.run(shop, "--help")
    bare_forks.run(
        shop,
        *("frontier", "people.csv", "-t", "task_*", "--alphas", "0.2", "--ignore"),
        *("person", "--test", "people.csv", "-o", tmp_path / "a.html"),
        *("--oracle", "regression"),
    )
    args = ("audit", "labels.csv", "labels.csv", "--id", "person", "-o", tmp_path / "b.html")
    bare_forks.run(shop, *args)
    args = ("predict", "fair.model", "people.csv", "-o", tmp_path / "c.parquet")
    bare_forks.run(shop, *args)


def test_help_loads_nothing_that_draws_or_learns(tmp_path):
    script = (
        "import sys\nfrom averagefair.cli.app import app\nsys.argv = ['averagefair', '--help']\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "averagefair.cli.app" in done.stderr.split()
    heavy = {"matplotlib", "polars", "jinja2", "safetensors", "sklearn", "highspy", "pandas"}
    assert not heavy & set(done.stderr.split())


def at_a_terminal(folder, *args):
    """Run with standard error at a pseudo-terminal; return standard output and its text."""
    ours, theirs = pty.openpty()
    shown = []

    def listen():
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end was closed
                return
            if not part:
                return
            shown.append(part)

    ear = threading.Thread(target=listen)
    ear.start()
    done = subprocess.run(
        command(*args),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="100"),
    )
    os.close(theirs)
    ear.join()
    os.close(ours)
    assert done.returncode == 0
    return done.stdout.decode(), without_escapes(b"".join(shown).decode())


@pytest.fixture
def crowd(tmp_path):
    """A folder with a table of people for whom a fit takes several rounds."""
    people = make_synthetic(n=60, m=12, d=5, random_state=0)
    names = [f"x{place}" for place in range(5)] + [f"task_{place}" for place in range(12)]
    write(tmp_path / "people.csv", names, np.column_stack([people.X, people.Y]).astype(int))
    return tmp_path


PROGRESS = r"alpha 0\.\d+ round \d+ error 0\.\d+ spread 0\.\d+"


def test_a_terminal_sees_progress_and_standard_output_stays_clean(crowd):
    # 12 tasks are too few for fixed decisions that keep this alpha.
    fit = ("fit", "people.csv", "-t", "task_*", "--alpha", "0.02", "--decisions", "drawn")
    fit += ("--oracle", "regression", "-o", "m")
    out, shown = at_a_terminal(crowd, *fit)
    assert re.search(PROGRESS, shown)
    assert "left" in shown
    assert "\x1b" not in out
    assert out.startswith("With nothing asked, on 60 held-out people and 12 tasks: ")
    assert "\n60 people, 12 tasks, 5 features" in out


@pytest.mark.long
def test_a_terminal_sees_the_progress_of_a_curve(crowd):
    curve = ("frontier", "people.csv", "-t", "task_*", "--alphas", "0.05,0.1")
    _, shown = at_a_terminal(crowd, *curve, "--oracle", "regression", "--decisions", "drawn")
    assert re.search(PROGRESS, shown)


def test_an_output_is_replaced_whole_and_keeps_its_permissions(shop, fitted, tmp_path):
    (tmp_path / "decisions.csv").write_text("old")
    (tmp_path / "decisions.csv").chmod(0o640)
    run(tmp_path, "predict", shop / "fair.model", shop / "people.csv", "-o", "decisions.csv")
    assert (tmp_path / "decisions.csv").read_text().startswith('"person"')
    assert stat.S_IMODE((tmp_path / "decisions.csv").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.csv"]


def test_an_output_that_is_no_file_stays_what_it_is(shop, fitted, tmp_path):
    """As root, -o /dev/null must not replace /dev/null by a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real.model").write_text("old")
    (tmp_path / "link.model").symlink_to("real.model")
    reader = subprocess.Popen(["timeout", "600", "cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    args = ("extend", shop / "fair.model", shop / "new_labels.csv")
    run(tmp_path, *args, "-o", tmp_path / "pipe", code=None)
    still = stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    reader.terminate()
    reader.communicate()
    run(tmp_path, *args, "-o", "link.model")
    assert still
    assert (tmp_path / "link.model").is_symlink()
