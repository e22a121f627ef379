"""Means of groups: intervals by hand, and rules on features that other people confirm."""

import numpy as np
import pytest
from scipy.stats import t

from averagefair import InputError, audit
from averagefair.auditing.class_means import class_means

pd = pytest.importorskip("pandas")


def of_losses(L, W=None, **options):
    W = np.ones(L.shape, dtype=bool) if W is None else W
    return audit(np.where(W, 0.0, np.nan), np.where(W, L, 0.0), **options)


def interval_by_hand(L, W, group):
    """The mean rate of some people and its two-way interval, in plain sums."""
    E = np.array([row[seen].mean() for row, seen in zip(L, W, strict=True)])
    own = E[group]
    n, m = own.size, L.shape[1]
    z = np.where(W, (L - own.mean()) / W.sum(axis=1, keepdims=True), 0.0)[group]
    people = ((own - own.mean()) ** 2).sum() / (n * (n - 1))
    cells = (z**2).sum() / n**2
    tasks = m / (m - 1) * (z.mean(axis=0) ** 2).sum() - cells
    freedom = (people + tasks) ** 2 / (people**2 / (n - 1) + tasks**2 / (m - 1))
    half = t.ppf(0.975, min(freedom, m - 1)) * np.sqrt(people + tasks)
    return own.mean(), own.mean() - half, own.mean() + half


@pytest.mark.parametrize("seed", range(3))
def test_group_intervals_by_hand(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((60, 20)) < 0.8
    L = (rng.random((60, 20)) < rng.uniform(0.1, 0.6, 20)) * 1.0
    group = rng.integers(0, 3, 60)
    view = of_losses(L, W, groups=group).groups[0]
    for number in range(3):
        mean, low, high = interval_by_hand(L, W, group == number)
        assert view.mean[number] == pytest.approx(mean)
        assert (view.low[number], view.high[number]) == (pytest.approx(low), pytest.approx(high))
    assert "CI low" in str(view)


def test_one_group_of_all_is_the_mean():
    rng = np.random.default_rng(4)
    L = (rng.random((500, 20)) < rng.uniform(0.1, 0.6, 20)) * 1.0
    found = of_losses(L, groups=["all"] * 500)
    view = found.groups[0]
    assert [view.low[0], view.high[0]] == pytest.approx([found.mean.low, found.mean.high])


def test_learned_tasks_have_intervals_over_people():
    rng = np.random.default_rng(5)
    L, group = rng.random((40, 10)), np.arange(40) % 2
    view = of_losses(L, groups=group, learned_tasks=True).groups[0]
    own = L[group == 0].mean(axis=1)
    half = t.ppf(0.975, 19) * own.std(ddof=1) / np.sqrt(20)
    assert [view.low[0], view.high[0]] == pytest.approx([own.mean() - half, own.mean() + half])


def test_a_group_of_one_has_no_interval():
    view = of_losses(np.random.default_rng(6).random((9, 8)), groups=["a"] + ["b"] * 8).groups[0]
    assert np.isnan(view.low[0])
    assert not np.isnan(view.low[1])


def test_differences_know_that_tasks_are_shared():
    """Two random groups meet the same hard and easy tasks: their difference is far surer."""
    rng = np.random.default_rng(7)
    L = (rng.random((800, 30)) < rng.beta(0.5, 1.0, 30)) * 1.0
    found = of_losses(L)
    codes = np.arange(800) % 2
    means = class_means(codes, 2, found.evidence.losses, found.evidence.tally)
    one, difference = (
        means.estimate(np.array(weights), 0.95) for weights in ([1.0, 0.0], [1.0, -1.0])
    )
    assert difference.high - difference.low < 0.4 * (one.high - one.low)


# Rules.


def world(rng, n=400, m=40):
    """People over 50 in the north are wrong more often; income says nothing."""
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "region": rng.choice(["north", "south", "east"], n),
            "income": rng.normal(size=n),
        },
        index=[f"p{number}" for number in range(n)],
    )
    bad = (people.age > 50) & (people.region == "north")
    chances = 0.2 + 0.25 * bad.to_numpy()[:, None]
    return people, (rng.random((n, m)) < chances) * 1.0, bad.to_numpy()


def test_a_planted_rule_is_found_and_confirmed():
    people, L, bad = world(np.random.default_rng(0))
    found = of_losses(L, individual_names=people.index)
    rules = found.who(people)
    assert any("region is north" in rule.text and "age" in rule.text for rule in rules)
    best = rules.rules[0]
    assert best.difference.low < L[bad].mean() - L[~bad].mean() < best.difference.high + 0.1
    assert best.rate.value > best.others.value
    assert "income" not in best.text
    assert "Confirmed on people and tasks" in str(rules)
    assert len(rules.to_frame()) == len(rules)
    shuffled = found.who(people.sample(frac=1, random_state=1))
    assert [rule.text for rule in shuffled] == [rule.text for rule in rules]


def test_features_that_say_nothing_give_no_rules():
    """Forty tables; at most 5% may have a false rule, and six of them have a chance of 1.4%."""
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        L = (rng.random((120, 24)) < rng.uniform(0.05, 0.5, 24)) * 1.0
        rules = of_losses(L).who(rng.normal(size=(120, 4)))
        claims += len(rules) > 0
    assert claims <= 5
    empty = next(
        rules
        for seed in range(40)
        if not len(rules := of_losses(L).who(np.random.default_rng(seed).normal(size=(120, 4))))
    )
    assert "No rule on features is confirmed" in str(empty)


def test_a_rule_counts_everybody_it_describes():
    people, L, _ = world(np.random.default_rng(1))
    for rule in of_losses(L, individual_names=people.index).who(people):
        condition = rule.text.replace("region is ", "region == ").replace(" <= ", " <= ")
        for word in ("north", "south", "east"):
            condition = condition.replace(f"== {word}", f"== '{word}'")
            condition = condition.replace(f"is not {word}", f"!= '{word}'")
        assert len(people.query(condition)) == rule.people


def test_blanks_are_features_too():
    rng = np.random.default_rng(2)
    blank = rng.random(400) < 0.3
    features = pd.DataFrame({"income": np.where(blank, np.nan, rng.normal(size=400))})
    L = (rng.random((400, 30)) < 0.2 + 0.2 * blank[:, None]) * 1.0
    assert of_losses(L).who(features).rules[0].text == "income is blank"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: of_losses(np.eye(30)).who(np.ones((30, 2))), "at least 40 people"),
        (lambda: of_losses(np.ones((50, 5))).who(np.ones((50, 2))), "20 tasks"),
        (lambda: of_losses(np.ones((50, 30))).who(np.ones((49, 2))), "50 people; got 49"),
        (lambda: of_losses(np.ones((50, 30))).who(np.ones(50)), "people x features"),
        (
            lambda: of_losses(np.ones((50, 30)), learned_tasks=True).who(np.ones((50, 2))),
            "fresh tasks",
        ),
        (lambda: of_losses(np.ones((50, 30))).who(np.full((50, 2), np.nan)), "with values"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
