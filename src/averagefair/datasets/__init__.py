"""Tables to start with, and the two populations of the paper's experiments.

`make_town` and `load_health_survey` return `People`: DataFrames with names, and a plain model's
decisions to audit.

The paper's populations are its synthetic one, and Communities and Crime. Both come as a `Split`:
training people and tasks, and held-out people and tasks. With a split, the paper's two kinds of
generalisation, to new people and to new tasks, can be measured.
"""

from averagefair.datasets.communities import (
    Communities,
    CommunitiesSplit,
    communities_split,
    load_communities,
)
from averagefair.datasets.people import People
from averagefair.datasets.split import Split
from averagefair.datasets.survey import load_health_survey
from averagefair.datasets.synthetic import SyntheticPopulation, make_synthetic
from averagefair.datasets.town import make_town

__all__ = [
    "Communities",
    "CommunitiesSplit",
    "People",
    "Split",
    "SyntheticPopulation",
    "communities_split",
    "load_communities",
    "load_health_survey",
    "make_synthetic",
    "make_town",
]
