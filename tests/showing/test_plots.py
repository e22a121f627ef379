"""The figures: a display's data are recomputed, and drawings are read back from the axes."""

import io
import subprocess
import sys
import warnings
from dataclasses import FrozenInstanceError
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from averagefair import (
    AverageFairClassifier,
    Cap,
    ColumnGeneration,
    DegenerateTaskWarning,
    ExponentiatedGradient,
    InputError,
    Minimax,
    RegressionOracle,
    UndefinedRateWarning,
    WorstOff,
    audit,
    frontier,
)
from averagefair.datasets import make_synthetic
from averagefair.evaluation.generalisation import generalisation
from averagefair.evaluation.held_out import held_out
from averagefair.showing import drawing
from averagefair.showing.plots import (
    ErrorSpreadDisplay,
    FrontierDisplay,
    RatesDisplay,
    TrajectoryDisplay,
)
from averagefair.showing.report import audit_report, frontier_report
from reproduction.pictures.panels import panels
from tests.support.cli_runs import environment
from tests.support.judges import plain_error, plain_rates

ALPHAS = [0.05, 0.1, 0.15]
BRIEF = {
    "oracle": RegressionOracle(),
    "solver": ColumnGeneration(max_rounds=15, mapping_rounds=3),
    "random_state": 0,
}
BOTH = ["false_positive", "false_negative"]
MANY = 200_000


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=60, m=20, n_holdout=40, m_holdout=12, random_state=0)


@pytest.fixture(scope="module")
def curve(people):
    return frontier(people.X, people.Y, ALPHAS, **BRIEF)


@pytest.fixture(scope="module")
def two(people):
    Y = people.Y.astype(float)
    Y[3, Y[3] == 0] = np.nan  # person 3 has no false-positive rate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedRateWarning)
        return frontier(people.X, Y, [0.1, 0.2], rate=BOTH, **BRIEF), Y


@pytest.fixture(scope="module")
def tested(people, curve):
    return generalisation(
        curve,
        X_new=people.X_new,
        Y_new_people=people.Y_new_people,
        Y_new_tasks=people.Y_new_tasks,
        Y_new_both=people.Y_new_both,
    )


OTHERS = {"price": (WorstOff(0.2), [0.1, 0.5]), "max_rate": (Cap(), [0.4, 0.6])}


@pytest.fixture(scope="module", params=OTHERS)
def other(request, people):
    """A curve that does not promise equal rates."""
    promise, values = OTHERS[request.param]
    return frontier(people.X, people.Y, values, promise=promise, **BRIEF)


@pytest.fixture(scope="module")
def models(people):
    solver = ExponentiatedGradient(max_rounds=150, tol=None)
    played = AverageFairClassifier(alpha=0.3, solver=solver, random_state=0)
    generated = AverageFairClassifier(alpha=0.1, **BRIEF)
    return [played.fit(people.X, people.Y), generated.fit(people.X, people.Y)]


def line(ax, label):
    """Return the points of the one line of that name."""
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found.get_xydata()


def named(ax):
    return ax.get_legend_handles_labels()[1]


def dots(ax):
    """Return the points of all unnamed lines that have only dots."""
    rows = [one for one in ax.lines if one.get_linestyle() == "None" and one.get_alpha() == 0.5]
    return [one.get_xydata() for one in rows]


def rendered(ax, kind="png"):
    file = io.BytesIO()
    ax.figure.savefig(file, format=kind, dpi=60)
    return file.getvalue()


def artists(ax):
    return len(ax.get_children()), sum(len(one.get_xdata()) for one in ax.lines)


def luminance(colour):
    red, green, blue = mpl.colors.to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


