"""Means of the rates of classes of people, with covariances over people and over tasks.

A class is a group, or the people whom a rule finds. With Ebar_g the mean rate of class g, its n_g
people and z_ij = W_ij (L_ij - Ebar_g) / m_i, the means have the covariances

    V_gh = [g = h] (people_g - cells_g) + factor sum_j zbar_gj zbar_hj,

people_g = sum_i (E_i - Ebar_g)^2 / (n_g (n_g - 1)), cells_g = sum_ij z_ij^2 / n_g^2 and zbar_gj the
mean of z_ij over the class: the two-way variance of :mod:`averagefair.auditing.mean` for several
classes. Everybody meets the same tasks, so means of classes rise and fall together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from averagefair._util.arrays import FloatArray
from averagefair.auditing.estimates import UNKNOWN, Estimate
from averagefair.auditing.losses import Losses
from averagefair.auditing.tally import Tally


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """The mean rate of each class, and how uncertain it is.

    Attributes
    ----------
    people : integer array, shape (k,)
        How many people of each class have a rate.
    mean : array, shape (k,)
        NaN for a class without rates.
    between_people : array, shape (k,)
        The variance of each mean from sampling people; it contains the noise of single cells.
    cells : array, shape (k,)
        The noise of single cells.
    between_tasks : array, shape (k, k)
        The covariances of the means from sampling tasks; the diagonal contains ``cells``.
    units : int
        The number of tasks (families).
    """

    people: NDArray[np.intp]
    mean: FloatArray
    between_people: FloatArray
    cells: FloatArray
    between_tasks: FloatArray
    units: int

    def estimate(self, weights: FloatArray, confidence: float, *, tasks: bool = True) -> Estimate:
        """Return a weighted sum of the means, with its interval.

        The interval has Student's t with units - 1 degrees of freedom, or Satterthwaite's if these
        are fewer: small classes have few people.

        Parameters
        ----------
        weights : array, shape (k,)
            For example (1, -1) for the difference of two classes.
        confidence : float
        tasks : bool, default True
            Whether the interval is for other tasks too. If not, it is for other people on these
            tasks, over people alone.
        """
        used = np.flatnonzero(weights)
        weights = weights[used]
        value = float(weights @ self.mean[used])
        if np.isnan(value):
            return UNKNOWN
        if (tasks and self.units < 2) or (self.people[used] < 2).any():
            return Estimate(value, nan, nan, nan, nan)
        parts = weights**2 * self.between_people[used]
        people, shared, freedom = float(parts.sum()), 0.0, np.inf
        if tasks:
            cells = float(weights**2 @ self.cells[used])
            shared = float(weights @ self.between_tasks[np.ix_(used, used)] @ weights) - cells
            freedom = self.units - 1.0
            if people + shared <= 0.0:
                people, shared = 0.0, cells
        if people + shared <= 0.0:  # the data show no variation
            return Estimate(value, nan, nan, nan, nan)
        spread = (parts**2 / (self.people[used] - 1)).sum()
        spread += shared**2 / freedom
        if spread > 0.0:
            freedom = min(freedom, (people + shared) ** 2 / spread)
        half = float(stdtrit(freedom, 0.5 + confidence / 2)) * sqrt(people + shared)
        return Estimate(value, value - half, value + half, people, shared)


def class_means(codes: NDArray[np.intp], k: int, losses: Losses, tally: Tally) -> ClassMeans:
    """Return the mean rate of each class in one pass over the losses.

    Parameters
    ----------
    codes : integer array, shape (n,)
        The class of each person, from 0; -1 for people in no class.
    k : int
        The number of classes.
    losses : Losses
    tally : Tally
        Of these losses.
    """
    rated = tally.rated & (codes >= 0)
    of, rates = np.where(rated, codes, 0), np.where(rated, tally.rates, 0.0)
    share = np.where(rated, 1.0 / np.maximum(tally.counted, 1.0), 0.0)
    people = np.bincount(codes[rated], minlength=k)
    some = np.maximum(people, 1)
    mean = np.bincount(of, rates, k) / some
    off = np.where(rated, rates - mean[of], 0.0)
    between = np.bincount(of, off**2, k) / (some * np.maximum(some - 1, 1))
    sums, squares = np.zeros((k, losses.units)), np.zeros(losses.n)
    for rows, counts, totals in losses.blocks():
        z = (totals - counts * mean[of[rows], None]) * share[rows, None]
        height = len(z)
        gather = csr_array((rated[rows] * 1.0, (of[rows], np.arange(height))), shape=(k, height))
        sums += gather @ z
        squares[rows] = np.einsum("ij,ij->i", z, z)
    sums /= some[:, None]
    return ClassMeans(
        people,
        np.where(people > 0, mean, nan),
        between,
        np.bincount(of, squares, k) / some**2,
        tally.task_factor * (sums @ sums.T),
        tally.live.size,
    )
