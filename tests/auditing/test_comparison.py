"""Comparisons of two audits, and of consecutive batches, checked by hand."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, norm
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

from averagefair import InputError, audit, compare, drift
from tests.support.audit_by_hand import (
    jackknife,
    kl_interval,
    losses,
    mean_and_variance,
    people_with,
    rates,
    sigma2_by_family,
    tasks_counted,
)
from tests.support.audit_tables import (
    BLANKS,
    FAMILIES,
    RATES,
    by_family,
    drawn,
    exactly,
    of_losses,
    task_factor,
)

PAIRS = [
    (seed, rate, blanks, seed % 2 == 1)
    for seed, (rate, blanks) in enumerate((rate, blanks) for rate in RATES for blanks in BLANKS)
]


def two_audits(seed, rate, blanks, chances, **more):
    """Two audits of the same people, and the losses in both."""
    labels, before, options, L, W = drawn(300 + seed, rate, blanks, chances)
    after = np.random.default_rng(seed).permuted(before, axis=1)
    options |= {"rate": rate, "confidence": 0.9} | more
    pair = audit(labels, before, **options), audit(labels, after, **options)
    return *pair, L, losses(labels, after), W


def interval(value, variance, units, confidence=0.9):
    half = student.ppf(0.5 + confidence / 2, units - 1) * sqrt(variance)
    return exactly(value - half), exactly(value + half)


@pytest.mark.parametrize(("seed", "rate", "blanks", "chances"), PAIRS)
@pytest.mark.parametrize("families", [False, True])
def test_changes_by_hand(seed, rate, blanks, chances, families):
    width = drawn(300 + seed, rate, blanks, chances)[-1].shape[1]
    kinds = FAMILIES[:width] if families else np.arange(width)
    before, after, L, other, W = two_audits(seed, rate, blanks, chances, task_families=kinds)
    found = compare(before, after)
    difference = np.where(W, other - L, np.nan)
    mean, _ = mean_and_variance(difference, W)
    D, cells = rates(difference, W)
    Z = by_family(difference, W, mean, cells, kinds.tolist())
    n, k = Z.shape
    spare = np.sum(Z**2) / n**2
    factor = task_factor(W, kinds) if families else k / (k - 1)
    variance = np.nanvar(D, ddof=1) / n + np.sum(Z.mean(axis=0) ** 2) * factor - spare
    variance = variance if variance > 0 else spare
    if not families and variance != spare:
        assert variance == exactly(mean_and_variance(difference, W)[1])
    assert found.mean.value == exactly(mean)
    assert (found.mean.low, found.mean.high) == interval(mean, variance, k)
    np.testing.assert_allclose(found.people.difference, D, rtol=0, atol=1e-9)
    one, two = (sigma2_by_family(table, W, kinds) for table in (L, other))
    assert found.sigma2.value == exactly(two - one)
    if not families:
        (_, _, f, g), (_, _, f2, g2) = jackknife(L, W), jackknife(other, W)
        tasks, n = len(tasks_counted(W, people_with(W, 2))), len(g)
        variance = np.sum((g2 - g) ** 2) * n / (n - 1)
        variance += np.sum((f2 - f) ** 2) * tasks / (tasks - 1)
        assert (found.sigma2.low, found.sigma2.high) == interval(two - one, variance, tasks)


@pytest.mark.parametrize("chances", [False, True])
def test_each_persons_change(chances):
    random = np.random.default_rng(8)
    L, other = random.random((2, 5, 150)) ** [[[1]] * 5, [[0.1]] * 4 + [[9]]]
    if not chances:
        L, other = np.round(L), np.round(other)
    W = random.random(L.shape) < 0.9
    W[3] = False
    found = compare(*(of_losses(table, observed=W) for table in (L, other))).people
    assert np.isnan([found.low[3], found.high[3], found.difference[3]]).all()
    assert not found.better[3]
    assert not found.worse[3]
    for i in (0, 1, 2, 4):
        d = (other - L)[i, W[i]]
        m, z = d.size, norm.ppf(0.975)
        # Add half a task to either side, then compute the usual interval.
        d_more = np.append(d, [sqrt(0.5), -sqrt(0.5)])
        half = z * sqrt(np.mean(d_more**2) - np.mean(d_more) ** 2) / sqrt(m + 2)
        assert (found.low[i], found.high[i]) == (
            exactly(d.sum() / (m + 2) - half),
            exactly(d.sum() / (m + 2) + half),
        )
        low, high = kl_interval((1 + d.mean()) / 2, m, 0.05 / 4)
        worse, better = low > 0.5, high < 0.5
        if not chances:
            up, down = np.sum(d > 0), np.sum(d < 0)
            worse, better = (binom.cdf(few, up + down, 0.5) <= 0.05 / 8 for few in (down, up))
        assert (found.worse[i], found.better[i]) == (worse, better)
    assert found.worse.any()
    assert found.better.any()


@pytest.mark.parametrize(("wins", "alone", "among"), [(5, False, False), (9, True, False)])
def test_fewer_are_sure_among_many(wins, alone, among):
    """A person is better on ``wins`` of 100 tasks and worse on none."""
    before, after = np.zeros((2, 100, 100))
    before[0, :wins] = 1.0
    found = [
        compare(of_losses(before[:n]), of_losses(after[:n])).people.better[0] for n in (1, 100)
    ]
    assert found == [alone, among]
    assert 2 * 0.5**wins < (0.05 if alone else 1)  # two-sided sign test
    found = [
        compare(of_losses(0.9 * before[:n] * scale), of_losses(after[:n])).people.better[0]
        for n in (1, 100)
        for scale in (1, 0)
    ]
    assert not any(found)  # the KL-Chernoff test for chances needs more


def test_compared_with_itself_nothing_changes():
    found, *_ = two_audits(*PAIRS[1])
    itself = compare(found, found)
    assert (itself.mean.value, itself.sigma2.value) == (0, 0)
    assert np.isnan([itself.mean.low, itself.sigma2.low]).all()  # no variance, no interval
    assert not itself.people.better.any()
    assert not itself.people.worse.any()
    assert "rises" not in itself.summary()
    assert "falls" not in itself.summary()


@pytest.mark.parametrize("case", PAIRS[:4])
def test_the_other_way_round(case):
    before, after, *_ = two_audits(*case)
    there, back = compare(before, after), compare(after, before)
    for name in ("mean", "sigma2"):
        one, other = getattr(there, name), getattr(back, name)
        assert (one.value, one.low, one.high) == (
            exactly(-other.value),
            exactly(-other.high),
            exactly(-other.low),
        )
    assert there.people.low == exactly(-back.people.high)
    np.testing.assert_array_equal(there.people.better, back.people.worse)
    assert (there.before, there.after) == (before, after)
    assert len(there.to_frame()) == before.n
    assert there.to_dict()["mean_change"]["value"] == there.mean.value


def test_a_clear_change_is_said():
    random = np.random.default_rng(0)
    L = random.random((40, 80))
    worse, better = of_losses(1.0 * (L < 0.9)), of_losses(1.0 * (L < 0.1))
    assert "The mean error rate falls by" in str(compare(worse, better))
    assert "rises by" in str(compare(better, worse))
    found = compare(worse, better)
    assert "Clearly better off: 40 of 40 people; clearly worse off: 0 " in found.summary()


def test_only_the_same_is_compared():
    labels, decisions = np.random.default_rng(1).integers(0, 2, size=(2, 6, 5)).astype(float)
    found = audit(labels, decisions, rate="false_positive")

    def other(words, labels=labels, decisions=decisions, **options):
        options = {"rate": "false_positive"} | options
        with pytest.raises(InputError, match=words):
            compare(found, audit(labels, decisions, **options))

    other("same people.*6 and 5", labels[1:], decisions[1:])
    other("same individuals.*'a'", individual_names=list("abcdef"))
    other("the same rate and confidence.*'error'", rate="error")
    other("the same rate and confidence.*0.9", confidence=0.9)
    other("same tasks.*use drift", task_names=list("vwxyz"))
    other("same labels", labels=1 - labels)
    other("same observed cells", observed=labels * 0)
    other("same task_families", task_families=list("vvwww"))
    kinds = [of_losses(np.eye(4), task_families=list(kind)) for kind in ("vvww", "vwvw")]
    with pytest.raises(InputError, match="same task_families"):
        compare(*kinds)


def test_other_labels_are_not_compared():
    labels, decisions = np.random.default_rng(1).integers(0, 2, size=(2, 6, 5))
    with pytest.raises(InputError, match="labels"):
        compare(audit(labels, decisions), audit(1 - labels, decisions))


@pytest.mark.parametrize("call", [lambda: compare(1, 2), lambda: drift(None)])
def test_what_is_no_audit_is_refused(call):
    with pytest.raises(InputError):
        call()


def test_a_comparison_is_strict_json():
    found = of_losses(np.eye(3))
    json.dumps(compare(found, found).to_dict(), allow_nan=False)
    json.dumps(drift([found, of_losses(np.tri(3))]).to_dict(), allow_nan=False)


def estimate(found):
    return np.array([found.value, found.low, found.high, found.people_variance, found.variance])


def influences(L, W, people, tasks):
    """Each person's and each task's influence on the mean rate, by name, and the cells' noise."""
    E, cells = rates(L, W)
    rated = ~np.isnan(E)
    n, m = rated.sum(), W.shape[1]
    Z = by_family(L, W, np.nanmean(E), cells, list(range(m)))
    of_people = {
        name: (rate - np.nanmean(E)) / n * np.sqrt(n / (n - 1))
        for name, rate in zip(people, E, strict=True)
        if not np.isnan(rate)
    }
    of_tasks = dict(zip(tasks, Z.sum(axis=0) / n * np.sqrt(m / (m - 1)), strict=True))
    d = np.where(W, L - E[:, None], 0.0)
    several = cells >= 2
    noise = (d[several] ** 2).sum(axis=1) / (cells[several] * (cells[several] - 1))
    return np.nanmean(E), of_people, of_tasks, noise.sum() / n**2