class TestTrajectories:
    def test_holds_rounds_and_the_model_that_came_of_them(self, models, people):
        shown = TrajectoryDisplay.from_models(models)
        assert shown.names == ("alpha = 0.3", "alpha = 0.1")
        assert shown.alphas == (0.3, 0.1)
        for model, error, spread in zip(models, shown.errors, shown.spreads, strict=True):
            rates = plain_rates(people.Y, model.decision_probability(people.X), "error")
            np.testing.assert_allclose(error[-1], rates.mean(), atol=1e-9)
            np.testing.assert_allclose(spread[-1], np.ptp(rates), atol=1e-9)
            np.testing.assert_array_equal(error[:-1], [row["error"] for row in model.history_])
            np.testing.assert_array_equal(spread[:-1], [row["spread"] for row in model.history_])

    def test_draws_the_paths_their_ends_and_the_targets(self, models):
        shown = TrajectoryDisplay.from_models(models, ["played", "generated"])
        ax = shown.plot()
        paths = [one for one in ax.collections if isinstance(one, LineCollection)]
        for path, x, y in zip(paths, shown.errors, shown.spreads, strict=True):
            pieces = path.get_segments()
            joined = np.vstack([pieces[0], *(piece[1:] for piece in pieces[1:])])
            np.testing.assert_array_equal(joined, np.column_stack([x, y]))
            shades = [luminance(colour) for colour in path.get_colors()]
            assert (np.diff(shades) < 0).all(), "time runs from light to dark"
        np.testing.assert_array_equal(
            line(ax, "end, generated"), [[shown.errors[1][-1], shown.spreads[1][-1]]]
        )
        dashed = [list(one.get_ydata()) for one in ax.lines if one.get_linestyle() == "--"]
        assert dashed == [[], [0.2, 0.2], [0.6, 0.6]], "the first is for the legend"
        assert named(ax) == ["allowed: 2 alpha", "start", "end, played", "end, generated"]
        # As in the paper: "the learned model's error (x axis) versus its fairness violation".
        assert (ax.get_xlabel(), ax.get_ylabel()) == (
            "overall error",
            "unfairness: spread of individual rates",
        )

    def test_many_rounds_make_few_pieces(self, models):
        rounds = np.linspace(0.4, 0.1, 5000)
        shown = TrajectoryDisplay(("long",), (0.05,), (rounds,), (rounds,))
        assert len(shown.plot().collections[0].get_segments()) == 40

    def test_a_run_of_one_point_is_drawn(self):
        shown = TrajectoryDisplay(("none",), (0.1,), (np.array([0.2]),), (np.array([0.1]),))
        assert rendered(shown.plot())

    def test_refuses_what_has_no_path(self, models):
        with pytest.raises(InputError, match=r"one AverageFairClassifier or more; got float"):
            TrajectoryDisplay.from_models([0.1])
        with pytest.raises(InputError, match="got none"):
            TrajectoryDisplay.from_models([])
        with pytest.raises(InputError, match="name each of 2 models; got 1"):
            TrajectoryDisplay.from_models(models, ["one"])
        with pytest.raises(NotFittedError):
            TrajectoryDisplay.from_models(AverageFairClassifier())


