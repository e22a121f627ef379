"""The numbers that the paper's authors published for their own runs."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    ExponentiatedGradient,
    RegressionOracle,
    frontier,
    held_out,
)
from averagefair.datasets import communities_split, load_communities
from tests.support.experiment_judges import DATA, PublishedGame, needs_data, published_rows
from tests.support.judges import plain_rates
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def split():
    return communities_split(load_communities(DATA))


def some(alphas, quick):
    """Return alphas as parameters; all but the quick ones are for the long tests."""
    return [
        pytest.param(alpha, id=f"{alpha}", marks=() if alpha in quick else pytest.mark.long)
        for alpha in alphas
    ]


@needs_data
@pytest.mark.parametrize("alpha", some(published_rows(), quick=(0.02, 0.1, 0.2)))
def test_published_runs_are_reproduced(split, alpha):
    row = published_rows()[alpha]
    solver = ExponentiatedGradient.published(max_rounds=1000)
    model = AverageFairClassifier(alpha=alpha, solver=solver).fit(split.X, split.Y)
    certificate = model.certificate_
    assert certificate.rounds == row["rounds"]
    assert certificate.error == pytest.approx(row["error"], abs=1e-6)
    assert certificate.common_rate == pytest.approx(row["common_rate"], abs=1e-6)
    assert certificate.deviation == pytest.approx(row["max_deviation"], abs=1e-6)
    assert certificate.spread == pytest.approx(row["spread"], abs=1e-6)
    assert certificate.met


# Alphas that are not in the authors' rows. A plain loop gives the numbers; at 0.19 the authors also
# do.
UNSEEN = (0.03, 0.07, 0.11, 0.15, 0.19)
AT_19 = {"error": 0.198235, "common_rate": 0.283, "spread": 0.3785}


def published_fit(X, Y, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some runs between the rows miss alpha
        return AverageFairClassifier(alpha=alpha, solver=ExponentiatedGradient.published()).fit(
            X, Y
        )


@needs_data
@pytest.mark.parametrize("alpha", some(UNSEEN, quick=(0.07, 0.19)))
def test_the_authors_setting_at_other_alphas_is_that_of_a_plain_loop(split, alpha):
    game = PublishedGame(split.X, split.Y, alpha)
    if alpha == 0.19:
        assert game.error == pytest.approx(AT_19["error"], abs=1e-6)
        assert game.common_rate == pytest.approx(AT_19["common_rate"], abs=1e-9)
        assert np.ptp(game.rates) == pytest.approx(AT_19["spread"], abs=1e-9)
    model = published_fit(split.X, split.Y, alpha)
    assert model.certificate_.rounds == len(game.path)
    assert model.error_ == pytest.approx(game.error, abs=1e-9)
    assert model.common_rate_ == pytest.approx(game.common_rate, abs=1e-9)
    np.testing.assert_allclose(model.individual_rates_, game.rates, rtol=0, atol=1e-9)


@needs_data
def test_the_order_of_people_does_not_move_a_published_run(split):
    """Sums round differently in another order; rounding must not break ties."""
    order = np.random.default_rng(5).permutation(len(split.X))
    model = published_fit(split.X[order], split.Y[order], 0.19)
    assert model.error_ == pytest.approx(AT_19["error"], abs=1e-6)
    assert model.common_rate_ == pytest.approx(AT_19["common_rate"], abs=1e-9)
    assert model.certificate_.spread == pytest.approx(AT_19["spread"], abs=1e-9)


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("alpha", published_rows())
def test_the_plain_loop_gives_the_authors_rows(split, alpha):
    row, game = published_rows()[alpha], PublishedGame(split.X, split.Y, alpha)
    assert game.error == pytest.approx(row["error"], abs=1e-6)
    assert game.common_rate == pytest.approx(row["common_rate"], abs=1e-6)
    assert np.abs(game.rates - game.common_rate).max() == pytest.approx(
        row["max_deviation"], abs=1e-6
    )
    assert np.ptp(game.rates) == pytest.approx(row["spread"], abs=1e-6)


@needs_data
def test_published_generalisation_is_reproduced(split):
    """The published setting at alpha = 0.10: error and spread on held-out people and tasks."""
    solver = ExponentiatedGradient.published()
    model = AverageFairClassifier(alpha=0.10, solver=solver, random_state=0).fit(split.X, split.Y)
    test = held_out(
        model,
        X_new=split.X_new,
        Y_new_people=split.Y_new_people,
        Y_new_tasks=split.Y_new_tasks,
        Y_new_both=split.Y_new_both,
    )
    for corner, error, spread in (
        (test.people, 0.3418, 0.290),
        (test.tasks, 0.2996, 0.406),
        (test.both, 0.3292, 0.381),
    ):
        assert corner.error == pytest.approx(error, abs=1e-4)
        assert corner.spread == pytest.approx(spread, abs=1e-3)


# The error of rough prototypes of column generation, and that of the authors' setting: their rows
# at 0.02, 0.10 and 0.20, re-runs at 0.05 and 0.15.
PROTOTYPE = {0.02: (0.270, 0.368), 0.05: (0.242, 0.291), 0.10: (0.208, 0.301)}
PROTOTYPE |= {0.15: (0.183, 0.251), 0.20: (0.1712, 0.181)}


@needs_data
@pytest.mark.parametrize(
    ("alpha", "seed"),
    [
        pytest.param(alpha, seed, marks=() if quick else pytest.mark.long)
        for alpha in PROTOTYPE
        for seed, quick in ((0, alpha == 0.05), (1, False))
    ],
)
def test_the_default_solver_errs_far_less_than_the_authors_setting(split, alpha, seed):
    # As published: averages over draws. At 0.02 no fixed choice of 50 tasks keeps the promise.
    model = AverageFairClassifier(alpha=alpha, decisions="drawn", random_state=seed)
    model.fit(split.X, split.Y)
    prototype, authors = PROTOTYPE[alpha]
    assert model.error_ <= prototype < authors
    assert np.ptp(plain_rates(split.Y, model.decision_probability(split.X), "error")) <= (
        2 * alpha + 1e-6
    )


@needs_data
@pytest.mark.parametrize(
    "alphas",
    [[0.05, 0.15], pytest.param([0.05, 0.10, 0.15, 0.20], marks=pytest.mark.long)],
    ids=["two", "four"],
)
def test_the_curve_beats_mixing_in_coin_flips(split, alphas):
    """The paper's baseline at the same spread; unconstrained least squares errs on 0.170."""
    curve = frontier(
        *(split.X, split.Y, alphas),
        oracle=RegressionOracle(),
        solver=ColumnGeneration(mapping_rounds=0),
        random_state=0,
        look_first=False,
    )
    assert curve.unconstrained.error <= 0.1705
    for point in curve:
        if point.unconstrained_width > 2 * point.value:  # else nothing binds
            assert point.error < point.coin_flips - 0.01
    assert curve.at(0.05).error < curve.at(0.05).coin_flips - 0.05


