"""The story told of the tables: every count and number in it again, from the files, by pandas."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import pytest
from experiment_runs import (
    fixture_communities,  # noqa: F401
    fixture_reproduced,  # noqa: F401
    fixture_synthetic,  # noqa: F401
)

from averagefair.experiments import SOLVERS, Table, envelope, exponents
from averagefair.experiments.folder import read_tables
from averagefair.experiments.plan import QUICK, gather
from averagefair.experiments.story import communities_story, synthetic_story

PUBLISHED, COLUMNS = SOLVERS
HELD_OUT = ("people", "tasks", "both")
RUN = ["solver", "alpha", "allowed", "reached_spread", "reached_error"]
DIFFERENCES = (
    r"(?:(?P<what>lower|higher|the same) at \d+(?: of \d+)?(?: \(by [\d.]+(?: to [\d.]+)?\))?"
    r"(?:, )?)+"
)


def tell(tables, population):
    how = {"communities": communities_story, "synthetic": synthetic_story}[population]
    return {section.title: section for section in how(tables, scale=QUICK).sections}


@pytest.fixture(scope="module")
def tables(reproduced):
    return read_tables(str(reproduced.folder))


@pytest.fixture(scope="module")
def story(tables, reproduced):
    return tell(tables, reproduced.manifest["experiment"])


def paragraph(section, words):
    """The only paragraph with these words."""
    (found,) = [one for one in section.paragraphs if words in one]
    return found


def read_differences(text, after):
    """Read "lower at 2 of 4 (by 0.020 to 0.100), higher at 1 (by 0.010), the same at 1".

    ``after`` is a pattern.
    """
    found = re.search(rf"{after}\s*({DIFFERENCES})", text)
    assert found, (after, text)
    told = {"lower": (0, ""), "higher": (0, ""), "the same": (0, "")}
    totals = []
    for word, count, total, by in re.findall(
        r"(lower|higher|the same) at (\d+)(?: of (\d+))?(?: \(by ([^)]*)\))?", found.group(1)
    ):
        told[word] = int(count), by
        totals += [int(total)] if total else []
    assert len(totals) == 1
    return told, totals[0]


def assert_differences(text, after, lower):
    """Judge such words by how much lower each is; what rounds to 0.000 is the same."""
    lower = np.asarray(lower, dtype=float)
    told, total = read_differences(text, after)
    assert total == len(lower)
    rounded = np.round(lower, 3)
    for word, here in (("lower", lower[rounded > 0]), ("higher", -lower[rounded < 0])):
        count, by = told[word]
        assert count == len(here), (word, lower)
        if count:
            ends = [float(part) for part in by.split(" to ")]
            assert (ends[0], ends[-1]) == pytest.approx((here.min(), here.max()), abs=5.1e-4)
    assert told["the same"][0] == (rounded == 0).sum()


def test_the_judge_of_differences_can_fail():
    text = "it is lower at 2 of 4 (by 0.020 to 0.100), higher at 1 (by 0.010), the same at 1."
    assert_differences(text, "it is", [0.1, 0.02, -0.01, 0.0])
    for wrong in ([0.1, 0.02, -0.01], [0.1, 0.02, 0.01, 0.0], [0.1, 0.03, -0.01, 0.0]):
        with pytest.raises(AssertionError):
            assert_differences(text, "it is", wrong)


def both(frame, what):
    """A column of both solvers, by alpha."""
    wide = frame.pivot(index="alpha", columns="solver", values=what).sort_index()
    return wide[PUBLISHED].to_numpy(), wide[COLUMNS].to_numpy()


def per_cent(values):
    low, high = (f"{round(100 * float(end))}%" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


# What is told is on the page, and can be read.


def test_every_word_is_on_the_page(story, reproduced):
    page = reproduced.page
    for title, section in story.items():
        for text in (title, section.gist, *section.paragraphs):
            assert escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page


def test_the_command_tells_the_gist(story, synthetic, reproduced):
    if reproduced is not synthetic:
        pytest.skip("told as JSON")
    said = " ".join(synthetic.out.split())
    for title, section in story.items():
        if section.gist:
            assert f"{title}. {section.gist}" in said


def test_nothing_is_unknown_or_impossible(story):
    for section in story.values():
        for text in (section.gist, *section.paragraphs):
            assert not re.search(r"\b(nan|None|inf|NaN)\b", text), text
            assert "unknown" not in text
            for count, total in re.findall(r"\b(\d+) of (\d+)\b", text):
                assert int(count) <= int(total), text
            for low, high in re.findall(r"by (\d\.\d+) to (\d\.\d+)", text):
                assert float(low) < float(high), text
            assert "by -" not in text


# The paper's figures.


def test_convergence(story, reproduced):
    runs = reproduced.frame("trajectories").query("rate == 'error'")[RUN].drop_duplicates()
    section = story["Convergence"]
    text = paragraph(section, "Here:")
    theirs, ours = both(runs, "reached_error")
    spreads, allowed = both(runs, "reached_spread"), both(runs, "allowed")
    within = [(one <= most + 1e-4).sum() for one, most in zip(spreads, allowed, strict=True)]
    assert f"ends within its allowance at {within[0]} of {len(theirs)} alphas" in text
    assert f"at {per_cent(spreads[0] / allowed[0])} of it" in text
    assert f"column generation at {within[1]} of {len(ours)}." in text
    assert_differences(text, "column generation's error is", theirs - ours)
    assert_differences(section.gist, "authors' setting's:", theirs - ours)


def test_error_spread(story, reproduced):
    table = reproduced.frame("error_spread").query("rate == 'error'")
    points = table[[*RUN, "coin_flip_error"]].drop_duplicates()
    asked = points.query("alpha < 0.5")
    theirs, ours = both(asked, "reached_error")
    coins = both(asked, "coin_flip_error")
    section = story["Error spread"]
    text = paragraph(section, "beside coin flips")
    assert_differences(text, r"the error of the authors' setting is", coins[0] - theirs)
    assert_differences(text, "the error of column generation is", coins[1] - ours)
    text = paragraph(section, "Where the same alpha is asked for")
    assert_differences(text, "column generation's error is", theirs - ours)
    # At the spread column generation reaches, the best mixture of the published models.
    every = points.query("solver == @PUBLISHED")
    line = envelope(every["reached_spread"], every["reached_error"])
    at_equal = line.at(both(asked, "reached_spread")[1]) - ours
    assert_differences(text, r"with coin flips\), it is", at_equal)
    text = paragraph(section, "Steps to a larger alpha")
    rises = [int((np.diff(one) > 1e-9).sum()) for one in (theirs, ours)]
    assert f"authors' setting {rises[0]} of {len(theirs) - 1}" in text
    assert f"column generation {rises[1]} of {len(ours) - 1}" in text


def test_groups(synthetic):
    story = tell(read_tables(str(synthetic.folder)), "synthetic")
    text = paragraph(story["Error spread"], "group 2")
    table = synthetic.frame("error_spread").query("rate == 'error' and solver == @COLUMNS")
    means = table.groupby(["alpha", "group"])["individual_rate"].mean()
    for alpha, name in ((0.5, "none"), (0.1, "0.10"), (0.05, "0.05")):
        assert f"alpha {name}: {means[alpha, 1]:.3f} and {means[alpha, 2]:.3f}" in text
    gaps = [means[alpha, 2] - means[alpha, 1] for alpha in (0.5, 0.05)]
    assert f"goes from {gaps[0]:.3f} to {gaps[1]:.3f}" in text


def test_groups_that_were_brought_together_are_not_said_to_be_left_where_they_are(synthetic):
    """At the smallest alpha everybody has the same rate."""
    tables = read_tables(str(synthetic.folder))
    columns = dict(tables["error_spread"].columns)
    fair = columns["alpha"] == min(columns["alpha"])
    columns["individual_rate"] = np.where(fair, 0.25, columns["individual_rate"])
    changed = tables | {"error_spread": Table(columns)}
    text = paragraph(tell(changed, "synthetic")["Error spread"], "group 2")
    assert "to 0.000" in text
    assert "leaves groups where they are" not in text


def test_generalisation(story, reproduced):
    table = reproduced.frame("generalisation").query("rate == 'error' and alpha < 0.5")
    section = story["Generalisation"]
    text = paragraph(section, "held out compared with training")
    errors, spreads = text.split("Error: ")[1].split("Spread: ")
    apart = {}
    order = paragraph(section, "rank correlation")
    every = {"error": [], "spread": []}
    for solver in SOLVERS:
        wide = table[table["solver"] == solver].pivot(index="alpha", columns="corner")
        for told, what in ((errors, "error"), (spreads, "spread")):
            out = np.concatenate([wide[what, corner] for corner in HELD_OUT])
            apart[solver, what] = out
            lower = np.tile(wide[what, "training"], len(HELD_OUT)) - out
            assert_differences(told, f"{solver} ", lower)
        for what in every:
            ranks = wide[what].corr(method="spearman")["training"]
            every[what] += [ranks[corner] for corner in HELD_OUT]
            told = ", ".join(f"{ranks[corner] + 0.0:.2f}" for corner in HELD_OUT)
            of_this = order.split(f"Of the {what}: ")[1].split(". ")[0]
            assert f"{solver} {told}" in of_this
    for what, words in (("error", "over the alphas is"), ("spread", "that of the spread")):
        low, high = min(every[what]), max(every[what])
        span = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
        assert f"{words} {span}" in section.gist
    same = paragraph(section, "At the same alpha")
    for what in every:
        lower = apart[PUBLISHED, what] - apart[COLUMNS, what]
        assert_differences(same, f"{what} held out is ", lower)


def test_noise(story, reproduced):
    table = reproduced.frame("generalisation").query("rate == 'error' and alpha < 0.5")
    table = table[table["solver"] == PUBLISHED]
    section = story["How much of the held-out spread is noise"]
    text = paragraph(section, "Of the models of the authors' setting")
    names = ("new people", "new tasks", "new people and tasks")
    for corner, name in zip(HELD_OUT, names, strict=True):
        here = table[table["corner"] == corner]
        tasks = here["tasks"].iloc[0]
        if corner == "people":  # on the tasks learned from, where noise cannot be taken off
            low, high = here["spread"].min(), here["spread"].max()
            unknown = "with a noise that cannot be estimated on the tasks learned from"
            assert f"{name} ({tasks} tasks): spread {low:.2f} to {high:.2f}, {unknown};" in text
            continue
        told = re.search(rf"(?:: |; ){name} \({tasks} tasks\): (.*?) is noise", text).group(1)
        assert f"of it; of the variance of people's rates {per_cent(here['noise_share'])}" in told
        assert f"which is {per_cent(here['spread_floor'] / here['spread'])} of it" in told
        low, high = here["spread"].min(), here["spread"].max()
        assert f"spread {low:.2f} to {high:.2f}" in told
    out = table[table["corner"].isin(["tasks", "both"])]
    assert f"a spread {per_cent(out['spread_floor'] / out['spread'])} as wide" in section.gist


@pytest.mark.parametrize("rate", ["false_positive", "false_negative"])
def test_other_rates(story, reproduced, rate):
    table = reproduced.frame("error_spread").query("rate == @rate and alpha < 0.5")
    points = table[[*RUN, "coin_flip_error"]].drop_duplicates()
    name = rate.replace("_", "-").capitalize()
    section = story["False positives and false negatives"]
    text = paragraph(section, f"{name} rates:")
    theirs, ours = both(points, "reached_error")
    spreads, allowed = both(points, "reached_spread"), both(points, "allowed")
    over = [one - most for one, most in zip(spreads, allowed, strict=True)]
    missed = [(one > 1e-4).sum() for one in over]
    by = f", by up to {over[0].max():.4f}" if missed[0] else ""
    assert f"its allowance at {missed[0]} of {len(theirs)} alphas{by}, column" in text
    assert f"column generation at {missed[1]} of {len(ours)}." in text
    assert_differences(text, "error is", theirs - ours)
    coins = both(points, "coin_flip_error")
    assert_differences(text, r"the error of the authors' setting is", coins[0] - theirs)
    assert_differences(text, "the error of column generation is", coins[1] - ours)
    assert_differences(section.gist, f"{name.lower()} rates:", theirs - ours)


# Beyond the paper.

CELLS = {
    "communities": ("random_splits", ["learned_from", "held_out_tasks", "corner"]),
    "synthetic": ("coin_bias", ["q", "corner"]),
}
TITLES = {"communities": "Random splits, and all neighbourhoods", "synthetic": "The coin's bias"}


def counted(frame, keys, measure):
    """Settings and corners: better at some level only, worse only, both, neither."""
    found = {"better": 0, "worse": 0, "both": 0, "neither": 0}
    for _, cell in frame[frame["measure"] == measure].groupby(keys):
        better, worse = (cell["gain_low"] > 0).any(), (cell["gain_high"] < 0).any()
        kind = {(1, 0): "better", (0, 1): "worse", (1, 1): "both", (0, 0): "neither"}
        found[kind[int(better), int(worse)]] += 1
    return found


MEASURES = {"sigma": "chance-corrected (new tasks only)", "sd": "as observed"}


def assert_tally(text, wanted):
    told = re.search(
        r"in (\d+) of (\d+) settings and corners column generation's curve errs less at some level "
        r"and more at none, in (\d+) more at some and less at none"
        r"(?:, in (\d+) less at some and more at others)?; in (\d+) they are not told apart",
        text,
    )
    better, total, worse, mixed, neither = (int(part or 0) for part in told.groups())
    assert {"better": better, "worse": worse, "both": mixed, "neither": neither} == wanted
    assert total == sum(wanted.values())


def test_comparisons(story, reproduced):
    population = reproduced.manifest["experiment"]
    name, keys = CELLS[population]
    compared = reproduced.frame(f"{name}_compared")
    little = compared["noise_share"] > 0.8
    section = story[TITLES[population]]
    assert set(compared[compared["measure"] == "sigma"]["corner"]) == {"tasks", "both"}
    for measure, words in MEASURES.items():
        text = paragraph(section, f"Unfairness {words}: in")
        assert_tally(text, counted(compared[~little], keys, measure))
    apart = [one for one in section.paragraphs if one.startswith("Not counted")]
    assert bool(apart) == little.any()
    if apart:
        assert_tally(apart[0], counted(compared[little], keys, "sigma"))
    if population == "communities":
        assert_tally(section.gist, counted(compared, keys, "sigma"))


@pytest.mark.long
def test_models_that_coin_flips_beat(communities):
    section = tell(read_tables(str(communities.folder)), "communities")[TITLES["communities"]]
    points = communities.frame("random_splits_points").query("alpha < 0.5")
    text = paragraph(section, "Plain coin flips")
    for solver in SOLVERS:
        mine = points[points["solver"] == solver]
        lost = (mine["coin_flips_high"] < 0).sum()
        assert f"{solver}, {lost} of {len(mine)}" in text


def test_single_models(story, reproduced):
    population = reproduced.manifest["experiment"]
    name, _ = CELLS[population]
    section = story[TITLES[population]]
    points = reproduced.frame(f"{name}_points").query("alpha < 0.5 and not noise_share > 0.8")
    judged = points.groupby("corner")["measure"].unique().map(list).to_dict()
    assert judged == {"people": ["sd"], "tasks": ["sigma"], "both": ["sigma"]}
    ours = points[points["solver"] == COLUMNS]
    worse = ours[ours["gain_high"] < 0]
    better = (ours["gain_low"] > 0).sum()
    count = (
        f"{better} of {len(ours)} err less than the curve of the authors' setting at the same "
        f"unfairness and {len(worse)} err more"
    )
    losers = [one for one in section.paragraphs if "A single point can lose" in one]
    assert bool(losers) == bool(len(worse))
    if losers:
        worst = worse.loc[worse["gain"].idxmin()]
        assert count in losers[0]
        assert f"by {-worst['gain']:.3f} (" in losers[0]
    if population == "communities":
        assert count in section.gist


def test_the_price_of_fairness_by_bias(synthetic):
    section = tell(read_tables(str(synthetic.folder)), "synthetic")["The coin's bias"]
    table = synthetic.frame("coin_bias").query("corner == 'training'")
    text = paragraph(section, "Spread in training without a constraint")
    means = table.groupby(["solver", "alpha", "q"])[["error", "spread"]].mean()
    free = means["spread"][PUBLISHED, 0.5]
    assert f"in the order of q: {', '.join(f'{one:.2f}' for one in free)}." in text
    for solver in SOLVERS:
        price = means["error"][solver, 0.1] - means["error"][PUBLISHED, 0.5]
        told = ", ".join(f"{one:.3f}" for one in price)
        assert f"{solver} {told}" in text
        assert told in section.gist


# Other tables, other stories.


def swapped(tables):
    """The same tables, each solver under the other's name."""
    turned = {PUBLISHED: COLUMNS, COLUMNS: PUBLISHED}
    found = {}
    for name, table in tables.items():
        columns = dict(table.columns)
        if "solver" in columns:
            columns["solver"] = np.array([turned[one] for one in columns["solver"].tolist()])
        found[name] = Table(columns)
    return found