def change_by_hand(one, two):
    """The change of the mean rate and its variance; people and tasks are matched by name.

    No person may have a task in both tables.
    """
    (before, *old, noise), (after, *new, later) = (influences(*table) for table in (one, two))
    variance = sum(
        (mine.get(name, 0.0) - theirs.get(name, 0.0)) ** 2
        for mine, theirs in zip(old, new, strict=True)
        for name in {*mine, *theirs}
    )
    return after - before, variance - noise - later


def spans(months):
    return np.repeat(["May", "June", "July"], months)


@pytest.mark.parametrize("blanks", [0.0, 0.2])
def test_batches_are_audits_of_the_parts(blanks):
    random = np.random.default_rng(6)
    L = np.clip(random.random((30, 1)) * random.random((30, 36)) * 1.5, 0, 1)
    labels = np.where(random.random(L.shape) < blanks, np.nan, 0.0)
    labels[0, 1:12] = np.nan
    names = [f"t{j}" for j in range(36)]
    batch = spans([12, 8, 16])
    options = {"alpha": 0.1, "beta": 0.1, "confidence": 0.8}
    whole = audit(labels, L, task_names=names, random_state=5, **options)
    found = drift(whole, pd.Series(batch, index=names)[::-1] if blanks else batch)
    assert found.names == ("May", "June", "July")
    parts = []
    for name, one in zip(found.names, found, strict=True):
        here = np.flatnonzero(batch == name)
        alone = audit(labels[:, here], L[:, here], task_names=np.array(names)[here], **options)
        parts.append(alone)
        assert estimate(one.mean) == exactly(estimate(alone.mean))
        assert estimate(one.dispersion.sigma2) == exactly(estimate(alone.dispersion.sigma2))
        assert one.tasks.name == alone.tasks.name
        assert one.people.all_low == exactly(alone.people.all_low)
        assert one.assessment.observed_beta == alone.assessment.observed_beta
        assert one.chance.statistic == exactly(alone.chance.statistic)
    listed = drift(parts, found.names)
    for name in ("mean_changes", "sigma2_changes"):
        for one, other in zip(getattr(listed, name), getattr(found, name), strict=True):
            assert estimate(one) == exactly(estimate(other))
    np.testing.assert_allclose(found.p_adjusted, multipletests(found.p, method="holm")[1])
    for k, change in enumerate(found.mean_changes):
        one, two = parts[k : k + 2]
        tables = [
            (L[:, here], labels[:, here] == 0, range(30), np.flatnonzero(here))
            for here in (batch == name for name in found.names[k : k + 2])
        ]
        value, variance = change_by_hand(*tables)
        units = min(one.m, two.m)
        assert change.value == exactly(value)
        # Corrected for four comparisons: two kinds of change, two changes of each.
        assert (change.low, change.high) == interval(change.value, variance, units, 1 - 0.2 / 4)
        change = found.sigma2_changes[k]
        old, new = (
            part.dispersion.person_influence
            * np.sqrt(part.dispersion.people / (part.dispersion.people - 1))
            for part in (one, two)
        )
        tasks = one.dispersion.sigma2.tasks_variance + two.dispersion.sigma2.tasks_variance
        variance = np.sum((new - old) ** 2) + tasks
        assert (change.low, change.high) == interval(change.value, variance, units, 1 - 0.2 / 4)
    statistic = -2 * np.sum(np.log(found.p))
    assert found.p_combined == exactly(chi2.sf(statistic, 6))
    assert list(found.to_frame().index) == list(found.names)
    assert "nan" not in str(found)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4))]
)
def test_p_values_of_all_batches_together(seed):
    random = np.random.default_rng(seed)
    L = np.clip(
        random.random((8, 30)) + random.random((8, 1)) * np.repeat([0.1, 0.3, 0.5], 10), 0, 1
    )
    found = drift(of_losses(L), np.repeat([1, 2, 3, 4, 5], 6))
    np.testing.assert_allclose(found.p_adjusted, multipletests(found.p, method="holm")[1])
    blank = audit(np.full((8, 4), np.nan), np.zeros((8, 4)))
    more = drift([*found, blank])
    assert more.p_adjusted == (*found.p_adjusted, pytest.approx(np.nan, nan_ok=True))


