"""The request: how fair, to how many, at what price."""

from __future__ import annotations

from dataclasses import dataclass

from averagefair.checks import number_below, positive_number
from averagefair.errors import InputError

# Who lies outside by no more than this is inside: a rate is a long sum, a linear program's answer
# has a tolerance.
ROUNDING = 1e-6
_MOST_INFLUENCE = 1e100


@dataclass(frozen=True)
class Request:
    """What a solver is asked for: the fair learning problem's constants.

    Parameters
    ----------
    alpha : float in [1e-6, 0.5]
        The slack: how far a rate may lie from the common rate.
    beta : float in [0, 1), default 0
        The share of people who may lie outside (the beta of the paper's definition of
        (alpha, beta)-fairness).
    max_influence : float, optional
        c: no person's multiplier may exceed c / n, so that whoever would cost more than that to
        bring inside stays outside. Then no share is promised.
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
        # Whatever kind of number was given, from here on it is a float.
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "beta", number_below("beta", self.beta, 1.0))
        if self.max_influence is not None:
            influence = positive_number("max_influence", self.max_influence)
            object.__setattr__(self, "max_influence", influence)
            if influence > _MOST_INFLUENCE:
                raise InputError(
                    f"`max_influence` must be at most {_MOST_INFLUENCE:g}; got {influence:g}. "
                    "Leave it out to have everybody inside whatever the price."
                )
            if self.beta > 0:
                raise InputError(
                    f"give either beta (here {self.beta:g}) or max_influence (here "
                    f"{self.max_influence:g}), not both: beta excepts a share of the people, "
                    "max_influence prices everybody's exception."
                )

    @property
    def everybody(self) -> bool:
        """Whether everybody is to lie inside."""
        return self.beta == 0.0 and self.max_influence is None

    def refuse_exceptions(self, solver: str) -> None:
        """Refuse, in the name of a solver that treats everybody alike.

        Parameters
        ----------
        solver : str
            Its name, for the message.
        """
        if not self.everybody:
            given = f"beta={self.beta:g}" if self.beta else f"max_influence={self.max_influence:g}"
            raise InputError(
                f"{solver} holds everybody to alpha and cannot take {given}. Leave it out, or use "
                "solver=ColumnGeneration()."
            )