class TestErrorSpread:
    def test_holds_rates_means_and_coin_flips(self, curve, people):
        shown = ErrorSpreadDisplay.from_frontier(curve)
        assert shown.rate_names == ("error",)
        np.testing.assert_array_equal(shown.alpha, ALPHAS)
        for row, point in enumerate(curve):
            chances = point.model.decision_probability(people.X)
            rates = plain_rates(people.Y, chances, "error")
            np.testing.assert_allclose(shown.rates[row][:, 0], rates, atol=1e-9)
            np.testing.assert_allclose(shown.mean[row], plain_error(people.Y, chances), atol=1e-9)
            np.testing.assert_allclose(shown.coin_flips[row], point.coin_flips, atol=1e-9)
            assert shown.common_rate[row] == point.model.common_rate_

    def test_means_are_as_people_weigh(self, people):
        weights = np.where(np.arange(60) < 10, 3.0, 1.0)
        weighed = frontier(people.X, people.Y, [0.1], sample_weight=weights, **BRIEF)
        shown = ErrorSpreadDisplay.from_frontier(weighed)
        np.testing.assert_allclose(shown.mean, [[weighed[0].error]], atol=1e-9)
        np.testing.assert_allclose(shown.coin_flips, [[weighed[0].coin_flips]], atol=1e-9)

    def test_coin_flips_of_other_rates_are_those_of_a_mixture(self, two):
        both, Y = two
        shown = ErrorSpreadDisplay.from_frontier(both)
        for row, point in enumerate(both):
            free = point.unconstrained.rates
            kept = min(1.0, point.width / point.unconstrained_width)
            mixed = kept * free + (1 - kept) * 0.5
            np.testing.assert_allclose(shown.coin_flips[row], np.nanmean(mixed, axis=0), atol=1e-9)
            rates = point.model.individual_rates_
            np.testing.assert_allclose(shown.mean[row], np.nanmean(rates, axis=0), atol=1e-9)
        assert np.isnan(Y).any()
        assert np.isnan(shown.rates[0][3, 0])

    def test_draws_everybody_in_a_row_of_their_alpha(self, curve):
        shown = ErrorSpreadDisplay.from_frontier(curve)
        ax = shown.plot()
        for row, (found, rates) in enumerate(zip(dots(ax), shown.rates, strict=True)):
            np.testing.assert_array_equal(found[:, 0], np.sort(rates[:, 0]))
            assert (np.abs(found[:, 1] - row) < 0.5).all()
        np.testing.assert_array_equal(line(ax, "mean")[:, 0], shown.mean[:, 0])
        np.testing.assert_array_equal(
            line(ax, "mean with coin flips"), np.column_stack([shown.coin_flips[:, 0], range(3)])
        )
        for bar, alpha, middle in zip(ax.patches, ALPHAS, shown.common_rate[:, 0], strict=True):
            low, high = max(0.0, middle - alpha), middle + alpha
            np.testing.assert_allclose([bar.get_x(), bar.get_width()], [low, high - low])
        assert [label.get_text() for label in ax.get_yticklabels()] == ["0.1", "0.2", "0.3"]
        # As in the paper: "the y axis measures the allowed fairness violation", 2 alpha.
        assert ax.get_xlabel() == "individual error rate"
        assert ax.get_ylabel() == "allowed spread: 2 alpha"
        assert set(named(ax)) == {
            "a person",
            "mean",
            "mean with coin flips",
            "within alpha of the common rate",
        }

    def test_several_rates_have_lanes_of_their_own(self, two):
        shown = ErrorSpreadDisplay.from_frontier(two[0])
        ax = shown.plot()
        assert [len(found) for found in dots(ax)] == [59, 59, 60, 60]
        lanes = [found[:, 1].mean() for found in dots(ax)]
        assert lanes[0] < lanes[2] < lanes[1] < lanes[3]
        assert {"a person, false-positive", "a person, false-negative"} <= set(named(ax))
        assert rendered(ax)

    def test_many_people_are_drawn_as_densities_and_not_one_by_one(self, curve):
        rng = np.random.default_rng(0)
        alpha = np.linspace(0.02, 0.22, 21)
        rates = tuple(np.clip(rng.normal(0.2, a, (MANY, 1)), 0.2 - a, 0.2 + a) for a in alpha)
        held = np.full((21, 1), 0.2)
        shown = ErrorSpreadDisplay(("error",), alpha, rates, held, held, held + 0.1)
        ax = shown.plot()
        image = rendered(ax, "svg")
        assert len(image) < 2e6
        children, points = artists(ax)
        assert children < 150
        assert points < 1000
        assert "people" in named(ax)

    def test_refuses_other_things(self, models):
        with pytest.raises(InputError, match="a frontier; got AverageFairClassifier"):
            ErrorSpreadDisplay.from_frontier(models[0])


