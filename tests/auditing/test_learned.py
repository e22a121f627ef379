"""Audits on tasks that were learned from: observed figures, and nothing about true rates."""

import json

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    audit,
    compare,
    drift,
    frontier,
    generalisation,
)
from averagefair.datasets import make_synthetic
from averagefair.showing.plots import FrontierDisplay
from averagefair.showing.report import audit_report, frontier_report
from tests.support.cli_runs import run

ALPHA = 0.05
QUICK = ColumnGeneration(max_rounds=20, mapping_rounds=10)
WORLD = make_synthetic(n=200, m=12, n_holdout=300, m_holdout=300, random_state=2)
PEOPLE = {"new people": (WORLD.X_new, WORLD.Y_new_people), "the same": (WORLD.X, WORLD.Y)}
# Words that only a sentence about true rates would have.
ABOUT_TRUE_RATES = ("For true rates", "True rates", "true rates were equal", "p = ", "chance")


@pytest.fixture(scope="module")
def model():
    asked = {"oracle": RegressionOracle(), "random_state": 0, "decisions": "drawn"}
    return AverageFairClassifier(alpha=ALPHA, **asked).fit(WORLD.X, WORLD.Y)


@pytest.fixture(scope="module")
def curve():
    asked = {"oracle": RegressionOracle(), "solver": QUICK, "random_state": 0}
    asked["decisions"] = "drawn"
    return frontier(WORLD.X, WORLD.Y, [ALPHA, 0.2], **asked)


def assert_as_observed(found, rates):
    """Check figures from the rates alone; everything about true rates must be absent."""
    assert found.learned_tasks
    apart, line, asked = found.dispersion, found.curve, found.assessment
    assert np.isnan([apart.sigma2.value, apart.sigma2.low, apart.sigma2.high, apart.sigma]).all()
    assert np.isnan([apart.upper, apart.reliability, apart.tasks_needed(), found.chance.p]).all()
    assert np.isnan([line.floor, line.denoised, line.cap]).all()
    assert np.isnan([found.people.low, found.people.high, found.people.all_low]).all()
    assert np.isnan(found.tasks.influence).all()
    assert np.isnan(found.exchangeability.p)
    assert (asked.verdict, asked.to_dict()["verdict"]) == (None, None)
    for view in found.groups:
        assert np.isnan([*view.variance, view.between, view.within]).all()
    with pytest.raises(InputError, match="trained on these tasks"):
        found.bounds()

    assert found.people.rate == pytest.approx(rates)
    assert apart.sd == pytest.approx(np.std(rates, ddof=1))
    assert found.mean.value == pytest.approx(rates.mean())
    outside = np.mean(np.abs(rates - found.common_rate) > ALPHA + 1e-9)
    assert asked.observed_beta == pytest.approx(outside)
    inside = np.sort(rates)[: np.ceil(0.95 * rates.size).astype(int)].size
    narrowest = min(np.sort(rates)[inside - 1 :] - np.sort(rates)[: rates.size - inside + 1])
    assert line.at(0.05)["alpha"] == pytest.approx(narrowest / 2)

    text, told = str(found), found.to_dict()
    assert not [words for words in ABOUT_TRUE_RATES if words in text]
    assert "true rates are not estimated" in text
    assert "for people outside the training data" in text
    assert ("met" if outside <= asked.beta + 1e-12 else "not met") in asked.statement()
    assert told["dispersion"]["sigma"] is told["dispersion"]["upper"] is told["chance"]["p"] is None
    assert told["learned_tasks"] is True
    assert json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("who", PEOPLE)
def test_a_model_on_its_own_tasks(model, who):
    X, Y = PEOPLE[who]
    chances = model.decision_probability(X)
    rates = np.abs(chances - Y).mean(axis=1)
    groups = np.arange(len(X)) % 3
    found = model.audit(X, Y, beta=0.05, groups=groups)
    assert_as_observed(found, rates)
    same = audit(Y, chances, alpha=ALPHA, beta=0.05, groups=groups, learned_tasks=True)
    assert_as_observed(same, rates)
    assert len(found.plot().axes) == 2  # no picture of the test
    page = audit_report(found)
    assert "as observed on these tasks" in page
    assert 'data-audit="sigma"' not in page
    assert "audit-chance-chart" not in page.split("<script")[0]


