"""Features in words, dates and blanks on the command line: fit, curve, decide, extend, export."""

import stat

import numpy as np
import pandas as pd
import pytest

from averagefair import AverageFairClassifier, TableEncoder, load
from averagefair.files.streaming import FileBlocks
from tests.support.cli_runs import (
    IDS,
    NEW_TASKS,
    TASKS,
    Y_LATER,
    X,
    Y,
    fits_80_columns,
    fixture_forks,  # noqa: F401
    read,
    strict,
)

rng = np.random.default_rng(2)
RAW = pd.DataFrame(
    {
        "income": np.where(rng.random(40) < 0.2, np.nan, X[:, 0]),
        "region": rng.choice(["north", "south", "Größe, neu"], 40),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(100 * X[:, 2]), unit="D"),
        "member": rng.choice(["TRUE", "false"], 40),
        "x4": X[:, 3],
    }
)
RAW.loc[[3, 8], "region"] = None
COLUMNS = ["income", "region", "since", "member", "x4"]
ENCODED = ["income", "income=(blank)", "region=Größe, neu", "region=north", "region=south"]
ENCODED += ["region=(blank)", "since", "member", "x4"]
ASK = ("--id", "person", "--encode", "--oracle", "regression", "--alpha", "0.3", "-q")


def people(rows=slice(None), *, labels=True):
    table = RAW.iloc[rows].copy()
    table.insert(0, "person", IDS[rows])
    if labels:
        table[TASKS] = Y[rows]
    return table


@pytest.fixture(scope="module", name="shop")
def fixture_shop(tmp_path_factory, forks):
    """Tables of people in three kinds of file, and a model of the first."""
    folder = tmp_path_factory.mktemp("raw")
    people().to_csv(folder / "people.csv", index=False)
    people().to_excel(folder / "people.xlsx", index=False)
    people().to_parquet(folder / "people.parquet", index=False)
    people(labels=False).to_csv(folder / "features.csv", index=False)
    later = pd.DataFrame(Y_LATER, columns=NEW_TASKS)
    later.insert(0, "person", IDS)
    later.to_csv(folder / "later.csv", index=False)
    args = ("fit", "people.csv", "-t", "task_*", *ASK, "--extendable", "-o", "fair.model")
    done = forks.run(folder, *args, "--json", code=None)
    return folder, strict(done.out)


def test_the_model_is_the_one_that_python_learns(shop):
    folder, told = shop
    assert told["features"] == COLUMNS
    assert told["encoded"] == ENCODED
    table = people().set_index("person")
    model = load(folder / "fair.model")
    own = AverageFairClassifier(
        **{name: getattr(model, name) for name in ("alpha", "oracle", "solver")},
        encode=True,
        random_state=0,
    ).fit(table[COLUMNS], table[TASKS], ids=table.index)
    assert model.encoder_.encodings_ == own.encoder_.encodings_
    assert model.fingerprint_ == own.fingerprint_
    np.testing.assert_array_equal(model.predict(RAW), own.predict(table[COLUMNS]))
    # pandas reads other types from the same file.
    again = pd.read_csv(folder / "people.csv")[COLUMNS]
    np.testing.assert_array_equal(model.predict(again), own.predict(table[COLUMNS]))
    assert stat.S_IMODE((folder / "fair.model").stat().st_mode) == 0o600


def test_the_kind_of_file_does_not_matter(shop, forks, tmp_path):
    folder, _ = shop
    known = load(folder / "fair.model")
    for kind in ("xlsx", "parquet"):
        args = ("fit", folder / f"people.{kind}", "-t", "task_*", *ASK, "-o", "fair.model")
        forks.run(tmp_path, *args, code=None)
        model = load(tmp_path / "fair.model")
        assert model.encoder_.encodings_ == known.encoder_.encodings_
        assert model.fingerprint_ == known.fingerprint_
    decided = [
        forks.run(tmp_path, "predict", folder / "fair.model", folder / name, "-o", "-").out
        for name in ("people.csv", "people.xlsx", "people.parquet", "features.csv")
    ]
    assert len({*decided}) == 1
    columns = read(decided[0])
    found = np.array([[int(cell) for cell in columns[name]] for name in TASKS]).T
    np.testing.assert_array_equal(found, known.predict(RAW))


def test_long_tables_are_decided_in_parts(shop, forks, tmp_path):
    folder, _ = shop
    many = pd.concat([people(labels=False)] * 400, ignore_index=True)
    many["since"] = many["since"].dt.strftime("%Y-%m-%d")
    many["person"] = np.arange(len(many))
    many.to_csv(tmp_path / "many.csv", index=False)
    assert len(list(FileBlocks(str(tmp_path / "many.csv")))) > 1
    args = ("predict", folder / "fair.model", "many.csv", "--id", "person")
    forks.run(tmp_path, *args, "-o", "d.csv")
    found = pd.read_csv(tmp_path / "d.csv")[TASKS].to_numpy()
    wanted = load(folder / "fair.model").predict(RAW)
    np.testing.assert_array_equal(found, np.tile(wanted, (400, 1)))
    many.loc[11_000, "since"] = "soon"
    many.to_csv(tmp_path / "many.csv", index=False)
    told = forks.run(tmp_path, *args, "-o", "e.csv", code=2).err
    assert "many.csv: row 11001 (person 11000), column 'since': holds 'soon'" in told
    assert not (tmp_path / "e.csv").exists()


