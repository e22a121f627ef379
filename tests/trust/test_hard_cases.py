"""Numerically hard cases: right, or refused as input; never NaN, never a warning of overflow.

"Right" is checked independently: decisions in exact fractions, rates and errors by plain loops, the
certificate by its own inequalities, units by invariance.
"""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    DegenerateTaskWarning,
    ErrorRate,
    ExponentiatedGradient,
    FiniteOracle,
    InputError,
    LogisticOracle,
    Portfolio,
    RegressionOracle,
    Sample,
    StumpOracle,
    UndefinedRateWarning,
    WeightedOracle,
    audit,
    frontier,
    held_out,
)
from averagefair.game.auditor import TwoSidedAuditor
from averagefair.game.certificate import Status
from averagefair.game.costs import Costs
from averagefair.oracles import default_oracle
from averagefair.oracles.linear import LinearThresholds
from tests.support.judges import plain_error, plain_rates
from tests.support.reliability import record

LISTED = (
    lambda x: x[:, 0] > 0,
    lambda x: x[:, -1] <= 0,
    lambda x: np.zeros(len(x)),
    lambda x: np.ones(len(x)),
)
ORACLES = {
    "least squares": RegressionOracle(),
    "ridge": RegressionOracle(l2=1.0),
    "logistic": LogisticOracle(),
    "default": default_oracle(),
    "portfolio": Portfolio([RegressionOracle(), LogisticOracle()]),
    "stump": StumpOracle(),
    "finite": FiniteOracle(LISTED),
    "tree": WeightedOracle(DecisionTreeClassifier(max_depth=2)),
    "scikit-learn's logistic": WeightedOracle(LogisticRegression(max_iter=15)),
    "scaled": WeightedOracle(make_pipeline(StandardScaler(), LogisticRegression(max_iter=15))),
}
# Oracles that do not depend on the units of features. (scikit-learn's trees treat numbers that
# differ by less than 1e-7 as equal, so they are invariant only to larger units.)
UNITLESS = ("least squares", "logistic", "default", "portfolio", "stump")
SOLVERS = {
    "columns": ColumnGeneration(max_rounds=5, patience=3, reweightings=2),
    "gradient": ExponentiatedGradient(max_rounds=8, tol=None),
}
ALL = ["error", "false_positive", "false_negative"]
RATES = [*ALL, ALL]
STRANGERS = [
    [0.0, 0.0, 0.0],
    [1e308, -1e308, 1e308],
    [1e-308, 0.0, 5e-324],
    [1.7e308, 1.7e308, -1.7e308],
    [-1e300, 1e-300, 1e12],
]