def test_what_a_de_noised_figure_would_have_said(model):
    """On learned tasks true differences of about 0.02 can look smaller, also for new people.

    With 200 people and 12 tasks that depends on the draw. With 1,000 people and 20 tasks they
    vanished in three of three draws.
    """
    wrong = audit(WORLD.Y_new_people, model.decision_probability(WORLD.X_new))
    later = model.extend(WORLD.Y_new_tasks)
    right = model.audit(WORLD.X_new, WORLD.Y_new_both, classifiers=later)
    assert wrong.dispersion.sigma < right.dispersion.sigma < 0.06
    assert right.assessment.verdict is not None
    assert not right.learned_tasks
    assert np.isnan(model.audit(WORLD.X_new, WORLD.Y_new_people).dispersion.sigma)


def test_the_interval_of_the_mean_is_over_people(model):
    """Over many draws of new people, 95% of the intervals contain the mean of all people."""
    chances = model.decision_probability(WORLD.X_new)
    rates = np.abs(chances - WORLD.Y_new_people).mean(axis=1)
    random, held = np.random.default_rng(0), 0
    for _ in range(200):
        some = random.choice(len(rates), 30)
        part = audit(WORLD.Y_new_people[some], chances[some], learned_tasks=True).mean
        held += part.low <= rates.mean() <= part.high
    assert 180 <= held <= 199


def test_a_model_knows_its_tasks(model):
    with pytest.raises(InputError, match=r"must not be False.*classifiers=model.extend"):
        model.audit(WORLD.X, WORLD.Y, learned_tasks=False)
    own = model.audit(WORLD.X, WORLD.Y, classifiers=model.classifiers_)
    assert own.learned_tasks
    with pytest.raises(InputError, match="`learned_tasks` must be True or False; got 'yes'"):
        audit(WORLD.Y, WORLD.Y, learned_tasks="yes")


def test_tasks_that_decisions_were_chosen_for_together_are_learned():
    """Fixed decisions for later tasks are fitted to them; a mapping's chances are not."""
    asked = {"oracle": RegressionOracle(), "random_state": 0}
    fixed = AverageFairClassifier(alpha=0.2, **asked).fit(WORLD.X, WORLD.Y)
    new = WORLD.Y_new_tasks[:, :20], WORLD.Y_new_both[:, :20]
    chosen = fixed.extend(new[0])
    found = fixed.audit(WORLD.X, new[0], classifiers=chosen)
    assert found.learned_tasks
    rates = np.abs(chosen.predict(WORLD.X) - new[0]).mean(axis=1)
    assert found.people.rate == pytest.approx(rates)
    assert fixed.audit(WORLD.X_new, new[1], classifiers=chosen).learned_tasks
    with pytest.raises(InputError, match=r"must not be False"):
        fixed.audit(WORLD.X_new, new[1], classifiers=chosen, learned_tasks=False)
    mapped = fixed.mapping_.extend(new[0])
    assert not fixed.audit(WORLD.X_new, new[1], classifiers=mapped).learned_tasks


