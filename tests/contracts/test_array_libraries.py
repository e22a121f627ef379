"""Arrays of other libraries stay on their device, and the answers are those of NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    Equal,
    ExponentiatedGradient,
    InputError,
    Minimax,
    RegressionOracle,
    Sample,
    StumpOracle,
    WorstOff,
    frontier,
    generalisation,
    held_out,
    individual_rates,
    load,
    save,
)
from averagefair.datasets import communities_split, load_communities, make_synthetic
from averagefair.errors import DeviceMemoryError
from averagefair.people.backends import Space, to_host
from averagefair.showing.report import frontier_report
from tests.support.experiment_judges import DATA, needs_data, published_rows
from tests.support.judges import plain_rates

LIBRARIES = ["torch", "array_api_strict", "cupy"]
LONG = pytest.mark.long


def known(library):
    """Return the library; skip the test if the library or its device is missing."""
    found = pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "cupy" and not found.cuda.is_available():
        pytest.skip("CuPy has no CUDA device here")
    return found


@pytest.fixture(params=LIBRARIES)
def xp(request):
    return known(request.param)


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=40, m=16, n_holdout=40, m_holdout=6, random_state=1)


def with_blanks(labels):
    out = labels.astype(float)
    out[np.random.default_rng(0).uniform(size=out.shape) < 0.15] = np.nan
    out[::2, :2], out[1::2, :2] = [0, 1], [1, 0]  # everybody has a label of each kind
    return out


ROWS = list(published_rows().values())
# The strict library, which is slow, runs the algorithm in test_a_run_is_numpys.
QUICK_ROWS = {("torch", 0), ("cupy", 0)}
PUBLISHED = [
    pytest.param(
        library,
        row,
        # NumPy runs them all in tests/paper.
        marks=() if (library, place) in QUICK_ROWS else LONG,
        id=f"{library}-alpha={row['alpha']}",
    )
    for library in LIBRARIES
    for place, row in enumerate(ROWS)
]


@needs_data
@pytest.mark.parametrize(("library", "row"), PUBLISHED)
def test_published_runs_are_reproduced(library, row):
    xp = known(library)
    split = communities_split(load_communities(DATA))
    solver = ExponentiatedGradient.published(max_rounds=1000)
    model = AverageFairClassifier(alpha=row["alpha"], solver=solver)
    certificate = model.fit(xp.asarray(split.X), xp.asarray(split.Y)).certificate_
    assert certificate.rounds == row["rounds"]
    assert certificate.error == pytest.approx(row["error"], abs=1e-6)
    assert certificate.common_rate == pytest.approx(row["common_rate"], abs=1e-6)
    assert certificate.spread == pytest.approx(row["spread"], abs=1e-6)


RATES = ["error", "false_positive", ["false_positive", "false_negative"]]


@pytest.mark.parametrize("blanks", [False, True], ids=["complete", "blanks"])
@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize(
    "solver",
    [
        ExponentiatedGradient.published(40),
        ExponentiatedGradient(max_rounds=20, batch_size=4, resample=True, replay=False),
    ],
    ids=["all tasks", "batches"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_is_numpys(xp, people, rate, blanks, solver):
    labels = with_blanks(people.Y) if blanks else people.Y
    settings = {"alpha": 0.2, "rate": rate, "solver": solver, "random_state": 0}
    weight = np.random.default_rng(2).integers(0, 3, len(labels))
    there = AverageFairClassifier(**settings).fit(
        xp.asarray(people.X), xp.asarray(labels), sample_weight=weight
    )
    here = AverageFairClassifier(**settings).fit(people.X, labels, sample_weight=weight)
    assert there.error_ == pytest.approx(here.error_, abs=1e-12)
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-12)
    np.testing.assert_allclose(there.history_["spread"], here.history_["spread"], atol=1e-12)


REQUESTS = {"all": {}, "beta": {"beta": 0.1}, "influence": {"max_influence": 5.0}}
# For each request one rate, and for each rate one request; the others are long without a GPU.
QUICK = {
    "array_api_strict": {("all", 0), ("beta", 1), ("influence", 2)},
    "torch": {("all", 2), ("beta", 0), ("influence", 1)},
    "cupy": {*itertools.product(REQUESTS, range(len(RATES)))},
}


@pytest.mark.parametrize(
    ("library", "rate", "request_"),
    [
        pytest.param(
            *(library, rate, options),
            marks=() if (name, place) in QUICK[library] else LONG,
            id=f"{library}-{rate}-{name}",
        )
        for library in LIBRARIES
        for place, rate in enumerate(RATES)
        for name, options in REQUESTS.items()
    ],
)
def test_column_generation_keeps_its_promise(library, people, rate, request_):
    """Checked from the labels and the chances alone, because ties may be broken differently."""
    xp = known(library)
    enough = 15 if isinstance(rate, str) else 30  # enough for about the same result
    solver = ColumnGeneration(max_rounds=5 if request_ else enough, mapping_rounds=2)
    options = {"rate": rate, "solver": solver, "decisions": "drawn", "random_state": 0}
    model = AverageFairClassifier(alpha=0.1, **options, **request_)
    model.fit(xp.asarray(people.X), xp.asarray(people.Y))
    assert model.certificate_.met
    chances = model.decision_probability(people.X)
    kinds = [rate] if isinstance(rate, str) else rate
    rates = np.array([plain_rates(people.Y, chances, kind) for kind in kinds]).T
    np.testing.assert_allclose(model.individual_rates_.reshape(rates.shape), rates, atol=1e-9)
    if not request_:
        here = AverageFairClassifier(alpha=0.1, **options).fit(people.X, people.Y)
        assert model.error_ == pytest.approx(here.error_, abs=0.02)
        assert np.nanmax(np.ptp(rates, axis=0)) <= 0.2 + 1e-6


def rows_for_libraries(rows, alone):
    """Return all rows for all libraries; the strict one, which is slow, runs one row quickly."""
    return [
        pytest.param(
            library,
            *row,
            marks=LONG if library == "array_api_strict" and row != alone else (),
            id="-".join(map(str, (library, *row))),
        )
        for library in LIBRARIES
        for row in rows
    ]


PROMISES = [
    *(Cap(0.4), Cap(0.3, beta=0.1), Cap(0.4, no_harm=0.1), Minimax(levels=2)),
    *(WorstOff(0.1), WorstOff(0.1, max_rate=0.45), WorstOff(0.1, no_harm=0.02)),
    Equal(0.1, no_harm=0.05),
]


# Few rounds are enough to compare two runs, and may miss a promise.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("library", "promise", "rate"),
    rows_for_libraries(
        [
            *((promise, "error") for promise in PROMISES[::2]),
            *((promise, RATES[2]) for promise in PROMISES[1::4]),
        ],
        alone=(PROMISES[1], RATES[2]),
    ),
)
def test_every_promise_is_solved_as_in_numpy(library, people, promise, rate):
    xp = known(library)
    # Minimax finds several programs, one after the other.
    most = 40 if isinstance(promise, Minimax) else 10
    solver = ColumnGeneration(max_rounds=most, mapping_rounds=2)
    options = {"oracle": RegressionOracle(), "solver": solver, "decisions": "drawn"}
    there, here = (
        AverageFairClassifier(promise=promise, rate=rate, **options, random_state=0).fit(
            read(people.X), read(people.Y)
        )
        for read in (xp.asarray, np.asarray)
    )
    chances = there.decision_probability(people.X)
    kinds = [rate] if isinstance(rate, str) else rate
    rates = np.array([plain_rates(people.Y, chances, kind) for kind in kinds]).T
    np.testing.assert_allclose(there.individual_rates_.reshape(rates.shape), rates, atol=1e-9)
    assert there.error_ == pytest.approx(here.error_, abs=0.02)
    # A cap may bind in one run and not in the other.
    assert there.certificate_.reached == pytest.approx(here.certificate_.reached, abs=0.05)


@pytest.mark.parametrize(
    ("library", "rate"), rows_for_libraries([(rate,) for rate in RATES], alone=(RATES[2],))
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fixed_decisions_are_numpys(library, people, rate):
    """The solver's answers are the same, so the choice among them is the same too."""
    xp = known(library)
    labels = with_blanks(people.Y)
    solver = ExponentiatedGradient.published(8)
    options = {"rate": rate, "solver": solver, "decisions": "fixed", "random_state": 0}
    there = AverageFairClassifier(alpha=0.2, **options)
    there.fit(xp.asarray(people.X), xp.asarray(labels))
    here = AverageFairClassifier(alpha=0.2, **options).fit(people.X, labels)
    made = to_host(there.predict(xp.asarray(people.X)))
    np.testing.assert_array_equal(made, here.predict(people.X))
    np.testing.assert_array_equal(there.decision_probability(people.X), made)
    kinds = [rate] if isinstance(rate, str) else rate
    rates = np.array([plain_rates(labels, made.astype(float), kind) for kind in kinds]).T
    np.testing.assert_allclose(there.individual_rates_.reshape(rates.shape), rates, atol=1e-9)
    assert there.certificate_.met
    assert np.nanmax(np.nanmax(rates, axis=0) - np.nanmin(rates, axis=0)) <= 0.4 + 1e-6
    later = there.extend(xp.asarray(people.Y_new_tasks))
    expected = here.extend(people.Y_new_tasks)
    np.testing.assert_array_equal(later.predict(people.X_new), expected.predict(people.X_new))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_answers_come_where_the_question_is(xp, people):
    solver = ColumnGeneration(max_rounds=5, mapping_rounds=2)
    model = AverageFairClassifier(alpha=0.1, solver=solver, random_state=0).fit(
        xp.asarray(people.X), xp.asarray(people.Y)
    )
    new = xp.asarray(people.X_new)
    assert isinstance(model.decision_probability(new), type(new))
    assert isinstance(model.predict(new), type(new))
    for ask in (model.decision_probability, model.predict):
        np.testing.assert_allclose(to_host(ask(new)), ask(people.X_new), atol=1e-12)
    later = model.extend(xp.asarray(people.Y_new_tasks))
    assert later.decision_probability(people.X_new).shape == (40, 6)
    score = model.score(new, xp.asarray(people.Y_new_people))
    assert score == pytest.approx(model.score(people.X_new, people.Y_new_people))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_figures_and_curves_are_numpys(xp, people):
    solver = ColumnGeneration(max_rounds=3, mapping_rounds=2)
    options = {"oracle": RegressionOracle(), "solver": solver, "random_state": 0}
    options["decisions"] = "drawn"  # the choice has tests of its own
    curve = frontier(xp.asarray(people.X), xp.asarray(people.Y), [0.1, 0.2], **options)
    test = held_out(
        curve.model(0.1),
        X_new=xp.asarray(people.X_new),
        Y_new_people=xp.asarray(people.Y_new_people),
        Y_new_tasks=xp.asarray(people.Y_new_tasks),
    )
    chances = curve.model(0.1).decision_probability(people.X_new)
    rates = individual_rates(people.Y_new_people, chances)
    np.testing.assert_allclose(test.people.rates, rates, atol=1e-9)
    assert isinstance(test.tasks.rates, np.ndarray)
    measured = generalisation(
        curve, X_new=xp.asarray(people.X_new), Y_new_people=xp.asarray(people.Y_new_people)
    )
    assert measured.corners["people"].error[0] == pytest.approx(test.people.error, abs=1e-9)
    page = frontier_report(curve, xp.asarray(people.Y), measured=measured)
    assert page.startswith("<!DOCTYPE html>")
    found = curve.model(0.1).audit(xp.asarray(people.X_new), xp.asarray(people.Y_new_people))
    np.testing.assert_allclose(found.people.rate, rates, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_saved_model_is_numpys(xp, people, tmp_path):
    solver = ColumnGeneration(max_rounds=3, mapping_rounds=2)
    options = {"oracle": RegressionOracle(), "solver": solver, "dtype": "float32"}
    model = AverageFairClassifier(alpha=0.1, random_state=0, **options).fit(
        xp.asarray(people.X), xp.asarray(people.Y)
    )
    save(model, tmp_path / "fair.model", extendable=True)
    again = load(tmp_path / "fair.model")
    assert again.dtype == "float32"
    assert (again.predict(people.X_new) == model.predict(people.X_new)).all()
    here, there = again.extend(people.Y_new_tasks), model.extend(xp.asarray(people.Y_new_tasks))
    # The libraries round float32 scores differently: a score near zero may decide otherwise.
    pair = here.decision_probability(people.X_new), there.decision_probability(people.X_new)
    assert np.isclose(*pair, atol=1e-6).mean() >= 0.97


def test_libraries_do_not_mix(xp, people):
    with pytest.raises(InputError, match=r"one library, on one device; X is .*, Y is NumPy"):
        AverageFairClassifier().fit(xp.asarray(people.X), people.Y)
    solver = ExponentiatedGradient.published(5)
    model = AverageFairClassifier(alpha=0.2, solver=solver, random_state=0)
    model.fit(people.X, people.Y)
    with pytest.raises(InputError, match="the training sample is NumPy"):
        model.extend(xp.asarray(people.Y_new_tasks))


def test_devices_do_not_mix(people):
    xp = pytest.importorskip("array_api_strict")
    other = xp.asarray(people.Y, device=xp.Device("device1"))
    with pytest.raises(InputError, match="on one device"):
        AverageFairClassifier().fit(xp.asarray(people.X), other)


def test_a_device_that_is_not_the_first(people):
    xp = pytest.importorskip("array_api_strict")
    device = xp.Device("device1")
    X, Y = (xp.asarray(one, device=device) for one in (people.X, people.Y))
    solver = ExponentiatedGradient.published(20)
    there = AverageFairClassifier(alpha=0.2, solver=solver, random_state=0).fit(X, Y)
    here = AverageFairClassifier(alpha=0.2, solver=solver, random_state=0).fit(people.X, people.Y)
    np.testing.assert_allclose(there.individual_rates_, here.individual_rates_, atol=1e-12)
    assert there.decision_probability(X).device == device


def test_bad_cells_are_named(xp, people):
    labels, features = people.Y.astype(float), people.X.copy()
    labels[7, 3], features[5, 2] = 2.0, np.inf
    with pytest.raises(InputError, match="row 7, task 'task3' holds 2"):
        Sample(xp.asarray(people.X), xp.asarray(labels))
    with pytest.raises(InputError, match="row 5, column 2 is infinity"):
        Sample(xp.asarray(features), xp.asarray(people.Y))


def test_labels_that_are_true_or_false(xp, people):
    there = Sample(xp.asarray(people.X), xp.asarray(people.Y == 1))
    assert (to_host(there.signs) == Sample(people.X, people.Y).signs).all()


def test_an_oracle_of_numpy_says_so(xp, people):
    with pytest.raises(InputError, match="StumpOracle needs everybody in NumPy arrays"):
        AverageFairClassifier(oracle=StumpOracle()).fit(xp.asarray(people.X), xp.asarray(people.Y))


def test_tf32_is_for_gpus(xp, people):
    for X, Y in ((people.X, people.Y), (xp.asarray(people.X), xp.asarray(people.Y))):
        with pytest.raises(
            InputError, match="'tf32' needs X and Y as PyTorch tensors on an NVIDIA GPU"
        ):
            AverageFairClassifier(dtype="tf32").fit(X, Y)
    with pytest.raises(InputError, match="`dtype` must be one of float64, float32, tf32"):
        AverageFairClassifier(dtype="float16").fit(people.X, people.Y)


@pytest.mark.parametrize("library", [None, *LIBRARIES])
@pytest.mark.parametrize("rate", ["error", "false_positive"])
def test_float32_answers_as_float64_does_but_near_zero(people, library, rate):
    """With the same weights, scores that differ in sign are zero up to rounding."""
    from averagefair import Learner, RegressionOracle

    xp = np if library is None else known(library)
    X, Y = xp.asarray(people.X), xp.asarray(people.Y)
    weights = np.random.default_rng(0).normal(scale=0.05, size=len(people.X))
    plays = []
    for dtype in ("float64", "float32"):
        learner = Learner(Sample(X, Y, dtype=dtype), rate, RegressionOracle())
        plays.append(learner.respond(learner.sample.space.asarray(weights)))
    exact, rounded = plays
    scores = people.X @ exact.hypothesis.coefficients + exact.hypothesis.intercepts
    typical = np.abs(people.X) @ np.abs(exact.hypothesis.coefficients)
    assert rounded.hypothesis.coefficients == pytest.approx(
        exact.hypothesis.coefficients, abs=1e-5 * np.abs(exact.hypothesis.coefficients).max()
    )
    differ = rounded.hypothesis.decide(people.X) != exact.hypothesis.decide(people.X)
    assert (np.abs(scores)[differ] <= 1e-5 * typical[differ]).all()
    assert rounded.error == pytest.approx(exact.error, abs=2 / people.Y.size)


def test_memory_that_does_not_suffice():
    class OutOfMemoryError(RuntimeError):
        pass

    space = Space.of(np.zeros(1))
    with (
        pytest.raises(
            DeviceMemoryError, match=r"has too little memory for 64 plays.*3\.20 GB.*float32"
        ),
        space.guarded("64 plays", 3_200_000_000),
    ):
        raise OutOfMemoryError("tried to allocate")
    with pytest.raises(ZeroDivisionError), space.guarded("64 plays", 1):
        _ = 1 / 0