def test_told_of_the_other_solver_it_is_told_the_other_way_round(tables, story, reproduced):
    """Nothing is praised by name."""
    other = tell(swapped(tables), reproduced.manifest["experiment"])
    for title, words, after in (
        ("Convergence", "Here:", "column generation's error is"),
        ("Error spread", "Where the same alpha", "column generation's error is"),
        ("False positives and false negatives", "False-positive rates", "error is"),
    ):
        here, there = (
            read_differences(paragraph(one[title], words), after)[0] for one in (story, other)
        )
        assert (here["lower"], here["higher"]) == (there["higher"], there["lower"])
        assert here["lower"] != here["higher"]


def growth_tables(sizes, value=lambda size: size**-0.5):
    rows = [
        {
            "direction": direction,
            "size": size,
            "population": population,
            "solver": solver,
            "alpha": 0.1,
            "reached_error": 0.3,
            "held_out_error": 0.31,
            "near": 0.1,
            "held_out_near": 0.1 + value(size),
            "excess": value(size) * (1 + 0.1 * population),
            "moved": np.nan if direction == "people" else value(size) * (1 + 0.1 * population),
        }
        for direction in ("people", "tasks")
        for size in sizes
        for population in range(2)
        for solver in (*SOLVERS, "no constraint")
    ]
    grown = Table.of_rows(rows)
    return {"growth": grown, "exponents": exponents(grown)}


