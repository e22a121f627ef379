"""The table of promises, small random problems, and the judge of their answers.

To test a new promise, add one row to ``ROWS``: an example, how to draw others, and its full linear
program (:mod:`tests.support.promise_programs`). All shared tests run over the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    DegenerateTaskWarning,
    Equal,
    FiniteOracle,
    Learner,
    LevellingDownWarning,
    Minimax,
    NothingToFixWarning,
    Sample,
    Status,
    StumpOracle,
    UndefinedRateWarning,
    WorstOff,
)
from tests.support.judges import plain_error, plain_rates, stump_decisions
from tests.support.promise_programs import IMPOSSIBLE, FullProgram, plain_worst_off

BOTH = ["false_positive", "false_negative"]
RATES = ["error", "false_positive", "false_negative", BOTH, ["error", "false_positive"]]
TOLERANCE = 1e-7
# How far an answer may be from the optimum, beside the gap that its certificate states.
NEAR = 1e-5
EXPECTED = (
    UndefinedRateWarning,
    DegenerateTaskWarning,
    LevellingDownWarning,
    NothingToFixWarning,
)


@dataclass(frozen=True)
class Verdict:
    """What the full linear program says.

    Attributes
    ----------
    excess : float
        By how much the relaxed limits must be broken; 0 if the promise can be kept.
    optimum : float
        The least objective.
    highest : float
        The least objective of a promise that is harder by a rounding.
    """

    excess: float
    optimum: float = IMPOSSIBLE
    highest: float = IMPOSSIBLE


@dataclass(frozen=True)
class Row:
    """One promise.

    Attributes
    ----------
    example : Promise
        For the shared tests, on data where it can be kept.
    draw : callable
        Draws a promise: (rng, program, harm) -> Promise, without its no_harm.
    judge : callable
        Solves the full program: (program, promise, harm, given) -> Verdict. ``harm`` are caps on
        every line, or None.
    path : tuple of float
        Values of the promise's own figure, from easy to hard; empty if it has none.
    figure : callable
        (promise, lines by rate) -> what the certificate calls ``reached``.
    impossible : bool
        Whether the promise may be impossible, without no_harm.
    """

    example: Any
    draw: Callable[..., Any]
    judge: Callable[..., Verdict]
    path: tuple[float, ...]
    figure: Callable[..., float]
    impossible: bool = False


def _verdict(excess, optimum):
    return Verdict(excess, optimum, optimum)


def judge_equal(program, promise, harm, given):
    excess = 0.0 if harm is None else program.least_excess_equal(promise.alpha, harm)
    return _verdict(excess, program.least_error_equal(promise.alpha, harm))


def judge_cap(program, promise, harm, given):
    caps = np.full(len(program.lines), promise.max_rate)
    if harm is None:
        return _verdict(program.least_excess(caps), program.least_error(caps))
    tight = np.minimum(caps, harm)
    excess = program.least_excess(tight) if given else program.least_excess(caps, harm)
    return _verdict(excess, program.least_error(tight))


def judge_minimax(program, promise, harm, given):
    excess = 0.0 if harm is None else program.least_excess(harm)
    if excess > 1e-9:
        return Verdict(excess)
    # The caps are found by linear programs, so the last one is only known within a rounding.
    caps = program.least_caps(promise.levels, harm) + promise.tolerance
    tight = np.full(len(caps), np.inf) if harm is None else harm
    values = [program.least_error(np.minimum(caps + more, tight)) for more in (NEAR, -NEAR)]
    return Verdict(0.0, *values)


def judge_worst_off(program, promise, harm, given):
    if promise.price is not None:
        excess = 0.0 if harm is None else program.least_excess(harm)
        return _verdict(excess, program.least_priced(promise.share, promise.price, harm))
    figures = promise.share, promise.max_rate
    soft, hard = (harm, None) if given else (None, harm)
    excess = program.least_excess_worst_off(*figures, soft, hard)
    return _verdict(excess, program.least_error_worst_off(*figures, harm))


def _spread_cap(rng, least):
    """Return a cap between a little below what is possible and 1."""
    kind = rng.random()
    if kind < 0.15:
        return float(np.clip(least * rng.uniform(0.3, 1.0), 1e-3, 1.0))
    if kind < 0.25:
        return float(np.clip(least, 1e-3, 1.0))
    return float(np.clip(least + (1 - least) * rng.beta(1, 4), 1e-3, 1.0))


def draw_equal(rng, program, harm):
    return Equal(float(rng.choice([0.01, 0.03, 0.1, 0.2, 0.35, 0.5])))


def draw_cap(rng, program, harm):
    return Cap(_spread_cap(rng, program.least_excess(np.zeros(len(program.lines)))))


def draw_minimax(rng, program, harm):
    return Minimax(int(rng.integers(1, 4)), float(rng.choice([0.0, 1e-3, 0.02])))


def draw_priced(rng, program, harm):
    share = float(rng.choice([0.05, 0.1, 0.25, 0.5, 0.9]))
    return WorstOff(share, price=float(rng.choice([0.01, 0.1, 0.25, 1.0, 5.0, 100.0])))


def draw_limited(rng, program, harm):
    share = float(rng.choice([0.05, 0.1, 0.25, 0.5, 0.9]))
    return WorstOff(share, max_rate=_spread_cap(rng, program.least_excess_worst_off(share, 0.0)))


def _highest(promise, lines):
    return max((max(rates) for rates, _ in lines if len(rates)), default=0.0)


def _half_spread(promise, lines):
    return max((np.ptp(rates) / 2 for rates, _ in lines if len(rates)), default=0.0)


def _worst_mean(promise, lines):
    means = (plain_worst_off(rates, counts, promise.share) for rates, counts in lines if len(rates))
    return max(means, default=0.0)


ROWS = {
    "equal": Row(Equal(0.1), draw_equal, judge_equal, (0.3, 0.2, 0.1, 0.05), _half_spread),
    "cap": Row(Cap(0.32), draw_cap, judge_cap, (0.5, 0.35, 0.32, 0.3), _highest, impossible=True),
    "minimax": Row(Minimax(2), draw_minimax, judge_minimax, (), _highest),
    "worst-off, priced": Row(
        WorstOff(0.25, price=0.5), draw_priced, judge_worst_off, (0.05, 0.2, 0.5, 2.0), _worst_mean
    ),
    "worst-off, limited": Row(
        WorstOff(0.25, max_rate=0.32),
        draw_limited,
        judge_worst_off,
        (0.5, 0.35, 0.32, 0.3),
        _worst_mean,
        impossible=True,
    ),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A small problem with a finite class.

    Attributes
    ----------
    X, Y, people, tasks : arrays
    rate : str, or list of str
    oracle : Oracle
        Exact.
    program : FullProgram
    """

    X: np.ndarray
    Y: np.ndarray
    people: np.ndarray
    tasks: np.ndarray
    rate: Any
    oracle: Any
    program: FullProgram

    def unconstrained_rates(self):
        """Return rates of the oracle's answer with nothing asked, (n,) or (n, rates), by hand.

        Several answers may have the least error, so the oracle is asked for its own.
        """
        sample = Sample(self.X, self.Y, individual_weights=self.people, task_weights=self.tasks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedRateWarning)
            play = Learner(sample, self.rate, self.oracle).unconstrained()
        chances = play.hypothesis.decide(self.X).astype(float)
        error = plain_error(self.Y, chances, self.tasks, self.people)
        assert abs(error - self._least_error()) < 1e-9, "the oracle's answer is not the best"
        return self.rates(chances)

    def _least_error(self):
        """Return the least error of the class, the constants aside: the best rule of each task."""
        program, (n, m) = self.program, self.Y.shape
        best = np.zeros((n, m))
        for task in range(m):
            alone = np.where(np.arange(m) == task, self.Y, np.nan)
            losses = []
            for rule in program.rules:
                wrong = (alone != rule[:, None]) & ~np.isnan(alone)
                seen = (~np.isnan(self.Y) * self.tasks).sum(axis=1)
                share = np.where(
                    seen > 0, (wrong * self.tasks).sum(axis=1) / np.maximum(seen, 1e-9), 0
                )
                losses.append(self.people @ share)
            best[:, task] = program.rules[int(np.argmin(losses))]
        return plain_error(self.Y, best, self.tasks, self.people)

    def rates(self, chances):
        """Return everybody's rates, by hand; NaN where undefined or without weight."""
        kinds = self.program.kinds
        found = np.array([plain_rates(self.Y, chances, kind, self.tasks) for kind in kinds]).T
        found[self.people == 0] = np.nan
        return found[:, 0] if isinstance(self.rate, str) else found

    def fit(self, promise, against=None, **params):
        """Fit by column generation, almost to optimality. Decisions are drawn."""
        params = {
            "solver": ColumnGeneration(tol=TOLERANCE, mapping_rounds=3),
            "decisions": "drawn",
            "random_state": 0,
        } | params
        model = AverageFairClassifier(promise=promise, rate=self.rate, oracle=self.oracle, **params)
        with warnings.catch_warnings():
            for kind in EXPECTED:
                warnings.simplefilter("ignore", kind)
            return model.fit(self.X, self.Y, self.people, self.tasks, against=against)


