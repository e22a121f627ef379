"""The audit's numbers on populations with known true rates: a short study and a long one.

Seeds are fixed. In the short study a figure may miss its target by four Monte Carlo errors. For a
figure exactly on target, one seed in 30,000 would raise a false alarm. For the whole short study,
fewer than one seed in 500 would.
"""

from itertools import product
from math import sqrt

import numpy as np
import pytest

from benchmarks.audit.populations import COMPLETE, ERROR, FALSE_POSITIVE, MASKED, POPULATIONS, draw
from benchmarks.audit.simulation import (
    Case,
    figures,
    missed,
    result,
    simulate,
    study,
    written,
)
from benchmarks.common import write_section

SHORT = 150
ERRORS = 4.0
CASES = (
    Case("equal, tasks very unlike", COMPLETE, ERROR),
    Case("equal, tasks very unlike", MASKED, FALSE_POSITIVE),
    Case("equal, like people err together", MASKED, ERROR),
    Case("equal, clusters take turns", COMPLETE, FALSE_POSITIVE),
    Case("unequal, tasks very unlike", MASKED, FALSE_POSITIVE),
    Case("unequal, like people err together", COMPLETE, ERROR),
    Case("unequal, randomised", MASKED, ERROR),
)

# The other cases have these tables, rates and kinds of population too.
LONG = {0, 2, 4}
TRUTHS = tuple(product(POPULATIONS, (ERROR, FALSE_POSITIVE)))


def named(case):
    return f"{case.population}-{case.table}-{case.rate}"


@pytest.mark.parametrize(("name", "rate"), TRUTHS)
def test_true_rates_are_what_many_tasks_show(name, rate):
    """With 192 people in all, one seed in 9,000 has a person five standard errors off."""
    rng = np.random.default_rng(3)
    drawn = draw(POPULATIONS[name], MASKED, rate, 8, 40_000, rng)
    counted = drawn.observed & ((drawn.labels == 0) | (rate == ERROR))
    wrong = np.where(drawn.labels == 1, 1.0 - drawn.decisions, drawn.decisions)
    assert wrong.min() >= 0
    assert wrong.max() <= 1
    tasks = counted.sum(axis=1)
    seen = np.sum(wrong, axis=1, where=counted) / tasks
    noise = np.sqrt(np.var(wrong, axis=1, where=counted) / tasks)
    assert (np.abs(seen - drawn.truth) < 5 * noise).all()


@pytest.mark.parametrize(("name", "rate"), TRUTHS)
def test_true_mean_and_variance_are_what_many_people_show(name, rate):
    population = POPULATIONS[name]
    rates = population.rates(population.people(np.random.default_rng(4), 100_000), rate)
    off = np.square(rates - rates.mean())
    rounding = 1e-12
    noise = 5 / sqrt(rates.size)
    assert abs(rates.mean() - population.mean(rate)) < noise * rates.std() + rounding
    assert abs(off.mean() - population.variance(rate)) < noise * off.std() + rounding


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.long if place in LONG else (), id=named(case))
        for place, case in enumerate(CASES)
    ],
)
def test_short_study(case):
    found = result(case, simulate(case, range(SHORT)))
    assert not missed(found, ERRORS), found


def raw_variance(found, drawn):
    """The variance as observed, including noise."""
    return figures(found, drawn)._replace(sigma2=found.dispersion.raw)


def people_only(found, drawn):
    """The usual interval over people, as if each person had other tasks."""
    rates = found.people.rate
    half = 1.96 * rates.std(ddof=1) / sqrt(rates.size)
    return figures(found, drawn)._replace(mean=(rates.mean() - half, rates.mean() + half))


def cochran(found, drawn):
    """Cochran's test of exchangeability within tasks, misused as a test of equal rates."""
    return figures(found, drawn)._replace(p=found.exchangeability.p)