def people(n=24, m=4, d=3, seed=0):
    """Draw features and labels; everybody has a 0 and a 1."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d))
    Y = (X @ draw.normal(size=(d, m)) + draw.normal(size=(n, m)) > 0).astype(float)
    rows = np.arange(n)
    if m > 1:
        Y[rows, rows % m], Y[rows, (rows + 1) % m] = 0.0, 1.0
    return X, Y


def features(change):
    """Make a case with changed features."""
    X, Y = people()
    return change(X), Y, {}, {}


def setting(**params):
    return *people(), {}, params


def weights(sample=None, task=None, **params):
    """Make a case with weights of powers of ten, evenly spaced between two exponents."""
    X, Y = people()
    made = {"sample_weight": (sample, len(X)), "task_weight": (task, Y.shape[1])}
    spread = {name: np.logspace(*ends, count) for name, (ends, count) in made.items() if ends}
    return X, Y, spread, params


def labels(change):
    X, Y = people()
    return X, change(Y.copy()), {}, {}


def blanks(Y):
    Y[3], Y[:, 2] = np.nan, np.nan
    return Y


def almost_all_blank(Y):
    Y[:] = np.nan
    Y[0, 0] = 1.0
    return Y


def lonely(weight, **params):
    """Make a case in which two people have labels only in a task of tiny weight."""
    X, Y = people()
    Y[:2] = np.nan
    Y[0, 0], Y[1, 0] = 1.0, 0.0
    return X, Y, {"task_weight": [weight, 1.0, 1.0, 1.0]}, params


def outlier(size, scale=1.0, absent=False, **params):
    X, Y = people()
    X = X * scale
    X[3] = size
    fit = {"sample_weight": (np.arange(len(X)) != 3).astype(float)} if absent else {}
    return X, Y, fit, params


def float32(make):
    X, Y, fit, params = make()
    return X, Y, fit, params | {"dtype": "float32"}


def extreme(**settings):
    return ExponentiatedGradient(max_rounds=12, tol=None, **settings)


CASES = {
    **{
        f"features of 1e{k}": lambda k=k: features(lambda X: X * 10.0**k)
        for k in (-300, -160, -95, -12, 12, 95, 160, 300)
    },
    "units of 1e-12 to 1e12": lambda: features(lambda X: X * [1e-12, 1.0, 1e12]),
    "units of 1e-95 to 1e95": lambda: features(lambda X: X * [1e-95, 1.0, 1e95]),
    "largest numbers": lambda: features(lambda X: np.sign(X) * 1.7e308),
    "subnormal numbers": lambda: features(lambda X: np.round(100 * X) * 5e-324),
    "one subnormal number": lambda: features(lambda X: np.where(X.max() == X, 5e-324, 0.0)),
    **{f"a mean of 1e{k}": lambda k=k: features(lambda X: X + 10.0**k) for k in (6, 9, 12, 14, 16)},
    "a constant": lambda: features(lambda X: np.c_[X, np.full(len(X), 7.1)]),
    "a constant of 1e308": lambda: features(lambda X: np.c_[X, np.full(len(X), 1e308)]),
    "constants alone": lambda: features(lambda X: np.full_like(X, 3.3)),
    "columns twice": lambda: features(lambda X: np.c_[X, X, X * 1e9]),
    "people five times": lambda: features(lambda X: X[np.arange(len(X)) // 5]),
    "more features than people": lambda: (people(6, 4, 20)[0], people(6)[1], {}, {}),
    "one of 1e308": lambda: outlier(1e308),
    "one of 1e95": lambda: outlier(1e95),
    "one of 1e90 who is absent": lambda: outlier(1e90, absent=True),
    "one of 1e95 among 1e-40, absent": lambda: outlier(1e95, 1e-40, absent=True),
    "alpha of 1e-4": lambda: setting(alpha=1e-4),
    "alpha of 1e-6": lambda: setting(alpha=1e-6),
    "B of 1e6": lambda: setting(solver=extreme(dual_bound=1e6)),
    "theta beyond 1e4": lambda: setting(solver=extreme(dual_bound=1e6, step=1e6)),
    "B and step of 1e100": lambda: setting(solver=extreme(dual_bound=1e100, step=1e100)),
    "step of 1e-100": lambda: setting(solver=extreme(step=1e-100)),
    "influence of 1e100": lambda: setting(max_influence=1e100),
    "tasks of a single label": lambda: labels(lambda Y: np.c_[Y[:, :1] * 0, Y[:, :1] * 0 + 1, Y]),
    "blank people and tasks": lambda: labels(blanks),
    "one label in all": lambda: labels(almost_all_blank),
    "one person": lambda: (*(one[:1] for one in people()), {}, {}),
    "two people": lambda: (*(one[:2] for one in people()), {}, {}),
    "one task": lambda: labels(lambda Y: Y[:, :1]),
    "one person, one task": lambda: (people()[0][:1], people()[1][:1, :1], {}, {}),
    "people of 1e-6 to 1e6": lambda: weights(sample=(-6, 6)),
    "people of 1e-6 to 1e6, a fifth excepted": lambda: weights(sample=(-6, 6), beta=0.2),
    "people of 1e-6 to 1e6, influence": lambda: weights(sample=(-6, 6), max_influence=3.0),
    "people of 1e-49 to 1e49": lambda: weights(sample=(-49, 49)),
    "people of 1e-190 to 1e-95": lambda: weights(sample=(-190, -95), beta=0.2),
    "people of 1e1 to 1e99": lambda: weights(sample=(1, 99)),
    "people of 1e-300 to 1e300": lambda: weights(sample=(-300, 300)),
    "people of 1e-320": lambda: weights(sample=(-320, -320)),
    "people of 1e306": lambda: weights(sample=(306, 306)),
    "tasks of 1e-6 to 1e6": lambda: weights(task=(-6, 6)),
    "tasks of 1e-49 to 1e49": lambda: weights(task=(-49, 49)),
    "tasks of 1e-300 to 1e300": lambda: weights(task=(-300, 300)),
    "tasks of 1e-320": lambda: weights(task=(-320, -320)),
    "tasks of 1e307": lambda: weights(task=(307, 307)),
    "a lonely task of 1e-12": lambda: lonely(1e-12),
    "a lonely task of 1e-99, alpha of 1e-6": lambda: lonely(1e-99, alpha=1e-6),
    "a lonely task of 1e-99, B of 1e100": lambda: lonely(1e-99, solver=extreme(dual_bound=1e100)),
    "a lonely task of 1e-300": lambda: lonely(1e-300),
    **{
        f"float32, features of 1e{k}": lambda k=k: float32(lambda: features(lambda X: X * 10.0**k))
        for k in (-40, -29, -12, 12, 29, 38)
    },
    "float32, units of 1e-12 to 1e12": lambda: float32(CASES["units of 1e-12 to 1e12"]),
    "float32, a mean of 1e5": lambda: float32(lambda: features(lambda X: X + 1e5)),
    "float32, one of 1e29": lambda: float32(lambda: outlier(1e29)),
    "float32, a lonely task of 1e-90": lambda: float32(lambda: lonely(1e-90)),
    "float32, B of 1e100": lambda: float32(CASES["B and step of 1e100"]),
}
# Cases that every oracle must refuse.
REFUSED = {
    "people of 1e-300 to 1e300",
    "people of 1e-320",
    "people of 1e306",
    "tasks of 1e-300 to 1e300",
    "a lonely task of 1e-300",
}
# Cases that linear classifiers refuse; others may accept them.
BEYOND_SQUARES = {
    "features of 1e-300",
    "features of 1e-160",
    "features of 1e160",
    "features of 1e300",
    "largest numbers",
    "subnormal numbers",
    "one subnormal number",
    "a constant of 1e308",
    "one of 1e308",
    "one of 1e95 among 1e-40, absent",
    "float32, features of 1e-40",
    "float32, features of 1e38",
}
LINEAR = ("least squares", "ridge", "logistic", "default", "portfolio")


@pytest.fixture(autouse=True)
def expected_words():
    """Ignore warnings about the data and about few rounds; every other warning is an error."""
    with warnings.catch_warnings():
        for kind in (UndefinedRateWarning, DegenerateTaskWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        yield


def exact_scores(hypothesis, row):
    """Return a person's score and the sum of |terms| of the score, for each task."""
    found = []
    for column, intercept in zip(hypothesis.coefficients.T, hypothesis.intercepts, strict=True):
        terms = [Fraction(float(w)) * Fraction(float(x)) for w, x in zip(column, row, strict=True)]
        terms.append(Fraction(float(intercept)))
        found.append((sum(terms), sum(map(abs, terms))))
    return found


