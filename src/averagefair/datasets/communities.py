"""UCI's Communities and Crime, and the learning problem that the paper makes from it."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten

import numpy as np
from numpy.typing import ArrayLike, NDArray

from averagefair._util.text import counted
from averagefair.datasets.split import BoolArray, FloatArray, LabelArray, Split
from averagefair.errors import DatasetError, InputError

# UCI's attributes after the five non-predictive ones (state, county, community, name, fold).
_COLUMNS = """
population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21
agePct12t29 agePct16t24 agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf
pctWInvInc pctWSocSec pctWPubAsst pctWRetire medFamInc perCapInc whitePerCap blackPerCap
indianPerCap AsianPerCap OtherPerCap HispPerCap NumUnderPov PctPopUnderPov PctLess9thGrade
PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu PctEmplProfServ PctOccupManu
PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv TotalPctDiv PersPerFam
PctFam2Par PctKids2Par PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg
PctIlleg NumImmig PctImmigRecent PctImmigRec5 PctImmigRec8 PctImmigRec10 PctRecentImmig
PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly PctNotSpeakEnglWell PctLargHouseFam
PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous PersPerRentOccHous PctPersOwnOccup
PctPersDenseHous PctHousLess3BR MedNumBR HousVacant PctHousOccup PctHousOwnOcc
PctVacantBoarded PctVacMore6Mos MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart
OwnOccMedVal OwnOccHiQuart RentLowQ RentMedian RentHighQ MedRent MedRentPctHousInc
MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet PctForeignBorn
PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85 LemasSwornFT LemasSwFTPerPop
LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq LemasTotReqPerPop PolicReqPerOffic
PolicPerPop RacialMatchCommPol PctPolicWhite PctPolicBlack PctPolicHisp PctPolicAsian
PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz PolicAveOTWorked LandArea PopDens
PctUsePubTrans PolicCars PolicOperBudg LemasPctPolicOnPatr LemasGangUnitDeploy
LemasPctOfficDrugUn PolicBudgPerPop ViolentCrimesPerPop
"""
COMMUNITIES_COLUMNS = tuple(_COLUMNS.split())
COMMUNITIES_SHAPE = (1994, len(COMMUNITIES_COLUMNS))
# sha256 of the parsed table: float64, little-endian, row by row, every missing value np.nan.
COMMUNITIES_SHA256 = "144fe819f104241a93c608997d169888752256614c67de36547b35715af7ed29"
_FILES = ("communities.csv", "communities.data")
_URLS = (
    "https://archive.ics.uci.edu/static/public/183/communities+and+crime.zip",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/communities/communities.data",
)
_REMEDY = (
    "Get communities.data (1,994 rows, 128 columns) from "
    "https://archive.ics.uci.edu/dataset/183/communities+and+crime and pass its path "
    "(load_communities(path) in Python, --data path on the command line), or set the environment "
    "variable AVERAGEFAIR_DATA to the file or its folder."
)


@dataclass(frozen=True, eq=False)
class Communities:
    """UCI's Communities and Crime (M. Redmond, CC BY 4.0), without the non-predictive columns.

    Attributes
    ----------
    values : float64 array, shape (1994, 123)
        One row per community, NaN where missing; every attribute is scaled to [0, 1].
    column_names : tuple of str
        The 123 attributes.
    """

    values: FloatArray = field(repr=False)
    column_names: tuple[str, ...] = field(default=COMMUNITIES_COLUMNS, repr=False)

    @property
    def digest(self) -> str:
        """The sha256 of the values: float64, little-endian, row by row, NaN where missing."""
        table = np.where(np.isnan(self.values), np.nan, self.values).astype("<f8")
        return hashlib.sha256(table.tobytes()).hexdigest()

    @property
    def is_original(self) -> bool:
        """Whether the values are UCI's."""
        return self.digest == COMMUNITIES_SHA256