def test_later_tasks_and_rules_are_about_the_encoded_columns(shop, forks, tmp_path):
    folder, _ = shop
    args = ("extend", folder / "fair.model", folder / "later.csv", "-o", "later.model")
    forks.run(tmp_path, *args)
    forks.run(tmp_path, "predict", "later.model", folder / "people.csv", "-o", "d.csv")
    found = pd.read_csv(tmp_path / "d.csv")[NEW_TASKS].to_numpy()
    np.testing.assert_array_equal(found, load(tmp_path / "later.model").predict(RAW))
    done = forks.run(tmp_path, "export", folder / "fair.model", "-o", "rules.csv", "--json")
    assert strict(done.out)["features"] == ENCODED
    rules = pd.read_csv(tmp_path / "rules.csv", index_col="task")
    assert list(rules.columns) == [*ENCODED, "intercept"]
    X = TableEncoder().fit(RAW).transform(RAW)
    decided = X @ rules[ENCODED].to_numpy().T + rules["intercept"].to_numpy() > 0
    np.testing.assert_array_equal(decided, load(folder / "fair.model").predict(RAW) == 1)


def test_a_curve_measures_held_out_people_as_its_models_encode_them(shop, forks, tmp_path):
    people(slice(0, 30)).to_csv(tmp_path / "some.csv", index=False)
    others = people(slice(30, 40))
    others.loc[31, "region"] = "nowhere"
    others.to_csv(tmp_path / "others.csv", index=False)
    args = ("frontier", "some.csv", "-t", "task_*", "--id", "person", "--encode", "--alphas", "0.3")
    args += ("--oracle", "regression", "--test", "others.csv", "-q", "--model", "m", "-o", "r.html")
    told = strict(forks.run(tmp_path, *args, "--json", code=None).out)
    model = load(tmp_path / "m")
    wrong = (model.predict(others[COLUMNS]) != others[TASKS]).to_numpy().mean()
    assert told["held_out"]["people"]["error"] == [pytest.approx(wrong)]
    text = forks.run(tmp_path, *args, code=None).out
    assert "encoded as 9 columns of numbers: income (blanks become" in " ".join(text.split())
    assert "since (date)" in " ".join(text.split())
    assert fits_80_columns(text)
    # A bad cell of the held-out people is found before anything is learned.
    others["since"] = others["since"].dt.strftime("%Y-%m-%d")
    others.loc[31, "since"] = "soon"
    others.to_csv(tmp_path / "others.csv", index=False)
    told = forks.run(tmp_path, *args, "--max-rounds", "1000000", code=2).err
    assert "others.csv: row 2 (person 032), column 'since': holds 'soon', but in the" in told


BAD = {
    "without the option": (lambda t: t, (), "'region': a feature must be a number.*Add --encode"),
    "blanks without the option": (
        lambda t: t.drop(columns=["region", "since", "member"]),
        (),
        "column 'income': holds '', .*Fill them in, add --encode, or leave out",
    ),
    "an id": (
        lambda t: t.assign(name=[f"name {row}" for row in range(len(t))]),
        ("--encode",),
        "people.csv: column 'name': has 40 different words in 40 rows: .*column out .--ignore.",
    ),
    "all blank": (
        lambda t: t.assign(none=np.nan),
        ("--encode",),
        "people.csv: column 'none': is blank for everybody. Leave the column out .--ignore.",
    ),
    "one odd cell": (
        lambda t: t.assign(day=["2020-01-01"] * 20 + ["20.1.2020"] + ["2020-02-01"] * 19),
        ("--encode",),
        "people.csv: row 21 .person 021., column 'day': holds '20.1.2020', but most",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_cell(case, forks, tmp_path):
    change, more, message = BAD[case]
    change(people()).to_csv(tmp_path / "people.csv", index=False)
    args = ("fit", "people.csv", "-t", "task_*", "--id", "person", "-o", "m", *more)
    told = forks.run(tmp_path, *args, code=2).err
    assert pd.Series([told]).str.contains(message).all(), told
    assert not (tmp_path / "m").exists()


def test_words_that_look_like_numbers_stay_words(forks, tmp_path):
    """Held-out and later people may have only such words; a CSV file holds only text."""
    table = people().assign(grade=["1", "2", "A", "3"] * 10)
    table[:30].to_csv(tmp_path / "some.csv", index=False)
    others = table[30:].assign(grade=["1", "2"] * 5)
    others.to_csv(tmp_path / "others.csv", index=False)
    args = ("frontier", "some.csv", "-t", "task_*", "--id", "person", "--encode", "--alphas", "0.3")
    args += ("--oracle", "regression", "--test", "others.csv", "-q", "--model", "m")
    forks.run(tmp_path, *args, code=None)
    forks.run(tmp_path, "predict", "m", "others.csv", "-o", "d.csv")
    model = load(tmp_path / "m")
    assert "grade=1" in model.encoder_.get_feature_names_out()
    found = pd.read_csv(tmp_path / "d.csv")[TASKS].to_numpy()
    np.testing.assert_array_equal(found, model.predict(others[[*COLUMNS, "grade"]]))


def test_a_later_table_of_another_form_is_refused(shop, forks, tmp_path):
    folder, _ = shop
    table = people(labels=False)
    cases = {
        "no column matches the model's feature 'region'": table.drop(columns="region"),
        "row 1 (person 001), column 'income': holds 'abc', but in the training table it held "
        "numbers": table.assign(income="abc"),
    }
    for message, odd in cases.items():
        odd.to_csv(tmp_path / "odd.csv", index=False)
        args = ("predict", folder / "fair.model", "odd.csv", "-o", "d.csv")
        assert message in forks.run(tmp_path, *args, code=2).err
    table.assign(region=3).to_parquet(tmp_path / "odd.parquet")
    args = ("predict", folder / "fair.model", "odd.parquet", "-o", "d.csv")
    told = forks.run(tmp_path, *args, code=2).err
    assert "odd.parquet: column 'region': holds numbers, but in the training table" in told
    assert "X[" not in told
