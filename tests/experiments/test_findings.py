"""The findings from the tables: envelopes, comparisons and exponents, by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from averagefair.experiments import SOLVERS, ResultTable, at_equal_unfairness, envelope, exponents
from averagefair.experiments.findings import interval, point_by_point, power_law

PUBLISHED, COLUMNS = SOLVERS
COIN = (0.0, 0.5)


# The envelope.


def least_error(points, most):
    """Return the least error of a model, or a mixture of two, with at most this unfairness.

    Plain coin flips are one of the models.
    """
    models = [*points, COIN]
    found = [error for unfairness, error in models if unfairness <= most]
    for (low, one), (high, other) in product(models, models):
        if low <= most < high:
            share = (most - low) / (high - low)
            found.append((1 - share) * one + share * other)
    return min(found)


def random_models(seed):
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 12)
    unfairness = rng.choice([0.0, 0.05, 0.1, *rng.uniform(0, 0.3, 6)], count)  # with ties
    return list(zip(unfairness.tolist(), rng.uniform(0.05, 0.6, count).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_the_envelope_is_the_least_error_of_all_mixtures_of_two(seed):
    points = random_models(seed)
    line = envelope(*zip(*points, strict=True))
    asked = np.array([0.0, *np.linspace(0, 0.35, 50), *(x for x, _ in points)])
    wanted = [least_error(points, most) for most in asked]
    np.testing.assert_allclose(line.at(asked), wanted, rtol=0, atol=1e-12)
    assert (np.diff(line.unfairness) > 0).all()
    assert (np.diff(line.error) < 0).all()


def test_models_that_are_no_better_than_coins_leave_coins():
    line = envelope([0.1, 0.2], [0.5, 0.7])
    assert line.at(np.array([0.0, 0.1, 1.0])).tolist() == [0.5, 0.5, 0.5]


# Comparisons on made-up tables.

SHIFTS = (0.0, 0.01, 0.03)
# The published models lie on the line from coin flips to (0.1, 0.2); halfway, ours is 0.1 below.
CURVES = {
    PUBLISHED: [(0.05, 0.05, 0.35), (0.5, 0.1, 0.2)],
    COLUMNS: [(0.05, 0.05, 0.25), (0.5, 0.1, 0.2)],
}
# At a share s of the unfairness of 0.1, the published line is at 0.5 - 0.3 s, ours at 0.5 - 0.5 s
# up to a half.
BY_HAND = {0.25: (0.425, 0.375), 0.5: (0.35, 0.25), 0.75: (0.275, 0.225), 1.0: (0.2, 0.2)}


def rows_of(curves, split, *, setting=200, more=0.0):
    """Rows of one random split: ``curves[corner][solver]`` lists (alpha, unfairness, error).

    Errors of the published setting are higher by ``more`` times their share of the unfairness 0.1.
    """
    everywhere = {"people": CURVES, "tasks": CURVES, "both": CURVES} | curves
    return [
        {
            "learned_from": setting,
            "split": split,
            "solver": solver,
            "corner": corner,
            "alpha": alpha,
            "error": error + (more * unfairness / 0.1 if solver == PUBLISHED else 0.0),
            "sigma": unfairness,
            "sd": 2 * unfairness,
            "noise_share": 0.3 + 0.1 * split if alpha == 0.5 else 0.9,
        }
        for corner, by_solver in everywhere.items()
        for solver, points in by_solver.items()
        for alpha, unfairness, error in points
    ]


def draws(curves, **options):
    return [
        row
        for split, more in enumerate(SHIFTS)
        for row in rows_of(curves, split, more=more, **options)
    ]


def compared(rows, **options):
    options = {"levels": list(BY_HAND)} | options
    return at_equal_unfairness(ResultTable.of_rows(rows), ("learned_from",), "split", **options)


@pytest.mark.parametrize("measure", ["sigma", "sd"])
def test_gains_at_equal_unfairness_are_those_worked_out_by_hand(measure):
    found = compared(draws({"tasks": CURVES}), measure=measure).where(corner="tasks")
    assert found["level"].tolist() == list(BY_HAND)
    for row in found:
        level = row["level"]
        theirs, ours = BY_HAND[level]
        gains = [theirs + level * shift - ours for shift in SHIFTS]
        assert row["gain"] == pytest.approx(np.mean(gains), abs=1e-12)
        assert row["authors_setting_error"] - row["column_generation_error"] == pytest.approx(
            row["gain"]
        )
        assert row["column_generation_error"] == pytest.approx(ours, abs=1e-12)
        wanted = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(wanted, abs=1e-12)
        assert row["repeats"] == len(SHIFTS)
        assert row["noise_share"] == pytest.approx(0.4)  # of the unconstrained models
        assert (row["measure"], row["learned_from"]) == (measure, 200)


def test_levels_are_shares_of_the_published_models_unfairness_for_both():
    """A solver with a fairer unconstrained model uses the same scale."""
    ours = [(0.5, 0.08, 0.2)]
    found = compared(draws({"tasks": {PUBLISHED: CURVES[PUBLISHED], COLUMNS: ours}}))
    found = found.where(corner="tasks")
    assert len(found)
    lines = np.interp(0.1 * found["level"], [0, 0.08], [0.5, 0.2])
    np.testing.assert_allclose(found["column_generation_error"], lines, atol=1e-12)


def test_settings_and_corners_are_compared_apart():
    low = {solver: [(a, u, e - 0.1) for a, u, e in points] for solver, points in CURVES.items()}
    rows = draws({"both": low, "training": low}) + draws({"tasks": low}, setting=1595)
    found = compared(rows, levels=[0.5], measure="sd")
    fresh = compared(rows, levels=[0.5], measure="sigma")
    # New people are measured on the tasks learned from, where noise cannot be estimated.
    assert set(fresh["corner"]) == {"tasks", "both"}
    assert {
        (row["learned_from"], row["corner"]): round(row["column_generation_error"], 9)
        for row in found
    } == {
        **{(200, "people"): 0.25, (200, "tasks"): 0.25, (200, "both"): 0.15},
        **{(1595, "people"): 0.25, (1595, "tasks"): 0.15, (1595, "both"): 0.25},
    }


def test_one_draw_has_no_interval():
    found = compared(rows_of({}, 0))
    assert np.isfinite(found["gain"]).all()
    assert np.isnan(found["gain_low"]).all()
    assert np.isnan(found["gain_high"]).all()


# The same on curves that differ between draws, by leaving out one draw at a time.


def scattered(seed, count=4):
    """Return random curves for several draws: as rows, and by draw and solver."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        drawn.append(
            {
                solver: [
                    (alpha, scale * rng.uniform(0.8, 1.2), 0.5 - 2 * scale + rng.normal(0, 0.02))
                    for alpha, scale in ((0.05, 0.03), (0.1, 0.07), (0.2, 0.1), (0.5, 0.12))
                ]
                for solver in SOLVERS
            }
        )
    rows = [row for k, curves in enumerate(drawn) for row in rows_of({"both": curves}, k)]
    return rows, drawn