class Lookup:
    """A rule that looks its decisions up by the number in the first column."""

    def __init__(self, decisions):
        self.decisions = decisions

    def __call__(self, x):
        return self.decisions[x[:, 0].astype(int)]


def draw_case(rng, most=7, rates=RATES, *, constants=False):
    """Draw features, labels with blanks, weights of people and tasks (some 0), and a class.

    With ``constants``, the two constants are in the class.
    """
    n, m = int(rng.integers(1, most + 1)), int(rng.integers(1, 5))
    Y = (rng.random((n, m)) < rng.uniform(0.1, 0.9)).astype(float)
    Y[rng.random(Y.shape) < rng.choice([0.0, 0.0, 0.3])] = np.nan
    people, tasks = np.ones(n), np.ones(m)
    if rng.random() < 0.5:
        people, tasks = rng.choice([0, 0.5, 1, 3], n), rng.choice([0, 0.5, 1, 2], m)
    people[0] = tasks[0] = 1.0
    Y[0, 0] = np.nan_to_num(Y[0, 0])
    if rng.random() < 0.5:
        X = rng.standard_normal((n, 2)).round(1)
        oracle, decisions = StumpOracle(), stump_decisions(X)
    else:
        X = np.column_stack([np.arange(n), rng.standard_normal(n)])
        decisions = rng.random((int(rng.integers(1, 7)), n)) < 0.5
        if rng.random() < 0.5 or constants:
            decisions = np.vstack([decisions, np.zeros(n, bool), np.ones(n, bool)])
        oracle = FiniteOracle([Lookup(rule) for rule in decisions])
    rate = rates[int(rng.integers(len(rates)))]
    program = FullProgram(Y, decisions, rate, people, tasks)
    return Case(X, Y, people, tasks, rate, oracle, program)


