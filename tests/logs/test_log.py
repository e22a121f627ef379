"""Decision logs against plain sums by pandas, and against audits of wide tables."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from averagefair import DecisionLog, InputError, audit, audit_log

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COLUMNS = {"person": "id", "task": "school", "label": "fit", "decision": "offer"}


def draw_events(rng, people=12, tasks=7, events=120, *, chances=False, words=False, times=False):
    """Events with one label for each person and task; some labels are blank."""
    who, what = rng.integers(0, people, events), rng.integers(0, tasks, events)
    labels = rng.integers(0, 2, (people, tasks))
    table = pd.DataFrame(
        {
            "id": [f"p{one}" for one in who] if words else who * 3 - 5,
            "school": [f"s {one}" for one in what] if words else what,
            "fit": np.where(rng.random(events) < 0.1, np.nan, labels[who, what]),
            "offer": rng.random(events) if chances else rng.integers(0, 2, events),
        }
    )
    if times:
        days = rng.integers(0, 300, events)
        table["date"] = np.datetime64("2025-11-20") + days.astype("timedelta64[D]")
    return table


def same(one, other):
    """Whether two audits agree to the last bit."""
    return json.dumps(one.to_dict()) == json.dumps(other.to_dict())


def plain_sums(events):
    known = events.dropna(subset=["fit"])
    wrong = np.where(known.fit == 1, 1 - known.offer, known.offer)
    return known.assign(wrong=wrong).groupby(["id", "school"]).wrong.agg(["size", "sum"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.properties
@given(
    seed=st.integers(0, 2**32 - 1),
    pieces=st.integers(1, 6),
    kind=st.sampled_from(["plain", "chances", "words", "times", "weights"]),
)
def test_events_in_any_pieces_and_order_give_the_same_to_the_bit(seed, pieces, kind, tmp_path):
    rng = np.random.default_rng(seed)
    chances = kind in ("chances", "weights")
    events = draw_events(
        rng,
        int(rng.integers(3, 15)),
        int(rng.integers(2, 9)),
        int(rng.integers(20, 150)),
        chances=chances,
        words=kind == "words",
        times=kind == "times",
    )
    if events.fit.isna().all():
        return
    more = {}
    if kind == "times":
        more["time"] = "date"
    if kind == "weights":
        events["count"] = rng.integers(1, 5, len(events)) * rng.choice([1.0, 0.5])
        more["weight"] = "count"
    whole = DecisionLog(**COLUMNS, **more).update(events)
    shuffled = events.iloc[rng.permutation(len(events))]
    cuts = [0, *np.sort(rng.integers(0, len(events) + 1, pieces - 1)), len(events)]
    parts = [shuffled.iloc[first:last] for first, last in pairwise(cuts)]
    parts = [part for part in parts if part.fit.notna().any()]
    log = DecisionLog(**COLUMNS, **more)
    for number, part in enumerate(parts):
        log.update(part)
        if number == pieces // 2:
            folder = tmp_path / f"{seed}-{pieces}-{kind}"
            log.save(folder)
            log = DecisionLog.load(folder)
    left_out = events[events.fit.isna()]
    in_parts = sum(len(part) for part in parts)
    if in_parts == len(events):
        assert log.events == whole.events == len(events)
        assert same(log.audit(), whole.audit())
    else:  # pieces without any label cannot be added
        assert in_parts >= len(events) - len(left_out)
        assert log.audit().people.rate.tolist() == whole.audit().people.rate.tolist()
    for window in whole.windows[:2]:
        one, other = (own.audit(windows=[window]) for own in (log, whole))
        assert one.people.rate.tolist() == other.people.rate.tolist()


@pytest.mark.parametrize("chances", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_rates_are_those_of_plain_sums(chances, words):
    events = draw_events(np.random.default_rng(1), chances=chances, words=words)
    found = audit_log(events, **COLUMNS)
    sums = plain_sums(events).groupby("id").sum()
    rates = sums["sum"] / sums["size"]
    got = dict(zip(found.people.name.tolist(), found.people.rate, strict=True))
    assert {*got} == {*rates.index}
    for name, rate in rates.items():
        assert got[name] == pytest.approx(rate, abs=1e-8)
    tasks = plain_sums(events).groupby("school").sum()
    shown = dict(zip(found.tasks.name, found.tasks.rate, strict=True))
    for name, row in tasks.iterrows():
        assert shown[str(name)] == pytest.approx(row["sum"] / row["size"], abs=1e-8)


@pytest.mark.parametrize("rate", ["error", "false_positive", "false_negative"])
def test_repeats_are_trials_of_one_task(rate):
    """A wide table with a column for each trial, in families by task, gives the same audit."""
    events = draw_events(np.random.default_rng(2), events=200).dropna()
    events["trial"] = events.groupby(["id", "school"]).cumcount()
    labels, decisions = (
        events.pivot_table(index="id", columns=["school", "trial"], values=name)
        for name in ("fit", "offer")
    )
    families = [str(school) for school, _ in labels.columns]
    names = [f"{school}/{trial}" for school, trial in labels.columns]
    wide = audit(
        labels.to_numpy(),
        decisions.fillna(0).to_numpy(),
        rate=rate,
        individual_names=labels.index,
        task_names=names,
        task_families=families,
    )
    found = audit_log(events, **COLUMNS, rate=rate)
    assert found.people.rate.tolist() == pytest.approx(wide.people.rate.tolist(), nan_ok=True)
    one, other = found.dispersion.sigma2, wide.dispersion.sigma2
    assert [one.value, one.low, one.high] == pytest.approx([other.value, other.low, other.high])
    # The factor for few tasks differs slightly between tasks and families of unequal size.
    one, other = found.mean, wide.mean
    assert [one.value, one.low, one.high] == pytest.approx(
        [other.value, other.low, other.high], rel=0.02
    )
    assert found.chance.p == wide.chance.p
    assert found.people.all_high.tolist() == pytest.approx(wide.people.all_high, nan_ok=True)


def written(events, tmp_path):
    """Return the same events in everything that can be read."""
    import pyarrow as pa

    table = pa.Table.from_pandas(events, preserve_index=False)
    csv, parquet, folder = tmp_path / "a.csv", tmp_path / "a.parquet", tmp_path / "months"
    events.to_csv(csv, index=False)
    events.to_parquet(parquet, row_group_size=37)
    folder.mkdir()
    for number in range(3):
        events.iloc[40 * number : 40 * (number + 1)].to_parquet(folder / f"{number}.parquet")
    yield "csv", csv
    yield "parquet", str(parquet)
    yield "folder", folder
    yield "files", [folder / f"{number}.parquet" for number in range(3)]
    yield "arrow", table
    yield "stream", table.to_reader(max_chunksize=11)
    for name in ("polars", "duckdb"):
        library = pytest.importorskip(name)
        if name == "polars":
            yield name, library.from_pandas(events)
        else:
            yield name, library.sql("select * from events")


@pytest.mark.parametrize("words", [False, True])
def test_every_source_is_read_alike(words, tmp_path):
    events = draw_events(np.random.default_rng(3), words=words)
    wanted = audit_log(events, **COLUMNS)
    for kind, source in written(events, tmp_path):
        found = audit_log(source, **COLUMNS)
        assert same(found, wanted), kind


def test_words_can_be_labels_and_decisions():
    events = draw_events(np.random.default_rng(4))
    spoken = events.assign(
        fit=events.fit.map({1: "Yes", 0: "no"}), offer=events.offer.map({1: " yes", 0: "refused"})
    )
    assert same(audit_log(spoken, **COLUMNS, positive="yes"), audit_log(events, **COLUMNS))


def test_windows_are_those_of_the_calendar():
    events = draw_events(np.random.default_rng(5), events=400, times=True)
    for every, starts in {"month": "M", "quarter": "Q", "year": "Y", "week": "W"}.items():
        log = DecisionLog(**COLUMNS, time="date", every=every).update(events)
        known = events.dropna()
        periods = known.date.dt.to_period(starts)
        assert [*log.windows] == sorted({str(own.start_time.date()) for own in periods})
        window = log.windows[1]
        here = known[[str(own.start_time.date()) == window for own in periods]]
        found = log.audit(windows=[window])
        assert found.people.rate.tolist() == audit_log(here, **COLUMNS).people.rate.tolist()


def test_drift_of_people_who_come_and_go():
    rng = np.random.default_rng(6)
    events = draw_events(rng, 60, 20, 6_000, times=True)
    worse = (events.date >= np.datetime64("2026-04-01")) & (events.id % 2 == 0)
    events.loc[worse, "offer"] = 1 - events.fit[worse].fillna(0)
    events = events[~((events.id < 20) & (events.date < np.datetime64("2026-02-01")))]
    found = DecisionLog(**COLUMNS, time="date", every="quarter").update(events).drift()
    assert found.names == ("2025-10-01", "2026-01-01", "2026-04-01", "2026-07-01")
    assert len({audit.n for audit in found}) > 1
    change = found.mean_changes[1]
    assert change.low > 0.05
    assert found.sigma2_changes[1].low > 0
    with pytest.raises(InputError, match="time"):
        DecisionLog(**COLUMNS).update(events).drift()


def test_a_source_can_be_taken_back():
    events = draw_events(np.random.default_rng(7))
    first, later = events.iloc[:70], events.iloc[70:]
    log = DecisionLog(**COLUMNS).update(first, source="May").update(later, source="June")
    assert log.sources == ("May", "June")
    assert same(log.remove("June").audit(), audit_log(first, **COLUMNS))
    with pytest.raises(InputError, match="May"):
        log.remove("June")


def test_a_month_is_written_alone(tmp_path):
    events = draw_events(np.random.default_rng(8))
    log = DecisionLog(**COLUMNS).update(events.iloc[:60], source="May")
    log.save(tmp_path)
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("*.arrow")}
    for file in tmp_path.glob("*.arrow"):
        os.utime(file, ns=(1, 1))
    log.update(events.iloc[60:], source="June").save(tmp_path)
    after = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("*.arrow")}
    assert len(after) == len(before) + 1
    assert [after[name] for name in before] == [1]
    assert same(DecisionLog.load(tmp_path).audit(), audit_log(events, **COLUMNS))


def test_no_event_is_stored(tmp_path):
    events = draw_events(np.random.default_rng(9), events=5_000)
    events["secret"] = "medical history"
    DecisionLog(**COLUMNS).update(events).save(tmp_path)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"medical" not in stored
    rows = len(plain_sums(events))
    import pyarrow.ipc as ipc

    (file,) = tmp_path.glob("*.arrow")
    with ipc.open_file(str(file)) as reader:
        assert reader.read_all().num_rows == rows


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.assign(fit=np.arange(len(t)) % 2), "label of person.*changes"),
        (lambda t: t.assign(fit=2), "fit.*2"),
        (lambda t: t.assign(offer=1.5), "offer.*1.5"),
        (lambda t: t.assign(offer=np.nan), "offer.*blank"),
        (lambda t: t.assign(fit=np.nan), "no event has a label"),
        (lambda t: t.drop(columns="school"), "no column 'school'"),
        (lambda t: t.assign(id=np.where(np.arange(len(t)) == 9, np.nan, t.id)), "event 10.*blank"),
        (lambda t: t.assign(id=t.id + 0.5), "fractions"),
        (lambda t: t.assign(date="31.5.2026"), "event 1.*31.5.2026"),
        (lambda t: t.assign(date=None), "date"),
        (lambda t: t.iloc[:0], "no events"),
        (lambda t: t.assign(fit="perhaps"), "perhaps"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_added(change, words):
    events = draw_events(np.random.default_rng(10), times=True)
    log = DecisionLog(**COLUMNS, time="date").update(events, source="good")
    with pytest.raises(InputError, match=words):
        log.update(change(events), source="bad")
    assert log.sources == ("good",)
    assert log.events == len(events)


def test_a_label_that_changes_between_files_is_named():
    events = draw_events(np.random.default_rng(11)).dropna()
    row = events.iloc[[0]]
    log = DecisionLog(**COLUMNS).update(events, source="May")
    log.update(row.assign(fit=1 - row.fit), source="June")
    name, task = str(row.id.item()), str(row.school.item())
    with pytest.raises(InputError, match=f"May and June.*person '{name}' on task '{task}'"):
        log.audit()
    assert log.remove("June").audit().n == events.id.nunique()


def test_the_id_given_as_the_task_is_refused():
    n = 30_000
    events = pd.DataFrame({"id": 0, "school": np.arange(n), "fit": 0, "offer": 0})
    with pytest.raises(InputError, match=r"30,000|20,000"):
        audit_log(events, **COLUMNS)


def test_a_task_that_one_person_met_is_said():
    events = draw_events(np.random.default_rng(12)).dropna()
    extra = events.iloc[[0]].assign(school=99)
    found = audit_log(pd.concat([events, extra]), **COLUMNS)
    assert any("only one person met 1 task: 99" in note for note in found.notes)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DecisionLog(**{**COLUMNS, "task": "id"}), "two roles"),
        (lambda: DecisionLog(**COLUMNS, every="minute"), "every"),
        (lambda: DecisionLog(**COLUMNS).audit(), "empty"),
        (lambda: audit_log(3, **COLUMNS), "got int"),
        (lambda: audit_log("nowhere.csv", **COLUMNS), "nowhere.csv"),
        (lambda: DecisionLog.load("nowhere"), "nowhere"),
    ],
)
def test_bad_calls(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_a_source_counts_once():
    events = draw_events(np.random.default_rng(13))
    log = DecisionLog(**COLUMNS).update(events, source="May")
    with pytest.raises(InputError, match="'May' was added before"):
        log.update(events, source="May")


@pytest.mark.parametrize("damage", ["list", "version", "file", "sums"])
def test_damaged_sums_are_refused(damage, tmp_path):
    DecisionLog(**COLUMNS).update(draw_events(np.random.default_rng(14))).save(tmp_path)
    (file,) = tmp_path.glob("*.arrow")
    listed = tmp_path / "log.json"
    if damage == "list":
        listed.write_text(listed.read_text()[:-20])
    elif damage == "version":
        listed.write_text(listed.read_text().replace('"version": 1', '"version": 7'))
    elif damage == "file":
        file.unlink()
    else:
        raw = bytearray(file.read_bytes())
        raw[len(raw) // 2 : len(raw) // 2 + 40] = bytes(40)
        file.write_bytes(raw)
    with pytest.raises(InputError, match=str(tmp_path)):
        DecisionLog.load(tmp_path)


def test_a_folder_of_another_log_is_left_alone(tmp_path):
    events = draw_events(np.random.default_rng(15))
    DecisionLog(**COLUMNS).update(events).save(tmp_path)
    other = DecisionLog(**{**COLUMNS, "decision": "second"})
    with pytest.raises(InputError, match="another log"):
        other.update(events.assign(second=events.offer)).save(tmp_path)
