"""Promises: what a fit must keep for people.

Each class says what is promised, which limits (:mod:`averagefair.game.limits`) that makes, what was
reached, and how to say so in words. The paper's promise is :class:`Equal`. The others are
one-sided: they never make a well-off person worse to make people alike.

| promise | means | multipliers |
|---|---|---|
| :class:`Equal` | every rate within alpha of a common rate | either sign |
| :class:`Cap` | no rate above a figure | not negative |
| :class:`Minimax` | the highest rate as low as possible | not negative |
| :class:`WorstOff` | the mean rate of the worst-off share is low | 0 to price / (share n) each |

To add a promise, write one class here and one row in the tests' table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, isnan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from averagefair._util.arrays import FloatArray
from averagefair._util.checks import (
    number_below,
    number_between,
    positive_number,
    whole_number,
)
from averagefair._util.text import percent
from averagefair.errors import InputError
from averagefair.game.constraints import Constraints
from averagefair.game.limits import Limit, PersonLimit, Program, WorstOffLimit

if TYPE_CHECKING:
    from averagefair.game.certificate import Certificate

# A person outside by at most this counts as inside: rates are long sums, and linear programs have a
# tolerance.
ROUNDING = 1e-6
_MOST_INFLUENCE = 1e100
_MOST_PRICE = 1e6
# Minimax multiplies a cap that can be kept by this.
_LOWER_CAP = 0.85
# Multipliers below this share of their sum are rounding.
_LEAST_MULTIPLIER = 1e-7


@dataclass(frozen=True, eq=False)
class Baseline:
    """The rates that nobody may be harmed against.

    Attributes
    ----------
    rates : array, shape (N,)
        A rate for each constraint, in NumPy.
    given : bool
        Whether the user gave these rates. Otherwise they are those of the oracle's answer without a
        constraint.
    """

    rates: FloatArray
    given: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Promise(ABC):
    """What a fit must keep.

    Parameters
    ----------
    no_harm : float in [0, 1), optional
        Nobody's rate may be more than this above their rate without any promise, or above the rates
        given to ``fit(against=...)``.

    Attributes
    ----------
    parameter : str
        The name of the figure that a :func:`~averagefair.frontier` varies; "" if there is none.
    less_is_easier : bool
        Whether a lower value of this figure is easier to keep.
    easiest : float
        The value at which nothing is promised.
    """

    no_harm: float | None = None

    parameter: ClassVar[str] = ""
    less_is_easier: ClassVar[bool] = False
    easiest: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if self.no_harm is not None:
            self._set(no_harm=number_below("no_harm", self.no_harm, 1.0))

    def __repr__(self) -> str:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own["no_harm"] = own.pop("no_harm")  # last
        given = [f"{name}={value!r}" for name, value in own.items() if value is not None]
        return f"{type(self).__name__}({', '.join(given)})"

    def _set(self, **values: Any) -> None:
        """Store checked values; any kind of number is accepted and stored as a float."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def exempt_share(self) -> float:
        """beta: the share of people for whom the promise need not be kept."""
        return 0.0

    # The figure that a frontier varies.

    @property
    def value(self) -> float:
        """The value of the promise's own figure, such as alpha; NaN if it has none."""
        return float(getattr(self, self.parameter)) if self.parameter else float("nan")

    @property
    def hardness(self) -> float:
        """A number that grows as the promise gets harder to keep."""
        return self.value if self.less_is_easier else -self.value

    def at(self, value: float) -> Promise:
        """Return the same promise with another value of its figure.

        Parameters
        ----------
        value : float
        """
        if not self.parameter:
            raise InputError(f"{type(self).__name__} has no figure to vary.")
        return replace(self, **{self.parameter: value})

    def alike(self, other: Promise) -> bool:
        """Return whether the two differ at most in the figure that a frontier varies.

        Parameters
        ----------
        other : Promise
        """
        if type(self) is not type(other):
            return False
        mine, theirs = asdict(self), asdict(other)
        return all(mine[name] == theirs[name] for name in mine if name != self.parameter)

    # The linear program.

    @abstractmethod
    def limit(self, constraints: Constraints, people: float) -> Limit:
        """Return the promise's own limit.

        Parameters
        ----------
        constraints : Constraints
        people : float
            The number of people, with or without a constraint.
        """

    def program(
        self, constraints: Constraints, people: float, baseline: Baseline | None
    ) -> Program:
        """Return the fair learning problem of this promise.

        Parameters
        ----------
        constraints : Constraints
        people : float
            The number of people, with or without a constraint.
        baseline : Baseline, or None
            Needed with ``no_harm``.
        """
        own = self.limit(constraints, people)
        if self.no_harm is None:
            return Program(constraints, (own,))
        assert baseline is not None, "no_harm needs a baseline"
        caps = baseline.rates + self.no_harm
        # The baseline itself keeps no_harm, unless the user gave other rates. If the promise's own
        # limit cannot be relaxed, no_harm must be: the two may contradict each other.
        breakable = baseline.given or not own.relaxed
        return Program(constraints, (own, PersonLimit(constraints, caps, relaxed=breakable)))

    def next_program(self, program: Program, rates: Any, point: Any, excess: float) -> Program:
        """Return the program to solve after one that is not final.

        Parameters
        ----------
        program : Program
        rates : array, shape (N,)
            The rates of its solution.
        point : array, shape (limits, N)
            Its dual point; if limits are broken, the point at which the excess alone counts.
        excess : float
            By how much its relaxed limits are broken.
        """
        raise NotImplementedError

    @property
    def dual_bound(self) -> float:
        """B: the sum of multipliers that exponentiated gradient allows by default."""
        return 20.0

    # What was reached.

    @abstractmethod
    def reached(self, constraints: Constraints, rates: Any) -> float:
        """Return the value of the promise's figure at which these rates just keep it.

        Parameters
        ----------
        constraints : Constraints
        rates : array, shape (N,)
        """

    def outside(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return the share of people for whom the promise is not kept; NaN if it has none.

        Parameters
        ----------
        constraints : Constraints
        rates : array, shape (N,)
        aim : float
            The value of the promise's figure that the solver aims at.
        """
        return float("nan")

    def beyond(self, constraints: Constraints, rates: Any) -> NDArray[np.bool_]:
        """Mark the share beta of the people whose exemption helps these rates most; shape (N,).

        Parameters
        ----------
        constraints : Constraints
        rates : array, shape (N,)
        """
        return np.zeros(len(constraints), dtype=bool)

    def kept_among_coin_flips(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return the largest chance for the model with these rates; coin flips get the rest.

        Coin flips err half the time on everybody. NaN if no share of coin flips keeps the promise.

        Parameters
        ----------
        constraints : Constraints
        rates : array, shape (N,)
        aim : float
        """
        return 1.0 if self.reached(constraints, rates) <= aim + ROUNDING else float("nan")

    @abstractmethod
    def met(self, certificate: Certificate) -> bool:
        """Return whether the classifiers keep the promise, no_harm aside.

        Parameters
        ----------
        certificate : Certificate
        """

    # Words.

    required: ClassVar[bool] = True
    """Whether something must hold, rather than only having a price."""
    priced: ClassVar[str] = ""
    """What is added to the error in the objective; empty if the error alone counts."""
    remedy: ClassVar[str] = "Promise less, or search longer"
    """What to do if the promise is not kept."""

    def figure_words(self) -> str:
        """Name the figure that the certificate reports as reached."""
        return "highest rate"

    @abstractmethod
    def words(self) -> str:
        """Say in a few words what is promised."""

    def no_harm_words(self) -> str:
        """Say what no_harm promises; "" without it."""
        if self.no_harm is None:
            return ""
        return f"nobody's rate more than {self.no_harm:g} above their baseline rate"

    def impossible(self, program: Program, excess: float) -> str:
        """Say that the promise cannot be kept, and the nearest that can.

        Parameters
        ----------
        program : Program
        excess : float
            By how much the relaxed limits are broken in the best mixture found.
        """
        if self.no_harm is not None and any(np.any(limit.relaxed) for limit in program.limits[1:]):
            least = _up(self.no_harm + excess)
            if not self.required:
                return (
                    f"no mixture found keeps no_harm={self.no_harm:g}: somebody's rate is always "
                    f"more than that above their baseline rate. With no_harm={least:g} one was "
                    "found. Raise no_harm, or use another oracle."
                )
            beside = f" and {self.parameter}={_up(self.value + excess):g}"
            beside = beside if np.any(program.limits[0].relaxed) else ""
            return (
                f"the promises contradict each other: no mixture found keeps {self.words()} "
                f"together with no_harm={self.no_harm:g}. With no_harm={least:g}{beside} one was "
                "found. Raise no_harm, or promise less."
            )
        least, beside = _up(self.value + excess), ""
        if self.no_harm is not None:
            beside = f" with no_harm={self.no_harm:g}"
        return (
            f"{self.parameter}={self.value:g} is below what is possible here{beside}: the least "
            f"{self.parameter} found is {least:g}. Ask for a little more than that, e.g. "
            f"{self.parameter}={_up(least + 0.005, 3):g}, or use another oracle."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the promise's kind and settings, for JSON."""
        return {"kind": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, repr=False)
class Equal(Promise):
    """The paper's promise: every rate within alpha of a common rate.

    Parameters
    ----------
    alpha : float in [1e-6, 0.5], default 0.05
        The slack: how far a rate may lie from the common rate.
    beta : float in [0, 1), default 0
        The share of people who may lie outside: the beta of the paper's (alpha, beta)-fairness.
    max_influence : float, optional
        c: no person's multiplier may exceed c / n. A person who would need a larger multiplier to
        come within alpha stays outside. No share of people inside is promised.
    no_harm : float, optional
        See :class:`Promise`.

    Notes
    -----
    The Lagrangian is err + w . (R - gamma) - alpha sum|w|. Coin flips err half the time on
    everybody, so the multipliers of an optimum add up to at most 1 / (2 alpha).
    """

    alpha: float = 0.05
    beta: float = 0.0
    max_influence: float | None = None

    parameter: ClassVar[str] = "alpha"
    easiest: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            alpha = positive_number("alpha", self.alpha, most=0.5)
        except InputError as error:
            raise InputError(
                f"{error} At 0.5 the constraint never binds: rates lie in [0, 1], all within 0.5 "
                "of a half."
            ) from None
        if alpha < ROUNDING:
            raise InputError(
                f"`alpha` must be at least {ROUNDING:g}, the precision of rates; got {alpha!r}."
            )
        self._set(alpha=alpha, beta=number_below("beta", self.beta, 1.0))
        if self.max_influence is not None:
            influence = positive_number("max_influence", self.max_influence)
            self._set(max_influence=influence)
            if influence > _MOST_INFLUENCE:
                raise InputError(
                    f"`max_influence` must be at most {_MOST_INFLUENCE:g}; got {influence:g}. "
                    "Leave it out to hold everybody inside at any price."
                )
            if self.beta > 0:
                raise InputError(
                    f"give either beta (here {self.beta:g}) or max_influence (here "
                    f"{self.max_influence:g}), not both: beta exempts a share of the people, "
                    "max_influence lets anybody stay outside at a price."
                )

    @property
    def exempt_share(self) -> float:
        """Beta."""
        return self.beta

    def limit(self, constraints: Constraints, people: float) -> Limit:
        """Return -alpha <= R - gamma <= alpha."""
        own = PersonLimit(constraints, self.alpha, -self.alpha, common=True)
        return own if self.max_influence is None else own.priced(self.max_influence, people)

    @property
    def dual_bound(self) -> float:
        """1 / alpha, as in the authors' published runs."""
        return 1.0 / self.alpha

    def reached(self, constraints: Constraints, rates: Any) -> float:
        """Return half the width of the narrowest window with all but a share beta."""
        return 0.5 * constraints.width(rates, self.beta)

    def outside(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return the least share of people outside a window of width 2 aim."""
        return constraints.share_outside(rates, aim + ROUNDING / 2)

    def beyond(self, constraints: Constraints, rates: Any) -> NDArray[np.bool_]:
        """Mark people outside the narrowest window that leaves out at most the share beta."""
        return constraints.beyond(rates, self.beta)

    def kept_among_coin_flips(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return the largest chance that keeps the promise; coin flips shrink all differences."""
        return constraints.kept_among_coin_flips(rates, aim, self.beta)

    def met(self, certificate: Certificate) -> bool:
        """Return whether all but a share beta are within the aim of some common rate.

        The definition of average individual fairness asks for *some* common rate. The solver's
        common rate may not be the best. With ``max_influence`` no share is promised.
        """
        return self.max_influence is not None or certificate.outside <= self.beta + 1e-9

    @property
    def remedy(self) -> str:  # type: ignore[override]
        """What to do if the promise is not kept."""
        if self.no_harm is not None:
            return "Raise alpha or no_harm, or search longer"
        return "Raise alpha, or use the default solver, which meets every alpha"

    @property
    def everybody(self) -> bool:
        """Whether everybody must lie inside."""
        return self.beta == 0.0 and self.max_influence is None

    @property
    def required(self) -> bool:  # type: ignore[override]
        """Whether a share of people inside is promised."""
        return self.max_influence is None

    @property
    def priced(self) -> str:  # type: ignore[override]
        """What is added to the error."""
        return "" if self.max_influence is None else "the price of violations"

    def figure_words(self) -> str:
        """Name the figure."""
        return "half the spread"

    def words(self) -> str:
        """Say it."""
        who = f" for all but {self.beta:.1%}" if self.beta else ""
        if self.max_influence is not None:
            who = f", nobody's influence above {self.max_influence:g}/n"
        return f"alpha {self.alpha:g}{who}"


@dataclass(frozen=True, repr=False)
class Cap(Promise):
    """Nobody's rate above a figure.

    Parameters
    ----------
    max_rate : float in (0, 1], default 0.3
        The highest rate that anybody may have.
    beta : float in [0, 1), default 0
        The share of people who may lie above it.
    no_harm : float, optional
        See :class:`Promise`.

    Notes
    -----
    The Lagrangian is err + w . R - max_rate sum(w), with w >= 0. If some mixture keeps a cap that
    is lower by s, the multipliers of an optimum add up to at most 1 / s.
    """

    max_rate: float = 0.3
    beta: float = 0.0

    parameter: ClassVar[str] = "max_rate"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            max_rate=positive_number("max_rate", self.max_rate, most=1.0),
            beta=number_below("beta", self.beta, 1.0),
        )

    @property
    def exempt_share(self) -> float:
        """Beta."""
        return self.beta

    def limit(self, constraints: Constraints, people: float) -> Limit:
        """Return R <= max_rate."""
        return PersonLimit(constraints, self.max_rate, relaxed=True)

    def reached(self, constraints: Constraints, rates: Any) -> float:
        """Return the highest rate of all but a share beta."""
        return constraints.highest(rates, self.beta)

    def outside(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return the share of people above the cap."""
        return constraints.share_above(rates, aim + ROUNDING)

    def beyond(self, constraints: Constraints, rates: Any) -> NDArray[np.bool_]:
        """Mark the share beta of the people with the highest rates."""
        return constraints.topmost(rates, self.beta)

    def met(self, certificate: Certificate) -> bool:
        """Return whether all but a share beta are below the cap."""
        return certificate.outside <= self.beta + 1e-9

    def words(self) -> str:
        """Say it."""
        who = f" for all but {self.beta:.1%}" if self.beta else ""
        return f"no rate above {self.max_rate:g}{who}"


@dataclass(frozen=True, repr=False)
class Minimax(Promise):
    """The highest rate as low as possible, then the least error.

    First the least possible cap is found. With several levels, the people who cannot get below it
    keep it, the least possible cap of all others is found next, and so on. At the end the error is
    the least at these caps.

    Parameters
    ----------
    levels : int, default 1
        How many caps to find, one after the other.
    tolerance : float in [0, 0.5], default 0.001
        By how much the caps may be exceeded to lower the error.
    no_harm : float, optional
        See :class:`Promise`.
    """

    levels: int = 1
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            levels=whole_number("levels", self.levels),
            tolerance=number_below("tolerance", self.tolerance, 0.5),
        )

    def limit(self, constraints: Constraints, people: float) -> Limit:
        """Return R <= 1, to be lowered step by step."""
        return PersonLimit(constraints, 1.0, relaxed=np.ones(len(constraints), dtype=bool))

    def program(
        self, constraints: Constraints, people: float, baseline: Baseline | None
    ) -> Program:
        """Return the first program: a cap that everybody keeps."""
        limits = [self.limit(constraints, people)]
        if self.no_harm is not None:
            assert baseline is not None, "no_harm needs a baseline"
            caps = baseline.rates + self.no_harm
            limits.append(PersonLimit(constraints, caps, relaxed=baseline.given))
        return Program(constraints, tuple(limits), final=False)

    def next_program(self, program: Program, rates: Any, point: Any, excess: float) -> Program:
        """Lower the cap while it can be kept; then go on to the next level.

        The people who cannot get below a level's cap keep it. After the last level everybody has a
        cap, and the error decides.
        """
        own, *others = program.limits
        assert isinstance(own, PersonLimit)
        constraints, free = program.constraints, np.asarray(own.relaxed)
        caps = np.broadcast_to(own.upper, free.shape)
        cap = float(caps[free].max(initial=0.0))
        if excess <= ROUNDING and cap > ROUNDING:
            # no_harm is kept. From now on only the caps may be broken, or else the least cap would
            # be found by harming people.
            others = [_held(limit, excess) for limit in others]
            highest = float(constraints.space.to_host(rates)[free].max(initial=0.0))
            lower = np.where(free, _LOWER_CAP * min(cap, highest), caps)
            return Program(constraints, (replace(own, upper=lower), *others), final=False)
        if any(np.any(limit.relaxed) for limit in others):
            # no_harm cannot be kept, even without a cap.
            return Program(constraints, (replace(own, relaxed=False), *others))
        weights = constraints.space.to_host(point[0, :])
        # People with a multiplier are at the cap in every solution that keeps it. Others may be
        # too; the next program finds them, because its cap is then the same.
        stuck = free & (weights > _LEAST_MULTIPLIER * weights.sum())
        caps, still_free = np.where(free, cap + excess, caps), free & ~stuck
        done = not stuck.any() or not still_free.any() or cap + excess <= ROUNDING
        if done or _distinct(caps) >= self.levels:
            own = replace(own, upper=caps + self.tolerance, relaxed=False)
            return Program(constraints, (own, *others))
        caps = np.where(still_free, _LOWER_CAP * (cap + excess), caps)
        own = replace(own, upper=caps, relaxed=still_free)
        return Program(constraints, (own, *others), final=False)

    def reached(self, constraints: Constraints, rates: Any) -> float:
        """Return the highest rate."""
        return constraints.highest(rates, 0.0)

    def met(self, certificate: Certificate) -> bool:
        """Return True: the least cap found is the promise."""
        return True

    def words(self) -> str:
        """Say it."""
        levels = f", {self.levels} levels" if self.levels > 1 else ""
        return f"the highest rate as low as the oracle can find{levels}"


@dataclass(frozen=True, repr=False)
class WorstOff(Promise):
    """The mean rate of the worst-off share of the people: at most a figure, or at a price.

    Give ``max_rate`` or ``price``. With a price, the sum of the error and price times the worst-off
    people's mean rate is made as small as possible.

    Parameters
    ----------
    share : float in (0, 1), default 0.1
        Who counts as worst-off: this share of the people, those with the highest rates.
    price : float, optional
        How many points of overall error a point of the worst-off people's mean rate is worth.
        Default: 0.1, if ``max_rate`` is not given.
    max_rate : float in (0, 1], optional
        The highest mean rate that the worst-off may have.
    no_harm : float, optional
        See :class:`Promise`.

    Notes
    -----
    The Lagrangian is err + w . R, less max_rate sum(w) if the mean is bounded. The multipliers add
    up to the price, and nobody's exceeds price / (share n). So no bound B is needed.
    """

    share: float = 0.1
    price: float | None = None
    max_rate: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(share=number_between("share", self.share))
        if self.price is not None and self.max_rate is not None:
            raise InputError(
                f"give either price (here {self.price!r}) or max_rate (here {self.max_rate!r}), "
                "not both: a price trades error for the worst-off, max_rate is a limit."
            )
        if self.max_rate is not None:
            self._set(max_rate=positive_number("max_rate", self.max_rate, most=1.0))
        else:
            price = DEFAULT_PRICE if self.price is None else self.price
            self._set(price=positive_number("price", price, most=_MOST_PRICE))

    @property
    def parameter(self) -> str:  # type: ignore[override]
        """The figure that was given."""
        return "price" if self.max_rate is None else "max_rate"

    @property
    def less_is_easier(self) -> bool:  # type: ignore[override]
        """Whether a lower value is easier: a lower price is."""
        return self.max_rate is None

    @property
    def easiest(self) -> float:  # type: ignore[override]
        """A price of next to nothing, or a limit of 1."""
        return 1e-9 if self.max_rate is None else 1.0

    def limit(self, constraints: Constraints, people: float) -> Limit:
        """Return the limit on the mean rate of the worst-off, or its price."""
        if self.max_rate is None:
            return WorstOffLimit(constraints, self.share, price=self.value)
        return WorstOffLimit(constraints, self.share, top=self.max_rate, relaxed=True)

    @property
    def dual_bound(self) -> float:
        """The price; 20 at least if the mean is bounded, or beside no_harm."""
        if self.price is None:
            return super().dual_bound
        return self.price if self.no_harm is None else max(super().dual_bound, self.price)

    def reached(self, constraints: Constraints, rates: Any) -> float:
        """Return the mean rate of the worst-off; with several rates, the largest."""
        return float(WorstOffLimit(constraints, self.share).means(rates).max(initial=0.0))

    def kept_among_coin_flips(self, constraints: Constraints, rates: Any, aim: float) -> float:
        """Return 1 with a price: nothing is required."""
        if self.max_rate is None:
            return 1.0
        return super().kept_among_coin_flips(constraints, rates, aim)

    def met(self, certificate: Certificate) -> bool:
        """Return whether the worst-off's mean rate is within the limit; True with a price."""
        return self.max_rate is None or certificate.reached <= self.max_rate + ROUNDING

    @property
    def required(self) -> bool:  # type: ignore[override]
        """Whether the mean has a limit."""
        return self.max_rate is not None

    @property
    def priced(self) -> str:  # type: ignore[override]
        """What is added to the error."""
        return "" if self.price is None else f"{self.price:g} x the worst-off's mean rate"

    def figure_words(self) -> str:
        """Name the figure."""
        return f"mean rate of the worst-off {percent(self.share)}"

    def words(self) -> str:
        """Say it."""
        who = f"the worst-off {percent(self.share)}"
        if self.max_rate is None:
            return f"a low mean rate of {who}, at price {self.price:g}"
        return f"a mean rate of {who} of at most {self.max_rate:g}"


DEFAULT_PRICE = 0.1
"""A higher price bought little more on held-out people and tasks (docs/promises.md)."""
PROMISES: dict[str, type[Promise]] = {
    kind.__name__: kind for kind in (Equal, Cap, Minimax, WorstOff)
}
"""The promises, by the name that files use."""


def promise_from_dict(facts: Mapping[str, Any]) -> Promise:
    """Return the promise that ``to_dict`` wrote.

    Parameters
    ----------
    facts : mapping
    """
    settings = dict(facts)
    kind = PROMISES[settings.pop("kind")]
    return kind(**settings)


def _held(limit: Limit, excess: float) -> Limit:
    """Return a limit of no_harm that must hold, with room for an excess within rounding."""
    if not isinstance(limit, PersonLimit) or not np.any(limit.relaxed):
        return limit
    return replace(limit, upper=limit.upper + excess, relaxed=False)


def _distinct(caps: FloatArray) -> int:
    """Return the number of different caps; a difference within rounding is none."""
    return 1 + int(np.count_nonzero(np.diff(np.sort(caps)) > 2.0 * ROUNDING))


def _up(figure: float, digits: int = 4) -> float:
    """Round up, so that what is said to be possible is."""
    return figure if isnan(figure) else ceil(figure * 10**digits - 1e-9) / 10**digits