def sigma2_of(table):
    """The de-noised variance of a complete table: (MSR - MSE) / m."""
    n, m = table.shape
    E, hard, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    left = np.sum((table - np.add.outer(E, hard) + mean) ** 2) / ((n - 1) * (m - 1))
    return E.var(ddof=1) - left / m


def test_who_is_badly_off_again():
    random = np.random.default_rng(2)
    truth, redrawn = random.uniform(0.1, 0.9, size=(2, 400, 1))
    first, again, others = (
        1.0 * (random.random((400, 150)) < true) for true in (truth, truth, redrawn)
    )
    whole = of_losses(np.hstack([first, again, others]))
    same, other = (
        drift(of_losses(np.hstack(pair)), [1] * 150 + [2] * 150)
        for pair in ((first, again), (first, others))
    )
    assert same.persistence.value > 0.95
    assert abs(other.persistence.value) < 0.15
    raw = np.corrcoef(first.mean(axis=1), again.mean(axis=1))[0, 1]
    assert same.persistence.value > raw  # noise hides some of it
    three = drift(whole, spans([150] * 3))

    def shared(*tables):
        covariance = np.cov([table.mean(axis=1) for table in tables])
        k = len(tables)
        between = (covariance.sum() - np.trace(covariance)) / (k * (k - 1))
        return between / np.mean([sigma2_of(table) for table in tables])

    value = shared(first, again, others)
    left = np.array([shared(again, others), shared(first, others), shared(first, again)])
    variance = 2 / 3 * np.sum((left - left.mean()) ** 2)
    assert three.persistence.value == exactly(value)
    low, high = interval(value, variance, 3, 0.95)
    assert (three.persistence.low, three.persistence.high) == (low, high)
    assert np.isnan(same.persistence.low)
    assert "more than chance in May, June, July" in three.summary()
    worse = drift([of_losses(first), of_losses(np.minimum(1, first + again))])
    assert "The mean rate went up in 2" in worse.summary()
    assert worse.names == ("1", "2")


