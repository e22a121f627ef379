"""What is concluded from the tables: envelopes, comparisons and exponents, by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from averagefair.experiments import SOLVERS, Table, at_equal_unfairness, envelope, exponents
from averagefair.experiments.findings import interval, point_by_point, power_law

PUBLISHED, COLUMNS = SOLVERS
COIN = (0.0, 0.5)


# The envelope.


def least_error(points, most):
    """The least error of one model, or of two decided between by a coin, no more unfair than this.

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


def draws(curves, *, setting=200, sigma_low=0.01):
    """A table of random splits: ``curves[corner][solver]`` lists (alpha, unfairness, error).

    In draw k errors of the published setting are higher by the k-th of ``SHIFTS`` times the
    share of the unfairness. In corners not given, people are not shown to differ.
    """
    rows = []
    everywhere = {"people": CURVES, "tasks": CURVES, "both": CURVES} | curves
    for split, shift in enumerate(SHIFTS):
        for corner, by_solver in everywhere.items():
            for solver, points in by_solver.items():
                for alpha, unfairness, error in points:
                    more = shift * unfairness / 0.1 if solver == PUBLISHED else 0.0
                    rows.append(
                        {
                            "learned_from": setting,
                            "split": split,
                            "solver": solver,
                            "corner": corner,
                            "alpha": alpha,
                            "error": error + more,
                            "sigma": unfairness,
                            "denoised": 2 * unfairness,
                            "sigma_low": sigma_low if corner in curves else 0.0,
                        }
                    )
    return Table.of_rows(rows)


SHIFTS = (0.0, 0.01, 0.03)
# The published models lie on the line from coin flips to (0.1, 0.2); ours halfway lie 0.1 below.
CURVES = {
    PUBLISHED: [(0.05, 0.05, 0.35), (0.5, 0.1, 0.2)],
    COLUMNS: [(0.05, 0.05, 0.25), (0.5, 0.1, 0.2)],
}
# At a share s of the unfairness of 0.1, the published line is at 0.5 - 0.3 s, ours at 0.5 - 0.5 s
# up to a half.
BY_HAND = {0.25: (0.425, 0.375), 0.5: (0.35, 0.25), 0.75: (0.275, 0.225), 1.0: (0.2, 0.2)}


def compared(table, **options):
    options = {"levels": list(BY_HAND)} | options
    return at_equal_unfairness(table, ("learned_from",), "split", **options)


@pytest.mark.parametrize("measure", ["sigma", "denoised"])
def test_gains_at_equal_unfairness_are_those_worked_out_by_hand(measure):
    found = compared(draws({"people": CURVES}), measure=measure)
    assert found["level"].tolist() == list(BY_HAND)
    for row in found:
        level = row["level"]
        theirs, ours = BY_HAND[level]
        gains = [theirs + level * shift - ours for shift in SHIFTS]
        assert row["gain"] == pytest.approx(np.mean(gains), abs=1e-12)
        assert row["published_error"] - row["column_generation_error"] == pytest.approx(row["gain"])
        assert row["column_generation_error"] == pytest.approx(ours, abs=1e-12)
        wanted = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(wanted, abs=1e-12)
        assert row["repeats"] == len(SHIFTS)
        assert (row["measure"], row["corner"], row["learned_from"]) == (measure, "people", 200)


def test_levels_are_shares_of_the_published_models_unfairness_for_both():
    """A solver whose own free model is fairer gets no other scale."""
    ours = [(0.5, 0.08, 0.2)]
    found = compared(draws({"people": {PUBLISHED: CURVES[PUBLISHED], COLUMNS: ours}}))
    lines = np.interp(0.1 * found["level"], [0, 0.08], [0.5, 0.2])
    np.testing.assert_allclose(found["column_generation_error"], lines, atol=1e-12)


def test_settings_and_corners_are_compared_apart():
    low = {solver: [(a, u, e - 0.1) for a, u, e in points] for solver, points in CURVES.items()}
    tables = [
        draws({"people": CURVES, "both": low}),
        draws({"tasks": low, "training": CURVES}, setting=1595),
    ]
    found = compared(Table.of_rows(row for table in tables for row in table), levels=[0.5])
    assert {
        (row["learned_from"], row["corner"]): round(row["column_generation_error"], 9)
        for row in found
    } == {(200, "people"): 0.25, (200, "both"): 0.15, (1595, "tasks"): 0.15}


def test_where_people_are_not_shown_to_differ_there_is_nothing_to_compare():
    table = draws({"people": CURVES, "tasks": CURVES})
    columns = dict(table.columns)
    # Of one draw of one corner; that of a constrained model says nothing.
    hidden = (table["corner"] == "tasks") & (table["split"] == 1) & (table["alpha"] == 0.5)
    constrained = table["alpha"] == 0.05
    columns["sigma_low"] = np.where(hidden | constrained, 0.0, 0.01)
    found = compared(Table(columns))
    assert found.distinct("corner") == ["people"]
    assert point_by_point(Table(columns), ("learned_from",), "split").distinct("corner") == [
        "people"
    ]