def people_only_spread(found, drawn):
    """An interval for sigma2 that ignores the random draw of tasks."""
    sigma2 = found.dispersion.sigma2
    half = 1.96 * sqrt(sigma2.people_variance)
    return figures(found, drawn)._replace(
        sigma2_interval=(sigma2.value - half, sigma2.value + half)
    )


def estimate_for_bound(found, drawn):
    return figures(found, drawn)._replace(sigma_upper=found.dispersion.sigma)


def one_error_wide(found, drawn):
    """A person's rate plus or minus one standard error, instead of 1.96."""
    rates, tasks = found.people.rate, found.people.tasks
    half = np.sqrt(rates * (1 - rates) / tasks)
    return figures(found, drawn)._replace(each=(rates - half, rates + half))


def one_at_a_time(found, drawn):
    """Intervals for one person, misused for everybody at once."""
    said = figures(found, drawn)
    return said._replace(everybody=said.each)


WRONG = (
    ("bias", raw_variance, "unequal, tasks very unlike"),
    ("mean", people_only, "unequal, tasks very unlike"),
    ("rejected", cochran, "equal, like people err together"),
    ("sigma2_held", people_only_spread, "unequal, like people err together"),
    ("upper", estimate_for_bound, "unequal, like people err together"),
    ("each", one_error_wide, "unequal, tasks very unlike"),
    ("everybody", one_at_a_time, "unequal, tasks very unlike"),
)


@pytest.mark.parametrize(("figure", "wrong", "population"), WRONG, ids=[name for name, *_ in WRONG])
def test_the_judge_catches_a_wrong_figure(figure, wrong, population):
    case = Case(population, COMPLETE, ERROR)
    assert missed(result(case, simulate(case, range(100), wrong)), ERRORS) == [figure]


def test_what_the_wrong_figures_come_to():
    """Wrong figures miss clearly: bias over twice the allowed, coverage below one half."""
    case = Case("unequal, tasks very unlike", COMPLETE, ERROR)
    assert result(case, simulate(case, range(50), raw_variance)).value["bias"] > 0.3
    assert result(case, simulate(case, range(50), people_only)).value["mean"] < 0.5


def test_the_table_goes_between_the_marks(tmp_path):
    case = Case("unequal, tasks very unlike", MASKED, FALSE_POSITIVE)
    text = written([result(case, simulate(case, range(2), raw_variance))])
    assert "\\*" in text.splitlines()[-1]
    page = tmp_path / "audit.md"
    marks = "<!-- simulation: begin -->\n{}\n<!-- simulation: end -->"
    page.write_text(f"# Before\n\n{marks.format('old')}\n\nAfter.\n")
    write_section(page, "simulation", text)
    assert page.read_text() == f"# Before\n\n{marks.format(text)}\n\nAfter.\n"
    page.write_text("No marks.\n")
    with pytest.raises(SystemExit, match=r"audit\.md lacks the lines"):
        write_section(page, "simulation", text)


# Cases at the edge of their target, or just beyond. The chance test rejects slightly too rarely
# (0.03) when a person has 17 cells and one error. sigma_U, a 95% bound, holds 0.90 of the time when
# similar people err together and decisions are randomised: small estimates of sigma2 have small
# estimated errors.
KNOWN = {
    Case("equal at 5%, tasks very unlike", MASKED, FALSE_POSITIVE): {"rejected"},
    Case("equal at 5%, like people err together", MASKED, FALSE_POSITIVE): {"rejected"},
    Case("unequal, randomised", COMPLETE, ERROR): {"upper"},
    Case("unequal, randomised", MASKED, ERROR): {"upper"},
}


@pytest.mark.long
def test_long_study():
    """Run all cases, most with 2,000 repetitions; all meet their targets, except the known ones."""
    results = list(study())
    news = {of.case: set(missed(of)) - KNOWN.get(of.case, set()) for of in results}
    assert not {case: names for case, names in news.items() if names}
    assert not [of for of in results if missed(of, ERRORS)]