def test_people_come_and_go_and_tasks_return():
    """One task returns, for people who did not meet it before; two people of six are new."""
    random = np.random.default_rng(8)
    one, two = np.round(random.random((2, 6, 5)), 2)
    people = [["a", "b", "c", "d", "e", "f"], ["h", "c", "b", "f", "g", "e"]]
    tasks = [["v", "w", "x", "y", "z"], ["p", "q", "r", "s", "v"]]
    seen = np.ones((2, 6, 5), dtype=bool)
    seen[0, [1, 2, 4, 5], 0] = False  # those who met v before are gone
    tables = [*zip((one, two), seen, people, tasks, strict=True)]
    audits = [
        audit(np.where(W, 0.0, np.nan), L, individual_names=names, task_names=own)
        for L, W, names, own in tables
    ]
    found = drift(audits, ["May", "June"])
    value, variance = change_by_hand(*tables)
    change = found.mean_changes[0]
    assert change.value == exactly(value)
    assert (change.low, change.high) == interval(value, variance, 5, 1 - 0.05 / 2)


def test_what_stays_the_same_is_no_change():
    """The same people decided alike on the same tasks: the interval has hardly any width."""
    random = np.random.default_rng(9)
    L = 1.0 * (random.random((60, 40)) < random.random((60, 1)) * random.random(40))
    L2 = L.copy()
    L2[0, 0] = 1.0 - L2[0, 0]
    names = [f"t{task}" for task in range(40)]
    same = drift([audit(0 * L, own, task_names=names) for own in (L, L2)]).mean_changes[0]
    other = drift([audit(0 * L, own) for own in (L, L2)]).mean_changes[0]  # other tasks, unnamed
    assert same.high - same.low < 0.1 * (other.high - other.low)


