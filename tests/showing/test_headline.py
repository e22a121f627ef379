"""Headlines and strips: the badge, the sentence and the rows say what was found."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from averagefair import (
    ColumnGeneration,
    RegressionOracle,
    WorstOff,
    audit,
    compare,
    drift,
    frontier,
)
from averagefair.auditing.gate import judge
from averagefair.datasets import make_synthetic
from averagefair.evaluation.generalisation import generalisation
from averagefair.showing.headline import (
    Badge,
    as_dict,
    audit_headline,
    comparison_headline,
    drift_headline,
    frontier_headline,
)
from averagefair.showing.strip import strip

QUICK = ColumnGeneration(max_rounds=10, mapping_rounds=3)
NUMBER = r"-?\d+\.\d+"


def wrong(low, high, tasks, seed=0, people=60):
    """Losses of people whose true rates rise evenly from low to high."""
    rates = np.linspace(low, high, people)[:, None]
    return (np.random.default_rng(seed).random((people, tasks)) < rates).astype(float)


def audited(losses, **options):
    return audit(np.zeros(losses.shape), losses, **options)


ASKED = {"alpha": 0.1, "beta": 0.05}
AUDITS = {
    "PASS": (wrong(0.2, 0.2, 400), ASKED, "95% of the people are within ±0.1 of a common rate."),
    "FAIL": (
        wrong(0.0, 0.9, 150),
        ASKED,
        "More than 5% of the people are outside ±0.1 of a common rate.",
    ),
    "INCONCLUSIVE": (
        wrong(0.1, 0.35, 30),
        ASKED,
        "The data cannot show yet whether 95% of the people are within ±0.1 of a common rate.",
    ),
    "UNEQUAL": (wrong(0.0, 0.9, 50), {}, "People's rates differ by more than chance."),
    "OBSERVED": (
        wrong(0.0, 0.9, 50),
        {"learned_tasks": True},
        "As observed on tasks that the model learned; other tasks may differ.",
    ),
}


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_says_what_was_found(name):
    losses, options, sentence = AUDITS[name]
    found = audited(losses, **options)
    head = audit_headline(found)
    assert head.badge is Badge[name]
    assert head.sentence == sentence
    rows = dict(head.rows)
    assert len(rows) == 8
    rates = losses.mean(axis=1)
    assert float(re.findall(NUMBER, rows["average error"])[0]) == pytest.approx(
        rates.mean(), abs=5.1e-4
    )
    worst = np.sort(rates)[-6:].mean()
    assert float(re.findall(NUMBER, rows["worst-off tenth"])[0]) == pytest.approx(worst, abs=5.1e-4)
    assert "nan" not in " ".join(rows.values())
    assert as_dict(head)["rows"] == rows


def test_everybody_is_asked_for_without_a_beta():
    head = audit_headline(audited(wrong(0.0, 0.9, 400), alpha=0.1))
    assert head.badge is Badge.FAIL
    assert head.sentence == "Not everybody is within ±0.1 of a common rate."


@pytest.mark.parametrize(
    ("figure", "bound", "badge", "words"),
    [
        ("sigma", 0.05, "FAIL", "The SD of true rates"),
        ("sigma", 0.5, "PASS", "The SD of true rates"),
        ("mean", 0.1, "FAIL", "The mean rate"),
        ("mean", 0.45, "INCONCLUSIVE", "The mean rate"),
        ("spread", 0.1, "FAIL", "The observed spread"),
        ("denoised", 0.1, "FAIL", "The band of true rates"),
    ],
)
def test_a_bound_on_a_figure_has_its_sentence(figure, bound, badge, words):
    found = audited(wrong(0.0, 0.9, 150))
    head = audit_headline(found, judge(found, None, bound, figure))
    assert head.badge is Badge[badge]
    assert head.sentence.startswith(words)
    assert "=" not in head.sentence
    assert dict(head.rows)["asked"].startswith(f"{badge}: ")


@pytest.mark.parametrize(
    ("labels", "decisions"),
    [([[1]], [[0]]), ([[np.nan, np.nan]] * 3, [[0, 1]] * 3), ([[1], [0], [1]], [[1], [1], [0]])],
)
def test_audits_that_can_tell_little_have_a_headline(labels, decisions):
    for options in ({}, ASKED):
        head = audit_headline(audit(labels, decisions, **options))
        assert head.badge in (Badge.INCONCLUSIVE, Badge.FAIL) or len(labels) == 1
        assert not re.search("nan|None", " ".join([head.sentence, *map(" ".join, head.rows)]))


SAME, APART = wrong(0.3, 0.3, 200), wrong(0.0, 0.6, 200)


@pytest.mark.parametrize(
    ("before", "after", "badge", "answer"),
    [
        (APART, SAME, "MORE_EQUAL", "Yes"),
        (SAME, APART, "LESS_EQUAL", "No"),
        (SAME, wrong(0.3, 0.3, 200, seed=1), "INCONCLUSIVE", "The data cannot show"),
    ],
)
def test_a_comparison_answers_by_the_interval(before, after, badge, answer):
    labels = np.random.default_rng(5).integers(0, 2, before.shape)
    both = [audit(labels, np.abs(labels - losses)) for losses in (before, after)]
    found = compare(*both)
    head = comparison_headline(found)
    assert head.badge is Badge[badge]
    assert head.sentence.startswith(answer)
    assert (found.sigma2.high < 0, found.sigma2.low > 0) == (
        badge[:4] == "MORE",
        badge[:4] == "LESS",
    )
    rows = dict(head.rows)
    ends = [float(end) for end in re.findall(NUMBER, rows["average error"])[:2]]
    assert ends == [pytest.approx(losses.mean(), abs=5.1e-4) for losses in (before, after)]
    assert len(rows) == 8


def test_a_comparison_of_learned_tasks_says_nothing_about_true_rates():
    labels = np.zeros(SAME.shape)
    both = [audit(labels, losses, learned_tasks=True) for losses in (APART, SAME)]
    head = comparison_headline(compare(*both))
    assert head.badge is Badge.OBSERVED
    assert "not estimated" in dict(head.rows)["SD of true rates"]


@pytest.mark.parametrize(
    ("windows", "badge"),
    [
        ([APART, SAME], "MORE_EQUAL"),
        ([SAME, APART], "LESS_EQUAL"),
        ([SAME, APART, SAME], "UP_AND_DOWN"),
        ([SAME, wrong(0.3, 0.3, 200, seed=1)], "INCONCLUSIVE"),
    ],
)
def test_a_drift_answers_by_the_intervals(windows, badge):
    losses = np.hstack(windows)
    names = np.repeat([f"month {k}" for k in range(len(windows))], 200)
    head = drift_headline(drift(audited(losses), names))
    assert head.badge is Badge[badge]
    assert len(head.rows) == 8
    rows = dict(head.rows)
    assert rows["batches"] == f"{len(windows)}, from month 0 to month {len(windows) - 1}"
    assert ("month 1" in rows["SD went"]) == (badge != "INCONCLUSIVE")


@pytest.fixture(scope="module")
def people():
    return make_synthetic(n=60, m=12, d=3, n_holdout=30, m_holdout=8)


def test_a_point_of_a_curve_says_whether_its_promise_is_kept(people):
    options = {"oracle": RegressionOracle(), "solver": QUICK, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the small alpha is not kept
        curve = frontier(people.X, people.Y, [0.005, 0.3], **options)
    held_out = ("X_new", "Y_new_people", "Y_new_tasks", "Y_new_both")
    measured = generalisation(curve, **{name: getattr(people, name) for name in held_out})
    for point, badge in zip(curve, ("FAIL", "PASS"), strict=True):
        wrong = np.abs(point.model.predict(people.X) - people.Y).mean(axis=1)
        assert (np.ptp(wrong) <= 2 * point.value + 1e-6) == (badge == "PASS")
        head = frontier_headline(curve, point, measured)
        assert head.badge is Badge[badge]
        rows = dict(head.rows)
        assert len(rows) == 8
        assert float(re.findall(NUMBER, rows["error"])[0]) == pytest.approx(
            wrong.mean(), abs=5.1e-4
        )
        worst = np.sort(wrong)[-6:].mean()
        assert float(re.findall(NUMBER, rows["worst-off tenth"])[0]) == pytest.approx(
            worst, abs=5.1e-3
        )
        assert head.sentence.startswith("Kept" if badge == "PASS" else "Not kept")
        assert "new people and tasks" in rows["held out"]
        assert rows["proof"].startswith("none: the oracle is a heuristic")
    assert "nothing held out" in dict(frontier_headline(curve, curve[0]).rows)["held out"]


def test_a_price_requires_nothing(people):
    curve = frontier(people.X, people.Y, [0.2], promise=WorstOff(0.1), solver=QUICK, random_state=0)
    head = frontier_headline(curve, curve[0])
    assert head.badge is Badge.OBSERVED
    assert head.question == "How low is the mean rate of the worst-off 10%?"
    known = curve[0].certificate
    reached, before = (float(part) for part in re.findall(NUMBER, head.sentence)[:2])
    assert reached == pytest.approx(known.reached, abs=5.1e-4)
    assert before == pytest.approx(known.unconstrained_reached, abs=5.1e-4)


# The strip.


@pytest.mark.parametrize("count", [0, 1, 60, 499, 5000])
def test_a_strip_has_a_dot_for_each_person_or_says_how_many(count):
    rates = np.random.default_rng(0).random(count).round(2)
    drawn = strip(np.append(rates, np.nan), band=(0.2, 0.4), most=1000)
    assert drawn.count("<circle") == min(count, 1000)
    inside = np.count_nonzero((rates > 0.195) & (rates < 0.405))
    assert f"{inside:,} of {count:,} people are in the band" in drawn
    assert ("about 5 people" in drawn) == (count > 1000)


def test_people_at_the_end_of_a_band_are_inside():
    drawn = strip([0.1 + 0.2, 0.5, 0.5 + 1e-12, 0.6], band=(0.3, 0.5))
    assert "3 of 4 people are in the band" in drawn


def test_strips_may_share_an_axis_and_a_height():
    first = strip([0.1, 0.2], ends=(0.0, 0.8), least_room=100)
    second = strip([0.7] * 9, ends=(0.0, 0.8), least_room=100)

    def axis(drawn):
        return re.findall(r'x="([\d.]+)"[^>]*middle[^>]*>([\d.]+)<', drawn)

    assert axis(first) == axis(second) != axis(strip([0.1, 0.2]))
    assert re.findall('viewBox="[^"]*"', first) == re.findall('viewBox="[^"]*"', second)


def test_words_of_a_strip_are_escaped():
    drawn = strip([0.1], what="<script>", caption="a & b")
    assert "<script>" not in drawn
    assert "a &amp; b" in drawn
