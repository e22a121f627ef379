"""The certificate: what was promised, what was reached, who pays, and what is proved.

The certificate does not trust the solver. Error and rates are measured again from the data and the
final classifiers. The lower bound is computed by a best response at the multipliers that the solver
proposes: for all multipliers lambda, min over (h, gamma) of L(h, gamma, lambda) <= OPT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from averagefair._util.text import counted, percent, plain
from averagefair.errors import LevellingDownWarning, warn
from averagefair.game.learner import Learner
from averagefair.game.limits import EXCESS_PRICE
from averagefair.game.measure import Measurement
from averagefair.game.mixture import Mixture
from averagefair.game.promises import ROUNDING, Equal, Promise, promise_from_dict
from averagefair.game.reach import Reach, best_common_rates, measure_reach, one_draw
from averagefair.game.solution import Solution, StopReason
from averagefair.game.who_pays import WhoPays, who_pays


class Status(Enum):
    """What a certificate proves; the value says it in words.

    Attributes
    ----------
    CERTIFIED
        The oracle is exact: the bounds hold.
    HEURISTIC
        Error and fairness are measured. Nothing is proved about the optimum, since the oracle is
        not exact.
    UNPROVED
        Error and fairness are measured. The oracle is exact, but failed before it proved a bound.
    CONTRADICTED
        The oracle claims to be exact but is not: its lower bound exceeds the upper bound, which was
        reached without it. Nothing is proved.
    """

    CERTIFIED = "certified: the oracle is exact, so the bounds hold"
    HEURISTIC = "heuristic: error and fairness are measured; nothing is proved about the optimum"
    UNPROVED = (
        "unproved: error and fairness are measured; the oracle failed before it proved a bound"
    )
    CONTRADICTED = (
        "contradicted: the oracle claims to be exact, but its lower bound exceeds the upper bound; "
        "nothing is proved"
    )


@dataclass(frozen=True, repr=False)
class Certificate:
    """What was promised, what was reached, who pays, what is proved.

    Attributes
    ----------
    promise : Promise
        As requested.
    aim : float
        The value of the promise's figure (alpha, max_rate or price) that the solver aims at. For a
        solver made by ``from_theory`` it is 3/2 alpha: the theory promises 3 times its own alpha,
        which is half of this alpha.
    reached : float
        What the classifiers reach. ``Equal``: half the width of the narrowest window that holds all
        but a share beta of the rates. ``Cap``, ``Minimax``: the highest rate, a share beta left
        out. ``WorstOff``: the mean rate of the worst-off share.
    deviation : float
        The largest ``|R_i - common rate|`` over constrained individuals; NaN without a common rate.
    spread : float
        Largest minus smallest individual rate. With several rates: the largest spread.
    outside : float
        The beta reached: the least share of people outside a window of width 2 aim, or above the
        cap. With several rates: the largest share. NaN for a promise that is not about each person.
    harm : float
        By how much the person harmed most exceeds what ``no_harm`` allows; 0 if nobody does. NaN
        without ``no_harm``.
    error : float
        Overall error on the training sample.
    common_rate : float, or tuple of float if a list of rates was given
        gamma; NaN for a promise without a common rate.
    lower, upper : float
        Bounds on OPT, the least error of any mixture that keeps the promise. A mixture may use the
        class's classifiers, and "always 0" and "always 1" in all tasks at once. ``upper`` is the
        error plus the price of remaining violations. (For a cap that price is 1000, which is enough
        if a cap 0.001 lower could be kept too.) ``lower`` is NaN with a heuristic oracle. With
        ``beta``, OPT is for the exemptions chosen here. With ``max_influence`` or ``price``, OPT is
        the least sum of the error and what violations, or the worst-off's mean rate, cost.
    gap : float
        upper - lower if lower is known (then error <= OPT + gap). With a heuristic oracle, column
        generation gives NaN. Exponentiated gradient then gives only what the Auditor could still
        gain against the average play (the mean of all rounds).
    status : Status
    stop_reason : StopReason
    rounds, oracle_calls : int
        Rounds played; cost-sensitive problems solved, one for each task and answer.
    columns : int
        The largest number of classifiers in a task's mixture.
    seconds : float
        Time in the solver.
    trouble : str
        What failed; empty if nothing did.
    unconstrained_error : float
        Error of the oracle's answer without a fairness constraint. A heuristic oracle's first
        answer may not be its best, so ``error`` may be lower. NaN if unknown, as in a model file of
        release 0.1.0.
    coin_flip_error : float
        Error if coin flips alone are used to keep the promise. They are mixed into the
        unconstrained answer until all but a share beta of the people are within the aim. NaN if
        unknown, with ``max_influence`` (which promises no share), and for one-sided promises.
    unconstrained_reached : float
        What the unconstrained answer reaches: ``reached`` with nothing asked. NaN if unknown.
    who_pays : WhoPays, tuple of WhoPays if a list of rates was given, or None
        The training people's rates compared with the oracle's answer without a constraint, or with
        the rates given to ``fit(against=...)``. None in a model file of release 0.1.0.
    against_given : bool
        Whether ``who_pays`` compares with rates that the user gave.
    decisions : {"fixed", "drawn"}
        How decisions are made. Fixed: ``error``, ``reached``, ``spread`` and so on are those of the
        decisions made. Drawn: they are averages over draws. ``lower``, ``upper`` and ``gap`` are
        about mixtures, so about the chances, in both cases.
    drawn_share : float
        The share of the training people's decisions that are drawn: 0 if decisions are fixed. NaN
        in a model file of release 0.1.0.
    by_decisions : Reach, or None
        What the decisions made reach. Drawn: one draw for each training person and task (with a
        feature map it is not the draw that ``predict`` makes). None if
        that was not measured: with more than 50 million decisions, or in an older model file.
    by_chances : Reach, or None
        What the chances found by the solver reach, on average over draws. None in an older file.
    """

    promise: Promise
    aim: float
    reached: float
    deviation: float
    spread: float
    outside: float
    harm: float
    error: float
    common_rate: float | tuple[float, ...]
    lower: float
    upper: float
    gap: float
    status: Status
    stop_reason: StopReason
    rounds: int
    oracle_calls: int
    columns: int
    seconds: float
    trouble: str = ""
    unconstrained_error: float = float("nan")
    coin_flip_error: float = float("nan")
    unconstrained_reached: float = float("nan")
    who_pays: WhoPays | tuple[WhoPays, ...] | None = None
    against_given: bool = False
    decisions: str = "drawn"
    drawn_share: float = float("nan")
    by_decisions: Reach | None = None
    by_chances: Reach | None = None

    @property
    def met(self) -> bool:
        """Whether the promise is kept on the training sample, ``no_harm`` too.

        Fixed decisions keep it themselves. Drawn decisions keep it on average over draws.
        """
        return self.promise.met(self) and not self.harm > ROUNDING

    @property
    def met_on_average(self) -> bool:
        """Whether the chances keep the promise on average over draws."""
        if self.by_chances is None or self.decisions == "drawn":
            return self.met
        averages: dict[str, Any] = self.by_chances.to_dict()
        return replace(self, decisions="drawn", **averages).met

    @property
    def each_who_pays(self) -> tuple[WhoPays, ...]:
        """``who_pays`` of each rate; empty if unknown."""
        if self.who_pays is None:
            return ()
        return self.who_pays if isinstance(self.who_pays, tuple) else (self.who_pays,)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings; None for NaN."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own |= {"status": self.status.name.lower(), "stop_reason": self.stop_reason.name.lower()}
        own["promise"] = self.promise.to_dict()
        pays = [one.to_dict() for one in self.each_who_pays]
        single = isinstance(self.who_pays, WhoPays)
        own["who_pays"] = pays[0] if single else pays or None
        for name in ("by_decisions", "by_chances"):
            own[name] = None if own[name] is None else own[name].to_dict()
        facts: dict[str, Any] = plain({"met": self.met, **own})
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Certificate:
        """Return the certificate that :meth:`to_dict` wrote, or that release 0.1.0 wrote.

        Parameters
        ----------
        facts : mapping
        """
        known = {**_UNKNOWN_IN_OLD_FILES, **facts}
        if "promise" not in known:
            own_names = ("alpha", "beta", "max_influence")
            asked = {name: known[f"requested_{name}"] for name in own_names}
            # With beta, the width without the share beta is not in the file.
            reached = None if asked["beta"] else 0.5 * known["spread"]
            known |= {"promise": {"kind": "Equal", **asked}, "reached": reached}
        own = {field.name: known[field.name] for field in fields(cls)}
        promise, pays = promise_from_dict(own.pop("promise")), own.pop("who_pays")
        reaches = {name: Reach.from_dict(own.pop(name)) for name in ("by_decisions", "by_chances")}
        own = {name: float("nan") if value is None else value for name, value in own.items()}
        common = own.pop("common_rate")
        if isinstance(common, list):
            common = tuple(float("nan") if value is None else value for value in common)
        if isinstance(pays, list):
            pays = tuple(WhoPays.from_dict(one) for one in pays)
        return cls(
            **own
            | reaches
            | {
                "promise": promise,
                "common_rate": common,
                "who_pays": WhoPays.from_dict(pays) if isinstance(pays, Mapping) else pays,
                "status": Status[own["status"].upper()],
                "stop_reason": StopReason[own["stop_reason"].upper()],
            }
        )

    def __str__(self) -> str:
        return "\n".join(line for _, line in self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from averagefair.showing.notebook import certificate_html

        return certificate_html(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return (topic, line) for each line of the printed certificate."""
        lines = (
            ("Asked", self.asked()),
            ("Reached", self._reached()),
            ("Decisions", self.decided()),
            ("Compared", self.compared()),
            ("Who pays", self.paid()),
            ("Effort", self._effort()),
            ("Proved", self.status.value),
            ("Trouble", self.trouble),
        )
        return [(topic, line) for topic, line in lines if line]

    @property
    def _listed(self) -> bool:
        return isinstance(self.common_rate, tuple)

    def asked(self) -> str:
        """Say in one line what was promised and whether it is kept."""
        promise, words = self.promise, self.promise.words()
        verdict = "met" if self.met else "NOT met"
        harm = promise.no_harm_words()
        if harm:
            words += f", and {harm}"
            if self.harm > ROUNDING:
                verdict += f" (somebody is {self.harm:.4f} beyond it)"
        each = " (for each rate)" if self._listed and promise.exempt_share else ""
        aimed = ""
        if not np.isnan(self.aim) and self.aim != promise.value:
            aimed = f" (aim {self.aim:g}, the theory's promise)"
        soft = "" if promise.required or harm else " (nothing is required)"
        asked = f"requested {words}{each}{aimed}"
        return f"{asked}{soft or f': {verdict}'}; {self._figures()}"

    def _figures(self) -> str:
        """Return the figures that show how the promise stands."""
        outside = f"{self.outside:.1%} of the people are outside"
        if self._listed:
            outside += " (for the rate with most outside)"
        spread = f"spread {self.spread:.6f}"
        if isinstance(self.promise, Equal):
            if self.promise.everybody:
                allowed = f"{spread} of {2 * self.aim:g} allowed"
                return allowed if self.met or not self.outside > 0 else f"{allowed}; {outside}"
            return f"{outside}; {spread}"
        figure = f"{self.promise.figure_words()} {self.reached:.6f}"
        return f"{outside}; {figure}" if self.promise.exempt_share else figure

    def _reached(self) -> str:
        known = ""
        if self.status is Status.CERTIFIED:
            scope = "with these people exempt " if self.promise.exempt_share else ""
            scope = f"plus {self.promise.priced} " if self.promise.priced else scope
            known = f"; OPT {scope}in [{self.lower:.6f}, {self.upper:.6f}], gap {self.gap:.6f}"
        elif not np.isnan(self.gap):
            known = f"; gap {self.gap:.4f}"
        if np.isnan(self.deviation):
            return f"error {self.error:.4f}; spread {self.spread:.4f}{known}"
        common = self.common_rate if isinstance(self.common_rate, tuple) else (self.common_rate,)
        rates = "rate" if len(common) == 1 else "rates"
        return (
            f"error {self.error:.4f}; rates within {self.deviation:.4f} of the common {rates} "
            f"{', '.join(f'{rate:.4f}' for rate in common)}{known}"
        )

    def decided(self) -> str:
        """Say in one line how decisions are made, and what the other way would reach."""
        if self.decisions == "fixed":
            words = "fixed: one classifier for each task, nothing is drawn"
            if self.by_chances is None:
                return words
            return (
                f"{words}. Drawing by the chances found would reach, on average: "
                f"{self._brief(self.by_chances)}"
            )
        if np.isnan(self.drawn_share):
            return ""
        if self.drawn_share == 0.0:
            return "drawn, but no chance lies between 0 and 1: nothing is left to draw"
        words = f"drawn: {percent(round(self.drawn_share, 3))} of the decisions are left to chance"
        words += "; the figures above are averages over draws"
        if self.by_decisions is None:
            return words
        return f"{words}, one draw reaches {self._brief(self.by_decisions)}"

    def _brief(self, reach: Reach) -> str:
        figure = f"spread {reach.spread:.4f}"
        if not isinstance(self.promise, Equal):
            figure = f"{self.promise.figure_words()} {reach.reached:.4f}"
        outside = f", {reach.outside:.1%} outside" if reach.outside > 0 else ""
        return f"error {reach.error:.4f}, {figure}{outside}"

    def compared(self) -> str:
        """Say in one line the error without a constraint and with coin flips; "" if unknown."""
        if np.isnan(self.unconstrained_error):
            return ""
        flips = f"; error with coin flips alone {self.coin_flip_error:.4f}"
        return (
            f"unconstrained error {self.unconstrained_error:.4f}"
            f"{'' if np.isnan(self.coin_flip_error) else flips}"
        )

    def paid(self) -> str:
        """Say in one line who is better and who is worse off; "" if unknown."""
        against = "with the given rates" if self.against_given else "with nothing asked"
        parts = []
        for number, pays in enumerate(self.each_who_pays, 1):
            if not pays.people:
                continue
            which = f"rate {number}: " if self._listed else ""
            parts.append(
                f"{which}{percent(round(pays.better, 3))} better off, "
                f"{percent(round(pays.worse, 3))} worse off; worst-off tenth {pays.worst_off}, "
                f"best-off tenth {pays.best_off}"
            )
        return f"compared {against}: {'; '.join(parts)}" if parts else ""

    def _effort(self) -> str:
        return (
            f"{counted(self.rounds, 'round')}, {counted(self.oracle_calls, 'oracle call')}, "
            f"{counted(self.columns, 'column')} in use, {self.seconds:.2f} s. "
            f"{self.stop_reason.value}"
        )


