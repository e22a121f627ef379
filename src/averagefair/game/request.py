"""The request: the slack alpha, the share that may stay outside, the price of violations."""

from __future__ import annotations

from dataclasses import dataclass

from averagefair._util.checks import number_below, positive_number
from averagefair.errors import InputError

# A person outside by at most this counts as inside: rates are long sums, and linear programs have a
# tolerance.
ROUNDING = 1e-6
_MOST_INFLUENCE = 1e100


@dataclass(frozen=True)
class Request:
    """What a solver must reach: the constants of the fair learning problem.

    Parameters
    ----------
    alpha : float in [1e-6, 0.5]
        The slack: how far a rate may lie from the common rate.
    beta : float in [0, 1), default 0
        The share of people who may lie outside: the beta of the paper's (alpha, beta)-fairness.
    max_influence : float, optional
        c: no person's multiplier may exceed c / n. A person who would need a larger multiplier to
        come within alpha stays outside. No share of people inside is promised.
    """

    alpha: float
    beta: float = 0.0
    max_influence: float | None = None

    def __post_init__(self) -> None:
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
        # Any kind of number is accepted and stored as a float.
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "beta", number_below("beta", self.beta, 1.0))
        if self.max_influence is not None:
            influence = positive_number("max_influence", self.max_influence)
            object.__setattr__(self, "max_influence", influence)
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
    def everybody(self) -> bool:
        """Whether everybody must lie inside."""
        return self.beta == 0.0 and self.max_influence is None

    def refuse_exceptions(self, solver: str) -> None:
        """Refuse beta and max_influence for a solver that cannot use them.

        Parameters
        ----------
        solver : str
            The solver's name, for the message.
        """
        if not self.everybody:
            given = f"beta={self.beta:g}" if self.beta else f"max_influence={self.max_influence:g}"
            raise InputError(
                f"{solver} holds everybody to alpha and cannot take {given}. Leave it out, or use "
                "solver=ColumnGeneration()."
            )
