"""Groups of people, checked by hand, and models that audit themselves."""

import numpy as np
import pandas as pd
import pytest

from averagefair import InputError, audit
from tests.support.audit_by_hand import counted, losses, rates, sigma2_by_family
from tests.support.audit_tables import FAMILIES, RATES, exactly, of_losses
from tests.support.small_fits import M, model, people


def test_groups_made_at_random_explain_nothing():
    L, _ = population([[0.2, 0.35, 0.5, 0.65]], each=120)
    shares = [of_losses(L, groups=np.arange(120) % k).groups[0].between for k in (7, 23, 49)]
    assert np.mean(shares) < 0.15
    with pytest.raises(InputError, match="group has 120 groups for 120 people"):
        of_losses(L, groups=range(120))


def population(middles, m=200, each=60, seed=0):
    """People in groups: a row of true rates for each group."""
    random = np.random.default_rng(seed)
    truth = np.concatenate([np.resize(row, each) for row in middles])
    hard = random.uniform(0.7, 1.3, size=m)
    return 1.0 * (random.random((truth.size, m)) < truth[:, None] * hard), np.repeat(
        [f"g{k}" for k in range(len(middles))], each
    )


def test_fair_by_group_and_unfair_within():
    L, groups = population([[0.2, 0.6], [0.6, 0.2]])
    view = of_losses(L, groups=groups).groups[0]
    assert view.gap < 0.03
    assert view.between < 0.05
    assert view.within == exactly(1 - view.between)
    assert "miss most of it" in view.statement()
    L, groups = population([[0.2, 0.6]])
    twice = of_losses(np.vstack([L, L]), groups=np.repeat(["a", "b"], len(L))).groups[0]
    assert f"all groups have a mean rate of {L.mean():.3f}" in twice.statement()
    assert "miss most of it" in twice.statement()  # equal means do not hide this
    L, groups = population([[0.2], [0.6]])
    view = of_losses(L, groups=groups).groups[0]
    assert view.between > 0.95
    assert view.gap == pytest.approx(0.4, abs=0.05)
    assert "misses" not in view.statement()
    L, groups = population([[0.4], [0.4]], m=20)
    view = of_losses(L, groups=groups).groups[0]
    assert np.isnan([view.within, view.between]).all()
    assert "lies between" not in view.statement()