_UNKNOWN_IN_OLD_FILES: dict[str, Any] = {
    "unconstrained_error": None,
    "coin_flip_error": None,
    "unconstrained_reached": None,
    "harm": None,
    "who_pays": None,
    "against_given": False,
    "decisions": "drawn",
    "drawn_share": None,
    "by_decisions": None,
    "by_chances": None,
}
"""What files of release 0.1.0 do not hold."""


def certify(
    learner: Learner, mixture: Mixture, solution: Solution, fixed: Mixture | None = None
) -> tuple[Certificate, Measurement]:
    """Measure a solution from scratch and compute its certificate.

    Parameters
    ----------
    learner : Learner
        The sample, the rate and the oracle.
    mixture : Mixture
        The classifiers of the sample's tasks, each with its chance.
    solution : Solution
        The solver's claim. Its common rate and multipliers are used, not its error or rates.
    fixed : Mixture, optional
        The fixed classifiers, if decisions are fixed.

    Returns
    -------
    Certificate
    Measurement
        Of the fixed decisions, else of the mixture on average over draws.
    """
    promise, program = solution.promise, solution.program
    averages = learner.meter.mix(mixture.parts())
    rates, common = learner.gather(averages.rates), solution.common_rates
    # A limit that may be impossible has no bound on its multipliers that is known beforehand.
    bound = EXCESS_PRICE if program.relaxed else max(solution.dual_bound, promise.dual_bound)
    upper = program.upper(averages.error, rates, common, bound)
    lower = gap = float("nan")
    status = Status.CERTIFIED if learner.oracle.exact else Status.HEURISTIC
    if learner.oracle.exact:
        try:
            lower = max(
                learner.dual_value(program, point, solution.blocks)
                for point in solution.dual_points
            )
        except Exception:
            # The solution already reports that the oracle failed: do not raise again.
            if not solution.trouble:
                raise
            status = Status.UNPROVED
        gap = upper - lower
        if gap < -ROUNDING:
            status, lower, gap = Status.CONTRADICTED, float("nan"), float("nan")
    elif solution.multipliers is not None:
        gap = upper - averages.error - program.payoff(solution.multipliers, rates, common)
    by_chances = judged = measure_reach(learner, solution, averages, common)
    reached, drawn_share = averages, 0.0
    if fixed is None:
        drawn_share, by_decisions = one_draw(learner, solution, mixture, by_chances)
    else:
        reached = learner.meter.mix(fixed.parts())
        common = best_common_rates(learner, solution, learner.gather(reached.rates))
        by_decisions = judged = measure_reach(learner, solution, reached, common)
    free, coin_flips, pays = _comparisons(learner, solution, reached)
    no_rate = np.full(len(common), np.nan)
    certificate = Certificate(
        promise=promise,
        aim=solution.aim,
        **judged.to_dict(),
        common_rate=learner.rates.per_rate((common if program.common else no_rate).tolist()),
        lower=lower,
        upper=upper,
        gap=gap if np.isnan(gap) else max(0.0, gap),
        status=status,
        stop_reason=solution.stop_reason,
        rounds=len(solution.history),
        oracle_calls=solution.oracle_calls,
        columns=len(mixture.hypotheses),
        seconds=solution.seconds,
        trouble=solution.trouble,
        unconstrained_error=free[0],
        unconstrained_reached=free[1],
        coin_flip_error=coin_flips,
        who_pays=pays,
        against_given=learner.against_given,
        decisions="drawn" if fixed is None else "fixed",
        drawn_share=drawn_share,
        by_decisions=by_decisions,
        by_chances=by_chances,
    )
    return certificate, reached.on_host()


