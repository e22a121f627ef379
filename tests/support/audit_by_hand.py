"""The audit's statistics by plain loops: slow, obvious, and without the library.

``L`` (n x m) holds each person's chance of a wrong decision on each task, ``W`` (n x m, bool)
marks the cells that count. The other cells may be NaN and are never read.
"""

from __future__ import annotations

from itertools import product
from math import ceil, inf, log, nan, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta as beta_distribution
from scipy.stats import chi2, norm

LABELS = {"error": (0, 1), "false_positive": (0,), "false_negative": (1,)}
WINDOW = 1e-12  # how far outside a closed window still counts as inside


def counted(labels, rate, observed=None):
    """Mark the cells that count towards a rate; a NaN label counts towards none."""
    labels = np.asarray(labels, dtype=float)
    W = np.zeros(labels.shape, dtype=bool)
    for i, j in np.ndindex(labels.shape):
        seen = observed is None or bool(observed[i][j])
        W[i, j] = seen and labels[i, j] in LABELS[rate]
    return W


def losses(labels, decisions):
    """Return the chance of a wrong decision in every cell, NaN for a missing label.

    ``decisions`` are the chances of deciding 1, or decisions 0 and 1.
    """
    labels = np.asarray(labels, dtype=float)
    L = np.full(labels.shape, nan)
    for i, j in np.ndindex(labels.shape):
        if labels[i, j] == 1:
            L[i, j] = 1 - decisions[i][j]
        elif labels[i, j] == 0:
            L[i, j] = decisions[i][j]
    return L


def people_with(W, least):
    """List the people with at least this many counted cells."""
    return [i for i in range(len(W)) if sum(bool(w) for w in W[i]) >= least]


def tasks_counted(W, people):
    """List the tasks with a counted cell among these people."""
    return [j for j in range(len(W[0])) if any(W[i][j] for i in people)]


def rates(L, W):
    """Return E, each person's mean loss over the counted cells (NaN with none), and the counts."""
    n, m = np.shape(W)
    E, cells = np.full(n, nan), np.zeros(n, dtype=int)
    for i in range(n):
        mine = [L[i][j] for j in range(m) if W[i][j]]
        cells[i] = len(mine)
        if mine:
            E[i] = sum(mine) / len(mine)
    return E, cells


def mean_and_variance(L, W):
    """Return the mean rate and its two-way variance, signed; the variance is NaN at n or m of 1.

    V = sum_i (E_i - Ebar)^2 / (n (n-1)) + m/(m-1) sum_j zbar_j^2 - sum_ij z_ij^2 / n^2 with
    z_ij = W_ij (L_ij - Ebar) / m_i, over the people and the tasks with a counted cell.
    """
    people = people_with(W, 1)
    tasks = tasks_counted(W, people)
    n, m = len(people), len(tasks)
    E, cells = rates(L, W)
    if n == 0:
        return nan, nan
    mean = sum(E[i] for i in people) / n
    if n < 2 or m < 2:
        return mean, nan
    z = {(i, j): (L[i][j] - mean) / cells[i] if W[i][j] else 0.0 for i in people for j in tasks}
    over_people = sum((E[i] - mean) ** 2 for i in people) / (n * (n - 1))
    over_tasks = m / (m - 1) * sum((sum(z[i, j] for i in people) / n) ** 2 for j in tasks)
    twice = sum(value**2 for value in z.values()) / n**2
    return mean, over_people + over_tasks - twice


def alpha_of_beta(E, beta):
    """Return half the length of the shortest interval with 1 - beta of the rates, and its middle.

    The interval holds ceil((1 - beta) n) rates; among equally short intervals, take the lowest.
    """
    E = sorted(float(rate) for rate in E if not np.isnan(rate))
    n = len(E)
    if n == 0:
        return nan, nan
    held = max(1, ceil((1 - beta) * n - 1e-9))  # 1e-9: 0.8 * 5 may come out above 4
    lengths = [E[low + held - 1] - E[low] for low in range(n - held + 1)]
    shortest = min(lengths)
    low = next(k for k, length in enumerate(lengths) if length <= shortest + WINDOW)
    return shortest / 2, (E[low] + E[low + held - 1]) / 2