@pytest.mark.parametrize("families", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_groups_by_hand(seed, families):
    random = np.random.default_rng(seed)
    n, m = 14, 8
    L = np.clip(random.random((n, m)) * random.random((n, 1)) * 1.5, 0, 1)
    W = random.random((n, m)) < 0.7
    W[0], W[1] = False, np.arange(m) == 3
    groups = np.array([["a", "b", "c", None][i % 4] for i in range(n - 1)] + ["lone"], object)
    kinds = FAMILIES if families else np.arange(m)
    options = {"task_families": kinds} if families else {}
    view = of_losses(L, observed=W, groups=groups, **options).groups[0]
    E, _ = rates(L, W)
    assert view.name == ("a", "b", "c", "lone")
    assert view.ungrouped == sum(g is None for g in groups)
    inner = freedom = 0.0
    for k, name in enumerate(view.name):
        mine = groups == name
        here = E[mine & ~np.isnan(E)]
        assert view.people[k] == here.size
        assert (view.mean[k], view.lowest[k], view.highest[k]) == tuple(
            map(exactly, (here.mean(), here.min(), here.max()))
        )
        value = sigma2_by_family(L[mine], W[mine], kinds)
        assert view.variance[k] == exactly(value)
        judged = sum(len({kinds[j] for j in np.flatnonzero(row)}) >= 2 for row in W[mine])
        inner += 0.0 if judged < 2 else (judged - 1) * value
        freedom += max(0, judged - 1)
    grouped = groups != None  # noqa: E711
    whole = sigma2_by_family(L[grouped], W[grouped], kinds)
    assert whole > 0
    assert view.within == exactly(min(1.0, max(0.0, inner / freedom / whole)))
    assert view.between == exactly(1 - view.within)
    assert view.gap == exactly(np.ptp(view.mean))


X, Y = people(seed=4, blanks=0.1)
NEW, LATER = people(seed=5, m=8)


def assert_same_audit(one, other):
    first, second = one.to_dict(), other.to_dict()
    first.pop("notes"), second.pop("notes")
    assert first == second


@pytest.mark.parametrize("rate", RATES)
def test_a_model_audits_itself(rate):
    fitted = model(rate=rate, alpha=0.3).fit(X, Y)
    options = {"rate": rate, "alpha": 0.3, "beta": 0.0, "task_names": fitted.task_names_}
    found = fitted.audit(X, Y)
    chances = fitted.decision_probability(X)
    assert_same_audit(found, audit(Y, chances, **options, learned_tasks=True))
    E, _ = rates(losses(Y, chances), counted(Y, rate))
    np.testing.assert_allclose(found.people.rate, E, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.individual_rates_, E, rtol=0, atol=1e-9)
    assert found.learned_tasks
    wider = fitted.audit(X, Y, alpha=0.2, beta=0.1, confidence=0.9)
    assert (wider.assessment.alpha, wider.assessment.beta, wider.confidence) == (0.2, 0.1, 0.9)
    held = fitted.extend(people(seed=4, m=8)[1])
    later = fitted.audit(NEW, LATER, classifiers=held)
    options |= {"task_names": held.task_names}
    assert_same_audit(later, audit(LATER, held.decision_probability(NEW), **options))
    assert not later.learned_tasks


def test_later_tasks_of_the_same_labels_are_audited():
    """Unnamed tasks are named after their labels; two tasks with equal labels are allowed."""
    fitted, twins = model(alpha=0.3).fit(X, Y), [0, 1, 0]
    held = fitted.extend(people(seed=4, m=8)[1][:, twins])
    found = fitted.audit(NEW, LATER[:, twins], classifiers=held)
    assert len(set(held.task_names)) == 3
    options = {"alpha": 0.3, "beta": 0.0, "task_names": held.task_names}
    alone = audit(LATER[:, twins], held.decision_probability(NEW), **options)
    assert_same_audit(found, alone)
    named = fitted.audit(NEW, LATER[:, twins], classifiers=held, task_names=["a", "b", "c"])
    assert named.tasks.name == ("a", "b", "c")


def test_a_model_of_several_rates_asks_which():
    fitted = model(rate=["error", "false_positive"], alpha=0.4).fit(X, Y)
    with pytest.raises(InputError, match=r"say which one to audit.*rate='error'"):
        fitted.audit(X, Y)
    found = fitted.audit(X, Y, rate="false_positive")
    assert found.rate == "false_positive"
    assert found.assessment.alpha == 0.4


def test_tables_with_names_and_a_model():
    names = [f"person {i}" for i in range(len(X))]
    tasks = [f"task {j}" for j in range(M)]
    frame, labels = pd.DataFrame(X, index=names), pd.DataFrame(Y, index=names, columns=tasks)
    frame.columns = ["a", "b", "c"]
    weights = np.linspace(1, 2, M)
    fitted = model(alpha=0.4).fit(frame, labels, task_weight=weights)
    groups = pd.Series(["x", "y"] * (len(X) // 2), index=names)
    found = fitted.audit(frame, labels, groups=groups[::-1])
    assert found.people.name.tolist() == names
    assert found.tasks.name == tuple(tasks)
    assert found.groups[0].people.tolist() == [len(X) // 2] * 2
    assert any("weighs all tasks equally" in note for note in found.notes)
    # Later tasks with the names of learned tasks count as learned.
    again = fitted.audit(frame, labels[tasks[:2]], classifiers=fitted.extend(labels[tasks[:2]]))
    assert again.learned_tasks
    others = labels[tasks[:2]].set_axis(["new", "newer"], axis=1)
    assert not fitted.audit(frame, others, classifiers=fitted.extend(others)).learned_tasks
    with pytest.raises(InputError, match="in their order"):
        fitted.audit(frame, labels[tasks[::-1]])