class TestFrontiers:
    def test_holds_what_was_measured(self, curve, tested, people):
        shown = FrontierDisplay.from_frontier(curve, tested)
        free = curve.unconstrained
        assert shown.measured is tested
        assert shown.unconstrained_error == free.error
        assert shown.unconstrained_alpha == np.ptp(free.rates) / 2
        for place, point in enumerate(curve):
            kept = min(1.0, np.ptp(point.model.individual_rates_) / np.ptp(free.rates))
            np.testing.assert_allclose(
                shown.coin_flips[place], kept * free.error + (1 - kept) / 2, atol=1e-9
            )
            chances = point.model.decision_probability(people.X_new)
            np.testing.assert_allclose(
                shown.measured.people.error[place],
                plain_error(people.Y_new_people, chances),
                atol=1e-9,
            )

    def test_draws_errors_with_intervals(self, curve, tested):
        ax = FrontierDisplay.from_frontier(curve, tested).plot()
        names = {
            "training": tested.training,
            "new people": tested.people,
            "new tasks": tested.tasks,
            "new people and tasks": tested.both,
        }
        for name, corner in names.items():
            np.testing.assert_array_equal(line(ax, name), np.c_[ALPHAS, corner.error])
        assert len(ax.collections) == 3, "no interval on what was learned from"
        for band, corner in zip(ax.collections, list(names.values())[1:], strict=True):
            drawn = band.get_paths()[0].vertices
            assert set(corner.error_low) | set(corner.error_high) <= set(drawn[:, 1])
        flips = [point.coin_flips for point in curve]
        np.testing.assert_array_equal(line(ax, "coin flips"), np.c_[ALPHAS, flips])
        free = curve.unconstrained
        np.testing.assert_array_equal(
            line(ax, "without a constraint"), [[free.spread / 2, free.error]]
        )
        assert (ax.get_xlabel(), ax.get_ylabel()) == (
            "requested alpha",
            "overall error, 95% CI",
        )

    @pytest.mark.parametrize(
        ("corner", "name"),
        [(None, "new people and tasks"), ("people", "new people"), ("tasks", "new tasks")],
    )
    def test_draws_nearness_beside_noise(self, curve, tested, corner, name):
        ax = FrontierDisplay.from_frontier(curve, tested).plot(y="near", corner=corner)
        at = tested.corners[corner or "both"]
        np.testing.assert_array_equal(line(ax, f"{name}, observed"), np.c_[ALPHAS, at.near])
        np.testing.assert_array_equal(line(ax, "training"), np.c_[ALPHAS, tested.training.near])
        if corner == "people":  # on the tasks learned from, where noise cannot be estimated
            assert named(ax) == ["requested", "training", f"{name}, observed"]
            return
        np.testing.assert_array_equal(
            line(ax, f"{name}, without noise"), np.c_[ALPHAS, at.denoised]
        )
        assert set(at.floor) <= set(ax.collections[0].get_paths()[0].vertices[:, 1])

    def test_training_alone_has_no_noise_and_no_intervals(self, curve):
        shown = FrontierDisplay.from_frontier(curve)
        figure = shown.figure()
        assert [named(ax) for ax in figure.axes] == [
            ["training", "coin flips", "without a constraint"],
            ["requested", "training"],
        ]
        assert figure.axes[0].get_ylabel() == "overall error"

    def test_refuses_other_curves_and_panels(self, curve, tested, two):
        with pytest.raises(
            InputError, match=r"of the same curve, with alpha 0.1, 0.2; got one with values"
        ):
            FrontierDisplay.from_frontier(two[0], tested)
        with pytest.raises(InputError, match="got HeldOut"):
            FrontierDisplay.from_frontier(curve, held_out(curve)[0])
        shown = FrontierDisplay.from_frontier(curve)
        with pytest.raises(InputError, match=r"one of error, near .* got y='x'"):
            shown.plot(y="x")
        with pytest.raises(InputError, match=r"one of training .* corner='both'"):
            shown.plot(y="near", corner="both")


