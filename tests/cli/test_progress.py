"""The progress line: share done, time left, and short enough for a terminal."""

import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from averagefair import Cap, ColumnGeneration, Minimax, Round, StumpOracle, WorstOff, frontier
from averagefair.cli import progress as line
from averagefair.cli.app import app
from averagefair.cli.progress import Clock, progress
from tests.support.cli_runs import write_people
from tests.support.small_fits import model, people

CURVE = (0.1, 0.02, 0.05, 0.2)


def at(alpha, round=1, error=0.25, spread=0.2, gap=0.0012):
    return Round(round, error, spread, gap, alpha)


@pytest.fixture
def time(monkeypatch):
    """Return a clock that the test moves."""

    class Time:
        now = 1000.0

        def __call__(self):
            return self.now

    one = Time()
    monkeypatch.setattr(line, "perf_counter", one)
    return one


def started(time, spent, *args, **options):
    clock = Clock(*args, **options)
    time.now += spent
    return clock


# --- one alpha -----------------------------------------------------------------------------------


def test_for_one_alpha_the_rounds_that_are_left_set_a_bound(time):
    clock = started(time, 30.0, [0.05], 100)
    assert clock.left(at(0.05, round=25)) == ("at most", pytest.approx(90.0))
    assert clock.left(at(0.05, round=100)) == ("at most", pytest.approx(0.0))
    # While alpha is approached from above, the slack is larger; the line does not change.
    assert clock.left(at(0.3, round=25)) == ("at most", pytest.approx(90.0))
    assert clock.done(at(0.3)) == 0


@pytest.mark.parametrize(
    ("limit", "round", "wanted"),
    [(40.0, 25, 10.0), (1000.0, 25, 90.0), (10.0, 25, 0.0), (40.0, 99, 30 / 99)],
)
def test_for_one_alpha_the_sooner_of_the_limits_sets_the_bound(limit, round, wanted, time):
    clock = started(time, 30.0, [0.05], 100, limit)
    assert clock.left(at(0.05, round=round)) == ("at most", pytest.approx(wanted))


# --- a curve -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "done"),
    [(0.5, 0), (0.2, 0), (0.15, 1), (0.1, 1), (0.05, 2), (0.05 + 1e-15, 2), (0.03, 3), (0.02, 3)],
)
def test_on_a_curve_those_alphas_are_done_that_are_larger(alpha, done, time):
    assert Clock(CURVE, 100).done(at(alpha)) == done


@pytest.mark.parametrize(
    ("promise", "value", "done"),
    [
        (Cap(), 0.5, 0),
        (Cap(), 0.05, 2),
        (WorstOff(), 0.02, 0),
        (WorstOff(), 0.05, 1),
        (WorstOff(), 0.2, 3),
        (WorstOff(max_rate=0.3), 0.05, 2),
    ],
    ids=str,
)
def test_on_a_curve_those_values_are_done_that_are_easier(promise, value, done, time):
    assert Clock(CURVE, 100, promise=promise).done(at(value)) == done


def test_on_a_curve_nothing_is_told_before_the_first_alpha_is_done(time):
    clock = started(time, 30.0, CURVE, 100)
    assert clock.left(at(0.2, round=50)) == ("at most", np.inf)
    assert "left" not in clock.describe(at(0.2, round=50))


@pytest.mark.parametrize(("alpha", "wanted"), [(0.1, 90.0), (0.05, 30.0), (0.02, 10.0)])
def test_on_a_curve_the_alphas_done_tell_how_long_the_others_take(alpha, wanted, time):
    clock = started(time, 30.0, CURVE, 100)
    assert clock.left(at(alpha, round=99)) == ("about", pytest.approx(wanted))


def test_on_a_curve_a_time_limit_that_comes_sooner_is_what_is_told(time):
    clock = started(time, 30.0, CURVE, 100, 50.0)
    assert clock.left(at(0.2)) == ("at most", pytest.approx(20.0))
    assert clock.left(at(0.1)) == ("at most", pytest.approx(20.0))
    assert clock.left(at(0.02)) == ("about", pytest.approx(10.0))
    time.now += 100.0
    assert clock.left(at(0.1)) == ("at most", 0.0)