def load_communities(path: str | os.PathLike[str] | None = None) -> Communities:
    """Read Communities and Crime from your own file, or download it from UCI.

    Parameters
    ----------
    path : path, optional
        UCI's ``communities.data`` (128 columns, ``?`` for missing), UCI's zip archive of it, or a
        copy. A copy may have a header, may lack the five non-predictive columns, and may have
        blanks for missing values. A folder that holds ``communities.csv`` or ``communities.data``
        also works. Default: the environment variable ``AVERAGEFAIR_DATA`` (file or folder). If the
        variable names no file, the table is downloaded from UCI and stored in the user's cache
        folder (needs ``averagefair[datasets]``).

    Raises
    ------
    DatasetError
        No file was found, or the file is not this table: wrong shape, other column names, a cell
        that is not a number. The message says what is wrong, and where to get the right file.

    Notes
    -----
    The library pins the sha256 of the *parsed table*, not of a file. So raw copies, zipped copies
    and copies with a header all match. A download that does not match is deleted. Your own file may
    have other values: the library reads it with a warning, and ``is_original`` is False.

    Examples
    --------
    >>> load_communities("no-such-file.csv")
    Traceback (most recent call last):
    averagefair.errors.DatasetError: There is no file no-such-file.csv, ... Get communities.data ...
    """
    given = os.environ.get("AVERAGEFAIR_DATA") if path is None else path
    tried = f"There is no file {given}, nor a folder of that name with {' or '.join(_FILES)}."
    try:
        if file := _find(given):
            data = Communities(_read(file))
        elif path is not None:
            raise DatasetError(tried)
        else:
            tried = f"AVERAGEFAIR_DATA: {tried}" if given else "AVERAGEFAIR_DATA is not set."
            data = Communities(_download(tried))
    except DatasetError as error:
        raise DatasetError(f"{error} {_REMEDY}") from None
    if not data.is_original:
        warnings.warn(
            f"{file} has the shape of Communities and Crime but other values than UCI's, so "
            f"the authors' published results will not be reproduced. {_REMEDY}",
            stacklevel=2,
        )
    return data


def _find(given: str | os.PathLike[str] | None) -> Path | None:
    if not given:
        return None
    path = Path(given).expanduser()
    candidates = [path / name for name in _FILES] if path.is_dir() else [path]
    return next((file for file in candidates if file.is_file()), None)


def _download(tried: str) -> FloatArray:
    """Download the table from UCI; an error message begins with the text ``tried``."""
    try:
        import pooch
    except ImportError as error:
        remedy = "install it with: pip install 'averagefair[datasets]'"
        raise DatasetError(f"{tried} A download needs pooch; {remedy}.") from error
    pooch.get_logger().setLevel("WARNING")
    for url in _URLS:
        name, cache = url.rpartition("/")[2], pooch.os_cache("averagefair")
        try:
            file = Path(pooch.retrieve(url, known_hash=None, fname=name, path=cache))
        except (OSError, ValueError) as error:
            # Shorten the long messages of network libraries: the remedy follows them.
            tried += f" Download of {url} failed: {shorten(str(error), 80, placeholder=' ...')}."
            continue
        try:
            values = _read(file)
            if Communities(values).is_original:
                return values
            tried += f" Download of {url}: its values do not match the pinned digest."
        except DatasetError as error:
            tried += f" Download of {url}: {error}"
        file.unlink(missing_ok=True)  # otherwise the cache would return the bad file forever
    raise DatasetError(tried)


def _read(file: Path) -> FloatArray:
    """Parse any layout that `load_communities` takes, or say what is wrong with the file."""
    wrong, (n, k) = f"{file} is not Communities and Crime:", COMMUNITIES_SHAPE
    lines = _read_lines(file)
    for number, line in enumerate(lines, 1):
        if len(line) not in (k, k + 5) or len(line) != len(lines[0]):
            first = f" (line 1 has {len(lines[0])})" if number > 1 else ""
            raise DatasetError(
                f"{wrong} line {number} has {counted(len(line), 'column')}{first}; all "
                f"must have {k + 5}, or {k} without the five non-predictive ones."
            )
    rows = [line[-k:] for line in lines]
    if rows and any(letter.isalpha() for letter in rows[0][-1]):
        for given, name in zip(rows.pop(0), COMMUNITIES_COLUMNS, strict=True):
            if given.strip().lower() != name.lower():
                raise DatasetError(f"{wrong} its header has {given!r} instead of {name!r}.")
    if len(rows) != n:
        raise DatasetError(f"{wrong} it has {counted(len(rows), 'row')}; it must have {n:,}.")
    values = np.empty((n, k))
    for i, j in np.ndindex(n, k):
        try:
            values[i, j] = _number(rows[i][j])
        except ValueError:
            raise DatasetError(
                f"{wrong} row {i + 1}, column {COMMUNITIES_COLUMNS[j]!r} holds {rows[i][j]!r}; "
                "it must be a number, or blank or ? where missing."
            ) from None
    return values


def _read_lines(file: Path) -> list[list[str]]:
    try:
        content = file.read_bytes()
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                content = archive.read("communities.data")
        lines = content.decode("utf-8-sig").splitlines()
        # Copies exist whose lines end in \r\r\n: every other line is then blank.
        return [cells for cells in csv.reader(lines) if cells]
    except (OSError, UnicodeDecodeError, KeyError, zipfile.BadZipFile, csv.Error) as error:
        raise DatasetError(f"{file} could not be read: {error}.") from error