@pytest.mark.parametrize("sizes", [(100, 1000, 10_000), (100, 1000), (100,)], ids=len)
def test_growth(synthetic, sizes):
    tables = read_tables(str(synthetic.folder)) | growth_tables(sizes)
    section = tell(tables, "synthetic")["More people, more tasks"]
    for text in (section.gist, *section.paragraphs):
        assert not re.search(r"\b(nan|None|inf)\b", text), text
    for direction, predicted in (("people", "-0.5"), ("tasks", "-0.25")):
        text = paragraph(section, f"{direction} (alpha = 0.1")
        assert f"From {sizes[0]:,} to {sizes[-1]:,} {direction}" in text
        assert f"beside the theorem's {predicted}:" in text
        if len(sizes) > 1:
            assert text.count("-0.50 (") == 3
        wanted = np.mean([sizes[0] ** -0.5 * (1 + 0.1 * population) for population in range(2)])
        assert f"mean {wanted:.4f} at the smallest" in text


def one_draw_alone(tables):
    kept = {}
    for name, table in tables.items():
        for repeat in ("split", "population"):
            if repeat in table.columns:
                kept[name] = table.take(table[repeat] == 0)
                break
        else:
            if not name.endswith(("_compared", "_points")) and name != "exponents":
                kept[name] = table
    return gather([kept])


def test_one_draw_tells_nothing_apart(tables, reproduced):
    population = reproduced.manifest["experiment"]
    section = tell(one_draw_alone(tables), population)[TITLES[population]]
    text = paragraph(section, f"Unfairness {MEASURES['sigma']}: in")
    counts = re.search(r"in (\d+) of (\d+) settings.*in (\d+) they are not told apart", text)
    assert counts.group(1) == "0"
    assert counts.group(2) == counts.group(3)
    for words in (section.gist, *section.paragraphs):
        assert not re.search(r"\b(nan|None|inf)\b", words), words


def test_where_nothing_binds_no_order_is_told(tables, reproduced):
    """All alphas asked for give one and the same model in training."""
    columns = dict(tables["generalisation"].columns)
    training = columns["corner"] == "training"
    for what in ("error", "spread"):
        columns[what] = np.where(training, 0.2, columns[what])
    changed = tables | {"generalisation": Table(columns)}
    section = tell(changed, reproduced.manifest["experiment"])["Generalisation"]
    for words in (section.gist, *section.paragraphs):
        assert not re.search(r"\bnan\b", words), words