def _comparisons(
    learner: Learner, solution: Solution, reached: Measurement
) -> tuple[tuple[float, float], float, WhoPays | tuple[WhoPays, ...] | None]:
    """Return what the unconstrained answer reaches, the error of coin flips alone, and who pays.

    The first is a pair: its error, and the value of the promise's figure.
    """
    try:
        free = learner.unconstrained()
        before = learner.baseline_rates()
    except Exception:
        # An oracle that failed before may fail again: certify the answer without comparisons.
        if not solution.trouble:
            raise
        return (float("nan"), float("nan")), float("nan"), None
    after = learner.present(reached).rates
    pays = who_pays(before, after, learner.sample.individual_weights)
    promise = solution.promise
    kept = float("nan")
    if isinstance(promise, Equal) and promise.max_influence is None:
        kept = promise.kept_among_coin_flips(learner.constraints, free.rates, solution.aim)
    # Rounded, since it may be one person's rate, and certificates go into model files.
    unconstrained = free.error, round(promise.reached(learner.constraints, free.rates), 4)
    return unconstrained, kept * free.error + 0.5 * (1.0 - kept), pays


def warn_if_missed(certificate: Certificate) -> None:
    """Warn if a fit ended before it converged, did not keep its promise, or hurts the worst-off."""
    reason, ended = certificate.stop_reason, ""
    if certificate.trouble:
        ended = f"the fit failed part-way ({certificate.trouble})"
    elif reason is StopReason.INTERRUPTED:
        ended = "the fit was interrupted"
    elif reason is StopReason.ROUNDS:
        ended = f"the fit did not converge within its limit of rounds ({certificate.rounds})"
    elif reason is StopReason.TIME:
        ended = "the fit did not converge within its time limit"
    sentences = [] if certificate.met else [certificate.asked()]
    if ended:
        sentences.append(
            f"{ended}; the model is the best answer so far (error {certificate.error:.4f}, spread "
            f"{certificate.spread:.6f})"
        )
    if sentences:
        if certificate.compared():
            sentences.append(f"For comparison: {certificate.compared()}")
        if reason.limit:
            sentences.append("Raise max_rounds or time_limit to search longer")
        if not certificate.met:
            if certificate.decisions == "fixed" and certificate.met_on_average:
                sentences.append(
                    "No choice of one classifier for each task was found that keeps it. Promise "
                    'less, or use decisions="drawn", which keeps it on average over draws'
                )
            else:
                sentences.append(certificate.promise.remedy)
        warn(". ".join(sentences) + ".", ConvergenceWarning)
    # At its easiest value a promise asks for nothing, so it takes nothing from anybody.
    if certificate.promise.value != certificate.promise.easiest:
        warn_if_worst_off_lose(certificate.each_who_pays, "the training people")


def warn_if_worst_off_lose(pays: Sequence[WhoPays], people: str) -> None:
    """Warn if even the worst-off tenth lose.

    Parameters
    ----------
    pays : sequence of WhoPays
        One for each rate.
    people : str
        Whose rates they are, for the message.
    """
    for one in pays:
        if one.hurts_worst_off:
            warn(
                f"even the worst-off tenth of {people} lose: their mean rate goes from "
                f"{one.worst_off}. {percent(round(one.worse, 3))} of the people are worse off. "
                "Promise less (a larger alpha, a lower price), or something to the worst-off: "
                "worst_off=0.1 with a small price.",
                LevellingDownWarning,
            )