def mean_curve(drawn, solver):
    """At each alpha the root mean square of the unfairness and the mean error, over draws."""
    points = np.array([curves[solver] for curves in drawn])
    return list(
        zip(np.sqrt((points[:, :, 1] ** 2).mean(axis=0)), points[:, :, 2].mean(axis=0), strict=True)
    )


def left_out_one_by_one(estimate, drawn):
    """The jackknife: the estimate, and Student's interval from the estimates without one draw."""
    count = len(drawn)
    without = np.array([estimate(drawn[:k] + drawn[k + 1 :]) for k in range(count)])
    pseudo = count * estimate(drawn) - (count - 1) * without
    half = stats.t.ppf(0.975, count - 1) * np.sqrt(pseudo.var(ddof=1) / count)
    return estimate(drawn), estimate(drawn) - half, estimate(drawn) + half


@pytest.mark.parametrize("seed", range(5))
def test_gains_of_mean_curves_and_their_intervals(seed):
    rows, drawn = scattered(seed)
    for row in compared(rows, levels=[0.3, 0.7, 0.95]).where(corner="both"):

        def gain(kept, level=row["level"]):
            theirs, ours = (mean_curve(kept, solver) for solver in SOLVERS)
            most = level * theirs[-1][0]
            return least_error(theirs, most) - least_error(ours, most)

        wanted = left_out_one_by_one(gain, drawn)
        assert (row["gain"], row["gain_low"], row["gain_high"]) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_single_models_are_held_against_coin_flips_and_the_published_curve(seed):
    rows, drawn = scattered(seed)
    found = point_by_point(ResultTable.of_rows(rows), ("learned_from",), "split")
    found = found.where(corner="both")
    assert len(found) == len(found.only("solver", "alpha")) == 8
    for row in found:
        place = [0.05, 0.1, 0.2, 0.5].index(row["alpha"])

        def over(kept, models, place=place, solver=row["solver"]):
            unfairness, error = mean_curve(kept, solver)[place]
            return least_error(mean_curve(kept, PUBLISHED)[models], unfairness) - error

        free = left_out_one_by_one(lambda kept: over(kept, slice(3, 4)), drawn)
        flips = row["coin_flips"], row["coin_flips_low"], row["coin_flips_high"]
        assert flips == pytest.approx(free, abs=1e-9)
        told = row["gain"], row["gain_low"], row["gain_high"]
        if row["solver"] == COLUMNS:
            wanted = left_out_one_by_one(lambda kept: over(kept, slice(None)), drawn)
            assert told == pytest.approx(wanted, abs=1e-9)
        else:
            assert np.isnan(told).all()