def beta_of_alpha(E, alpha):
    """Return the least share of the rates outside a closed window of width 2 alpha."""
    E = [float(rate) for rate in E if not np.isnan(rate)]
    if not E:
        return nan
    inside = [sum(low <= rate <= low + 2 * alpha + WINDOW for rate in E) for low in E]
    return 1 - max(inside) / len(E)


def flipped_columns(L, W, families=None):
    """Return the columns R whose signs are flipped: one a task, or one a family.

    Z_ij = W_ij (L_ij - Ebar) / m_i and R_ij = Z_ij - (mean over all people of Z_ij), so that the
    columns of R add up to E - Ebar. A family's column is the sum of its tasks' columns.
    """
    people = people_with(W, 1)
    E, cells = rates(L, W)
    mean = sum(E[i] for i in people) / len(people)
    columns = {}
    for j in tasks_counted(W, people):
        z = [(L[i][j] - mean) / cells[i] if W[i][j] else 0.0 for i in people]
        r = np.array([value - sum(z) / len(z) for value in z])
        family = j if families is None else families[j]
        columns[family] = columns.get(family, 0.0) + r
    return list(columns.values())


def flip_test(L, W, families=None):
    """Return U, how many of all sign vectors reach it, and how many sign vectors there are."""
    R = flipped_columns(L, W, families)
    G = [[sum(a * b) for b in R] for a in R]
    k = len(R)

    def statistic(signs):
        return sum(signs[a] * signs[b] * G[a][b] for a in range(k) for b in range(k) if a != b)

    U = statistic((1,) * k)
    slack = 1e-10 * sum(abs(value) for row in G for value in row)  # rounding must not break a tie
    at_least = sum(statistic(signs) >= U - slack for signs in product((1, -1), repeat=k))
    return U, at_least, 2**k


def floor(L, W, beta, families=None):
    """Return the mean of alpha(beta) over all sign vectors: what equal true rates would show."""
    R = flipped_columns(L, W, families)
    seen = []
    for signs in product((1, -1), repeat=len(R)):
        seen.append(alpha_of_beta(sum(s * r for s, r in zip(signs, R, strict=True)), beta)[0])
    return sum(seen) / len(seen)


def variance_of_rates(L, W):
    """Return the sample variance of the rates of the people with two counted cells or more."""
    people = people_with(W, 2)
    if len(people) < 2:
        return nan
    E, _ = rates(L, W)
    mean = sum(E[i] for i in people) / len(people)
    return sum((E[i] - mean) ** 2 for i in people) / (len(people) - 1)


def sigma2(L, W):
    """Return the de-noised variance of the rates, signed; NaN with fewer than two people.

    d = W (L - E_i), z~ = d / sqrt(m_i (m_i - 1)), C_j = sum_i z~_ij and
    sigma2 = [sum (E_i - Ebar)^2 - sum z~^2 + sum_j C_j^2 / n] / (n-1).
    """
    people = people_with(W, 2)
    n, m = len(people), np.shape(W)[1]
    if n < 2:
        return nan
    E, cells = rates(L, W)
    mean = sum(E[i] for i in people) / n
    between = sum((E[i] - mean) ** 2 for i in people)
    squares, C = 0.0, np.zeros(m)
    for i in people:
        for j in range(m):
            if W[i][j]:
                z = (L[i][j] - E[i]) / sqrt(cells[i] * (cells[i] - 1))
                squares += z**2
                C[j] += z
    return (between - squares + sum(C**2) / n) / (n - 1)