@needs_data
def test_the_default_oracle_errs_less(split):
    """Less than the paper's at every alpha; 0.190 at 0.10 and 0.150 without a constraint."""
    solver = ColumnGeneration(mapping_rounds=0)
    curve = frontier(
        split.X, split.Y, [0.05, 0.10], solver=solver, random_state=0, look_first=False
    )
    assert curve.unconstrained.error <= 0.150
    assert np.all([point.error for point in curve] <= np.array([0.200, 0.170]))
    for point in curve:
        assert point.error < point.coin_flips - 0.05


def cells_of(page, words):
    """Return the cells of the only row that begins with this text, by the alphas above it."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith(f"| {words} |"))
    head = next(line for line in reversed(lines[:place]) if line.startswith("| `alpha` |"))
    alphas, cells = (
        [cell.strip() for cell in row.split("|")[2:-1]] for row in (head, lines[place])
    )
    return {float(alpha): cell for alpha, cell in zip(alphas, cells, strict=True)}


@needs_data
def test_what_the_readme_calls_published_are_the_authors_rows(split):
    rows = published_rows()
    assert min(rows) == 0.02
    for alpha, cell in cells_of("README.md", "error of the authors' published runs").items():
        assert cell == (f"{rows[alpha]['error']:.3f}" if alpha in rows else "")


@needs_data
@pytest.mark.parametrize("alpha", [0.05, 0.15])
def test_what_the_experiments_page_shows_beside_them_are_re_runs(split, alpha):
    assert alpha not in published_rows()
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    communities = page.partition("<!-- table: communities-convergence -->")[2]
    row = communities.partition(f"| authors' setting | {alpha:.2f} |")[2].splitlines()[0]
    error = row.split("|")[2].strip()
    assert error == f"{published_fit(split.X, split.Y, alpha).error_:.4f}"


@pytest.mark.parametrize(
    "folder", ["README.md", "docs", "examples", "src", "reproduction", "tools", "benchmarks"]
)
def test_nothing_of_ours_is_called_the_papers_or_published(folder):
    """The paper's text has no replay and no shrinking; our re-runs were not published."""
    found = [ROOT / folder] if folder.endswith(".md") else sorted((ROOT / folder).rglob("*"))
    ours = (page for page in found if "_build" not in page.parts)
    pages = [page for page in ours if page.suffix in (".md", ".py", ".js", ".html")]
    assert pages
    banned = r"paper's (own )?(method|published)|published (setting|models|curve|practice|answer)"
    for page in pages:
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert not re.findall(banned, text, re.IGNORECASE), page
