"""``verbose=True``: progress is shown by what is installed, and changes nothing else."""

import io
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    WorstOff,
    frontier,
    load,
)
from averagefair.solvers import progress
from tests.support.small_fits import assert_same_answer, model, people, rounds

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BRIEF = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=5, mapping_rounds=2),
    "random_state": 0,
    "look_first": False,
}
SETTINGS = {"solver": rounds(10), "random_state": 0, "look_first": False}


@pytest.fixture
def without(monkeypatch):
    """Make modules missing, as if they were not installed."""

    def hide(*names):
        for name in names:
            for part in (name, f"{name}.auto", f"{name}.console", f"{name}.progress"):
                monkeypatch.setitem(sys.modules, part, None)

    return hide


@pytest.fixture
def lines(without, monkeypatch):
    """Plain lines, one for each state."""
    without("tqdm", "rich")
    monkeypatch.setattr(progress, "EVERY", 0.0)


def test_a_bar_of_tqdm_counts_rounds_and_values(capsys):
    X, Y = people()
    model(verbose=True).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "10 rounds" in shown.err
    assert "done: error" in shown.err
    frontier(X, Y, [0.1, 0.2, 0.3], verbose=True, **SETTINGS)
    assert "3/3" in capsys.readouterr().err


def test_a_bar_of_rich_is_drawn_in_a_terminal(without, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    without("tqdm")
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    model(verbose=True).fit(*people())
    assert "\x1b[" in screen.getvalue()
    assert "done: error" in screen.getvalue()


def test_plain_lines_name_every_round(lines, capsys):
    model(verbose=True).fit(*people())
    written = capsys.readouterr().err.splitlines()
    assert [line for line in written if "round" in line] == [
        line for line in written if line.startswith("averagefair: alpha 0.1, round")
    ]
    numbers = [int(line.split("round ")[1].split(":")[0]) for line in written if "round" in line]
    assert numbers == list(range(1, 11))


def test_few_lines_are_written_where_nobody_draws(without, monkeypatch, capsys):
    without("tqdm", "rich")
    monkeypatch.setattr(progress, "EVERY", float("inf"))
    model(verbose=True).fit(*people())
    first, last = capsys.readouterr().err.splitlines()
    assert "nothing asked" in first
    assert "done: error" in last


def test_a_users_callback_is_called_too_and_can_end_the_fit(lines, capsys):
    seen = []

    def stop(now):
        seen.append(now.round)
        return now.round == 4

    fitted = model(verbose=True, callback=stop).fit(*people())
    assert seen == [1, 2, 3, 4]
    assert fitted.certificate_.stop_reason.name == "CALLBACK"
    assert fitted.callback is stop
    assert "round 4" in capsys.readouterr().err


def test_an_error_of_the_callback_is_raised(lines):
    def broken(now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model(verbose=True, callback=broken).fit(*people())


def test_it_changes_no_result_and_is_not_stored(lines, tmp_path):
    X, Y = people()
    loud, quiet = model(verbose=2).fit(X, Y), model().fit(X, Y)
    assert_same_answer(loud, quiet)
    loud.save(tmp_path / "loud")
    quiet.save(tmp_path / "quiet")
    assert load(tmp_path / "loud").verbose is False
    assert b"verbose" not in (tmp_path / "loud").read_bytes()
    assert clone(loud).verbose == 2
    curve = frontier(X, Y, [0.1, 0.3], verbose=True, **SETTINGS)
    same = frontier(X, Y, [0.1, 0.3], **SETTINGS)
    assert_same_answer(curve[0].model, same[0].model)
    assert curve[0].model.verbose is False
    assert curve[0].model.callback is None


def test_nothing_is_shown_by_default(capsys):
    X, Y = people()
    model().fit(X, Y)
    frontier(X, Y, [0.1, 0.3], **SETTINGS)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_stream_that_is_gone_does_not_end_the_fit(lines, monkeypatch, stream):
    X, Y = people()
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stderr", None if stream is None else gone)
    fitted = model(verbose=True).fit(X, Y)
    assert_same_answer(fitted, model().fit(X, Y))


def test_a_curve_of_prices_names_the_price(lines, capsys):
    X, Y = people()
    frontier(X, Y, [0.1, 1.0], promise=WorstOff(0.2), verbose=True, **BRIEF)
    assert "price 0.1, round" in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [-1, "yes", None, 0.5])
def test_what_is_no_level_is_refused(verbose):
    with pytest.raises(InputError, match="verbose=True shows progress"):
        model(verbose=verbose).fit(*people())


def test_missing_widgets_are_no_warning(without):
    """tqdm warns where a notebook has no widgets; a user can do nothing about it in a fit."""
    without("ipywidgets")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AverageFairClassifier(alpha=0.5, solver=rounds(2), look_first=False, verbose=np.True_).fit(
            *people()
        )
