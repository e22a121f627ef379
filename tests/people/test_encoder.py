"""The encoder of words, dates and blanks, judged by pandas: get_dummies, median, to_datetime."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from averagefair import (
    AverageFairClassifier,
    ColumnGeneration,
    InputError,
    TableEncoder,
    cross_audit,
    frontier,
    generalisation,
    held_out,
)

N = 60
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "income": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(30, 8, N)),
        "children": RNG.integers(0, 5, N),
        "region": RNG.choice(["north", "south", "größe; x"], N),
        "since": pd.Timestamp("1969-06-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "member": RNG.random(N) < 0.5,
    },
    index=[f"p{row}" for row in range(N)],
)
PEOPLE.loc[["p3", "p7"], "region"] = None
PEOPLE.loc["p5", "since"] = pd.NaT
LABELS = pd.DataFrame(
    RNG.integers(0, 2, (N, 12)), index=PEOPLE.index, columns=[f"t{task}" for task in range(12)]
)
ENCODED = TableEncoder().fit(PEOPLE).transform(PEOPLE)


def by_hand(table):
    """Encode the table of people with pandas alone."""
    out = {}
    for name in ("income", "children", "member"):
        own = table[name].astype(float)
        out[name] = own.fillna(PEOPLE[name].astype(float).median())
        if PEOPLE[name].isna().any():
            out[f"{name}=(blank)"] = own.isna().astype(float)
    dummies = pd.get_dummies(table["region"], prefix="region", prefix_sep="=", dtype=float)
    words = [f"region={word}" for word in sorted(PEOPLE["region"].dropna().unique())]
    out |= dummies.reindex(columns=words, fill_value=0.0).to_dict("series")
    out["region=(blank)"] = table["region"].isna().astype(float)
    days = (table["since"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    known = (PEOPLE["since"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    out["since"] = days.fillna(known.median())
    out["since=(blank)"] = days.isna().astype(float)
    return pd.DataFrame(out)


def test_it_encodes_as_pandas_does():
    encoder = TableEncoder().fit(PEOPLE)
    wanted = by_hand(PEOPLE)
    names = list(encoder.get_feature_names_out())
    assert sorted(names) == sorted(wanted.columns)
    np.testing.assert_array_equal(encoder.transform(PEOPLE), wanted[names].to_numpy())
    later = PEOPLE.sample(30, random_state=1, replace=True).reset_index(drop=True)
    later.loc[:2, "region"] = ["elsewhere", "North", None]
    later.loc[4, "since"] = pd.NaT
    np.testing.assert_array_equal(encoder.transform(later), by_hand(later)[names].to_numpy())
    # Numbers without blanks in training become the median too, but there is no column for it.
    none = PEOPLE.assign(children=np.nan)
    column = encoder.transform(none)[:, names.index("children")]
    assert (column == PEOPLE["children"].median()).all()


def as_csv(table, folder):
    path = folder / "table.csv"
    table.to_csv(path, index=False)
    return path


FORMS = {
    "strings": lambda t, folder: pd.read_csv(as_csv(t, folder), dtype=str, keep_default_na=False),
    "pandas reads": lambda t, folder: pd.read_csv(as_csv(t, folder)),
    "polars reads": lambda t, folder: pl.read_csv(as_csv(t, folder)),
    "polars dates": lambda t, folder: pl.read_csv(as_csv(t, folder), try_parse_dates=True),
    "polars": lambda t, folder: pl.from_pandas(t),
    "arrow": lambda t, folder: pa.Table.from_pandas(t, preserve_index=False),
    "categories": lambda t, folder: t.assign(region=t["region"].astype("category")),
    "objects": lambda t, folder: t.astype(object),
    "dates": lambda t, folder: t.assign(
        since=[None if pd.isna(day) else day.date() for day in t["since"]]
    ),
    "nullable": lambda t, folder: t.convert_dtypes(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_table_does_not_matter(form, tmp_path):
    table = FORMS[form](PEOPLE, tmp_path)
    np.testing.assert_array_equal(TableEncoder().fit(PEOPLE).transform(table), ENCODED)
    np.testing.assert_array_equal(TableEncoder().fit(table).transform(PEOPLE), ENCODED)


def test_arrays_have_numbered_columns():
    cells = np.array([[1.0, "a"], [None, "b"], [3.0, None]], dtype=object)
    encoder = TableEncoder().fit(cells)
    names = list(encoder.get_feature_names_out())
    assert names == ["x0", "x0=(blank)", "x1=a", "x1=b", "x1=(blank)"]
    assert encoder.transform(cells).tolist() == [[1, 0, 1, 0, 0], [2, 1, 0, 1, 0], [3, 0, 0, 0, 1]]
    assert not hasattr(encoder, "feature_names_in_")
    numbers = np.array([[1.0, 2.0], [np.nan, 4.0]])
    assert TableEncoder().fit(numbers).transform(numbers).tolist() == [[1, 0, 2], [1, 1, 4]]


def test_dates_are_days_and_times_are_parts_of_days():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    table = pd.DataFrame(
        {
            "text": ["1970-01-02", "1970-01-03T12:00", "1969-12-31 00:00:00+00:00"],
            "aware": [datetime.datetime(1970, 1, 2, 2, tzinfo=zone)] * 3,
        }
    )
    encoder = TableEncoder().fit(table)
    assert encoder.transform(table).tolist() == [[1.0, 1.0], [2.5, 1.0], [-1.0, 1.0]]


def test_rare_words_share_a_column_and_are_not_kept():
    counts = {"often": 30, "also": 20, **{f"name {number}": 1 for number in range(20)}}
    words = [word for word, count in counts.items() for _ in range(count)]
    encoder = TableEncoder(max_categories=3).fit(pd.DataFrame({"word": words}))
    assert list(encoder.get_feature_names_out()) == ["word=also", "word=often", "word=(other)"]
    later = pd.DataFrame({"word": ["often", "name 3", "unheard of", None]})
    assert encoder.transform(later).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert "name 3" not in repr(vars(encoder))
    assert encoder.encodings_[0].words == ("also", "often")
    # Without rare words, an unknown word is 0 in all columns.
    two = TableEncoder().fit(pd.DataFrame({"word": ["a", "b"] * 3}))
    assert two.transform(pd.DataFrame({"word": ["c", "a"]})).tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_weights_count_like_rows(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, N)
    again = PEOPLE.iloc[np.repeat(np.arange(N), weights)]
    weighted = TableEncoder(max_categories=2).fit(PEOPLE, sample_weight=weights)
    assert weighted.encodings_ == TableEncoder(max_categories=2).fit(again).encodings_
    # Other weights: half of the weight lies on each side of the median.
    weights = rng.uniform(0.1, 3.0, N)
    (first, *_) = TableEncoder().fit(PEOPLE, sample_weight=weights).encodings_
    known = PEOPLE["income"].notna().to_numpy()
    income, weights = PEOPLE["income"][known], weights[known] / weights[known].sum()
    assert weights[income < first.median].sum() <= 0.5 + 1e-9
    assert weights[income > first.median].sum() <= 0.5 + 1e-9


def test_it_is_a_transformer_of_scikit_learn():
    encoder = TableEncoder(max_categories=7).fit(PEOPLE)
    fresh = clone(encoder)
    assert fresh.get_params() == {"max_categories": 7}
    assert not hasattr(fresh, "encodings_")
    same = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(same.transform(PEOPLE), encoder.transform(PEOPLE))
    assert encoder.n_features_in_ == 5
    assert list(encoder.feature_names_in_) == [*PEOPLE.columns]
    scaled = make_pipeline(TableEncoder(), StandardScaler()).fit(PEOPLE)
    assert list(scaled.get_feature_names_out()) == list(encoder.get_feature_names_out())
    assert np.abs(scaled.transform(PEOPLE).mean(axis=0)).max() < 1e-9
    framed = TableEncoder().set_output(transform="pandas").fit_transform(PEOPLE)
    assert list(framed.columns) == list(encoder.get_feature_names_out())


# --- in a model ----------------------------------------------------------------------------------


QUICK = ColumnGeneration(max_rounds=5, mapping_rounds=3)


def learned(**more):
    return AverageFairClassifier(
        **({"alpha": 0.2, "random_state": 0, "solver": QUICK, "look_first": False} | more)
    )


def test_a_model_that_encodes_is_the_model_of_the_encoded_table():
    known = TableEncoder().fit(PEOPLE)
    plain = pd.DataFrame(
        known.transform(PEOPLE), index=PEOPLE.index, columns=known.get_feature_names_out()
    )
    own, other = (
        learned(encode=True).fit(PEOPLE, LABELS),
        learned().fit(plain, LABELS),
    )
    np.testing.assert_array_equal(own.predict(PEOPLE), other.predict(plain))
    assert own.certificate_.error == other.certificate_.error
    assert own.fingerprint_ == other.fingerprint_
    pd.testing.assert_frame_equal(own.coefficients(), other.coefficients())
    assert list(own.feature_names_in_) == [*PEOPLE.columns]
    assert own.n_features_in_ == 5
    assert own.encoder_.encodings_ == known.encodings_
    assert other.encoder_ is None
    frame = own.predict(PEOPLE, as_frame=True)
    assert list(frame.index) == [*PEOPLE.index]
    assert own.score(PEOPLE, LABELS) == other.score(plain, LABELS)
    assert own.audit(PEOPLE, LABELS).mean == other.audit(plain, LABELS).mean
    later = LABELS.iloc[:, :2].rename(columns="later {}".format)
    np.testing.assert_array_equal(
        own.extend(later).predict(PEOPLE), other.extend(later).predict(plain)
    )


def test_curves_and_held_out_people_are_encoded_alike():
    curve = frontier(
        PEOPLE[:40],
        LABELS[:40],
        [0.2, 0.3],
        encode=True,
        random_state=0,
        solver=QUICK,
        look_first=False,
    )
    model = learned(encode=True).fit(PEOPLE[:40], LABELS[:40])
    encoded = model.encoder_.table(PEOPLE[40:])
    for one in (*(point.model for point in curve), model):
        assert one.encoder_.encodings_ == model.encoder_.encodings_
        found = held_out(one, X_new=PEOPLE[40:], Y_new_people=LABELS[40:]).people
        assert found.error == held_out(one, X_new=encoded, Y_new_people=LABELS[40:]).people.error
    # The settings of an encoder are those given.
    few = learned(encode=TableEncoder(max_categories=2)).fit(PEOPLE, LABELS)
    assert "region=(other)" in few.encoder_.get_feature_names_out()


def test_cross_fitting_takes_raw_tables():
    model = learned(encode=True, decisions="drawn")
    found = cross_audit(model, PEOPLE, LABELS, folds=2)
    assert (found.n, found.m) == (N, 12)
    settings = {"random_state": 0, "solver": QUICK, "look_first": False}
    curve = frontier(PEOPLE, LABELS, [0.3], encode=True, **settings)
    tested = generalisation(curve, cross=(PEOPLE, LABELS), folds=2)
    assert (tested.both.n, tested.both.m) == (N, 12)


# --- what is refused -----------------------------------------------------------------------------

FITS = {
    "an id": (PEOPLE.assign(who=PEOPLE.index), "'who': has 60 different words in 60 rows: it look"),
    "no cells": (PEOPLE.assign(empty=[None] * N), "'empty': is blank for everybody"),
    "no numbers": (PEOPLE.assign(empty=np.nan), "'empty': is blank for everybody"),
    "other dates": (PEOPLE.assign(day="31.05.2026"), "'day': seems to hold dates.*2026-05-31"),
    "a day too many": (
        PEOPLE.assign(day=["2026-02-28"] * 30 + ["2026-02-30"] + ["2026-03-01"] * 29),
        "row 30, column 'day': holds '2026-02-30', but most of its values are dates",
    ),
    "a word among numbers": (
        PEOPLE.assign(number=[str(row) for row in range(N - 1)] + ["n.k."]),
        "row 59, column 'number': holds 'n.k.', but most of its values are numbers",
    ),
    "words and numbers": (PEOPLE.assign(mixed=["a", 1] * 30), "row 0, .*'mixed': holds 'a' .str"),
    "lists": (PEOPLE.assign(lists=[[1]] * N), "row 0, column 'lists': holds .1. .list"),
    "times": (PEOPLE.assign(long=pd.Timedelta(hours=1)), "row 0, column 'long'.*cannot be encoded"),
    "infinite": (PEOPLE.assign(far=np.inf), "row 0, column 'far': is infinite"),
    "the same name": (
        PEOPLE.assign(**{"region=north": 1.0}),
        "columns 'region' and 'region=north' would both be encoded as 'region=north'",
    ),
    "no rows": (PEOPLE[:0], "must have rows and columns; got 0 rows"),
    "lazy": (pl.DataFrame({"a": [1]}).lazy(), "in memory; X is polars"),
    "a vector": (np.ones(3), "must be a table"),
}


@pytest.mark.parametrize("case", FITS)
def test_tables_that_cannot_be_encoded_are_refused(case):
    table, message = FITS[case]
    with pytest.raises(InputError, match=message):
        TableEncoder().fit(table)


LATER = {
    "a column less": (PEOPLE.drop(columns="region"), "missing: 'region'; unknown: none"),
    "a column more": (PEOPLE.assign(other=1), "missing: none; unknown: 'other'"),
    "another order": (PEOPLE[PEOPLE.columns[::-1]], "the order differs"),
    "fewer columns": (PEOPLE.to_numpy()[:, :4], "has 4 features, but the encoder was fitted on 5"),
    "numbers for words": (PEOPLE.assign(region=3), "'region': holds numbers, .* held words"),
    "dates for words": (PEOPLE.assign(region=PEOPLE["since"]), "'region': holds dates, .* words"),
    "words for numbers": (
        PEOPLE.assign(income="abc"),
        "row 0, column 'income': holds 'abc', but in the training table it held numbers",
    ),
    "dates for numbers": (
        PEOPLE.assign(income=PEOPLE["since"]),
        "'income': holds dates, .* number",
    ),
    "numbers for dates": (PEOPLE.assign(since=4), "'since': holds numbers, .* held dates"),
    "words for dates": (
        PEOPLE.assign(since=["2020-01-01"] * 59 + ["soon"]),
        "row 59, column 'since': holds 'soon', but in the training table it held dates",
    ),
    "infinite": (PEOPLE.assign(income=[1.0] * 59 + [-np.inf]), "row 59, .*'income': is infinite"),
}


@pytest.mark.parametrize("case", LATER)
def test_later_tables_of_another_form_are_refused(case):
    table, message = LATER[case]
    with pytest.raises(InputError, match=message):
        TableEncoder().fit(PEOPLE).transform(table)


def test_settings_are_checked():
    for most in (1, 2.5, None, "a"):
        with pytest.raises(InputError, match="`max_categories` must be a whole number, 2 or more"):
            TableEncoder(most).fit(PEOPLE)
    for encode in (1, "yes", None, TableEncoder):
        with pytest.raises(InputError, match="`encode` must be True, False or a TableEncoder"):
            learned(encode=encode).fit(PEOPLE, LABELS)
    with pytest.raises(InputError, match=r"column 'region' holds .*encode=True"):
        learned().fit(PEOPLE[["region"]].fillna("größe; x"), LABELS)
    with pytest.raises(InputError, match=r"column 'income' is NaN.*encode=True"):
        learned().fit(PEOPLE[["income"]], LABELS)