def draw_against(rng, case):
    """Return rates that people might have today, some unknown; None half of the time."""
    if rng.random() < 0.5:
        return None
    n, m = case.Y.shape
    kinds = 1 if isinstance(case.rate, str) else len(case.rate)
    if rng.random() < 0.5:  # rates of some rules of the class, which can be kept
        rules = rng.integers(len(case.program.rules), size=m)
        chances = case.program.rules[rules].T.astype(float)
        rates = np.array([plain_rates(case.Y, chances, k, case.tasks) for k in case.program.kinds])
        rates = rates.T
    else:
        rates = rng.random((n, kinds))
    rates[rng.random(rates.shape) < 0.15] = np.nan
    if np.isnan(rates).all():
        rates[0] = 0.5
    return rates[:, 0] if isinstance(case.rate, str) else rates


def harm_caps(case, promise, against):
    """Return the caps of no_harm on every line; None without no_harm."""
    if promise.no_harm is None:
        return None
    baseline = case.unconstrained_rates() if against is None else against
    rates = case.program.per_line(baseline)
    return np.where(np.isnan(rates), 1.0, rates) + promise.no_harm


def figures(case, model):
    """Return (rates, counts) of each rate's lines, recomputed from the model's chances."""
    chances = np.asarray(model.decision_probability(case.X)).reshape(case.Y.shape)
    rates = case.program.per_line(case.rates(chances))
    assert not np.isnan(rates).any()
    of = np.array([k for k, _ in case.program.lines], dtype=int)
    own = [(rates[of == k], case.program.counts[of == k]) for k in range(len(case.program.kinds))]
    return rates, own