# Intervals and power laws.


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_intervals_are_students(seed, confidence):
    values = np.random.default_rng(seed).normal(size=2 + 3 * seed)
    found = interval(values, confidence)
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(wanted)


def test_a_single_value_has_no_interval():
    found = interval([0.25])
    assert found.value == 0.25
    assert np.isnan([found.low, found.high]).all()


def fitted_by_hand(sizes, values):
    """Return the exponent by least squares with weights n (scatter n^(-1/2)), and its interval.

    A search over exponents finds the best; the scale follows from the exponent. The interval is
    that of the linearised problem at the best exponent.
    """
    sizes, values = np.asarray(sizes, float), np.asarray(values, float)
    x = sizes / sizes.min()

    def loss(exponent):
        law = x**exponent
        scale = (sizes * law) @ values / ((sizes * law) @ law)
        return sizes @ (values - scale * law) ** 2, scale

    found = optimize.minimize_scalar(
        lambda e: loss(e)[0], bounds=(-3, 1), method="bounded", options={"xatol": 1e-10}
    )
    exponent = found.x
    rest, scale = loss(exponent)
    slopes = np.sqrt(sizes)[:, None] * np.column_stack(
        [x**exponent, scale * x**exponent * np.log(x)]
    )
    free = len(sizes) - 2
    spread = np.linalg.inv(slopes.T @ slopes)[1, 1] * rest / free
    half = stats.t.ppf(0.975, free) * np.sqrt(spread)
    return exponent, exponent - half, exponent + half


@pytest.mark.parametrize("seed", range(6))
def test_power_laws_are_least_squares_that_count_every_size(seed):
    rng = np.random.default_rng(seed)
    sizes = np.repeat([10, 30, 100, 300, 1000, 3000][: 3 + seed % 4], 4)
    values = 2.0 * sizes**-0.4 + sizes**-0.5 * rng.normal(0, 0.3, len(sizes))
    found = power_law(sizes, values)
    wanted = fitted_by_hand(sizes, values)
    told = found.exponent.value, found.exponent.low, found.exponent.high
    assert told == pytest.approx(wanted, abs=1e-4)


