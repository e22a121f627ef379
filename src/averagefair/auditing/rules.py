"""Rules: who has high rates, said by features, and confirmed on other people and other tasks.

A shallow tree over the features finds candidates among half of the people, by their rates on half
of the tasks. Each candidate is tested once on the other people and the other tasks: is the mean
rate inside the rule above that outside? Then the halves change roles. A rule is reported only if
the test confirms it, at a level corrected for all candidates. So if features say nothing about true
rates, a false rule is reported at most 1 - confidence of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import whole_number
from averagefair._util.names import in_a_line
from averagefair._util.text import counted, figure, percent, plain, table
from averagefair.auditing.class_means import ClassMeans, class_means
from averagefair.auditing.estimates import Estimate
from averagefair.auditing.learned import REMEDY, WHY
from averagefair.auditing.losses import BoolArray, Losses
from averagefair.auditing.tally import tally
from averagefair.errors import InputError, extra
from averagefair.game.rates import spoken
from averagefair.people.frames import is_missing, read_features

if TYPE_CHECKING:
    from averagefair.auditing.result import Audit

LEAST_TASKS, LEAST_PEOPLE = 20, 40
# The least share of the people in a rule, and the least number of them, in each half.
_LEAST_SHARE, _LEAST_IN_RULE = 0.05, 10
# Candidates of each half, and the share of people in common at which two are the same rule.
_CANDIDATES, _SAME = 3, 0.8
# Words of a column that may stand in rules: the most frequent ones.
_MOST_WORDS = 30


@dataclass(frozen=True)
class Rule:
    """A confirmed rule.

    Attributes
    ----------
    text : str
        Who is meant, e.g. "age > 52.5 and region is north".
    people : int
        How many of all people audited it describes.
    share : float
        Their share.
    rate, others : Estimate
        The mean rate inside and outside the rule, on people and tasks that did not find it.
    difference : Estimate
        Inside minus outside.
    """

    text: str
    people: int
    share: float
    rate: Estimate
    others: Estimate
    difference: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain numbers."""
        parts = {name: getattr(self, name).to_dict() for name in ("rate", "others", "difference")}
        return {"text": self.text, "people": self.people, "share": self.share, **parts}


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """The confirmed rules, the largest difference first. ``print`` them.

    Attributes
    ----------
    rules : tuple of Rule
    tried : int
        How many candidates were tested.
    kind : str
        Which mistakes count.
    confidence : float
        If no candidate is true, the chance that none is confirmed is at least this.
    """

    rules: tuple[Rule, ...]
    tried: int
    kind: str
    confidence: float

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain numbers, lists and strings; unknown values are None."""
        out: dict[str, Any] = plain(
            {
                "rules": [rule.to_dict() for rule in self.rules],
                "tried": self.tried,
                "confidence": self.confidence,
            }
        )
        return out

    def to_frame(self) -> Any:
        """Return the rules as a pandas DataFrame (pandas must be installed)."""
        pd = extra("pandas", "pandas")

        return pd.DataFrame([_flat(rule) for rule in self.rules])

    def summary(self) -> str:
        """Return a table of the rules, and what confirmed them."""
        level, rate = percent(self.confidence), spoken(self.kind)
        tried = counted(self.tried, "candidate")
        if not self.rules:
            return (
                f"No rule on features is confirmed ({tried} tested on other people and tasks; "
                f"{level}, corrected)."
            )
        head = ["who", "people", f"{rate} rate", "others", "difference", f"{level} CI"]
        rows = (
            [
                rule.text,
                f"{rule.people:,}",
                figure(rule.rate.value),
                figure(rule.others.value),
                figure(rule.difference.value, 3, "+"),
                f"{figure(rule.difference.low, 3, '+')} to {figure(rule.difference.high, 3, '+')}",
            ]
            for rule in self.rules
        )
        return (
            f"{table(head, rows)}\nConfirmed on people and tasks that did not find them ({tried} "
            f"tested; {level}, corrected)."
        )

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def find_rules(found: Audit, features: Any, random_state: int = 0) -> Rules:
    """Find rules on features that describe people with high rates, and confirm them.

    Parameters
    ----------
    found : Audit
        Of fresh tasks.
    features : DataFrame of any library or array, shape (n, d)
        Numbers and words about the people audited, aligned by index if both have one.
    random_state : int, default 0
        Seeds the split into halves.
    """
    losses = found.evidence.losses
    if found.learned_tasks:
        raise InputError(f"rules about people need fresh tasks. {WHY} {REMEDY}")
    units = int(found.evidence.tally.live.size)
    rated = found.evidence.tally.rated
    if units < LEAST_TASKS or np.count_nonzero(rated) < LEAST_PEOPLE:
        raise InputError(
            f"rules need at least {LEAST_PEOPLE} people and {LEAST_TASKS} tasks, since half of "
            f"both confirms them; got {int(np.count_nonzero(rated)):,} and {units:,}."
        )
    table = encode(read_features(features, losses.index, losses.n))
    rng = np.random.default_rng(whole_number("random_state", random_state, least=0))
    people = _halve(rng, losses.n)
    tasks = _halve(rng, losses.units)
    family = np.arange(losses.m) if losses.families is None else losses.families
    halves = [(people == side, np.flatnonzero(tasks[family] == side)) for side in (False, True)]
    tests = [
        (candidate, _test(losses, table, candidate, *halves[1 - side]))
        for side in range(2)
        for candidate in _candidates(losses, table, *halves[side])
    ]
    level = 1.0 - 2.0 * (1.0 - found.confidence) / max(1, len(tests))
    confirmed = []
    for candidate, means in tests:
        inside, outside, change = np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([-1.0, 1.0])
        if not means.estimate(change, level).low > 0.0:
            continue
        members = candidate.of(table)
        confirmed.append(
            Rule(
                candidate.text(table),
                int(np.count_nonzero(members)),
                float(members.mean()),
                means.estimate(inside, found.confidence),
                means.estimate(outside, found.confidence),
                means.estimate(change, found.confidence),
            )
        )
    return Rules(tuple(_distinct(confirmed)), len(tests), found.rate, found.confidence)


def _flat(rule: Rule) -> dict[str, Any]:
    out: dict[str, Any] = {"who": rule.text, "people": rule.people, "share": rule.share}
    for name in ("rate", "others", "difference"):
        own = getattr(rule, name)
        out |= {name: own.value, f"{name}_low": own.low, f"{name}_high": own.high}
    return out


def _distinct(rules: Sequence[Rule]) -> list[Rule]:
    """Return rules with different texts, the largest difference first."""
    ordered = sorted(rules, key=lambda rule: -rule.difference.value)
    return list({rule.text: rule for rule in reversed(ordered)}.values())[::-1]


def _halve(rng: np.random.Generator, count: int) -> BoolArray:
    """Return which of them are in the second half."""
    return np.asarray(rng.permutation(count) >= (count + 1) // 2)


class Question(NamedTuple):
    """A yes/no question about people: a column of the encoded features, and how to say it."""

    values: FloatArray
    name: str
    word: str | None


class Condition(NamedTuple):
    """A question's value is above a threshold, or at most at it."""

    column: int
    threshold: float
    above: bool