def assert_decided_exactly(hypothesis, X, precision=2.0**-52):
    """Check a linear classifier's decisions in fractions; skip those that rounding may change.

    Returns how many decisions were checked, and how many were skipped.
    """
    decided, judged, skipped = hypothesis.decide(X), 0, 0
    for row, decisions in zip(X, decided, strict=True):
        for (score, size), one in zip(exact_scores(hypothesis, row), decisions, strict=True):
            if abs(score) <= len(row) * 2 * Fraction(precision) * size and score != 0:
                skipped += 1
                continue
            judged += 1
            assert one == (score < 0), f"decided {one} at a score of {float(score / size)}"
    return judged, skipped


def assert_right(model, X, Y, fit):
    """Check all figures of a model, from its hypotheses and the data alone."""
    sample, task = fit.get("sample_weight"), fit.get("task_weight")
    mixture, certificate = model.classifiers_, model.certificate_
    single = model.dtype == "float32"
    seen = X.astype(np.float32) if single else X
    q = mixture.probabilities
    assert np.isfinite(q).all()
    assert (np.abs(q.sum(axis=0) - 1.0) < 1e-9).all()
    for one in mixture.hypotheses:
        if isinstance(one, LinearThresholds):
            assert np.isfinite(one.coefficients).all()
            assert np.isfinite(one.intercepts).all()
    for one in mixture.hypotheses[:2]:
        if isinstance(one, LinearThresholds):
            assert_decided_exactly(one, seen, 2.0**-22 if single else 2.0**-52)
    chances = sum(
        share * one.decide(seen).astype(float)
        for share, one in zip(q, mixture.hypotheses, strict=True)
    )
    relative = None if task is None else np.asarray(task) / np.max(task)
    assert abs(model.error_ - plain_error(Y, chances, relative, sample)) < 1e-9
    kinds = model.rate if isinstance(model.rate, list) else [model.rate]
    own = model.individual_rates_.reshape(len(Y), -1).T
    common = np.atleast_1d(model.common_rate_)
    assert ((common >= 0) & (common <= 1)).all()
    present = np.ones(len(Y), bool) if sample is None else np.asarray(sample) > 0
    widest = 0.0
    for kind, rates in zip(kinds, own, strict=True):
        wanted = plain_rates(Y, chances, kind, relative)
        np.testing.assert_allclose(rates, wanted, atol=1e-9)
        mine = wanted[present & ~np.isnan(wanted)]
        widest = max(widest, np.ptp(mine) if mine.size else 0.0)
    assert abs(certificate.spread - widest) < 1e-9
    numbers = [getattr(certificate, name) for name in ("deviation", "outside", "error", "upper")]
    assert np.isfinite(numbers).all()
    if certificate.promise.everybody and isinstance(model.solver, ColumnGeneration):
        # Chances can always keep the promise; fixed decisions of a few tasks often cannot.
        kept = certificate.by_chances if certificate.decisions == "fixed" else certificate
        assert kept.spread <= 2 * certificate.promise.alpha + 1e-6
        assert certificate.met_on_average
        assert certificate.met == (widest <= 2 * certificate.promise.alpha + 1e-6)
    if certificate.decisions == "fixed":
        assert np.isin(chances, (0, 1)).all()
        assert mixture.is_fixed
        for reach in (certificate.by_decisions, certificate.by_chances):
            assert np.isfinite([reach.error, reach.spread, reach.outside]).all()
        drawn = model.mixture_.decision_probability(X)
        assert abs(certificate.by_chances.error - plain_error(Y, drawn, relative, sample)) < 1e-9
    if model.classifiers_.hypotheses and certificate.status is Status.CERTIFIED:
        assert np.isfinite([certificate.lower, certificate.gap]).all()
        assert certificate.lower <= certificate.upper + 1e-6
    assert certificate.status is not Status.CONTRADICTED
    for name in ("error", "spread"):
        assert np.isfinite(model.history_[name]).all()
    assert np.isfinite(model.decision_probability(X)).all()