def assert_kept(row, promise, case, model, harm):
    """Check a promise against the rates recomputed from the model's chances."""
    rates, lines = figures(case, model)
    known, reached = model.certificate_, row.figure(promise, lines)
    assert known.met, "the certificate says that the promise is not met"
    assert abs(known.reached - reached) < 1e-8, f"reached {reached}, not {known.reached}"
    if promise.parameter and not promise.less_is_easier:
        assert reached <= promise.value + 1e-6, f"{reached} is above {promise.value}"
    if harm is not None:
        over = (rates - harm).max(initial=0.0)
        assert over <= 1e-6, f"somebody is harmed by {over} more than allowed"
        assert abs(known.harm - over) < 1e-8
    else:
        assert np.isnan(known.harm)


def assert_fixed(row, promise, case, model, harm):
    """Check fixed decisions and what is said about them; return whether they keep the promise."""
    decisions = np.asarray(model.predict(case.X)).reshape(case.Y.shape)
    chances = np.asarray(model.decision_probability(case.X)).reshape(case.Y.shape)
    np.testing.assert_array_equal(chances, decisions, "some decisions are drawn")
    error = plain_error(case.Y, decisions, case.tasks, case.people)
    assert abs(model.error_ - error) < 1e-9, "the error is not that of the decisions"
    rates, lines = figures(case, model)
    known, reached = model.certificate_, row.figure(promise, lines)
    assert abs(known.reached - reached) < 1e-8, f"reached {reached}, not {known.reached}"
    kept = True
    if promise.parameter and not promise.less_is_easier:
        kept = reached <= promise.value + 1e-6
    if harm is not None:
        over = (rates - harm).max(initial=0.0)
        assert abs(known.harm - over) < 1e-8
        kept = kept and over <= 1e-6
    assert known.met == kept, f"the certificate says {known.met}"
    return bool(kept)


def objective(promise, case, model):
    """Return the objective of a model, recomputed from its chances."""
    chances = np.asarray(model.decision_probability(case.X)).reshape(case.Y.shape)
    value = plain_error(case.Y, chances, case.tasks, case.people)
    assert abs(model.error_ - value) < 1e-9, "the error is not the classifiers' error"
    price = getattr(promise, "price", None)
    if price is not None:
        _, lines = figures(case, model)
        value += price * sum(
            plain_worst_off(rates, counts, promise.share) for rates, counts in lines if len(rates)
        )
    return value


def assert_optimal(promise, case, model, verdict, near=NEAR):
    """Check the objective and the certificate against the full program; return the distance."""
    known, value = model.certificate_, objective(promise, case, model)
    # A price scales the objective, and its rounding.
    near = near * max(1.0, getattr(promise, "price", None) or 0.0)
    assert known.status is Status.CERTIFIED
    assert known.lower <= verdict.highest + 1e-6, f"bound {known.lower} > OPT {verdict.highest}"
    assert known.upper >= verdict.optimum - 1e-6, f"bound {known.upper} < OPT {verdict.optimum}"
    assert value >= verdict.optimum - near, f"{value} is better than OPT {verdict.optimum}"
    assert value <= verdict.highest + near, f"{value} is worse than OPT {verdict.highest}"
    assert known.lower - 1e-6 <= value <= known.upper + 1e-9
    return max(0.0, value - verdict.highest, verdict.optimum - value)
