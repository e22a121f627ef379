"""On a GPU: the kernels against float64, the published runs, too little memory."""

from __future__ import annotations

import numpy as np
import pytest

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    InputError,
    Learner,
    LogisticOracle,
    Polished,
    RegressionOracle,
    Sample,
)
from averagefair.datasets import communities_split, load_communities, make_synthetic
from averagefair.errors import DeviceMemoryError
from averagefair.game.costs import Costs
from averagefair.oracles import default_oracle
from tests.support.experiment_judges import DATA, needs_data, published_rows

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def on_gpu(array):
    return torch.asarray(array, device="cuda")


@needs_data
@pytest.mark.parametrize("row", published_rows().values(), ids=lambda row: f"alpha={row['alpha']}")
def test_published_runs_are_reproduced(row):
    split = communities_split(load_communities(DATA))
    solver = ExponentiatedGradient.published(max_rounds=1000)
    model = AverageFairClassifier(alpha=row["alpha"], solver=solver)
    certificate = model.fit(on_gpu(split.X), on_gpu(split.Y)).certificate_
    assert certificate.rounds == row["rounds"]
    assert certificate.error == pytest.approx(row["error"], abs=1e-6)
    assert certificate.spread == pytest.approx(row["spread"], abs=1e-6)


SHAPES = [(1, 1, 1), (37, 5, 3), (1000, 33, 64), (4099, 129, 65), (2000, 16, 200)]


@pytest.mark.parametrize("rate", ["error", "false_positive", ["false_positive", "false_negative"]])
@pytest.mark.parametrize(("n", "m", "d"), SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "tf32"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_round_is_numpys_but_where_a_score_is_nearly_zero(n, m, d, rate, dtype):
    """With blanks, absent people, means far from zero; checked in float64 from coefficients."""
    draw = np.random.default_rng(n + m + d)
    X = draw.normal(size=(n, d)) + 10 * draw.normal(size=d)
    X = X.astype(np.float32).astype(np.float64)
    Y = (draw.uniform(size=(n, m)) < 0.4).astype(float)
    Y[draw.uniform(size=Y.shape) < 0.1] = np.nan
    Y[0, 0] = 0
    counts = draw.integers(0, 3, n)
    counts[0] = 1
    here = Learner(Sample(X, Y, individual_weights=counts), rate, RegressionOracle(l2=0.1))
    there = Learner(
        Sample(on_gpu(X), on_gpu(Y), individual_weights=counts, dtype=dtype),
        rate,
        RegressionOracle(l2=0.1),
    )
    weights = draw.normal(scale=1.0, size=len(here.constraints))
    exact, found = here.respond(weights), there.respond(on_gpu(weights))
    scores = X @ exact.hypothesis.coefficients + exact.hypothesis.intercepts
    typical = np.abs(X) @ np.abs(exact.hypothesis.coefficients) + np.abs(
        exact.hypothesis.intercepts
    )
    rounding = {"float64": 1e-11, "float32": 1e-5, "tf32": 1e-3}[dtype]
    unsure = np.abs(scores) <= rounding * typical
    differ = found.hypothesis.decide(X) != exact.hypothesis.decide(X)
    assert not (differ & ~unsure).any()
    # Count the decisions in float64; the rates agree except for cells that rounding decides.
    people = there.constraints.people
    off = np.abs(found.rates.cpu().numpy() - exact.rates)
    allowed = unsure.sum(axis=1)[people] * m / np.maximum(1, np.sum(Y == Y, axis=1)[people])
    assert (off <= allowed + 1e-9).all()


def test_tf32_is_never_silent():
    """PyTorch's switch changes nothing."""
    people = make_synthetic(n=3000, m=40, random_state=0)
    X = people.X + np.random.default_rng(0).normal(size=people.X.shape)
    solver = ExponentiatedGradient.published(5)
    answers = []
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for switch in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = switch
            weight = np.linspace(1, 2, 40)  # unequal weights use the code without kernels
            model = AverageFairClassifier(alpha=0.2, solver=solver, dtype="float32", random_state=0)
            model.fit(on_gpu(X), on_gpu(people.Y), task_weight=weight)
            answers.append(model.individual_rates_)
            assert torch.backends.cuda.matmul.allow_tf32 == switch
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    assert (answers[0] == answers[1]).all()


@pytest.mark.parametrize("rate", ["error", "false_negative"])
def test_column_generation_keeps_its_promise(rate):
    people = make_synthetic(n=2000, m=64, random_state=0)
    model = AverageFairClassifier(
        alpha=0.1, rate=rate, solver=ColumnGeneration(max_rounds=20), dtype="float32"
    ).fit(on_gpu(people.X), on_gpu(people.Y))
    assert model.certificate_.met
    assert isinstance(model.decision_probability(on_gpu(people.X)), torch.Tensor)


def test_devices_do_not_mix():
    people = make_synthetic(n=50, m=5)
    with pytest.raises(InputError, match="X is torch on cuda:0, Y is torch on cpu"):
        AverageFairClassifier().fit(on_gpu(people.X), torch.asarray(people.Y))


def test_memory_that_does_not_suffice():
    X = torch.randn((100_000, 32), device="cuda")
    Y = (torch.rand((100_000, 400), device="cuda") < 0.5).to(torch.int8)
    learner = Learner(Sample(X, Y), "error", RegressionOracle())
    weights = torch.zeros(100_000, dtype=torch.float64, device="cuda")
    torch.cuda.empty_cache()
    allowed = torch.cuda.memory_allocated() + 50_000_000
    torch.cuda.set_per_process_memory_fraction(
        allowed / torch.cuda.get_device_properties(0).total_memory
    )
    try:
        with pytest.raises(
            DeviceMemoryError, match=r"cuda:0 has too little memory for a best response: .*float32"
        ):
            learner.respond(weights)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "oracle",
    [LogisticOracle(), Polished(RegressionOracle()), default_oracle()],
    ids=["logistic", "polished", "default"],
)
def test_better_oracles_answer_as_they_do_on_the_processor(oracle, dtype):
    """Several blocks of tasks and consecutive rounds, compared by the cost of decisions."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(5000, 12)).astype(np.float32).astype(np.float64)
    Y = X @ draw.normal(size=(12, 70)) + 2 * draw.normal(size=(5000, 70)) > 0
    here, there = Sample(X, Y), Sample(on_gpu(X), on_gpu(Y), dtype=dtype)
    asked, answered = oracle.bind(here), oracle.bind(there)
    for _ in range(4):
        price = (draw.lognormal(size=5000) - 0.3) / 5000
        costs = Costs(here, price, price)
        moved = on_gpu(price)
        found = costs.above_zero(answered(Costs(there, moved, moved)))
        wanted = costs.above_zero(asked(costs))
        np.testing.assert_allclose(found, wanted, atol=0.004)
