"""A user's program that ``make check`` checks with ``mypy --strict``.

It is outside the package and gets the package's types by its ``py.typed``, as any program does.
"""

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from averagefair import (
    Audit,
    AverageFairClassifier,
    Certificate,
    ColumnGeneration,
    FalseNegativeRate,
    Frontier,
    Mapping,
    Mixture,
    Round,
    Status,
    audit,
    frontier,
    individual_rates,
    load,
)
from averagefair.datasets import SyntheticPopulation, make_synthetic
from averagefair.game.costs import Costs
from averagefair.game.protocols import BestResponse, Hypothesis, Oracle
from averagefair.people.sample import Sample
from averagefair.theory import Plan, plan


class Majority(Hypothesis):
    """For each task, make the decision that is cheaper overall, for everybody."""

    def __init__(self, decisions: NDArray[np.bool_]) -> None:
        self.decisions = decisions

    def decide(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Make the same decisions for everybody."""
        return np.tile(self.decisions, (len(features), 1))

    def key(self) -> bytes:
        """Return a key that identifies the decisions."""
        return self.decisions.tobytes()


class MajorityOracle(Oracle):
    """A user's own oracle."""

    exact = False

    def bind(self, sample: Sample) -> BestResponse:
        """Return a function that answers costs; it needs nothing of the sample."""

        def answer(costs: Costs) -> Hypothesis:
            return Majority(np.asarray(costs.gaps().sum(axis=0) < 0))

        return answer


def watch(now: Round) -> bool:
    """End a fit that is good enough."""
    return now.error < 0.1


def main(folder: Path) -> float:
    """Fit, inspect, save and audit."""
    people = make_synthetic(n=50, m=10)
    assert_type(people, SyntheticPopulation)
    oracle: Oracle = MajorityOracle()
    model = AverageFairClassifier(
        alpha=0.1,
        rate=FalseNegativeRate(),
        oracle=oracle,
        solver=ColumnGeneration(max_rounds=20),
        callback=watch,
        random_state=0,
    )
    assert_type(model.fit(people.X, people.Y), AverageFairClassifier)
    assert_type(model.certificate_, Certificate)
    assert_type(model.certificate_.status, Status)
    assert_type(model.error_, float)
    assert_type(model.mapping_, Mapping | None)
    assert_type(model.extend(people.Y), Mixture)

    curve = frontier(people.X, people.Y, [0.05, 0.1], random_state=0)
    assert_type(curve, Frontier)
    curve.model(0.1).save(folder / "fair.model")
    kept = load(folder / "fair.model")
    assert_type(kept, AverageFairClassifier | Mixture)
    decisions = kept.predict(people.X)

    found = audit(people.Y, decisions, alpha=0.1)
    assert_type(found, Audit)
    assert_type(found.mean.value, float)
    individual_rates(people.Y, decisions)
    assert_type(plan(alpha=0.1, nu=0.1, n=100, delta=0.05), Plan)
    return found.mean.value


if __name__ == "__main__":
    print(main(Path()))
