"""The linear program of each promise, written out in full and solved by SciPy.

Nothing here comes from the library: a program needs the labels, the weights and all decisions of a
finite class. A play picks one decision rule for each task, and each task has chances of its own.
"always 0" and "always 1" are rules of every task.

Rates of a person and a rate (a *line*) are linear in these chances. The promises are

* equal: ``-alpha <= R - gamma <= alpha``, each rate with its own gamma,
* caps: ``R <= cap``, which also writes down no harm,
* the mean of the worst-off, in the textbook form ``t + sum(count u) / (share people)`` with
  ``u >= R - t`` and ``u >= 0``.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

from tests.support.judges import cells, with_constants

IMPOSSIBLE = np.inf


class FullProgram:
    """All mixtures of a finite class on given labels.

    Parameters
    ----------
    labels : array, shape (n, m)
        0, 1 or NaN.
    decisions : bool array, shape (h, n)
        What each rule of the class decides.
    rate : str, or list of str
    people, tasks : arrays, optional
        Weights. Default: 1 each.
    whole_plays : bool
        Whether to write a column for each of the h^m plays, in place of chances for each task.

    Attributes
    ----------
    lines : list of (rate, person)
        Whose rates are defined.
    counts : array, shape (lines,)
        How many people each line stands for.
    rates, error : arrays, shapes (lines, chances) and (chances,)
        Rates and overall error as linear functions of the chances.
    """

    def __init__(
        self, labels, decisions, rate="error", people=None, tasks=None, *, whole_plays=False
    ):
        n, m = labels.shape
        self.rules = decisions  # of the class, without the constants
        decisions = with_constants(decisions)
        self.labels, self.decisions, self.whole_plays = labels, decisions, whole_plays
        self.kinds = [rate] if isinstance(rate, str) else list(rate)
        self.people = np.ones(n) if people is None else np.asarray(people, dtype=float)
        self.tasks = np.ones(m) if tasks is None else np.asarray(tasks, dtype=float)
        errors = {person: self._line(person, "error") for person in range(n)}
        errors = {person: own for person, own in errors.items() if own is not None}
        total = sum(self.people[person] for person in errors)
        self.error = sum(self.people[person] * own for person, own in errors.items()) / total
        self.chances = len(self.error)
        found = {
            (k, person): self._line(person, kind)
            for k, kind in enumerate(self.kinds)
            for person in range(n)
        }
        self.lines = [line for line, own in found.items() if own is not None]
        self.rates = np.array([found[line] for line in self.lines]).reshape(-1, self.chances)
        self.counts = np.array([self.people[person] for _, person in self.lines])
        self.sums, self.totals = self._sums()

    def _line(self, person, kind):
        """Return a person's rate as a linear function of the chances; None if undefined."""
        counted = [task for task in cells(self.labels, kind, person) if self.tasks[task] > 0]
        if not counted or self.people[person] == 0:
            return None
        wrong = np.zeros((2, self.labels.shape[1]))
        for task in counted:
            wrong[int(self.labels[person, task] == 0), task] = self.tasks[task]
        return self._columns(person, wrong) / sum(self.tasks[task] for task in counted)

    def _columns(self, person, wrong):
        """Return the weight of mistakes in each column; wrong[d, j] is lost by deciding d."""
        says = self.decisions[:, person].astype(int)
        m = wrong.shape[1]
        if self.whole_plays:
            plays = product(range(len(says)), repeat=m)
            own = [sum(wrong[says[rule], j] for j, rule in enumerate(play)) for play in plays]
            return np.array(own)
        return np.asarray(wrong[says].T.ravel())

    def _sums(self):
        """Return the equations of the chances."""
        m, h = self.labels.shape[1], len(self.decisions)
        if self.whole_plays:
            return np.ones((1, h**m)), np.ones(1)
        sums = np.zeros((m, m * h))
        for task in range(m):
            sums[task, task * h : (task + 1) * h] = 1.0
        return sums, np.ones(m)

    def per_line(self, table):
        """Return the entries of an (n,) or (n, rates) table for each line."""
        table = np.asarray(table, dtype=float).reshape(len(self.labels), -1)
        return np.array([table[person, k] for k, person in self.lines])

    # The programs.

    def minimise(self, costs, parts, most=None):
        """Return the least costs . x, or IMPOSSIBLE.

        ``parts`` are (rows, extra, bounds): rows over the chances, columns of further variables,
        and upper bounds. ``most`` bounds the further variables: (least, largest) for each.
        """
        further = [] if most is None else most
        blocks, tops = [], []
        for rows, extra, bounds in parts:
            if len(rows):
                blocks.append(np.hstack([rows, extra]))
                tops.append(bounds)
        equations = np.hstack([self.sums, np.zeros((len(self.sums), len(further)))])
        done = linprog(
            costs,
            A_ub=np.vstack(blocks) if blocks else None,
            b_ub=np.concatenate(tops) if tops else None,
            A_eq=equations,
            b_eq=self.totals,
            bounds=[(0, None)] * self.chances + further,
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        if done.status == 2:
            return IMPOSSIBLE
        assert done.status == 0, done.message
        return done.fun

    def _caps(self, caps, width):
        """Return R <= cap as a part; there is no cap where it is infinite."""
        if caps is None:
            return np.zeros((0, self.chances)), np.zeros((0, width)), np.zeros(0)
        some = np.isfinite(caps)
        return self.rates[some], np.zeros((some.sum(), width)), caps[some]

    def least_error(self, caps=None):
        """Return the least error with every rate below its cap."""
        return self.minimise(self.error, [self._caps(caps, 0)])

    def least_error_equal(self, alpha, caps=None, exempt=()):
        """Return the least error with rates within alpha of a common rate, and below caps."""
        kinds, held = len(self.kinds), [i for i in range(len(self.lines)) if i not in exempt]
        gammas = np.zeros((len(held), kinds))
        for row, i in enumerate(held):
            gammas[row, self.lines[i][0]] = 1.0
        slack, rows = np.full(len(held), alpha), self.rates[held]
        parts = [(rows, -gammas, slack), (-rows, gammas, slack), self._caps(caps, kinds)]
        return self.minimise(np.append(self.error, np.zeros(kinds)), parts, [(0, 1)] * kinds)

    def least_excess_equal(self, alpha, caps):
        """Return the least e with rates within alpha of a common rate, and below caps + e."""
        kinds = len(self.kinds)
        gammas = np.zeros((len(self.lines), kinds + 1))
        for row, (k, _) in enumerate(self.lines):
            gammas[row, k] = 1.0
        slack, excess = np.full(len(self.lines), alpha), np.zeros((len(self.lines), kinds + 1))
        excess[:, -1] = -1.0
        parts = [(self.rates, -gammas, slack), (-self.rates, gammas, slack)]
        parts.append((self.rates, excess, caps))
        costs = np.append(np.zeros(self.chances + kinds), 1.0)
        return self.minimise(costs, parts, [(0, 1)] * kinds + [(0, None)])

    def least_excess(self, soft, hard=None):
        """Return the least e >= 0 with rates below soft + e and below hard; soft may be inf."""
        some = np.isfinite(soft)
        part = (self.rates[some], np.full((some.sum(), 1), -1.0), soft[some])
        costs = np.append(np.zeros(self.chances), 1.0)
        return self.minimise(costs, [part, self._caps(hard, 1)], [(0, None)])

    def least_rate(self, line, caps):
        """Return the least rate of one line with all rates below their caps."""
        return self.minimise(self.rates[line], [self._caps(caps, 0)])

    def least_caps(self, levels, hard=None):
        """Return everybody's cap, found by lowering the highest rate level by level.

        At each level, the people who cannot get below the least possible cap keep it.
        """
        caps, free = np.full(len(self.lines), np.inf), np.ones(len(self.lines), dtype=bool)
        hard = np.full(len(self.lines), np.inf) if hard is None else hard
        for level in range(levels):
            if not free.any():
                break
            cap = self.least_excess(np.where(free, 0.0, np.inf), np.minimum(caps, hard))
            if cap == IMPOSSIBLE:
                return None
            now = np.where(free, cap, caps)
            # Widen by a little, since the program keeps its rows only within a tolerance.
            wider = np.minimum(now, hard) + 1e-8
            stuck = [i for i in np.flatnonzero(free) if self.least_rate(i, wider) > cap - 1e-6]
            caps[stuck] = cap
            free[stuck] = False
            if level == levels - 1:
                caps[free] = cap
        return caps

    def _worst_off(self, share, columns):
        """Return u >= R - t, and each rate's mean t + sum(count u) / (share people) as a row."""
        lines, kinds = len(self.lines), len(self.kinds)
        above, means = np.zeros((lines, columns)), np.zeros((kinds, columns))
        for row, (k, _) in enumerate(self.lines):
            above[row, k], above[row, kinds + row] = -1.0, -1.0
            people = sum(self.counts[i] for i, (other, _) in enumerate(self.lines) if other == k)
            means[k, kinds + row] = self.counts[row] / (share * people)
            means[k, k] = 1.0
        # A rate without lines has no t.
        bounds = [
            (None, None) if any(k == o for o, _ in self.lines) else (0, 0) for k in range(kinds)
        ]
        bounds += [(0, None)] * lines
        return (self.rates, above, np.zeros(lines)), means, bounds

    def least_priced(self, share, price, caps=None):
        """Return the least error + price x worst-off mean, added up over the rates."""
        width = len(self.kinds) + len(self.lines)
        above, means, bounds = self._worst_off(share, width)
        costs = np.append(self.error, price * means.sum(axis=0))
        return self.minimise(costs, [above, self._caps(caps, width)], bounds)

    def least_error_worst_off(self, share, max_rate, caps=None):
        """Return the least error with each rate's worst-off mean at most max_rate."""
        width = len(self.kinds) + len(self.lines)
        above, means, bounds = self._worst_off(share, width)
        limit = (np.zeros((len(means), self.chances)), means, np.full(len(means), max_rate))
        costs = np.append(self.error, np.zeros(width))
        return self.minimise(costs, [above, limit, self._caps(caps, width)], bounds)

    def least_excess_worst_off(self, share, max_rate, soft=None, hard=None):
        """Return the least e with worst-off means below max_rate + e, and rates below soft + e."""
        width = len(self.kinds) + len(self.lines) + 1
        above, means, bounds = self._worst_off(share, width)
        means[:, -1] = -1.0
        limit = (np.zeros((len(means), self.chances)), means, np.full(len(means), max_rate))
        parts = [above, limit, self._caps(hard, width)]
        if soft is not None:
            rows, extra, tops = self._caps(soft, width)
            extra[:, -1] = -1.0
            parts.append((rows, extra, tops))
        costs = np.append(np.zeros(self.chances + width - 1), 1.0)
        return self.minimise(costs, parts, [*bounds, (0, None)])


def plain_worst_off(rates, counts, share):
    """Return the mean rate of the worst-off share, by walking down from the highest rate."""
    wanted = left = share * sum(counts)
    total = 0.0
    for place in sorted(range(len(rates)), key=lambda i: -rates[i]):
        taken = min(left, counts[place])
        total, left = total + taken * rates[place], left - taken
    return total / wanted


def penalised(program, promise, harm, bound):
    """Return the least objective + bound x (violation of the promise + violation of no harm).

    This is the optimum itself if some optimal multipliers of each limit add up to at most bound.
    """
    lines, kinds, price = len(program.lines), len(program.kinds), getattr(promise, "price", None)
    share, alpha = getattr(promise, "share", None), getattr(promise, "alpha", None)
    # Further variables: levels (gamma or t), u, the promise's violation, that of no harm.
    width = kinds + lines + 2
    parts, bounds = [], [(0, 1)] * kinds + [(0, None)] * (lines + 2)
    extra = np.zeros((lines, width))
    extra[:, -2] = -1.0
    costs = np.append(program.error, np.zeros(width))
    costs[-2:] = bound
    if share is not None:
        above, means, own = program._worst_off(share, width)
        bounds[: kinds + lines] = own
        parts.append(above)
        if price is not None:
            costs[program.chances :] += price * means.sum(axis=0)
        else:
            means[:, -2] = -1.0
            none = np.zeros((kinds, program.chances))
            parts.append((none, means, np.full(kinds, promise.max_rate)))
    elif alpha is not None:
        for sign in (1.0, -1.0):
            side = extra.copy()
            for row, (k, _) in enumerate(program.lines):
                side[row, k] = -sign
            parts.append((sign * program.rates, side, np.full(lines, alpha)))
    else:
        parts.append((program.rates, extra, np.full(lines, promise.max_rate)))
    if harm is not None:
        harmed = np.zeros((lines, width))
        harmed[:, -1] = -1.0
        parts.append((program.rates, harmed, harm))
    return program.minimise(costs, parts, bounds)