def sigma2_by_family(L, W, families):
    """Return the de-noised variance when the tasks of a family may err together.

    Person i has c_f cells in family f, and d_f is the sum of L - E_i over them. The cells of a
    family are one draw. If each draw has variance 1, the rate has variance sum_f c_f^2 / m_i^2, and
    d_f has variance sum_g (c_f [f = g] - c_f c_g / m_i)^2. z~_f^2 is d_f^2 times the rate's
    variance divided by the sum of the variances of all d_f. The rest is as in ``sigma2``.
    """
    m = np.shape(W)[1]
    E, cells = rates(L, W)
    mine = [{families[j] for j in range(m) if row[j]} for row in W]
    people = [i for i in range(len(W)) if len(mine[i]) >= 2]
    n = len(people)
    if n < 2:
        return nan
    mean = sum(E[i] for i in people) / n
    between = sum((E[i] - mean) ** 2 for i in people)
    squares, C = 0.0, {}
    for i in people:
        sizes = {f: sum(W[i][j] and families[j] == f for j in range(m)) for f in mine[i]}
        of_rate = sum(c**2 for c in sizes.values()) / cells[i] ** 2
        of_deviations = sum(
            (c * (f == g) - c * other / cells[i]) ** 2
            for f, c in sizes.items()
            for g, other in sizes.items()
        )
        for f in mine[i]:
            there = [j for j in range(m) if W[i][j] and families[j] == f]
            d = sum(L[i][j] for j in there) - len(there) * E[i]
            z = d * sqrt(of_rate / of_deviations)
            squares += z**2
            C[f] = C.get(f, 0.0) + z
    return (between - squares + sum(c**2 for c in C.values()) / n) / (n - 1)


def jackknife(L, W):
    """Return the person variance and the task variance of ``sigma2``, and f and g behind them.

    f has an entry for every task, 0 for a task without a counted cell. g has an entry for every
    person with two counted cells or more. The variances are m/(m-1) sum f^2 and n/(n-1) sum g^2;
    m is the number of tasks in which one of those people has a counted cell.
    """
    people, width = people_with(W, 2), np.shape(W)[1]
    tasks = tasks_counted(W, people)
    n, m = len(people), len(tasks)
    if n < 2:
        return nan, nan, np.full(width, nan), np.full(n, nan)
    every_E, every_count = rates(L, W)
    E = [every_E[i] for i in people]
    cells = [every_count[i] for i in people]
    mean = sum(E) / n

    w, zeta, z = np.zeros((3, n, width))
    D = [count * (count - 1) for count in cells]
    for i in range(n):
        for j in range(width):
            if W[people[i]][j]:
                d = L[people[i]][j] - E[i]
                w[i, j], zeta[i, j], z[i, j] = 1.0, d / cells[i], d / sqrt(D[i])
    C = [sum(z[i, j] for i in range(n)) for j in range(width)]
    q = [sum(z[i, j] ** 2 for j in range(width)) for i in range(n)]
    wC = [sum(w[i, j] * C[j] for j in range(width)) for i in range(n)]
    zC = [sum(z[i, j] * C[j] for j in range(width)) for i in range(n)]

    f = np.zeros(width)
    for j in range(width):
        shared = (
            C[j] ** 2
            - sum(zeta[i, j] * wC[i] / sqrt(D[i]) for i in range(n))
            - sum(w[i, j] * zC[i] / cells[i] for i in range(n))
        )
        f[j] = (
            2 * sum((E[i] - mean) * zeta[i, j] for i in range(n))
            - 2 * sum(z[i, j] ** 2 for i in range(n))
            + 2 * sum(w[i, j] * q[i] / cells[i] for i in range(n))
            + 2 / n * shared
        ) / (n - 1)

    a = [E[i] ** 2 - q[i] for i in range(n)]
    b = [E[i] * (sum(E) - E[i]) - zC[i] + q[i] for i in range(n)]
    abar, bbar = sum(a) / n, sum(b) / (n * (n - 1))
    g = np.array([(a[i] - abar) / n - 2 * b[i] / (n * (n - 1)) + 2 * bbar / n for i in range(n)])
    task_variance = sum(f**2) * m / (m - 1)  # m >= 2, because people have two counted cells
    return sum(g**2) * n / (n - 1), task_variance, f, g


