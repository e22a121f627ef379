"""The report of a curve in a real browser: the page shows the curve's figures at every point."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import Cap, UndefinedRateWarning, WorstOff, frontier
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.report import frontier_report
from tests.support.browser_pages import (
    Chart,
    all_rows,
    assert_written,
    move_slider,
    opened,
    rows,
    with_data,
)
from tests.support.report_pages import (
    ALPHAS,
    CHOICE,
    QUICK,
    fixture_browser,  # noqa: F401
    fixture_save,  # noqa: F401
    fixture_whole,  # noqa: F401
    population,
)

pytestmark = pytest.mark.browser

BOTH = ["false_positive", "false_negative"]
CORNER_COLUMNS = ["error", "spread", "near", "floor", "denoised", "sigma"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The command's page, and its output as JSON."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "averagefair", "demo", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), folder / "averagefair-demo.html"


# The contents of a curve's page.


def assert_point(page, curve, place, X, Y):
    """Compare everything that follows the slider with the models."""
    point = curve[place]
    assert page.input_value("#value") == str(place)
    assert page.text_content("#shown-value") == f"{point.value:g}"
    assert page.get_attribute("#value", "aria-valuetext") == f"alpha {point.value:g}"
    assert page.text_content("#statement") == point.statement()
    common = np.atleast_1d(point.certificate.common_rate)
    for name, value in point.to_dict().items():
        if name in ("error", "spread", "outside", "coin_flips"):
            shown = page.locator(f"[data-figure={name}]")
            text = shown.text_content()
            if name == "outside":
                assert float(text.removesuffix("%")) == pytest.approx(100 * value, abs=0.051)
            else:
                assert_written(text, value)
            assert float(shown.get_attribute("data-value")) == value
    shown = page.text_content("[data-figure=common_rate]").split(", ")
    for text, value in zip(shown, common, strict=True):
        assert_written(text, value)
    assert page.text_content("[data-figure=columns]") == str(point.certificate.columns)
    certificate = page.locator("#certificate dd").all_text_contents()
    assert "\n".join(certificate) == str(point.certificate)
    current = page.locator("#curve-table tr[aria-current=true]")
    assert current.count() == 1
    assert float(current.locator("th").text_content()) == pytest.approx(point.value)
    assert_marker(page, curve, place)
    assert_histogram(page, curve, place)
    assert_worst_off(page, curve, place, list(X.index))
    assert_task_errors(page, curve, place, X, Y)


def assert_marker(page, curve, place):
    """Check the marks of the curve against the axes; the large mark is at this alpha.

    Coin flips may err too much for the chart.
    """
    drawn = Chart(page, "#curve-chart")
    across, up = drawn.pixel()
    ((x, y),) = drawn.circles("blue", 6)
    assert drawn.across(x) == pytest.approx(curve[place].value, abs=0.2 * across)
    assert drawn.up(y) == pytest.approx(curve[place].error, abs=0.2 * up)
    flips, highest = (
        drawn.circles("grey", 6),
        max(drawn.up(line[1]) for line in drawn.drawn["grid"]),
    )
    if not flips:
        assert curve[place].coin_flips > highest
    for x, y in flips:
        assert drawn.across(x) == pytest.approx(curve[place].value, abs=0.2 * across)
        assert drawn.up(y) == pytest.approx(curve[place].coin_flips, abs=0.2 * up)
    shown = [point for point in curve if point.value <= drawn.across(drawn.drawn["grid"][0][2])]
    marks = [(drawn.across(x), drawn.up(y)) for x, y in drawn.circles("blue", 3)]
    expected = [(point.value, point.error) for point in shown]
    np.testing.assert_allclose(marks, expected, atol=0.2 * max(across, up))
    # Where the chart ends before the curve, the error stays as it is.
    errors = np.array([point.error for point in curve])
    assert np.ptp(errors[len(shown) - 1 :]) <= 0.03 * np.ptp(errors) + 1e-9
    assert drawn.upright() == [pytest.approx(curve[place].value, abs=0.2 * across)]
    assert f"At alpha {curve[place].value:g} " in drawn.drawn["name"]


def assert_histogram(page, curve, place, k=0):
    """Check that bars and outline count everybody with a rate, in the right bins."""
    drawn = Chart(page, "#distribution-chart")
    across, up = drawn.pixel()
    rates = curve[place].model.individual_rates_
    rates = rates.reshape(len(rates), -1)[:, k]
    rates = rates[~np.isnan(rates)]
    free = curve.unconstrained.rates
    free = free.reshape(len(free), -1)[:, k]
    counts = np.array([count for *_, count in drawn.bars()])
    np.testing.assert_allclose(counts, np.round(counts), atol=0.3 * up)
    assert np.round(counts).sum() == rates.size
    # A bar is half a pixel narrower than its bin on either side; half a bin is far more.
    for low, high, count in drawn.bars():
        surely = np.count_nonzero((rates > low + across) & (rates < high - across))
        maybe = np.count_nonzero((rates > low - across) & (rates < high + across))
        assert surely <= round(count) <= maybe
    outline = [height for letter, _, height in drawn.line("red") if letter == "V"][:-1]
    assert np.round(outline).sum() == np.count_nonzero(~np.isnan(free))
    known = curve[place].certificate
    common = np.atleast_1d(known.common_rate)[k]
    marked = known.reached if np.isnan(common) else common  # other promises have no common rate
    assert drawn.upright() == [pytest.approx(marked, abs=0.2 * across)]


def assert_worst_off(page, curve, place, names, k=0, most=50):
    rates, free = (
        np.asarray(one).reshape(len(names), -1)[:, k]
        for one in (curve[place].model.individual_rates_, curve.unconstrained.rates)
    )
    rated = np.flatnonzero(~np.isnan(rates))
    shown = rows(page, "#worst-off")
    assert len(shown) == min(most, rated.size)
    places = [names.index(name) for name, *_ in shown]
    assert len(set(places)) == len(places)
    for who, (_, rate, before) in zip(places, shown, strict=True):
        assert_written(rate, rates[who])
        assert_written(before, free[who])
    keys = [(-round(rates[who], 9), -free[who]) for who in places]
    assert keys == sorted(keys)
    others = np.setdiff1d(rated, places)
    assert (rates[others] <= rates[places[-1]] + 1e-9).all()


def assert_task_errors(page, curve, place, X, Y):
    def errors(point):
        chances, labels = point.model.decision_probability(X), Y.to_numpy()
        for task in range(labels.shape[1]):
            seen = [who for who in range(len(labels)) if not np.isnan(labels[who, task])]
            yield np.mean([abs(chances[who, task] - labels[who, task]) for who in seen])

    now, loosest = list(errors(curve[place])), list(errors(curve[-1]))
    shown = {name: cells for name, *cells in all_rows(page, "per-task")}
    assert list(map(str, Y.columns)) == sorted(shown, key=list(map(str, Y.columns)).index)
    for task, name in enumerate(map(str, Y.columns)):
        assert_written(shown[name][0], now[task])
        assert_written(shown[name][1], loosest[task])
        assert float(shown[name][2]) == pytest.approx(now[task] - loosest[task], abs=5.1e-4)


def test_the_slider_shows_every_point(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path) as page:
        assert_point(page, curve, CHOICE, X, Y)
        across = []
        for place in (0, 2, 4, 1):
            move_slider(page, place)
            assert_point(page, curve, place, X, Y)
            across.append(Chart(page, "#curve-chart").circles("blue", 6)[0][0])
        order = [across[0], across[3], across[1], across[2]]
        assert order == sorted(order)
        assert len(set(order)) == 4


def test_the_slider_by_keyboard(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path) as page:
        page.focus("#value")
        for key, place in (
            ("ArrowLeft", 2),
            ("ArrowDown", 1),
            ("Home", 0),
            ("ArrowLeft", 0),
            ("ArrowRight", 1),
            ("End", 4),
            ("ArrowRight", 4),
        ):
            page.keyboard.press(key)
            assert page.input_value("#value") == str(place)
            assert page.text_content("#statement") == curve[place].statement()
            assert_marker(page, curve, place)
        assert_point(page, curve, 4, X, Y)


def test_the_slider_at_the_width_of_a_telephone(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path, width=360) as page:
        assert_point(page, curve, CHOICE, X, Y)
        move_slider(page, 0)
        assert_point(page, curve, 0, X, Y)
        page.set_viewport_size({"width": 900, "height": 700})
        page.wait_for_function("document.querySelector('#curve-chart svg').clientWidth > 800")
        assert_point(page, curve, 0, X, Y)


def test_going_back_to_the_page_starts_at_the_choice(browser, whole):
    X, Y, _, curve, _, path = whole
    with opened(browser, path, quiet=False) as page:
        move_slider(page, 0)
        page.reload()
        assert_point(page, curve, CHOICE, X, Y)


def test_the_whole_curve_is_written_out(browser, whole):
    *_, curve, _, path = whole
    with opened(browser, path) as page:
        head = page.locator("#curve-table thead th").all_text_contents()
        shown = rows(page, "#curve-table")
        assert len(shown) == len(curve)
        for row, point in zip(shown, curve, strict=True):
            cells, facts = dict(zip(head, row, strict=True)), point.to_dict()
            assert float(cells["alpha"]) == pytest.approx(point.value)
            assert ("gap" in cells) == any(not np.isnan(one.certificate.gap) for one in curve)
            for name in {"error", "spread", "common rate", "gap", "coin flips"} & set(cells):
                assert_written(cells[name], facts[name.replace(" ", "_")])
            assert float(cells["outside"].removesuffix("%")) == pytest.approx(
                100 * facts["outside"], abs=0.05
            )
            assert cells["columns"] == str(facts["columns"])


def assert_held_out(page, test):
    """Check the table of held-out figures, cell by cell."""
    parts = page.locator("#held-out tbody").all()
    corners = [corner for name, corner in test.corners.items() if name != "training"]
    assert len(parts) == len(corners)
    for part, corner in zip(parts, corners, strict=True):
        head, *lines = part.locator("tr").all()
        learned = corner is test.people  # whose tasks were learned from
        size = f"({corner.n} people, {corner.m} tasks{', as observed' if learned else ''})"
        assert size in head.text_content()
        assert len(lines) == len(corner.value)
        for place, line in enumerate(lines):
            alpha, *cells = line.locator("th, td").all_text_contents()
            assert float(alpha) == pytest.approx(corner.value[place])
            if learned:
                assert cells[3:] == ["", "", ""]
            for name, cell in zip(CORNER_COLUMNS, cells, strict=True):
                if learned and name in ("floor", "denoised", "sigma"):
                    continue
                value, *ends = re.split(r" \(| to |\)", cell.removesuffix(")"))
                assert_written(value, round(getattr(corner, name)[place], 6))
                wanted = ["low", "high"] if f"{name}_low" in vars(corner) else []
                assert len(ends) == len(wanted)
                for end, text in zip(wanted, ends, strict=True):
                    assert_written(text, round(getattr(corner, f"{name}_{end}")[place], 6))


def test_what_carries_over_is_that_of_generalisation(browser, whole):
    _, _, held_out, curve, _, path = whole
    test = generalisation(curve, **held_out)
    with opened(browser, path) as page:
        assert_held_out(page, test)
        drawn = Chart(page, "#curve-chart")
        for tone, corner in (("green", test.people), ("purple", test.tasks), ("red", test.both)):
            line = [(x, y) for _, x, y in drawn.line(tone)]
            expected = np.stack([corner.value, corner.error], axis=1)
            np.testing.assert_allclose(line, expected, atol=0.2 * max(drawn.pixel()))
        for name in ("people", "tasks", "both"):
            corner = getattr(test, name)
            drawn = Chart(page, f"[data-corner={name}]")
            columns = {"blue": "near", "orange": "floor", "green": "denoised"}
            if name == "people":
                columns = {"blue": "near"}
                assert "noise" not in page.text_content(f"[data-corner={name}]")
            for tone, column in columns.items():
                line = [y for _, _, y in drawn.line(tone)]
                known = getattr(corner, column)[~np.isnan(getattr(corner, column))]
                np.testing.assert_allclose(line, known, atol=0.2 * drawn.pixel()[1])


# Who pays.


def assert_pays(page, curves, place):
    """Check the table and the charts of who pays: pairs of a curve and its measurements."""
    groups = iter(page.locator("#who-pays tbody").all())
    for name in curves[0][1].corners:
        drawn = Chart(page, f"[data-pays={name}]")
        for (curve, test), tone in zip(curves, ("blue", "orange"), strict=False):
            corner = test.corners[name]
            head, *lines = next(groups).locator("tr").all()
            assert len(lines) == len(curve)
            assert f"(by {curve.parameter.replace('_', ' ')})" in head.text_content()
            for value, error, pays, line in zip(
                curve.values, corner.error, corner.who_pays, lines, strict=True
            ):
                shown, *cells = line.locator("th, td").all_text_contents()
                assert float(shown) == pytest.approx(value)
                worst, best = pays.worst_off, pays.best_off
                expected = (error, worst.before, worst.after, best.before, best.after)
                for cell, figure in zip(cells, expected, strict=False):
                    assert_written(cell, figure, 3)
                for cell, share in zip(cells[5:], (pays.better, pays.worse), strict=True):
                    assert float(cell.removesuffix("%")) == pytest.approx(100 * share, abs=0.051)
            line = [(x, y) for _, x, y in drawn.line(tone)]
            changes = [(pays.mean.change, pays.worst_off.change) for pays in corner.who_pays]
            np.testing.assert_allclose(line, changes, atol=0.2 * max(drawn.pixel()))
        ((x, y),) = drawn.circles("blue", 6)
        now = curves[0][1].corners[name].who_pays[place]
        assert drawn.across(x) == pytest.approx(now.mean.change, abs=0.2 * drawn.pixel()[0])
        assert drawn.up(y) == pytest.approx(now.worst_off.change, abs=0.2 * drawn.pixel()[1])
    assert next(groups, None) is None


@pytest.fixture(scope="module")
def beside(whole):
    """A curve over prices of the same people, and its measurements."""
    X, Y, held_out, *_ = whole
    promise = WorstOff(0.2)
    curve = frontier(X, Y, [0.1, 0.25, 0.5], promise=promise, solver=QUICK, random_state=0)
    return curve, generalisation(curve, **held_out)


def test_who_pays_is_shown_for_both_curves(browser, whole, beside, save):
    _, Y, held_out, curve, *_ = whole
    own = curve, generalisation(curve, **held_out)
    text = frontier_report(
        curve, Y, measured=own[1], beside=beside[0], beside_measured=beside[1], choice=0.05
    )
    with opened(browser, save("beside", text)) as page:
        assert_pays(page, [own, beside], 1)
        move_slider(page, 4)
        assert_pays(page, [own, beside], 4)
        wrong = [beside, own]
        with pytest.raises(AssertionError):
            assert_pays(page, wrong, 1)


def test_a_curve_over_prices(browser, whole, beside, save):
    X, Y, *_ = whole
    curve, test = beside
    page_of = save("prices", frontier_report(curve, Y, measured=test))
    for width in (1200, 360):
        with opened(browser, page_of, width=width) as page:
            for place in (1, 0, 2):
                move_slider(page, place)
                point = curve[place]
                assert page.get_attribute("#value", "aria-valuetext") == f"price {point.value:g}"
                assert page.text_content("#statement") == point.statement()
                assert_written(
                    page.text_content("[data-figure=reached]"), point.certificate.reached
                )
                assert_written(page.text_content("[data-figure=error]"), point.error)
                assert_histogram(page, curve, place)
                assert_worst_off(page, curve, place, list(X.index))
                assert_pays(page, [beside], place)
            assert page.locator("[data-figure=coin_flips], [data-figure=common_rate]").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            text = page.text_content("main")
            for word in ("coin flips", "alpha", "undefined", "NaN"):
                assert word not in text, word


def test_a_curve_over_caps(browser, whole, save):
    X, Y, held_out, *_ = whole
    options = {"promise": Cap(beta=0.1), "rate": BOTH, "solver": QUICK, "random_state": 0}
    curve = frontier(X, Y, [0.5, 0.7], **options)
    test = generalisation(curve, **held_out)
    with opened(browser, save("caps", frontier_report(curve, Y, measured=test))) as page:
        for place in (0, 1):
            move_slider(page, place)
            assert page.text_content("#shown-value") == f"{curve[place].value:g}"
            assert_written(
                page.text_content("[data-figure=reached]"), curve[place].certificate.reached
            )
            outside = float(page.text_content("[data-figure=outside]").removesuffix("%"))
            assert outside == pytest.approx(100 * curve[place].certificate.outside, abs=0.051)
            assert_pays(page, [(curve, test)], place)


def test_the_page_of_the_demo(browser, demo):
    said, path = demo
    with opened(browser, path) as page:
        shown = rows(page, "#curve-table")
        assert [float(row[0]) for row in shown] == [point["alpha"] for point in said["points"]]
        for place in (len(shown) // 2, 0, len(shown) - 1):
            move_slider(page, place)
            point = said["points"][place]
            for name in ("error", "spread", "common_rate", "coin_flips"):
                value = page.get_attribute(f"[data-figure={name}]", "data-value")
                assert float(value) == point[name]
                assert_written(page.text_content(f"[data-figure={name}]"), point[name])
            assert_written(shown[place][1], point["error"])
        assert page.locator("#worst-off tbody tr").count() == 50
        people = said["audit"]["people"]
        listed = {name: float(rate) for name, rate, *_ in all_rows(page, "people")}
        assert listed == {
            str(name): pytest.approx(rate, abs=5.1e-4)
            for name, rate in zip(people["name"], people["rate"], strict=True)
        }
        assert "averagefair demo" in page.text_content("main")


def test_the_table_of_tasks_stays_sorted_and_searched_as_the_slider_moves(browser, whole):
    with opened(browser, whole[-1]) as page:
        page.locator("#per-task thead button").nth(1).click()
        page.fill("#per-task-search", "TASK 1")
        seen = []
        for place in (0, 4):
            move_slider(page, place)
            shown = rows(page, "#per-task")
            assert sorted(row[0] for row in shown) == ["task 1", "task 10", "task 11"]
            errors = [float(row[1]) for row in shown]
            assert errors == sorted(errors, reverse=True)
            seen.append(errors)
        assert seen[0] != seen[1]


# The judges can fail.


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("figures", lambda data: data["points"][CHOICE].update(error=0.3)),
        ("figures", lambda data: data["points"][CHOICE]["shown"]["error"].__setitem__(0, "0.3000")),
        ("marker", lambda data: data["points"][1].update(error=0.3)),
        ("marker", lambda data: data["points"][CHOICE].update(value=0.2)),
        ("words", lambda data: data["points"][CHOICE].update(statement="It costs nothing.")),
        ("certificate", lambda data: data["points"][CHOICE]["certificate"].pop()),
        ("histogram", lambda data: data["rates"][0]["histograms"][CHOICE].reverse()),
        ("outline", lambda data: data["rates"][0]["unconstrained"][CHOICE].__setitem__(2, 40)),
        ("worst", lambda data: data["rates"][0]["worst_off"][CHOICE]["name"].reverse()),
        ("worst", lambda data: data["rates"][0]["worst_off"][CHOICE]["rate"].__setitem__(3, 0.5)),
        ("tasks", lambda data: data["task_errors"][CHOICE].__setitem__(2, 0.5)),
    ],
)
def test_the_judge_of_a_point_can_fail(browser, whole, save, part, change):
    X, Y, _, curve, _, path = whole
    broken = save(f"broken-{part}", with_data(path, "frontier-data", change))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        assert_point(page, curve, CHOICE, X, Y)


def test_the_judge_of_what_carries_over_can_fail(browser, whole, save):
    _, _, held_out, curve, _, path = whole
    test = generalisation(curve, **held_out)
    written = f"{test.both.sigma_high[2]:.3f})"
    text = path.read_text("utf-8")
    assert written in text
    broken = save("broken-corner", text.replace(written, "0.987)"))
    with opened(browser, broken) as page, pytest.raises(AssertionError):
        assert_held_out(page, test)


# Unusual curves.


def learned(rate, blanks, alphas, **options):
    X, Y, *_ = population()
    Y = Y.mask(np.random.default_rng(0).random(Y.shape) < blanks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedRateWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # fixed decisions miss small alphas
        # Drawn keeps every alpha, with few tasks too.
        options = {"solver": QUICK, "random_state": 0, "decisions": "drawn"} | options
        return X, Y, frontier(X, Y, alphas, rate=rate, **options)


def test_fixed_decisions_stand_beside_what_the_chances_reach(browser, save):
    X, Y, curve = learned("error", 0.0, ALPHAS, decisions="fixed")
    page_of = save("fixed", frontier_report(curve, Y))
    for width in (1200, 360):
        with opened(browser, page_of, width=width) as page:
            for place in (0, 4, 2):
                move_slider(page, place)
                assert_point(page, curve, place, X, Y)
                averages = curve[place].certificate.by_chances
                for name in ("error", "spread"):
                    shown = page.text_content(f"[data-figure=chance_{name}]")
                    assert_written(shown, getattr(averages, name))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert "nothing is drawn" in page.text_content("main")


def test_a_curve_of_one_alpha(browser, save):
    X, Y, curve = learned("error", 0.0, [0.1])
    with opened(browser, save("one", frontier_report(curve, Y))) as page:
        assert_point(page, curve, 0, X, Y)
        page.focus("#value")
        page.keyboard.press("ArrowRight")
        assert_point(page, curve, 0, X, Y)
        assert page.locator("#held-out").count() == 0


def test_people_without_a_rate_are_left_out_and_counted(browser, save):
    X, Y, curve = learned("false_positive", 0.8, ALPHAS)
    unrated = int(np.isnan(curve[0].model.individual_rates_).sum())
    assert unrated > 0
    with opened(browser, save("undefined", frontier_report(curve, Y))) as page:
        for place in (2, 0):
            move_slider(page, place)
            assert_point(page, curve, place, X, Y)
            assert f"{unrated} of 80 people have no false-positive rate" in page.text_content(
                "#undefined"
            )
            assert f"of {80 - unrated} people" in page.text_content("#worst-note")


def test_several_rates(browser, save):
    X, Y, curve = learned(BOTH, 0.6, [0.05, 0.1, 0.3], beta=0.1)
    with opened(browser, save("several", frontier_report(curve, Y, choice=0.05))) as page:
        page.focus("#rate")
        for k, name in enumerate(("false-positive", "false-negative")):
            page.select_option("#rate", str(k))
            for place in (0, 2):
                move_slider(page, place)
                assert_histogram(page, curve, place, k)
                assert_worst_off(page, curve, place, list(X.index), k)
                assert name in page.text_content("#worst-note")
                shown = page.text_content("[data-figure=common_rate]").split(", ")
                for text, value in zip(shown, curve[place].certificate.common_rate, strict=True):
                    assert_written(text, value)
                assert page.text_content("#statement") == curve[place].statement()