def assert_counted(model, X, Y, later, fit):
    """Check the balance after an extension to the first tasks, by plain rates over all of them."""
    balance = model.balance_
    if model.certificate_.decisions == "drawn":
        assert balance is None
        return
    assert np.isfinite([balance.wrong, balance.seen]).all()
    assert (balance.wrong >= 0).all()
    assert (balance.wrong <= balance.seen + 1e-9).all()
    if "task_weight" in fit:
        return
    labels = np.hstack([Y, Y[:, :2]])
    decided = np.hstack([model.predict(X), later.predict(X)])
    for rate, own in zip(np.atleast_1d(model.rate), balance.rates, strict=True):
        np.testing.assert_allclose(own, plain_rates(labels, decided, rate), atol=1e-9)


def outcome(case, oracle, solver, rate, decisions="drawn"):
    """Try a case; return "right" or "refused"; raise an error in all other cases."""
    try:
        X, Y, fit, params = CASES[case]()
        given = {"alpha": 0.1, "oracle": ORACLES[oracle], "solver": SOLVERS[solver], "rate": rate}
        given |= {"decisions": decisions, "random_state": 0}
        model = AverageFairClassifier(**given | params).fit(X, Y, **fit)
    except InputError:
        return "refused"
    assert_right(model, X, Y, fit)
    later = model.extend(Y[:, :2])
    assert_counted(model, X, Y, later, fit)
    for classifiers in (model, later):
        assert np.isfinite(classifiers.decision_probability(X)).all()
        try:
            new = np.resize(STRANGERS, (5, X.shape[1]))
            assert np.isfinite(classifiers.decision_probability(new)).all()
            assert np.isin(classifiers.predict(new), (0, 1)).all()
        except InputError:
            assert oracle in ("tree", "scikit-learn's logistic", "scaled")
    return "right"