def test_where_nothing_can_be_compared_the_table_is_empty_and_has_its_columns():
    table = draws({"people": CURVES}, sigma_low=0.0)
    whole = compared(draws({"people": CURVES}))
    found = compared(table)
    assert len(found) == 0
    assert list(found.columns) == list(whole.columns)


def test_single_models_are_held_against_the_published_curve_at_their_own_unfairness():
    ours = [(0.05, 0.05, 0.25), (0.1, 0.02, 0.46), (0.2, 0.3, 0.19), (0.5, 0.1, 0.2)]
    table = draws({"both": {PUBLISHED: CURVES[PUBLISHED], COLUMNS: ours}})
    found = point_by_point(table, ("learned_from",), "split")
    assert found["alpha"].tolist() == [0.05, 0.1, 0.2, 0.5]
    for row, (_, unfairness, error) in zip(found, ours, strict=True):
        share = min(1.0, unfairness / 0.1)
        gains = [0.5 - (0.3 - shift) * share - error for shift in SHIFTS]
        wanted = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
        assert row["gain"] == pytest.approx(np.mean(gains), abs=1e-12)
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(wanted, abs=1e-12)
        assert row["repeats"] == 3


# Intervals and power laws.


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_intervals_are_students(seed, confidence):
    values = np.random.default_rng(seed).normal(size=2 + 3 * seed)
    found = interval(values, confidence)
    wanted = stats.ttest_1samp(values, 0.0).confidence_interval(confidence)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(wanted)


def test_a_single_draw_has_no_interval():
    found = interval([0.25])
    assert found.value == 0.25
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize("seed", range(6))
def test_power_laws_are_least_squares_of_logarithms(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([10, 30, 100, 300, 1000, 3000][: 3 + seed % 4])
    values = 2.0 * sizes**-0.4 * np.exp(0.2 * rng.normal(size=len(sizes)))
    found = power_law(sizes, values)
    wanted = stats.linregress(np.log(sizes), np.log(values))
    half = stats.t.ppf(0.975, len(sizes) - 2) * wanted.stderr
    assert found.value == pytest.approx(wanted.slope, abs=1e-9)
    assert found.value == pytest.approx(np.polyfit(np.log(sizes), np.log(values), 1)[0], abs=1e-9)
    assert (found.low, found.high) == pytest.approx((wanted.slope - half, wanted.slope + half))


def test_values_that_have_no_logarithm_are_left_out():
    sizes, values = [10, 20, 40, 80, 160], [1.0, 0.0, 0.3, -0.1, 0.05]
    assert power_law(sizes, values) == pytest.approx(power_law([10, 40, 160], [1.0, 0.3, 0.05]))
    assert np.isnan(power_law(sizes, [0.0, 0.0, 1.0, 0.0, -1.0])).all()
    two = power_law([10, 1000], [1.0, 0.1])
    assert two.value == pytest.approx(-0.5)
    assert np.isnan([two.low, two.high]).all()


def grown(direction, quantity, law, sizes, populations=4):
    """A table of growth in which the root mean square over populations follows a law exactly."""
    rows = []
    factors = np.array([0.5, -1.0, 1.5, 0.2])[:populations]
    factors = factors / np.sqrt((factors**2).mean())
    for solver in SOLVERS:
        for size in sizes:
            for population, factor in enumerate(factors):
                value = law(size, solver) * factor
                rows.append(
                    {"direction": direction, "size": size, "population": population}
                    | {"solver": solver, "excess": np.nan, "moved": np.nan, quantity: value}
                )
    return Table.of_rows(rows)


def test_exponents_of_exact_power_laws():
    power = {PUBLISHED: -0.5, COLUMNS: -0.3}
    people = grown("people", "excess", lambda n, who: 2.0 * n ** power[who], [1000, 100, 10_000])
    tasks = grown("tasks", "moved", lambda m, who: 0.3 * m ** (power[who] / 2), [10, 100, 1000])
    both = Table.of_rows([*people, *tasks])
    found = exponents(both)
    assert len(found) == 4
    for row in found:
        halved = 2 if row["direction"] == "tasks" else 1
        assert row["exponent"] == pytest.approx(power[row["solver"]] / halved, abs=1e-9)
        assert (row["exponent_low"], row["exponent_high"]) == pytest.approx(
            (row["exponent"], row["exponent"]), abs=1e-6
        )
        # n ~ 1 / alpha^2 and m ~ 1 / alpha^4 in the theorems of generalisation.
        assert row["predicted"] == {"people": -1 / 2, "tasks": -1 / 4}[row["direction"]]
        assert (row["smallest"], row["largest"]) == (
            (100, 10_000) if halved == 1 else (10, 1000)
        )
        scale = 2.0 if halved == 1 else 0.3
        for end in ("smallest", "largest"):
            wanted = scale * row[end] ** (power[row["solver"]] / halved)
            assert row[f"at_{end}"] == pytest.approx(wanted)


def test_exponents_of_one_direction_alone():
    tasks = grown("tasks", "moved", lambda m, _: m**-0.25, [10, 100, 1000])
    found = exponents(tasks)
    assert found["direction"].tolist() == ["tasks", "tasks"]
    np.testing.assert_allclose(found["exponent"], -0.25, atol=1e-9)
