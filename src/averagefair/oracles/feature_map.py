"""Feature maps: scikit-learn transformers in front of an oracle, applied to everybody once.

A linear oracle on splines or on kernel features learns curves. The map does not depend on the
costs. So it is fitted and applied before the game begins, and every round costs the same matrix
products as without a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from averagefair.errors import InputError
from averagefair.game.protocols import is_oracle


@dataclass(frozen=True)
class FeatureMap:
    """An oracle that sees people through a scikit-learn transformer.

    This is the same as a scikit-learn pipeline whose last step is an oracle:
    ``make_pipeline(SplineTransformer(), RegressionOracle())``.

    Parameters
    ----------
    transformer : scikit-learn transformer
        Takes the columns of X by position, as float64, and maps each person to finite numbers,
        independent of the other people. It is cloned; an unset ``random_state`` becomes 0. Sparse
        output becomes dense.
    oracle : Oracle or scikit-learn classifier, optional
        Learns from the transformer's output. Default: the default oracle.

    Notes
    -----
    The transformer is fitted on the training people's features, without labels. People of weight 0
    are left out, and a whole-numbered weight counts as that many rows. Other weights go to
    transformers (alone or in a pipeline) whose ``fit`` takes ``sample_weight``; in other
    transformers everybody counts alike.

    If people are in a file (``np.memmap``) or on a Dask cluster, at most 100,000 of them, evenly
    spaced, are used for fitting. In memory, weights may stand for many more people than rows. Then
    the limit is 100,000 people, or the number of rows if that is larger. Everybody is mapped.

    Some transformers store people's features; Nystroem and KernelPCA store all features of some
    people. The model and its file then contain these features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from averagefair import AverageFairClassifier
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> inside = (np.abs(X) < 0.6).astype(int)
    >>> model = AverageFairClassifier(alpha=0.5, oracle=FeatureMap(PolynomialFeatures(2)))
    >>> model.fit(X, inside).score(X, inside)
    1.0
    """

    transformer: Any
    oracle: Any = None

    def __post_init__(self) -> None:
        _check_transformer(self.transformer)


def split_map(oracle: Any) -> tuple[Any | None, Any]:
    """Separate an oracle from the transformers in front of it: (transformer or None, oracle).

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> split_map(FeatureMap(StandardScaler()))
    (StandardScaler(), None)
    """
    steps: list[Any] = []
    while True:
        if isinstance(oracle, FeatureMap):
            steps.append(oracle.transformer)
            oracle = oracle.oracle
        elif _ends_in_oracle(oracle):
            if len(oracle.steps) > 1:
                steps.append(oracle[:-1])
            oracle = oracle.steps[-1][1]
        else:
            break
    for transformer in steps:
        _check_transformer(transformer)
    return (make_pipeline(*steps) if len(steps) > 1 else steps[0] if steps else None), oracle


def _ends_in_oracle(oracle: Any) -> bool:
    if not isinstance(oracle, Pipeline) or not oracle.steps:
        return False
    last = oracle.steps[-1][1]
    return is_oracle(last) or isinstance(last, FeatureMap) or _ends_in_oracle(last)


def _check_transformer(transformer: Any) -> None:
    methods = ("fit", "transform", "get_params")
    if isinstance(transformer, type) or not all(hasattr(transformer, name) for name in methods):
        raise InputError(
            "a feature map must be a scikit-learn transformer (an instance with fit, transform and "
            "get_params) or a pipeline of transformers, e.g. FeatureMap(SplineTransformer()); got "
            f"{transformer!r}."
        )