def test_time_goes_from_when_the_clock_was_made(time):
    early, time.now = Clock([0.05], 10), time.now + 60.0
    late = started(time, 60.0, [0.05], 10)
    assert early.left(at(0.05, round=5))[1] == pytest.approx(120.0)
    assert late.left(at(0.05, round=5))[1] == pytest.approx(60.0)


# --- the line ------------------------------------------------------------------------------------


def test_the_line_says_where_the_run_stands(time):
    clock = started(time, 30.0, [0.05], 100)
    said = clock.describe(at(0.05, round=25, error=0.12345, spread=0.0998, gap=0.00123))
    for part in ("alpha 0.05", "round 25", "error 0.123", "spread 0.100", "gap 0.0012", "1:30"):
        assert part in said
    assert "<1:30 left" in said


@pytest.mark.parametrize(
    ("promise", "begins"),
    [
        (None, "alpha 0.25 round"),
        (Cap(), "max rate 0.25 round"),
        (WorstOff(), "price 0.25 round"),
        (Minimax(), "round 1 "),
    ],
    ids=str,
)
def test_the_line_names_the_figure_of_the_promise(promise, begins, time):
    assert started(time, 1.0, [0.25], 100, promise=promise).describe(at(0.25)).startswith(begins)


@pytest.mark.parametrize("gap", [np.inf, np.nan])
def test_a_gap_that_is_not_known_is_left_out(gap, time):
    said = started(time, 1.0, [0.05], 100).describe(at(0.05, gap=gap))
    assert "gap" not in said
    assert "inf" not in said
    assert "nan" not in said


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.2, "0:00"),
        (59.4, "0:59"),
        (59.6, "1:00"),
        (61, "1:01"),
        (3599.7, "1:00:00"),
        (3661, "1:01:01"),
        (36000, "10:00:00"),
    ],
)
def test_times_are_written_as_clocks_do(seconds, written, time):
    clock = started(time, seconds, [0.05, 0.1], 10)
    assert clock.describe(at(0.05)).endswith(f" ~{written} left")


TYPICAL = {
    "a start": (at(0.31415, round=1, gap=np.inf), {}),
    "a round": (at(0.05, round=12), {"values": [0.05], "max_rounds": 1000}),
    "a late round": (at(0.025, round=1500), {"values": [0.025], "max_rounds": 10_000}),
    "a curve": (at(0.02, round=123), {"values": CURVE, "time_limit": 7200.0}),
    "a wide gap": (at(0.05, round=9, gap=12.3456), {"values": [0.05]}),
}


@pytest.mark.parametrize("spent", [5.0, 300.0, 4000.0])
def test_the_line_and_the_bar_fit_a_terminal_of_80_columns(spent, time):
    widths = {}
    for name, (now, options) in TYPICAL.items():
        clock = started(time, spent, **({"values": [0.05], "max_rounds": 1000} | options))
        widths[name] = len(clock.describe(now))
    assert max(widths.values()) + len(" ") + 6 <= 80, widths


# --- showing it ----------------------------------------------------------------------------------


class Terminal:
    """A standard error that claims to be a terminal, and keeps what is written."""

    encoding = "utf-8"

    def __init__(self, tty):
        self.tty, self.text = tty, ""

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize("tty", [True, False])
def test_nothing_is_shown_if_nobody_wants_it(tty, monkeypatch):
    screen = Terminal(tty)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress(False, [0.05], max_rounds=10) as show:
        assert show is None
    assert screen.text == ""