class TestRates:
    def test_holds_a_point_and_the_model_without_a_constraint(self, curve, people):
        point = curve.at(0.1)
        shown = RatesDisplay.from_point(point)
        rates = plain_rates(people.Y, point.model.decision_probability(people.X), "error")
        np.testing.assert_allclose(shown.after[:, 0], rates, atol=1e-9)
        np.testing.assert_array_equal(shown.before[:, 0], curve.unconstrained.rates)
        assert (shown.alpha, *shown.common_rate) == (0.1, point.model.common_rate_)
        assert shown.names == ("without a constraint", "alpha = 0.1")

    def test_draws_shares_that_add_up_to_everybody(self, curve):
        shown = RatesDisplay.from_point(curve.at(0.1))
        ax = shown.plot()
        stairs = {one.get_label(): one.get_data() for one in ax.patches}
        for name, rates in zip(shown.names, (shown.before, shown.after), strict=True):
            drawn = stairs[name]
            np.testing.assert_allclose(drawn.values @ np.diff(drawn.edges), 0.01)
            counts = np.histogram(rates, drawn.edges)[0]
            np.testing.assert_allclose(drawn.values * np.diff(drawn.edges) * 100, counts / 60)
        for found, rates in zip(dots(ax), (shown.before, shown.after), strict=True):
            np.testing.assert_array_equal(found[:, 0], rates[:, 0])
        band = ax.collections[0].get_paths()[0].vertices[:, 0]
        middle = float(shown.common_rate[0])
        ends = [max(0.0, middle - 0.1), middle + 0.1]  # rates are not below zero
        np.testing.assert_allclose([band.min(), band.max()], ends)
        assert named(ax) == ["within 0.1 of the common rate", "alpha = 0.1", "without a constraint"]
        assert (ax.get_xlabel(), ax.get_ylabel()) == (
            "individual error rate",
            "share of the people per 0.01",
        )

    def test_many_people_are_not_drawn_one_by_one(self):
        rng = np.random.default_rng(0)
        before = rng.binomial(50, rng.uniform(0.1, 0.3, MANY)) / 50
        ax = RatesDisplay.from_rates(before, before / 2 + 0.1, alpha=0.1).plot()
        image = rendered(ax, "svg")
        assert len(image) < 2e5
        assert artists(ax)[1] == 0

    @pytest.mark.parametrize("alpha", [None, np.nan])
    def test_without_alpha_there_is_no_band(self, alpha):
        ax = RatesDisplay.from_rates([0.1, 0.4], [0.2, 0.3], alpha=alpha).plot()
        assert named(ax) == ["after", "before"]

    def test_several_rates_are_named_at_their_bases(self, two):
        ax = RatesDisplay.from_point(two[0].at(0.1)).plot()
        assert [label.get_text() for label in ax.get_yticklabels()] == [
            "false-positive",
            "false-negative",
        ]
        assert len(named(ax)) == 3

    @pytest.mark.parametrize("before", [[0.5], [np.nan], [np.nan, 0.2, 0.2], [[0.1], [0.1]], []])
    def test_odd_rates_are_drawn(self, before):
        assert rendered(RatesDisplay.from_rates(before, before, alpha=0.1).plot())

    def test_refuses_what_does_not_fit_together(self):
        with pytest.raises(InputError, match=r"got shapes \(2, 1\) and \(1, 2\)"):
            RatesDisplay.from_rates([0.1, 0.2], [[0.1, 0.2]])
        with pytest.raises(InputError, match=r"`after` must be individual rates of .* got 'none'"):
            RatesDisplay.from_rates([0.1], "none")
        with pytest.raises(InputError, match=r"names=\('only',\)"):
            RatesDisplay.from_rates([0.1], [0.1], ["only"])
        with pytest.raises(InputError, match="a point of a frontier"):
            RatesDisplay.from_point(0.1)


class TestOtherPromises:
    """Caps and prices have no common rate: no band, no coin flips, their own labels."""

    def test_a_frontier_has_its_own_axis(self, other, people):
        new = {"X_new": people.X_new, "Y_new_people": people.Y_new_people}
        shown = FrontierDisplay.from_frontier(other, generalisation(other, **new))
        name = other.parameter.replace("_", " ")
        for ax in (shown.plot(), shown.plot(y="near")):
            assert ax.get_xlabel() == f"requested {name}"
            assert not {"coin flips", "requested"} & set(named(ax))
            rendered(ax)
        free = line(shown.plot(), "without a constraint")[:, 1]
        assert set(free) == {other.unconstrained.error}

    def test_rates_have_no_band(self, other):
        shown = RatesDisplay.from_point(other[0])
        assert np.isnan(shown.alpha)
        name = other.parameter.replace("_", " ")
        assert shown.names[1] == f"{name} = {other[0].value:g}"
        ax = shown.plot()
        assert not any("common rate" in label for label in named(ax))
        rendered(ax)

    def test_rows_are_named_by_the_values(self, other):
        ax = ErrorSpreadDisplay.from_frontier(other).plot()
        assert ax.get_ylabel() == f"requested {other.parameter.replace('_', ' ')}"
        assert [tick.get_text() for tick in ax.get_yticklabels()] == [
            f"{value:g}" for value in other.values
        ]
        assert set(named(ax)) == {"a person", "mean"}
        rendered(ax)

    def test_paths_have_no_target(self, other, models, people):
        oracle, solver = RegressionOracle(), ColumnGeneration(max_rounds=20)
        least = AverageFairClassifier(promise=Minimax(), oracle=oracle, solver=solver)
        runs = [other[0].model, least.fit(people.X, people.Y)]
        shown = TrajectoryDisplay.from_models(runs)
        name = other.parameter.replace("_", " ")
        assert shown.names == (f"{name} = {other[0].value:g}", "minimax")
        assert np.isnan(shown.alphas).all()
        ax = shown.plot()
        assert "allowed: 2 alpha" not in named(ax)
        rendered(ax)
        mixed = TrajectoryDisplay.from_models([*runs, models[1]]).plot()
        assert "allowed: 2 alpha" in named(mixed)


