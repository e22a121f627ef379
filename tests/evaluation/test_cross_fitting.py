"""Cross-fitting: no decision comes from a model that has seen the person or the task."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    RegressionOracle,
    audit,
    cross_audit,
    frontier,
    generalisation,
)
from averagefair.datasets import make_synthetic
from averagefair.evaluation.cross_fitting import cross_chances
from averagefair.people.frames import Table

QUICK = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=5, mapping_rounds=2),
    "random_state": 0,
    "look_first": False,
}


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=60, m=20, d=6, random_state=0)


class Spy:
    """A mapping that remembers what it was made from, and decides by it."""

    def __init__(self, people, tasks, log):
        self.people, self.tasks, self.log = people, tasks, log

    def extend(self, labels):
        self.later = labels
        return self

    def decision_probability(self, people):
        shown, tasks = people.cells[:, 0], np.array(self.later.columns)
        self.log.append(({*shown}, {*self.people}, {*tasks}, {*self.tasks}))
        return shown[:, None] + np.arange(tasks.size)[None, :]


@pytest.mark.parametrize("folds", [2, (3, 5), (2, 4)])
@pytest.mark.parametrize("families", [None, np.arange(20) // 2])
def test_each_cell_is_left_out_once(folds, families):
    log, (rows, columns) = [], (30, 20)
    X = Table(np.arange(rows, dtype=float)[:, None], ("number",), None)
    names = tuple(f"t{task}" for task in range(columns))
    Y = Table((np.random.default_rng(0).random((rows, columns)) < 0.5) * 1.0, names, None)

    def learn(features, labels):
        return [Spy(features.cells[:, 0], labels.columns, log)], lambda table: table

    (chances,), labels, note = cross_chances(learn, X, Y, folds, task_families=families)
    assert labels.columns == names
    assert not np.isnan(chances).any()
    filled = set()
    for shown, known, tasks, learned in log:
        assert not shown & known
        assert not tasks & learned
        assert len(shown | known) == rows
        assert tasks | learned == {*names}
        if families is not None:
            own = {families[names.index(task)] for task in tasks}
            assert own.isdisjoint({families[names.index(task)] for task in learned})
        cells = {(row, task) for row in shown for task in tasks}
        assert not cells & filled
        filled |= cells
    assert len(filled) == rows * columns
    assert np.floor(chances[:, 0]).tolist() >= X.cells[:, 0].tolist()
    assert f"{len(log)} models" in note


def test_it_is_what_one_gets_by_hand(people):
    model = AverageFairClassifier(alpha=0.1, **QUICK)
    found = cross_audit(model, people.X, people.Y, folds=2, random_state=3)
    rng = np.random.default_rng(3)
    row, column = rng.permutation(60) % 2, rng.permutation(20) % 2
    chances = np.empty((60, 20))
    for here in range(2):
        for there in range(2):
            known, seen = row != here, column != there
            fitted = AverageFairClassifier(alpha=0.1, **QUICK)
            fitted.fit(people.X[known], people.Y[known][:, seen])
            later = fitted.mapping_.extend(people.Y[known][:, ~seen])
            chances[np.ix_(~known, ~seen)] = later.decision_probability(people.X[~known])
    by_hand = audit(people.Y, chances, random_state=3)
    assert found.people.rate.tolist() == pytest.approx(by_hand.people.rate.tolist())
    assert found.dispersion.sigma2.value == pytest.approx(by_hand.dispersion.sigma2.value)
    assert not found.learned_tasks
    assert "neither the person nor the task" in found.notes[0]
    assert not hasattr(model, "mapping_")


# New processes take longer than the fits.
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_workers_and_one_process_agree(people, backend):
    model = AverageFairClassifier(alpha=0.1, **QUICK)
    with parallel_config(backend=backend):
        one, two = (
            cross_audit(model, people.X, people.Y, folds=2, n_jobs=jobs) for jobs in (None, 2)
        )
    assert one.people.rate.tolist() == two.people.rate.tolist()


def test_pipelines_frames_and_groups(people):
    pd = pytest.importorskip("pandas")
    names = [f"p{number}" for number in range(60)]
    X = pd.DataFrame(people.X, index=names).add_prefix("x")
    Y = pd.DataFrame(people.Y, index=names).add_prefix("job ")
    model = AverageFairClassifier(alpha=0.1, **QUICK)
    scaled = make_pipeline(StandardScaler(), model)
    group = pd.Series(np.arange(60) % 2, index=names)[::-1]
    found = cross_audit(scaled, X, Y, folds=2, groups=group)
    assert found.people.name.tolist() == names
    assert found.tasks.name[0] == "job 0"
    assert found.groups[0].people.tolist() == [30, 30]
    # Least squares with an intercept decides alike on scaled features.
    plain = cross_audit(model, X, Y, folds=2)
    np.testing.assert_allclose(found.people.rate, plain.people.rate, atol=0.12)


def test_blanks_and_another_rate(people):
    Y = np.where(np.random.default_rng(1).random((60, 20)) < 0.2, np.nan, people.Y)
    model = AverageFairClassifier(alpha=0.2, rate="false_positive", **QUICK)
    found = cross_audit(model, people.X, Y, folds=2)
    assert found.rate == "false_positive"
    assert found.people.tasks.sum() == (Y == 0).sum()
    assert cross_audit(model, people.X, Y, folds=2, rate="error").rate == "error"


def test_a_curve_is_measured_so_too(people):
    curve = frontier(people.X, people.Y, [0.1, 0.3], **QUICK)
    crossed = generalisation(curve, cross=(people.X, people.Y), folds=2).both
    assert (crossed.n, crossed.m) == (60, 20)
    assert not crossed.learned_tasks
    assert np.isfinite(crossed.sigma).all()
    assert all(pays is not None for pays in crossed.who_pays)
    assert crossed.error[0] >= crossed.error[1] - 0.02
    with pytest.raises(InputError, match="either `cross` or `Y_new_both`"):
        generalisation(
            curve,
            cross=(people.X, people.Y),
            X_new=people.X,
            Y_new_tasks=people.Y,
            Y_new_both=people.Y,
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"folds": 1}, "folds"),
        ({"folds": (2, 2, 2)}, "one number, or two"),
        ({"folds": (2, 15)}, "15 folds of tasks need at least 30 tasks; there are 20"),
        ({"folds": (40, 2)}, "40 folds of people"),
        ({"random_state": -1}, "random_state"),
        ({"alpha": 3}, "alpha"),
        ({"estimator": LogisticRegression()}, "LogisticRegression"),
        ({"estimator": AverageFairClassifier(rate=["error", "false_positive"])}, "one rate"),
        ({"Y": np.full((60, 20), 2.0)}, "2"),
    ],
)
def test_bad_input(people, change, words):
    given = {
        "estimator": AverageFairClassifier(alpha=0.1, **QUICK),
        "X": people.X,
        "Y": people.Y,
    } | change
    with pytest.raises(InputError, match=words):
        cross_audit(**given)


def test_ctrl_c_in_a_fold_ends_it(people):
    """A fit ends with its best answer so far, but an audit of such folds would be no audit."""
    rounds = []

    def impatient(now):
        rounds.append(now)
        if len(rounds) == 12:
            raise KeyboardInterrupt

    model = AverageFairClassifier(alpha=0.02, callback=impatient, **QUICK)
    model.fit(people.X, people.Y)
    assert len(rounds) < 12
    with pytest.raises(KeyboardInterrupt):
        cross_audit(model, people.X, people.Y, folds=3)
    assert len(rounds) == 12