class Candidate(NamedTuple):
    """People who meet all conditions."""

    conditions: tuple[Condition, ...]

    def of(self, table: Sequence[Question]) -> BoolArray:
        """Return who meets them, shape (n,)."""
        out = np.ones(len(table[0].values), dtype=bool)
        for own in self.conditions:
            out &= (table[own.column].values > own.threshold) == own.above
        return out

    def text(self, table: Sequence[Question]) -> str:
        """Say the conditions in words; two bounds on one feature become a range."""
        bounds: dict[int, dict[bool, float]] = {}
        for own in self.conditions:
            known = bounds.setdefault(own.column, {})
            best = max if own.above else min
            known[own.above] = best(known.get(own.above, own.threshold), own.threshold)
        return " and ".join(_say(table[column], own) for column, own in bounds.items())


def _say(question: Question, bounds: dict[bool, float]) -> str:
    name = in_a_line(question.name)
    if question.word is not None:
        word = in_a_line(question.word)
        return f"{name} is {word}" if True in bounds else f"{name} is not {word}"
    if len(bounds) == 2:
        return f"{bounds[True]:.4g} < {name} <= {bounds[False]:.4g}"
    return f"{name} > {bounds[True]:.4g}" if True in bounds else f"{name} <= {bounds[False]:.4g}"


