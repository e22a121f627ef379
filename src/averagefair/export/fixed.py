"""What a table of rules needs: nothing is drawn, and the columns are the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from averagefair.errors import InputError, some_of
from averagefair.game.mixture import Mixture
from averagefair.game.per_task_choice import choose_per_task
from averagefair.game.protocols import Hypothesis


def fixed_hypothesis(mixture: Mixture) -> Hypothesis | None:
    """Return the hypothesis that decides every task; None if some task draws.

    Parameters
    ----------
    mixture : Mixture

    Examples
    --------
    >>> from averagefair import Sample
    >>> from averagefair.game.constant_classifiers import constants
    >>> sample = Sample([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> mixture = Mixture(constants(2), [[1.0, 0.0], [0.0, 1.0]], sample)
    >>> fixed_hypothesis(mixture).decide(sample.features[:1])
    array([[False,  True]])
    """
    if not mixture.is_fixed:
        return None
    if mixture.probabilities.ndim == 1:
        return mixture.hypotheses[0]
    return choose_per_task(mixture.hypotheses, mixture.probabilities.argmax(axis=0))


def rules_in_a_table(mixture: Mixture, what: str) -> Hypothesis:
    """Return the hypothesis that decides every task; refuse what no table of rules can hold.

    Parameters
    ----------
    mixture : Mixture
    what : str
        The table, for messages: "coefficients".
    """
    if mixture.feature_map is not None:
        name = type(mixture.feature_map.transformer).__name__
        raise InputError(
            f"a table of {what} needs rules about the columns of X, but this model decides by the "
            f"features that {name} makes of them. Fit without a feature map (--map), or try "
            "to_onnx (averagefair export -o model.onnx), which holds some maps."
        )
    hypothesis = fixed_hypothesis(mixture)
    if hypothesis is None:
        raise InputError(
            f"a table of {what} needs one classifier for each task, but this model draws among "
            f'several. Fit with decisions="fixed" (--decisions fixed), or export the chances with '
            "to_onnx (averagefair export -o model.onnx)."
        )
    return hypothesis


def refuse_other_kinds(
    mixture: Mixture, others: dict[int, str], what: str, needs: str, instead: str
) -> None:
    """Refuse tasks whose classifiers a table cannot hold.

    Parameters
    ----------
    mixture : Mixture
    others : dict of int to str
        The kind of classifier of each such task.
    what, needs, instead : str
        The table, the classifiers that it holds, and what to do: for the message.
    """
    if not others:
        return
    kinds: dict[str, list[str]] = {}
    for task, kind in sorted(others.items()):
        kinds.setdefault(kind, []).append(mixture.task_names[task])
    parts = [
        f"{kind} ({'task' if len(names) == 1 else 'tasks'} {some_of(names)})"
        for kind, names in kinds.items()
    ]
    raise InputError(
        f"a table of {what} holds {needs} only; this model also decides by {' and by '.join(parts)}"
        f". {instead}"
    )


def refuse_name(mixture: Mixture, reserved: Sequence[str], what: str) -> None:
    """Refuse a feature that has the name of another column of the table.

    Parameters
    ----------
    mixture : Mixture
    reserved : sequence of str
        The table's own columns.
    what : str
        The table, for the message.
    """
    for name in reserved:
        if name in (mixture.feature_names or ()):
            raise InputError(
                f"a table of {what} has a column {name!r} of its own, and a feature has the same "
                "name. Rename the feature and fit again, or export with to_onnx (averagefair "
                "export -o model.onnx)."
            )


def column_names(mixture: Mixture) -> list[str]:
    """Return the names of the features; x0, x1, ... if X had none.

    Parameters
    ----------
    mixture : Mixture
    """
    if mixture.feature_names is not None:
        return list(mixture.feature_names)
    return [f"x{column}" for column in range(mixture.feature_count)]
