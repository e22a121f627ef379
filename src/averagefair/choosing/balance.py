"""The balance: what the training people have had so far, on learned tasks and on later ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from averagefair._util.arrays import FloatArray
from averagefair.errors import InputError, some_of
from averagefair.game.measure import Measurement, Meter
from averagefair.people.backends import to_host
from averagefair.people.sample import Sample


@dataclass(frozen=True, eq=False)
class Balance:
    """What the training people have had so far.

    Attributes
    ----------
    wrong : array, shape (rates, n)
        Everybody's wrong decisions that count towards a rate. Tasks weigh 1 on average.
    seen : array, shape (rates, n)
        How many decisions count.
    tasks : float
        The number of tasks so far.
    names : tuple of str
        The later tasks among them.
    before : Balance, or None
        The state before the last call of ``extend``, so that this call can be repeated.
    """

    wrong: FloatArray
    seen: FloatArray
    tasks: float
    names: tuple[str, ...] = ()
    before: Balance | None = None

    @classmethod
    def of(cls, meter: Meter, measured: Measurement) -> Balance:
        """Return the balance after the tasks of a sample.

        Parameters
        ----------
        meter : Meter
            Of this sample.
        measured : Measurement
            Of the decisions made.
        """
        n, tasks = meter.sample.n, float(np.count_nonzero(meter.sample.task_weights))
        seen = tasks * _by_rate(to_host(meter.rho), n)
        rates = np.nan_to_num(_by_rate(to_host(measured.rates), n))
        return cls(seen * rates, seen, tasks)

    @property
    def rates(self) -> FloatArray:
        """Everybody's running rates, shape (rates, n); NaN where nothing counts yet."""
        some = self.seen > 0.0
        return np.where(some, self.wrong / np.where(some, self.seen, 1.0), np.nan)

    def ready_for(self, sample: Sample) -> Balance:
        """Return the balance to count these tasks on; refuse tasks that are counted already.

        If they are the tasks of the last call, this is the balance before it.

        Parameters
        ----------
        sample : Sample
            With the new tasks.
        """
        known = self.before
        if known is not None and self.names[len(known.names) :] == sample.task_names:
            return known
        again = sorted({*sample.task_names} & {*self.names})
        if again:
            raise InputError(
                f"tasks that are counted already cannot be counted again: {some_of(again)}. Pass "
                "balance=False (--no-balance) to leave the balance alone, or give new tasks other "
                "task_names."
            )
        return self

    def after(self, added: Balance, names: tuple[str, ...]) -> Balance:
        """Return the balance after further tasks.

        Parameters
        ----------
        added : Balance
            Of these tasks alone.
        names : tuple of str
            Their names.
        """
        return Balance(
            self.wrong + added.wrong,
            self.seen + added.seen,
            self.tasks + added.tasks,
            (*self.names, *names),
            replace(self, before=None),
        )


def _by_rate(values: FloatArray, n: int) -> FloatArray:
    return np.asarray(values, dtype=np.float64).reshape(n, -1).T