def _number(cell: str) -> float:
    text = cell.strip()
    value = math.nan if text in ("", "?") else float(text)
    if math.isinf(value):
        raise ValueError
    return value


# The paper's rows and columns, counted from 0.
_TRAIN_ROWS, _HOLDOUT_ROWS = range(200), range(200, 400)
_TASKS, _FEATURES, _NEW_TASKS = slice(0, 50), slice(50, 70), slice(70, 95)


@dataclass(frozen=True, eq=False, repr=False)
class CommunitiesSplit(Split):
    """The result of :func:`communities_split`: a :class:`Split` with the names of its columns.

    Attributes
    ----------
    feature_names, task_names, new_task_names : tuple of str
        The attributes behind the columns of X, of Y and of Y_new_tasks.
    """

    feature_names: tuple[str, ...]
    task_names: tuple[str, ...]
    new_task_names: tuple[str, ...]


def communities_split(
    data: Communities | str | os.PathLike[str] | None = None,
    *,
    train_rows: ArrayLike = _TRAIN_ROWS,
    holdout_rows: ArrayLike = _HOLDOUT_ROWS,
) -> CommunitiesSplit:
    """Make the paper's learning problem from Communities and Crime.

    Missing values become 0, and all columns but the last (violent crimes) are centred over all
    1,994 rows. Columns 50 to 69 are the features, 0 to 49 the tasks, 70 to 94 the new tasks. A
    person's label on a task is 1 if the value is above the column's mean. Training rows and
    held-out rows each have their own means.

    Parameters
    ----------
    data : Communities or path, optional
        Default: ``load_communities()``.
    train_rows, holdout_rows : sequence of int
        The rows of the training people and of the held-out people, counted from 0. Default: the
        paper's rows, 0 to 199 and 200 to 399.

    Notes
    -----
    A value within 1e-9 of the mean counts as equal to the mean and has label 0, so rounding never
    decides a label. The data are whole hundredths, so only values equal to the mean are this near.
    The paper's runs leave a column with at most two values as it is. The rule above has the same
    effect: the larger value becomes 1, and a column with a single value gets label 0 throughout.
    The default rows have no such column.

    Examples
    --------
    With random numbers in place of the data:

    >>> table = np.random.default_rng(0).random((1994, 123))
    >>> split = communities_split(Communities(table))
    >>> split
    CommunitiesSplit(200 people x 50 tasks, 20 features; held out: 200 people, 25 tasks)
    >>> split.feature_names[:2]
    ('PctIlleg', 'NumImmig')
    """
    if data is None or isinstance(data, str | os.PathLike):
        data = load_communities(data)
    train = _rows("train_rows", train_rows, len(data.values))
    holdout = _rows("holdout_rows", holdout_rows, len(data.values))
    shared = np.intersect1d(train, holdout)
    if shared.size:
        raise InputError(
            f"`train_rows` and `holdout_rows` must not overlap; both have row {shared[0]}. "
            "Leave it out of one of them."
        )
    table = np.nan_to_num(data.values, nan=0.0)
    table[:, :-1] -= table[:, :-1].mean(axis=0)
    return CommunitiesSplit(
        X=table[train, _FEATURES],
        Y=_above_mean(table[train, _TASKS]),
        X_new=table[holdout, _FEATURES],
        Y_new_people=_above_mean(table[holdout, _TASKS]),
        Y_new_tasks=_above_mean(table[train, _NEW_TASKS]),
        Y_new_both=_above_mean(table[holdout, _NEW_TASKS]),
        feature_names=data.column_names[_FEATURES],
        task_names=data.column_names[_TASKS],
        new_task_names=data.column_names[_NEW_TASKS],
    )


def _above_mean(values: FloatArray) -> LabelArray:
    above: BoolArray = values > values.mean(axis=0) + 1e-9
    return above.astype(np.int8)


def _rows(name: str, given: ArrayLike, n: int) -> NDArray[np.intp]:
    rows = np.asarray(given)
    rule = f"`{name}` must be a list of different row numbers from 0 to {n - 1}, at least one"
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise InputError(f"{rule}; got {given!r}.")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise InputError(f"{rule}; got {outside[0]}.")
    values, counts = np.unique(rows, return_counts=True)
    if values.size < rows.size:
        raise InputError(f"{rule}; got {values[counts.argmax()]} more than once.")
    return rows.astype(np.intp)