def test_returning_tasks_do_not_pass_for_persistence():
    """True rates are equal. People err on the same tasks again, which is not who they are."""
    random = np.random.default_rng(10)
    L = 1.0 * (random.random((400, 30)) < 0.3)
    unlike = 1.0 * (random.random((400, 60)) < random.uniform(0, 0.6, (400, 1)))
    tables = [np.hstack([L, part]) for part in np.split(unlike, 2, axis=1)]
    names = [f"t{task}" for task in range(30)]
    audits = [
        audit(0 * table, table, task_names=[*names, *(f"{kind}{task}" for task in range(30))])
        for table, kind in zip(tables, "ab", strict=True)
    ]
    assert abs(drift(audits).persistence.value - 1.0) < 0.1


def test_a_change_of_no_width_is_no_change():
    first = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 1], [1, 0, 1, 1]])
    later = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])
    found = drift(of_losses(np.hstack([first, later])), [1] * 4 + [2] * 4)
    assert found.mean_changes[0].high - found.mean_changes[0].low > 0.01


@pytest.mark.parametrize(
    ("audits", "batches", "words"),
    [
        (of_losses(np.eye(4)), None, "batches must be a list of 4"),
        (of_losses(np.eye(4)), [1, 2], "batches must give 4"),
        (of_losses(np.eye(4)), [1, 1, 1, 1], "two or more"),
        (of_losses(np.eye(4)), [1, None, 2, 2], "none for task1"),
        ([of_losses(np.eye(4))], None, "two or more"),
        ([of_losses(np.eye(4)), "June"], None, "two or more audits.*str"),
        ([of_losses(np.eye(4)), of_losses(np.eye(3))], None, "people without names"),
        ([of_losses(np.eye(4)), of_losses(np.tri(4))], ["May"], "batches must be 2 unique names"),
        (
            [of_losses(np.eye(4)), of_losses(np.tri(4))],
            ["May", "May"],
            "unique names, one for each audit; got May, May",
        ),
        ([of_losses(np.eye(4)), of_losses(np.eye(4))], None, "two batches are the same table"),
        ([of_losses(np.eye(4))] * 2, None, "two batches are the same table"),
        (of_losses(np.eye(4), task_families=list("xyyz")), [1, 1, 2, 2], "one batch; y is not"),
        (
            [of_losses(np.eye(4)), of_losses(np.eye(4), confidence=0.9)],
            None,
            "same rate and confidence",
        ),
    ],
)
def test_batches_that_are_refused(audits, batches, words):
    with pytest.raises(InputError, match=words):
        drift(audits, batches)


def test_batches_of_one_audit_may_look_alike():
    """Two tasks with mistakes on the same people still count as two tasks."""
    found = drift(of_losses([[1, 1], [0, 0], [0, 0]]), ["May", "June"])
    assert found.names == ("May", "June")