def sigma2_of_task_weights(L, W, weights):
    """Return ``sigma2`` when every task has a weight; at weights of 1 it is ``sigma2`` itself.

    m_i = sum_j w_j W_ij, E_i is the weighted mean, the terms of z~ are w_j d_ij / sqrt(D_i), and
    D_i = m_i (m_i - 1) at weights of 1 grows as the square of m_i.
    """
    people, m = people_with(W, 2), np.shape(W)[1]
    n = len(people)
    E, z = np.zeros(n), np.zeros((n, m))
    for row, i in enumerate(people):
        mine = [j for j in range(m) if W[i][j]]
        total = sum(weights[j] for j in mine)
        E[row] = sum(weights[j] * L[i][j] for j in mine) / total
        D = len(mine) * (len(mine) - 1) * (total / len(mine)) ** 2
        for j in mine:
            z[row, j] = weights[j] * (L[i][j] - E[row]) / sqrt(D)
    C = z.sum(axis=0)
    return (sum((E - E.mean()) ** 2) - (z**2).sum() + sum(C**2) / n) / (n - 1)


def sigma2_of_person_weights(L, W, weights):
    """Return ``sigma2`` when every person with two counted cells or more has a weight.

    sigma2 is the mean of h_ii less the mean over i != k of h_ik, h_ii = E_i^2 - sum_j z~_ij^2 and
    h_ik = E_i E_k - sum_j z~_ij z~_kj; the weights enter both means.
    """
    people, m = people_with(W, 2), np.shape(W)[1]
    E, cells = rates(L, W)
    z = {
        i: [
            (L[i][j] - E[i]) / sqrt(cells[i] * (cells[i] - 1)) if W[i][j] else 0.0 for j in range(m)
        ]
        for i in people
    }
    own = own_weight = pairs = pair_weight = 0.0
    for i, u in zip(people, weights, strict=True):
        for k, v in zip(people, weights, strict=True):
            h = E[i] * E[k] - sum(x * y for x, y in zip(z[i], z[k], strict=True))
            if i == k:
                own, own_weight = own + u * h, own_weight + u
            else:
                pairs, pair_weight = pairs + u * v * h, pair_weight + u * v
    return own / own_weight - pairs / pair_weight


def slopes(function, size, step=1e-5):
    """Return the derivatives of a function of weights at weights of 1, by central differences."""
    found = np.zeros(size)
    for k in range(size):
        up, down = np.ones(size), np.ones(size)
        up[k], down[k] = 1 + step, 1 - step
        found[k] = (function(up) - function(down)) / (2 * step)
    return found


def jackknife_numerically(L, W):
    """Return f of ``jackknife`` without its formula: the slopes of sigma2 in the tasks' weights."""
    return slopes(lambda weights: sigma2_of_task_weights(L, W, weights), np.shape(W)[1])


def person_jackknife_numerically(L, W):
    """Return g of ``jackknife`` without its formula: the slopes in the people's weights."""
    size = len(people_with(W, 2))
    return slopes(lambda weights: sigma2_of_person_weights(L, W, weights), size)


def reliability(L, W):
    """Return sigma2 / var(E), signed; NaN if all rates are equal."""
    variance = variance_of_rates(L, W)
    return sigma2(L, W) / variance if variance > 1e-20 else nan  # less is rounding


def tasks_needed(L, W, r):
    """Return m [r/(1-r)] [(1-rel)/rel], the tasks for reliability r; infinite if rel <= 0."""
    rel = reliability(L, W)
    if np.isnan(rel):
        return nan
    m = len(tasks_counted(W, people_with(W, 2)))
    return m * r / (1 - r) * (1 - rel) / rel if rel > 0 else inf