def possible(case, solver):
    """Return whether a solver can run a case: only column generation allows exemptions."""
    params = {} if case in REFUSED else CASES[case]()[3]
    if "beta" in params or "max_influence" in params:
        return solver == "columns"
    return "solver" not in params or solver == "gradient"


def expected(case, oracle):
    """Return the expected outcome of a case; None if scikit-learn's own limits decide."""
    if case in REFUSED:
        return "refused"
    if case in BEYOND_SQUARES:
        return "refused" if oracle in LINEAR else None
    return "right" if oracle not in ("tree", "scikit-learn's logistic", "scaled") else None


def some_of_all():
    """Yield each case with two oracles, solvers and rates in turn, so that each is used often."""
    oracles, rates = itertools.cycle(ORACLES), itertools.cycle(RATES)
    for place, case in enumerate(CASES):
        for turn in range(2):
            solver = list(SOLVERS)[(place + turn) % 2]
            solver = solver if possible(case, solver) else next(s for s in SOLVERS if s != solver)
            # By default, one turn of each case, so that each oracle meets each rate.
            marks = [] if turn == place // 2 % 2 else [pytest.mark.long]
            yield pytest.param(case, next(oracles), solver, next(rates), marks=marks)


@pytest.mark.parametrize(("case", "oracle", "solver", "rate"), [*some_of_all()])
def test_right_or_refused(case, oracle, solver, rate):
    found, wanted = outcome(case, oracle, solver, rate), expected(case, oracle)
    assert wanted is None or found == wanted


def some_fixed():
    """Yield each case once with fixed decisions, with oracles, solvers and rates in turn."""
    oracles, rates = itertools.cycle(ORACLES), itertools.cycle(RATES)
    for place, case in enumerate(CASES):
        solver = list(SOLVERS)[place % 2]
        solver = solver if possible(case, solver) else next(s for s in SOLVERS if s != solver)
        marks = [pytest.mark.long] if place % 3 else []
        yield pytest.param(case, next(oracles), solver, next(rates), marks=marks)


@pytest.mark.parametrize(("case", "oracle", "solver", "rate"), [*some_fixed()])
def test_fixed_decisions_are_right_or_refused(case, oracle, solver, rate):
    found, wanted = outcome(case, oracle, solver, rate, "fixed"), expected(case, oracle)
    assert wanted is None or found == wanted


@pytest.mark.long
def test_every_combination_is_right_or_refused():
    found = []
    ways = itertools.product(CASES, ORACLES, SOLVERS, RATES, ("fixed", "drawn"))
    for case, oracle, solver, rate, decisions in ways:
        if possible(case, solver):
            found.append(outcome(case, oracle, solver, rate, decisions))
            assert expected(case, oracle) in (None, found[-1]), (case, oracle, solver, rate)
    right, refused = found.count("right"), found.count("refused")
    assert right + refused == len(found)
    record(
        "hard cases",
        what=f"{len(CASES)} hard cases (sizes from 5e-324 to 1.7e308, weights over 98 orders, tiny "
        "alpha, one person, blanks) x 10 oracles x 2 solvers x 4 rates, fixed and drawn",
        count=len(found),
        outcome=f"{right} right, {refused} refused; 0 others",
    )


