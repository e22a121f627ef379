"""Equal exposure against plain least squares, and where everybody is treated alike."""

import numpy as np
import pytest

from averagefair import audit
from averagefair.auditing.exposure import task_effects
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import tally


def of_losses(L, W, **options):
    return audit(np.where(W, 0.0, np.nan), np.where(W, L, 0.0), **options)


def least_squares(L, W, weights=None):
    """Fit L_ij = a_i + b_j by a design with a column for each person and task; b has mean 0."""
    n, m = L.shape
    rows, columns = np.nonzero(W)
    design = np.zeros((rows.size, n + m))
    design[np.arange(rows.size), rows] = 1.0
    design[np.arange(rows.size), n + columns] = 1.0
    fitted = np.linalg.lstsq(design, L[W], rcond=None)[0]
    b = fitted[n:]
    return fitted[:n] + b.mean(), b - b.mean()


@pytest.mark.parametrize("seed", range(5))
def test_effects_are_those_of_least_squares(seed):
    rng = np.random.default_rng(seed)
    L, W = rng.random((30, 12)), rng.random((30, 12)) < rng.uniform(0.2, 0.9, (30, 1))
    W[:, 0] = True
    a, b = least_squares(L, W)
    losses = Losses(np.where(W, L, np.nan), np.arange(30), tuple("abcdefghijkl"))
    np.testing.assert_allclose(task_effects(losses, tally(losses)), b, atol=1e-8)
    found = of_losses(L, W)
    np.testing.assert_allclose(found.equal_exposure.task_effects, b, atol=1e-8)
    np.testing.assert_allclose(found.equal_exposure.rates, a, atol=1e-7)


def test_a_task_that_nobody_met_has_no_effect():
    rng = np.random.default_rng(0)
    L, W = rng.random((30, 6)), rng.random((30, 6)) < 0.7
    W[:, 3] = False
    found = of_losses(L, W).equal_exposure
    _, b = least_squares(np.delete(L, 3, axis=1), np.delete(W, 3, axis=1))
    np.testing.assert_allclose(np.delete(found.task_effects, 3), b, atol=1e-8)
    assert found.task_effects[3] == 0.0


def test_where_all_met_the_same_tasks_there_is_one_view():
    L = np.random.default_rng(1).random((20, 10))
    found = of_losses(L, np.ones(L.shape, dtype=bool))
    assert found.equal_exposure is None
    assert "different tasks" not in str(found)
    assert found.to_dict()["equal_exposure"] is None


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (np.kron(np.eye(2), np.ones((20, 6))) > 0, "share no task"),
        (np.arange(60)[:, None] % 12 == np.arange(12), "fewer than 10 people"),
    ],
)
def test_without_the_view_the_reason_is_said(seen, words):
    rng = np.random.default_rng(2)
    seen = seen | (np.arange(seen.shape[1]) == 0) if words.startswith("fewer") else seen
    found = of_losses(rng.random(seen.shape), seen)
    assert found.equal_exposure is None
    assert any(words in note for note in found.notes)


def unequal_exposure(rng, n=300, m=60, sigma=0.0):
    """Everybody is equally likely to be wrong on a task, but people meet other shares of hard ones.

    With sigma, half of the people are wrong more often.
    """
    hard = np.arange(m) % 2 == 0
    chances = np.where(hard, 0.5, 0.1) + sigma * np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    share = rng.uniform(0.15, 0.85, (n, 1))
    met = rng.random((n, m)) < np.where(hard, share, 1.0 - share)
    return (rng.random((n, m)) < chances) * 1.0, met


def test_equal_treatment_that_looks_unequal():
    """Twenty tables. The chance of four false alarms at 5% each is 1.6%; seeds are fixed."""
    as_met, alike, shares = 0, 0, []
    for seed in range(20):
        found = of_losses(*unequal_exposure(np.random.default_rng(seed)))
        view = found.equal_exposure
        as_met += found.chance.p <= 0.05
        alike += view.chance.p <= 0.05
        shares.append(view.explained.value / found.dispersion.sigma2.value)
        assert view.matters
    assert as_met == 20
    assert alike <= 3
    assert abs(np.mean(shares) - 1.0) < 0.1
    assert "explains about" in str(found)


def test_unequal_treatment_stays_visible():
    found = of_losses(*unequal_exposure(np.random.default_rng(3), sigma=0.1))
    own = found.equal_exposure.dispersion.sigma2
    assert found.equal_exposure.chance.p <= 0.01
    assert own.low < 0.1**2 < own.high
    assert found.dispersion.sigma2.value > own.value


def test_residuals_are_stretched_for_the_fitted_effects():
    """With ten people on a task the noise would seem too small, and the variance too large."""
    values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        met = rng.random((100, 200)) < 0.11
        wrong = (rng.random(met.shape) < 0.3) * 1.0
        found = of_losses(wrong, met).equal_exposure
        values.append(found.dispersion.sigma2.value if found else np.nan)
    mean, error = np.nanmean(values), np.nanstd(values) / np.sqrt(np.isfinite(values).sum())
    noise = 0.3 * 0.7 / 22  # of a rate over 22 tasks
    assert abs(mean) < 4 * error + 0.02 * noise
    assert error < 0.05 * noise


def test_families_and_probabilities():
    rng = np.random.default_rng(4)
    L, W = unequal_exposure(rng)
    L = np.clip(L * 0.8 + 0.1 * rng.random(L.shape), 0, 1)
    families = np.arange(60) // 2
    found = of_losses(L, W, task_families=families).equal_exposure
    _, b = least_squares(L, W)
    np.testing.assert_allclose(found.task_effects, b, atol=1e-8)
    assert found.dispersion.units == 30