@pytest.fixture(scope="module")
def lone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateTaskWarning)
        return frontier([[1.0, 0.0]], [[0, 1, 1, 0]], [0.1], random_state=0)


@pytest.fixture(scope="module")
def nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateTaskWarning)
        warnings.simplefilter("ignore", UndefinedRateWarning)
        X, Y = [[0.0], [1.0], [2.0]], [[1, 1], [1, 1], [1, 1]]
        return frontier(X, Y, [0.1], rate="false_positive", random_state=0)


class TestAlone:
    """A single person, a single alpha, or no defined rate."""

    @pytest.mark.parametrize("which", ["lone", "nobody"])
    def test_everything_is_drawn(self, which, request):
        found = request.getfixturevalue(which)
        assert rendered(TrajectoryDisplay.from_models(found[0].model).plot())
        assert rendered(ErrorSpreadDisplay.from_frontier(found).plot())
        assert rendered(FrontierDisplay.from_frontier(found).figure().axes[0])
        assert rendered(RatesDisplay.from_point(found[0]).plot())

    def test_one_alpha_shows_its_interval(self, people):
        found = frontier(people.X, people.Y, [0.1], random_state=0)
        test = generalisation(found, X_new=people.X_new, Y_new_people=people.Y_new_people)
        ax = FrontierDisplay.from_frontier(found, test).plot()
        assert ax.collections[0].get_linewidth()[0] > 0
        assert rendered(ax)


def test_displays_draw_on_axes_given_and_change_nothing(curve):
    shown = ErrorSpreadDisplay.from_frontier(curve)
    ax = Figure().subplots()
    assert shown.plot(ax) is ax
    with pytest.raises(FrozenInstanceError):
        shown.alpha = 0.1
    with pytest.raises(ValueError, match="read-only"):
        shown.mean[0] = 0.0


PLOTS = {
    "trajectories": lambda curve: TrajectoryDisplay.from_models(curve[0].model),
    "error spread": ErrorSpreadDisplay.from_frontier,
    "frontier": FrontierDisplay.from_frontier,
    "rates": lambda curve: RatesDisplay.from_point(curve[0]),
}
PANELS = {
    "audit": lambda curve: audit(np.eye(9), np.zeros((9, 9))).plot(),
    "both panels of a frontier": lambda curve: FrontierDisplay.from_frontier(curve).figure(),
}


class TestPyplot:
    """After each cell, notebooks show each of pyplot's figures once."""

    @pytest.mark.parametrize("name", PLOTS)
    def test_knows_a_figure_where_no_axes_are_given(self, curve, name):
        ax = PLOTS[name](curve).plot()
        assert plt.get_fignums() == [ax.figure.number]
        assert plt.gca() is ax
        plt.close(ax.figure)
        assert plt.get_fignums() == []

    @pytest.mark.parametrize("name", PLOTS)
    def test_knows_none_where_axes_are_given(self, curve, name):
        PLOTS[name](curve).plot(Figure().subplots())
        assert plt.get_fignums() == []

    @pytest.mark.parametrize("name", PANELS)
    def test_knows_figures_of_several_panels_which_are_returned_as_panels(
        self, curve, name, tmp_path
    ):
        panels = PANELS[name](curve)
        assert plt.get_fignums() == [panels.figure.number]
        assert list(panels.axes) == panels.figure.axes
        assert not isinstance(panels, Figure), "a notebook would show it twice"
        assert "Figure" not in repr(panels)
        panels.savefig(tmp_path / "panels.png")
        assert (tmp_path / "panels.png").stat().st_size > 1000

    def test_is_left_alone_by_reports_and_experiments(self, curve, people):
        audit_report(audit(np.eye(9), np.zeros((9, 9))))
        frontier_report(curve, people.Y)
        figure, _ = panels(3.0, 1, 2)
        figure.savefig(io.BytesIO())
        assert plt.get_fignums() == []

    def test_cannot_be_used_in_the_tests_of_commands(self):
        """Tests of commands use a backend that cannot draw, so pyplot would make them fail."""
        code = (
            "from averagefair.showing.plots import RatesDisplay;"
            "RatesDisplay.from_rates([0, 1], [1, 0]).plot()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment(), capture_output=True, text=True
        )
        assert "no_screen" in done.stderr