class TestUnits:
    """The units of features change no decision."""

    @pytest.mark.parametrize(
        ("oracle", "solver"),
        [
            # By default each oracle meets one solver, in turn.
            pytest.param(oracle, solver, marks=[pytest.mark.long] * (solver != quick))
            for oracle, quick in zip(
                [*UNITLESS, "tree"], itertools.cycle(["columns", "gradient"]), strict=False
            )
            for solver in SOLVERS
        ],
    )
    def test_powers_of_two_change_no_bit(self, oracle, solver):
        X, Y = people(60)
        strangers = people(40, seed=1)[0]
        units = 2.0 ** np.array([0 if oracle == "tree" else -40, 3, 40])

        def chances(units):
            model = AverageFairClassifier(
                alpha=0.1, oracle=ORACLES[oracle], solver=SOLVERS[solver], random_state=0
            )
            fitted = model.fit(X * units, Y)
            return fitted.decision_probability(strangers * units), fitted.individual_rates_

        for one, other in zip(chances(1.0), chances(units), strict=True):
            np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("oracle", UNITLESS)
    def test_powers_of_ten_change_hardly_anything(self, oracle):
        """They round the features: a person that close to a threshold may change sides."""
        X, Y = people(60)
        units = 10.0 ** np.array([-12, 3, 12])

        def fitted(X):
            model = AverageFairClassifier(
                alpha=0.1, oracle=ORACLES[oracle], solver=SOLVERS["gradient"], random_state=0
            )
            return model.fit(X, Y)

        one, other = fitted(X), fitted(X * units)
        assert abs(one.error_ - other.error_) < 0.005
        chances = one.decision_probability(X), other.decision_probability(X * units)
        assert np.mean(np.abs(chances[0] - chances[1]) > 1e-9) < 0.02

    @pytest.mark.parametrize(
        ("mean", "most"), [(1e6, 0.0), (1e9, 2e-4), (1e10, 1e-3), (1e11, 5e-3), (1e12, 0.03)]
    )
    @pytest.mark.parametrize("oracle", ["least squares", "logistic", "default"])
    def test_another_zero_changes_hardly_anything(self, oracle, mean, most):
        """Features lie on a grid, so that adding a large mean is exact.

        Scores are sums of terms as large as the mean. People within their rounding of a threshold,
        about 1e-15 of the mean, may change sides.
        """
        draw = np.random.default_rng(0)
        X = np.round(draw.normal(size=(1000, 5)) * 256) / 256
        Y = (X @ draw.normal(size=(5, 10)) + draw.normal(size=(1000, 10)) > 0).astype(float)
        prices = draw.lognormal(size=1000) - 0.3

        def decisions(X):
            sample = Sample(X, Y)
            return ORACLES[oracle].bind(sample)(Costs(sample, prices, prices)).decide(X)

        assert np.mean(decisions(X) != decisions(X + mean)) <= most

    def test_small_columns_are_not_lost_beside_large_ones(self):
        """The labels depend only on the column of 1e-12."""
        X = people(80, d=3)[0] * [1e-12, 1.0, 1e12]
        Y = np.c_[X[:, 0] > 0, X[:, 0] > 3e-13].astype(float)
        sample, prices = Sample(X, Y), np.ones(80)
        for oracle in UNITLESS:
            answer = ORACLES[oracle].bind(sample)(Costs(sample, prices, prices))
            assert np.mean(answer.decide(X) != Y) < 0.06