def denoised_alpha(L, W, beta):
    """Return alpha(beta) of the rates shrunk towards their mean; 0 if sigma2 <= 0.

    v_i = (var(E) - sigma2) (1/m_i) / mean(1/m_i); E_i - Ebar shrinks by
    sqrt(sigma2 / (sigma2 + v_i)).
    """
    people = people_with(W, 2)
    if len(people) < 2:
        return nan
    spread = sigma2(L, W)
    if spread <= 0:
        return 0.0
    E, cells = rates(L, W)
    mean = sum(E[i] for i in people) / len(people)
    harmonic = sum(1 / cells[i] for i in people) / len(people)
    noise = variance_of_rates(L, W) - spread
    shrunk = []
    for i in people:
        v = noise * (1 / cells[i]) / harmonic
        shrunk.append(sqrt(spread / (spread + v)) * (E[i] - mean))
    return alpha_of_beta(shrunk, beta)[0]


def chebyshev_cap(sigma_U, beta):
    """Return sigma_U / sqrt(beta); at most a share beta of the rates is further from their mean."""
    return sigma_U / sqrt(beta) if beta > 0 else inf


def wilson(k, m, confidence):
    """Return Wilson's interval for k wrong decisions of m."""
    z = norm.ppf((1 + confidence) / 2)
    p = k / m
    middle = (p + z**2 / (2 * m)) / (1 + z**2 / m)
    half = z / (1 + z**2 / m) * sqrt(p * (1 - p) / m + z**2 / (4 * m**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def clopper_pearson(k, m, delta):
    """Return the exact interval for k wrong decisions of m; it fails with chance at most delta."""
    low = 0.0 if k == 0 else beta_distribution.ppf(delta / 2, k, m - k + 1)
    high = 1.0 if k == m else beta_distribution.ppf(1 - delta / 2, k + 1, m - k)
    return float(low), float(high)


def kl(p, q):
    """Return the Kullback-Leibler divergence of two coins, kl(p || q)."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += a * log(a / b) if b > 0 else inf
    return total


def lowest_p(rate, m, delta):
    """Return the least p with m kl(rate || p) <= ln(2 / delta)."""

    def excess(p):
        return m * kl(rate, p) - log(2 / delta)

    tiny = 1e-300
    if rate == 0 or excess(tiny) <= 0:
        return 0.0
    return brentq(excess, tiny, rate, xtol=1e-15, rtol=1e-14)


def kl_interval(rate, m, delta):
    """Return all p with m kl(rate || p) <= ln(2 / delta), as an interval."""
    return lowest_p(rate, m, delta), 1 - lowest_p(1 - rate, m, delta)


def certificate(E_intervals_low, high, n, alpha, kappa, delta):
    """Return bounds beta_L and beta_U on the true beta(alpha), not clipped.

    beta_L uses the share of people whose interval meets the best window [gamma - alpha,
    gamma + alpha]; beta_U uses the share whose interval lies inside the window. Each has a margin
    of kappa + 2 eps, eps = sqrt(ln(4 / delta) / (2 n)).
    """
    intervals = list(zip(E_intervals_low, high, strict=True))
    ends = [end for interval in intervals for end in interval]
    gammas = [end + side * alpha for end in ends for side in (-1, 1)]
    inside = meets = 0
    for gamma in gammas:
        bottom, top = gamma - alpha - WINDOW, gamma + alpha + WINDOW
        inside = max(inside, sum(bottom <= lo and hi <= top for lo, hi in intervals))
        meets = max(meets, sum(hi >= bottom and lo <= top for lo, hi in intervals))
    spare = kappa + 2 * sqrt(log(4 / delta) / (2 * n))
    return 1 - meets / n - spare, 1 - inside / n + spare


def cochran_q(L):
    """Return Cochran's Q over people, its degrees of freedom and p; NaN if losses are equal.

    (n-1) sum_i (T_i - Tbar)^2 / sum_ij (L_ij - Lbar_j)^2 on a complete table.
    """
    L = np.asarray(L, dtype=float)
    n, m = L.shape
    T = [sum(L[i]) for i in range(n)]
    between = sum((total - sum(T) / n) ** 2 for total in T)
    within = sum((L[i, j] - sum(L[:, j]) / n) ** 2 for i in range(n) for j in range(m))
    if within == 0:
        return nan, n - 1, nan
    Q = (n - 1) * between / within
    return Q, n - 1, float(chi2.sf(Q, n - 1))