class TestGrey:
    def test_series_differ_in_lightness_or_dash_and_in_marker(self):
        for one, other in combinations(drawing.SERIES, 2):
            apart = abs(luminance(one.colour) - luminance(other.colour))
            assert apart > 0.15 or one.dash != other.dash, (one, other)
            assert one.marker != other.marker

    def test_lines_stand_out_from_the_areas_they_cross(self, curve, tested):
        shown = FrontierDisplay.from_frontier(curve, tested)
        ax = shown.plot(y="near")
        noise = drawing.tint(drawing.NOISE, 0.4)
        for drawn in ax.lines:
            assert luminance(noise) - luminance(drawn.get_color()) > 0.3
        band = luminance(drawing.tint(drawing.REQUEST, 0.22))
        assert band - luminance(drawing.tint(drawing.OBSERVED, 0.75)) > 0.3

    def test_a_grey_print_keeps_the_contrast(self, curve):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure = ErrorSpreadDisplay.from_frontier(curve).plot().figure
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3] / 255
        grey = (pixels @ [0.299, 0.587, 0.114]).round(2)
        band = round(luminance(drawing.tint(drawing.REQUEST, 0.22)), 2)
        assert (np.abs(grey - band) <= 0.01).mean() > 0.02, "the bands are there"
        assert (grey < band - 0.25).mean() > 0.01, "and the dots, lines and words are darker"


class TestThinning:
    def test_bins_hold_everybody(self):
        rng = np.random.default_rng(0)
        for rates in (
            rng.random(500),
            rng.random(200) / 3,
            rng.integers(0, 21, 5000) / 50,
            rng.integers(0, 100, MANY) / 299,
            np.full(7, 0.3),
            np.array([0.1, 0.1 + 1e-12]),
            np.append(np.full(1999, 0.25), 0.2500001),
        ):
            edges, shares = drawing.density(rates)
            assert np.histogram(rates, edges)[0].sum() == rates.size
            np.testing.assert_allclose(shares @ np.diff(edges), 0.01)
            assert len(shares) <= 2 * drawing.MOST_BINS

    def test_multiples_of_a_share_of_tasks_show_no_comb(self):
        rng = np.random.default_rng(0)
        rates = rng.integers(10, 40, MANY) / 50  # each equally often
        _, shares = drawing.density(rates)
        assert shares.min() > 0.9 * shares.max()

    def test_an_audit_of_many_is_drawn_with_few_points(self):
        rng = np.random.default_rng(0)
        wrong = rng.random((20_000, 60)) < np.where(rng.random(20_000) < 0.1, 0.9, 0.1)[:, None]
        found = audit(np.zeros(wrong.shape), wrong.astype(float), alpha=0.1, beta=0.05)
        assert found.people.flagged.sum() > 1000
        figure = found.plot()
        ax = figure.axes[0]
        assert artists(ax)[1] < 2000
        assert f"clearly above: {found.people.flagged.sum():,}" in named(ax)
        drawn = line(ax, "individual rate")
        ordered = np.sort(found.people.rate)
        np.testing.assert_array_equal(drawn[[0, -1]], [[1, ordered[0]], [20_000, ordered[-1]]])
        assert rendered(ax)


def test_the_library_does_not_import_matplotlib():
    code = (
        "import sys, averagefair, averagefair.showing.plots, averagefair.showing.plots.audit;"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