class TestDecisions:
    """Linear classifiers are stored in original units, and decide correctly for any size."""

    @pytest.mark.parametrize("oracle", ["least squares", "ridge", "logistic", "default"])
    @pytest.mark.parametrize(
        "case",
        ["units of 1e-12 to 1e12", "units of 1e-95 to 1e95", "a mean of 1e9", "columns twice"],
    )
    def test_they_are_those_of_fractions(self, case, oracle):
        X, Y, _, _ = CASES[case]()
        sample = Sample(X, Y)
        prices = np.random.default_rng(0).lognormal(size=len(X)) - 0.3
        answer = ORACLES[oracle].bind(sample)(Costs(sample, prices, prices))
        judged, skipped = assert_decided_exactly(answer, X)
        assert skipped <= 0.02 * judged

    def test_of_strangers_of_any_size(self):
        """Sums of scores overflow on the way, and cancel."""
        draw = np.random.default_rng(0)
        sizes = 10.0 ** draw.uniform(-308, 308, (60, 3))
        X = np.vstack([STRANGERS, draw.choice([-1, 1], (60, 3)) * sizes])
        answer = LinearThresholds(
            draw.normal(size=(3, 40)) * 10.0 ** draw.uniform(-100, 100, (3, 40)),
            draw.normal(size=40) * 10.0 ** draw.uniform(-100, 100, 40),
        )
        judged, skipped = assert_decided_exactly(answer, X)
        assert judged > 2500
        assert skipped < 50
        # Two huge terms cancel, so only the third decides.
        cancel = LinearThresholds(np.array([[1e10], [-1e10], [1.0]]), np.array([-0.5]))
        rows = np.array([[1e300, 1e300, 1e299], [1e300, 1e300, -1e299]])
        assert cancel.decide(rows).ravel().tolist() == [False, True]

    def test_counting_mistakes_of_strangers_of_any_size(self):
        X, Y = people()
        model = AverageFairClassifier(
            alpha=0.1, oracle=RegressionOracle(), solver=SOLVERS["gradient"], random_state=0
        ).fit(X, Y)
        new, right = np.array(STRANGERS), people(5)[1]
        found = held_out(model, X_new=new, Y_new_people=right).people
        wanted = plain_rates(right, model.decision_probability(new), "error")
        np.testing.assert_allclose(found.rates, wanted, atol=1e-12)

    def test_the_judge_can_fail(self):
        X = people()[0]
        good = LinearThresholds(np.ones((3, 1)), np.zeros(1))
        assert_decided_exactly(good, X)

        class Wrong(LinearThresholds):
            def decide(self, features):
                return ~super().decide(features)

        with pytest.raises(AssertionError, match="decided"):
            assert_decided_exactly(Wrong(np.ones((3, 1)), np.zeros(1)), X)


def test_the_judge_of_models_can_fail():
    X, Y = people()
    for decisions in ("fixed", "drawn"):
        model = AverageFairClassifier(
            alpha=0.1, solver=SOLVERS["columns"], random_state=0, decisions=decisions
        ).fit(X, Y)
        assert_right(model, X, Y, {})
        with pytest.raises(AssertionError):
            assert_right(model, X, 1 - Y, {})
        rates = model.individual_rates_
        model.individual_rates_ = rates + 1e-6
        with pytest.raises(AssertionError):
            assert_right(model, X, Y, {})
        model.individual_rates_ = rates
    later = model.set_params(decisions="fixed").fit(X, Y).extend(Y[:, :2])
    assert_counted(model, X, Y, later, {})
    with pytest.raises(AssertionError):
        assert_counted(model, X, 1 - Y, later, {})