def test_without_a_terminal_a_line_is_printed_every_few_seconds(time, monkeypatch):
    screen = Terminal(False)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress(True, [0.05], max_rounds=100) as show:
        for round in range(1, 61):
            time.now += 0.5
            show(at(0.05, round=round))
    lines = screen.text.splitlines()
    assert len(lines) == 6  # thirty seconds
    assert lines[0] == "progress: alpha 0.05, round 10, error 0.250, at most 0:45 left"
    assert lines[-1] == "progress: alpha 0.05, round 60, error 0.250, at most 0:20 left"


def test_a_run_that_is_soon_over_prints_nothing(time, monkeypatch):
    screen = Terminal(False)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress(True, CURVE, max_rounds=100) as show:
        for alpha in (0.2, 0.1, 0.05, 0.02):
            time.now += 1.0
            show(at(alpha))
    assert screen.text == ""


def test_the_run_goes_on_if_nobody_reads_the_lines(time, monkeypatch):
    class Closed(Terminal):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed(False))
    with progress(True, [0.05], max_rounds=100) as show:
        for round in range(1, 61):
            time.now += 9.0
            assert show(at(0.05, round=round)) is None


FIT = ("fit", "people.csv", "--alpha", "0.2", "-o", "m")
CROSS = ("frontier", "people.csv", "--alphas", "0.2,0.3", "--cross", "--max-rounds", "3")


@pytest.mark.parametrize("args", [FIT, CROSS], ids=["fit", "frontier --cross"])
def test_commands_print_where_they_stand(args, tmp_path, time, monkeypatch):
    """The clock runs fast: each look at it takes two seconds."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    args = (*args, "-t", "task_*", "--id", "person", "--oracle", "regression")
    args = (*args, "--decisions", "drawn")

    def said(*more):
        def soon():
            time.now += 2.0
            return time.now

        monkeypatch.setattr(line, "perf_counter", soon)
        done = CliRunner().invoke(app, [*args, *more])
        assert done.exit_code in (0, 4), done.stderr
        assert "progress" not in done.stdout
        return [own for own in done.stderr.splitlines() if own.startswith("progress: ")]

    shown = said()
    left = r"(about|at most) \d+:\d\d(:\d\d)? left"
    assert any(
        re.fullmatch(rf"progress: alpha 0\.\d+, round \d+, .*, {left}", own) for own in shown
    )
    if "--cross" in args:
        curves = [re.fullmatch(rf"progress: .*: curve (\d+) of 12, {left}", own) for own in shown]
        numbers = [int(own[1]) for own in curves if own]
        assert numbers == sorted(numbers)
        assert numbers[-1] > numbers[0]
    assert max(map(len, shown)) <= 80
    assert said("--quiet") == []


@pytest.mark.parametrize("alphas", [[0.1], [0.1, 0.2]], ids=["one alpha", "a curve"])
def test_on_a_terminal_the_line_is_shown_and_cleared_away(alphas, monkeypatch):
    screen = Terminal(True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    seen = []
    X, Y = people()
    with progress(True, alphas, max_rounds=20) as show:
        assert callable(show)

        def callback(now):
            seen.append(now)
            return show(now)

        solver = ColumnGeneration(max_rounds=20)
        if len(alphas) == 1:
            asked = {"solver": solver, "oracle": StumpOracle(), "decisions": "drawn"}
            fitted = model(**asked, callback=callback).fit(X, Y)
            rounds = fitted.certificate_.rounds
            assert len(seen) == rounds > 1, "showing must not end the run"
        else:
            asked = {"solver": solver, "oracle": StumpOracle(), "decisions": "drawn"}
            frontier(X, Y, alphas, random_state=0, callback=callback, **asked)
    last = seen[-1]
    assert f"round {last.round} error {last.error:.3f}" in screen.text
    assert screen.text.rstrip().endswith(("\x1b[?25h", "\x1b[2K")), "the line is left on the screen"


def test_the_line_goes_away_when_the_work_fails(monkeypatch):
    screen = Terminal(True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    def work():
        with progress(True, [0.05], max_rounds=10) as show:
            show(at(0.05))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert "\x1b[?25h" in screen.text, "the cursor stays hidden"