def encode(columns: Sequence[tuple[str, list[Any]]]) -> list[Question]:
    """Return questions about people: one for a column of numbers, one for each frequent word.

    Blanks of a column of numbers take its median, and there is a question about them too.

    Parameters
    ----------
    columns : sequence of (name, values)
    """
    out: list[Question] = []
    for name, values in columns:
        blank = np.array([is_missing(value) or value == "" for value in values])
        numbers = _numbers(values, blank)
        if numbers is not None:
            if blank.all():
                continue
            out.append(Question(np.where(blank, np.median(numbers[~blank]), numbers), name, None))
        else:
            words = np.array(
                ["" if gone else str(value) for value, gone in zip(values, blank, strict=True)]
            )
            known, counts = np.unique(words[~blank], return_counts=True)
            for word in known[np.argsort(-counts, kind="stable")[:_MOST_WORDS]]:
                out.append(Question((words == word).astype(float), name, str(word)))
        if blank.any():
            out.append(Question(blank.astype(float), name, "blank"))
    if not out:
        raise InputError("`features` must have at least one column with values.")
    return out


def _numbers(values: list[Any], blank: BoolArray) -> FloatArray | None:
    """Return a column as numbers; None if it holds words."""
    try:
        return np.array(
            [np.nan if gone else float(value) for value, gone in zip(values, blank, strict=True)]
        )
    except (TypeError, ValueError):
        return None


def _candidates(
    losses: Losses, table: Sequence[Question], people: BoolArray, tasks: NDArray[np.intp]
) -> list[Candidate]:
    """Return the rules that a shallow tree suggests, by these people's rates on these tasks."""
    from sklearn.tree import DecisionTreeRegressor

    own = tally(losses.take_people(people).take_tasks(tasks))
    columns = np.stack([question.values for question in table], axis=1)
    X, rated = columns[people][own.rated], own.rated
    if not rated.any():
        return []
    least = max(_LEAST_IN_RULE, int(_LEAST_SHARE * len(X)))
    tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=least, random_state=0)
    tree.fit(X, own.rates[rated], own.units[rated])
    found: list[tuple[float, Candidate]] = []
    mean = float(tree.tree_.value[0, 0, 0])

    def walk(node: int, conditions: tuple[Condition, ...]) -> None:
        excess = float(tree.tree_.value[node, 0, 0]) - mean
        if conditions and excess > 0.0:
            strength = excess * float(np.sqrt(tree.tree_.n_node_samples[node]))
            found.append((strength, Candidate(conditions)))
        if tree.tree_.children_left[node] < 0:
            return
        column, threshold = int(tree.tree_.feature[node]), float(tree.tree_.threshold[node])
        walk(tree.tree_.children_left[node], (*conditions, Condition(column, threshold, False)))
        walk(tree.tree_.children_right[node], (*conditions, Condition(column, threshold, True)))

    walk(0, ())
    out: list[Candidate] = []
    for _, candidate in sorted(found, key=lambda one: -one[0]):
        members = candidate.of(table)
        if len(out) < _CANDIDATES and not any(_alike(members, other.of(table)) for other in out):
            out.append(candidate)
    return out


def _alike(first: BoolArray, second: BoolArray) -> bool:
    return bool((first & second).sum() >= _SAME * (first | second).sum())


def _test(
    losses: Losses,
    table: Sequence[Question],
    candidate: Candidate,
    people: BoolArray,
    tasks: NDArray[np.intp],
) -> ClassMeans:
    """Return the mean rates outside and inside the rule, of these people on these tasks."""
    part = losses.take_people(people).take_tasks(tasks)
    codes = candidate.of(table)[people].astype(np.intp)
    return class_means(codes, 2, part, tally(part))