class TestAuditor:
    @pytest.mark.parametrize("size", [1e4, -1e4, 1e100, -1e100])
    @pytest.mark.parametrize("bound", [1e-6, 1.0, 1e6])
    def test_multipliers_of_a_huge_theta(self, size, bound):
        auditor = TwoSidedAuditor(np.array([1.0, 1e-6, 1e6]), slack=1e-4, dual_bound=bound)
        auditor.theta[0, 1] += size
        found = auditor.multipliers()
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert found.sum() <= bound * (1 + 1e-12)
        if size > 0:
            assert found[0, 1] == bound

    def test_a_long_game_of_huge_steps(self):
        """Each round moves theta by up to a million; the weights follow the last violations."""
        auditor = TwoSidedAuditor(np.ones(50), slack=1e-4, dual_bound=1e6)
        draw = np.random.default_rng(0)
        for _ in range(300):
            auditor.update(draw.random(50), 0.5, 1e6)
            assert np.isfinite(auditor.multipliers()).all()
        assert np.abs(auditor.theta).max() > 1e6
        leader = np.unravel_index(auditor.theta.argmax(), auditor.theta.shape)
        assert auditor.multipliers()[leader] == pytest.approx(1e6)


SETTINGS = {
    "B": lambda: ExponentiatedGradient(dual_bound=1e300),
    "a B of nothing": lambda: ExponentiatedGradient(dual_bound=1e-300),
    "step": lambda: ExponentiatedGradient(step=1e300),
    "l2 of least squares": lambda: RegressionOracle(l2=1e300),
    "l2 of logistic regression": lambda: LogisticOracle(l2=1e-300),
    "rho": lambda: ErrorRate(rho=[0.5, 1e-300]),
    "influence": lambda: AverageFairClassifier(max_influence=1e300).fit(*people()),
    "people": lambda: Sample(*people(), individual_weights=np.full(24, 1e200)),
    "tasks": lambda: Sample(*people(), task_weights=[1.0, 1e-200, 1.0, 1.0]),
    "features": lambda: RegressionOracle().bind(Sample(people()[0] * 1e120, people()[1])),
    "a tree": lambda: AverageFairClassifier(oracle=DecisionTreeClassifier()).fit(
        people()[0] * 1e60, people()[1]
    ),
}


@pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS)
def test_what_is_beyond_reckoning_is_refused(make):
    with pytest.raises(InputError, match=r"must|may be at most|cannot compute"):
        make()


@pytest.mark.parametrize("l2", [1e-99, 1e-12, 1e12, 1e99])
def test_any_l2_is_answered(l2):
    """Also if a line separates the labels, and a tiny l2 hardly limits the coefficients."""
    X, _ = people(60)
    Y = (X @ np.ones((3, 2)) > [0.0, 0.5]).astype(float)
    sample = Sample(X, Y)
    for oracle in (RegressionOracle(l2), LogisticOracle(l2)):
        answer = oracle.bind(sample)(Costs(sample, np.ones(60), np.ones(60)))
        assert np.isfinite(answer.coefficients).all()
        if l2 < 1 and isinstance(oracle, LogisticOracle):
            assert (answer.decide(X) == Y).all()


@pytest.mark.parametrize("case", ["units of 1e-12 to 1e12", "people of 1e-6 to 1e6"])
def test_curves_audits_and_people_held_out(case):
    X, Y, fit, _ = CASES[case]()
    settings = {"oracle": StumpOracle(), "random_state": 0, "decisions": "drawn"}
    curve = frontier(X, Y, [1e-4, 0.1], **settings, **fit)
    for point, alpha in zip(curve, curve.values, strict=True):
        rates = plain_rates(Y, curve.model(alpha).decision_probability(X), "error")
        assert np.ptp(rates) <= 2 * alpha + 1e-6
        assert abs(point.spread - np.ptp(rates)) < 1e-9
    model = curve.model(0.1)
    chances = model.decision_probability(X)
    rates = plain_rates(Y, chances, "error")
    assert audit(Y, chances).mean.value == pytest.approx(rates.mean(), abs=1e-12)
    new, right = people(30, seed=2)
    new = new * np.abs(X).max(axis=0)
    found = held_out(model, X_new=new, Y_new_people=right, Y_new_tasks=Y[:, ::-1])
    wanted = plain_rates(right, model.decision_probability(new), "error")
    np.testing.assert_allclose(found.people.rates, wanted, atol=1e-9)
    assert np.isfinite(found.tasks.rates).all()