def test_comparisons_are_as_observed(model):
    Y, plain = WORLD.Y_new_people, np.full(WORLD.Y_new_people.shape, 0.5)
    before = audit(Y, plain)
    after = audit(Y, model.decision_probability(WORLD.X_new), learned_tasks=True)
    for one, other in ((before, after), (after, before), (after, after)):
        found = compare(one, other)
        assert np.isnan([found.sigma2.value, found.sigma2.low]).all()
        assert not (found.people.better | found.people.worse).any()
        assert np.isnan(found.people.low).all()
        assert "variance of true rates" not in str(found)
        assert "trained on these tasks" in str(found)
        assert found.to_dict()["learned_tasks"]
    with pytest.raises(InputError, match=r"fresh tasks.*trained on these tasks"):
        drift(after, np.arange(12) // 6)


def test_curves_held_out(curve):
    new = {"X_new": WORLD.X_new, "Y_new_people": WORLD.Y_new_people}
    later = {"Y_new_tasks": WORLD.Y_new_tasks, "Y_new_both": WORLD.Y_new_both}
    test = generalisation(curve, **new, **later)
    for name, corner in test.corners.items():
        learned = name in ("training", "people")
        assert corner.learned_tasks == learned
        for column in ("sigma", "sigma_low", "denoised", "floor", "spread_floor", "noise_share"):
            assert np.isnan(getattr(corner, column)).all() == learned, (name, column)
        assert not np.isnan([corner.error, corner.near, corner.sd, corner.spread]).any()
    rates = np.abs(curve[0].model.decision_probability(WORLD.X_new) - WORLD.Y_new_people)
    assert test.people.sd[0] == pytest.approx(rates.mean(axis=1).std(ddof=1))
    only = generalisation(curve, **new)
    page = frontier_report(curve, WORLD.Y, measured=only)
    shown = page.split("<script")[0]
    assert "noise cannot be removed" in shown
    assert "SD of true rates" not in shown
    assert "SD of true rates" in frontier_report(curve, WORLD.Y, measured=test)
    ax = FrontierDisplay.from_frontier(curve, only).plot(y="near", corner="people")
    labels = [one.get_label() for one in ax.lines]
    assert "new people, observed" in labels
    assert "new people, without noise" not in labels


def write(folder, name, columns):
    rows = zip(*columns.values(), strict=True)
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (folder / name).write_text(f"{','.join(columns)}\n{text}\n")


@pytest.fixture
def tables(tmp_path):
    for name, X, Y in (
        ("people.csv", WORLD.X, WORLD.Y),
        ("new.csv", WORLD.X_new, WORLD.Y_new_people),
    ):
        columns = {"id": [f"{name[0]}{row}" for row in range(len(X))]}
        columns |= {f"x{place}": X[:, place] for place in range(X.shape[1])}
        columns |= {f"t{place}": Y[:, place].astype(int) for place in range(Y.shape[1])}
        write(tmp_path, name, columns)
    return tmp_path


def test_gates_judge_what_was_observed(tables):
    learn = ("people.csv", "--tasks", "t*", "--id", "id", "--alpha", ALPHA, "-o", "fair.model")
    run(tables, "fit", *learn, "--oracle", "regression", "--max-rounds", 5, code=None)
    run(tables, "predict", "fair.model", "new.csv", "--probabilities", "-o", "chances.csv")
    judge = ("audit", "new.csv", "chances.csv", "--tasks", "t*", "--id", "id", "--learned-tasks")
    told = json.loads(run(tables, *judge, "--json").out)
    near = told["curve"]["alpha"][told["curve"]["beta"].index(0.05)]
    for asked, judged, reached in (
        ("denoised", "near", near),
        ("sigma", "sd", told["dispersion"]["sd"]),
    ):
        gate = (*judge, "--fail-on", asked, "--fail-above")
        out = run(tables, *gate, reached - 0.001, code=1).out
        assert out.splitlines()[-1].startswith(f"FAIL: {judged} ")
        assert "as observed" in out.splitlines()[-1]
        assert f"replaces {asked})" in " ".join(out.split())
        said = json.loads(run(tables, *gate, reached + 0.001, "--json").out)
        assert (said["fail_on"], said["figure"]) == (judged, pytest.approx(reached))
    unmet = run(tables, *judge, "--alpha", 0.001, "--explain", code=1).out
    assert "Observed on these tasks: not met" in " ".join(unmet.split())
    run(tables, *judge, "--alpha", 0.5)


def test_the_curve_on_the_command_line(tables):
    asked = ("--tasks", "t*", "--id", "id", "--alphas", "0.1,0.2", "--test", "new.csv")
    asked += ("--oracle", "regression", "--decisions", "drawn")
    more = ("--max-rounds", 5, "-o", "curve.html")
    out = " ".join(run(tables, "frontier", "people.csv", *asked, *more, code=None).out.split())
    assert "noise alone" not in out
    assert "They contain noise, and say nothing about other tasks" in out
    told = json.loads(
        run(tables, "frontier", "people.csv", *asked, "--max-rounds", 5, "--json", code=None).out
    )
    corner = told["held_out"]["people"]
    assert corner["learned_tasks"] is True
    assert corner["sigma"] == corner["denoised"] == corner["floor"] == [None, None]
