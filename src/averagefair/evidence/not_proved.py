"""What a result does not prove: the sentences that apply to it."""

from __future__ import annotations

import numpy as np

from averagefair._util.text import counted, percent
from averagefair.auditing.assessment import Verdict
from averagefair.auditing.result import Audit
from averagefair.auditing.trials import Trials
from averagefair.game.certificate import Certificate, Status
from averagefair.game.promises import Equal
from averagefair.game.rates import spoken

LABELS = (
    "That the labels are right or complete. A wrong or missing label counts as it was given, and "
    "nothing here checks labels."
)
CAUSES = "That anything in particular caused the differences. The figures show no causes."
LAWS = (
    "That laws about selection rates are satisfied. New York City's Local Law 144, for example, "
    "asks for selection rates by group. This {document} counts wrong decisions."
)
OTHERS = (
    "That rates on other tasks or of other people are the same, beyond the stated intervals. The "
    "intervals assume that the tasks are a sample of the tasks people will meet."
)
NO_INTERVALS = (
    "That rates on other tasks or of other people are the same. There are no intervals for them "
    "here."
)
LEARNED = (
    "Anything about other tasks. The model was trained on these tasks, or chose their classifiers "
    "together, so the figures describe these tasks only."
)
OTHER_PEOPLE = "That rates of other people are the same, beyond the interval of the mean."
TRAINING = (
    "That rates on other tasks or of other people are the same. All figures are of the training "
    "people on the training tasks; audit held-out people and tasks for others."
)
OPTIMUM = {
    Status.CERTIFIED: (
        "That no other kind of classifier errs less. The bounds are for the classifiers that this "
        "oracle can choose, and for their mixtures."
    ),
    Status.HEURISTIC: (
        "Anything about the optimum. The oracle is a heuristic, so a model with less error may "
        "keep the same promise."
    ),
    Status.UNPROVED: "Anything about the optimum. The oracle failed before it proved a bound.",
    Status.CONTRADICTED: (
        "Anything about the optimum. The oracle claims to be exact, and its own answers show that "
        "it is not."
    ),
}


def not_proved_by_audit(audit: Audit) -> list[str]:
    """Return what an audit does not prove, a sentence or two for each point.

    Parameters
    ----------
    audit : Audit
    """
    out = [LABELS]
    if np.isnan(audit.mean.value):
        out.append(f"Anything about {spoken(audit.rate)} rates. No cell counts.")
    if audit.learned_tasks:
        out.append(LEARNED)
        out.append(NO_INTERVALS if np.isnan(audit.mean.low) else OTHER_PEOPLE)
    else:
        out.append(NO_INTERVALS if np.isnan(audit.mean.low) else OTHERS)
        if not audit.chance.p <= 1.0 - audit.confidence:
            out.append(
                "That people's true rates are equal. A test that finds no difference may have too "
                "few tasks."
            )
    request = audit.assessment
    if request is not None and request.verdict is Verdict.INCONCLUSIVE:
        out.append("That the request is met, or that it is not met. The intervals allow both.")
    if audit.rate in ("false_positive", "false_negative"):
        out.append(f"Anything about other mistakes. Only {spoken(audit.rate)} decisions count.")
    out += _of_the_data(audit)
    return [*out, CAUSES, LAWS.format(document="audit")]


def _of_the_data(audit: Audit) -> list[str]:
    out, losses = [], audit.evidence.losses
    if isinstance(losses.cells, Trials):
        out.append("That the log is complete. Decisions that are not in it do not count.")
    elif audit.rate == "error":
        share = int(audit.people.tasks.sum()) / (audit.n * audit.m)
        if share < 1.0:
            blank = percent(max(0.001, round(1.0 - share, 3)))
            out.append(
                f"That blank cells would look the same. {blank} of the cells do not count, for "
                "example because their label is unknown."
            )
    if audit.groups:
        out.append(
            "That people within a group are treated alike. The mean of a group hides differences "
            "between its members."
        )
    return out


def not_proved_by_certificate(certificate: Certificate, undefined: int = 0) -> list[str]:
    """Return what a certificate does not prove, a sentence or two for each point.

    Parameters
    ----------
    certificate : Certificate
    undefined : int, default 0
        How many training people have no rate.
    """
    promise, out = certificate.promise, [LABELS, TRAINING]
    if not certificate.met:
        out.append("That the promise is kept. It is not; the certificate says by how much.")
    if certificate.decisions == "drawn" and certificate.drawn_share != 0.0:
        out.append(
            "That single draws keep the promise. It is about averages over draws, and one draw "
            "scatters around them."
        )
    out.append(OPTIMUM[certificate.status])
    if certificate.stop_reason.limit or certificate.stop_reason.cut_short:
        out.append("That a longer search finds nothing better. The run ended before it converged.")
    if not promise.required:
        out.append("That anybody's rate is below a figure. The promise has a price, not a limit.")
    if isinstance(promise, Equal) and promise.max_influence is not None:
        out.append(
            "That a certain share of the people is within alpha. With max_influence nothing is "
            "promised about this share."
        )
    if certificate.outside > 0:
        out.append(
            "That the people outside are treated acceptably. "
            f"{percent(max(0.001, round(certificate.outside, 3)))} are outside, and the promise "
            "does not protect them."
        )
    if undefined:
        out.append(
            f"Anything about {counted(undefined, 'training person', 'training people')} without a "
            "rate: no label of theirs counts."
        )
    return [*out, CAUSES, LAWS.format(document="certificate")]