def test_values_below_zero_count():
    """Negative values are noise around a law near 0; they must lower the exponent."""
    sizes, values = [10, 10, 100, 100, 1000, 1000], [1.1, 0.9, 0.11, 0.09, 0.05, -0.03]
    with_all, without = power_law(sizes, values), power_law(sizes[:5], values[:5])
    assert with_all.exponent.value == pytest.approx(fitted_by_hand(sizes, values)[0], abs=1e-4)
    assert with_all.exponent.value < without.exponent.value


def test_two_sizes_have_a_slope_and_no_interval_and_one_has_none():
    two = power_law([10, 1000], [1.0, 0.1])
    assert two.exponent.value == pytest.approx(-0.5, abs=1e-6)
    assert np.isnan([two.exponent.low, two.exponent.high]).all()
    one = power_law([10, 10, 10], [1.0, 0.9, 1.1])
    assert one.at_smallest == pytest.approx(1.0)
    assert np.isnan(one.exponent).all()


@pytest.mark.parametrize("power", [-0.5, -0.25, -1.0, 0.3])
def test_exact_power_laws(power):
    sizes = np.array([100, 1000, 10_000, 100_000])
    found = power_law(sizes, 0.7 * (sizes / 100) ** power)
    assert found.at_smallest == pytest.approx(0.7, rel=1e-6)
    told = found.exponent.value, found.exponent.low, found.exponent.high
    assert told == pytest.approx((power, power, power), abs=1e-5)
    logs = stats.linregress(np.log(sizes), np.log(0.7 * (sizes / 100) ** power))
    assert found.exponent.value == pytest.approx(logs.slope, abs=1e-5)


def grown(direction, quantity, law, sizes):
    """A table of growth; each population's value is a known multiple of a law."""
    rows = []
    for solver in (*SOLVERS, "no constraint"):
        for size in sizes:
            for population, factor in enumerate([0.9, 1.0, 1.1]):
                value = law(size, solver) * factor
                rows.append(
                    {"direction": direction, "size": size, "population": population}
                    | {"solver": solver, "excess": np.nan, "moved": np.nan, quantity: value}
                )
    return rows


def test_exponents_of_tables_that_follow_a_law():
    power = {PUBLISHED: -0.5, COLUMNS: -0.3, "no constraint": -0.8}
    people = grown("people", "excess", lambda n, who: 2.0 * n ** power[who], [1000, 100, 10_000])
    tasks = grown("tasks", "moved", lambda m, who: 0.3 * m ** (power[who] / 2), [10, 100, 1000])
    found = exponents(ResultTable.of_rows(people + tasks))
    assert {(row["direction"], row["solver"]) for row in found} == {
        (direction, solver) for direction in ("people", "tasks") for solver in power
    }
    for row in found:
        halved = 2 if row["direction"] == "tasks" else 1
        wanted = power[row["solver"]] / halved
        assert row["exponent"] == pytest.approx(wanted, abs=1e-4)
        assert row["exponent_low"] < wanted < row["exponent_high"]
        # n ~ 1 / alpha^2 and m ~ 1 / alpha^4 in the theorems of generalisation.
        assert row["predicted"] == {"people": -1 / 2, "tasks": -1 / 4}[row["direction"]]
        assert (row["smallest"], row["largest"]) == ((100, 10_000) if halved == 1 else (10, 1000))
        scale = 2.0 if halved == 1 else 0.3
        for end in ("smallest", "largest"):
            assert row[f"at_{end}"] == pytest.approx(scale * row[end] ** wanted)


def test_exponents_of_one_direction_alone():
    found = exponents(
        ResultTable.of_rows(grown("tasks", "moved", lambda m, _: m**-0.25, [10, 100, 1000]))
    )
    assert set(found["direction"]) == {"tasks"}
    np.testing.assert_allclose(found["exponent"], -0.25, atol=1e-4)
