"""Gates: the outcome of an audit's request, as a word, an exit code, JSON and JUnit XML."""

from __future__ import annotations

from math import sqrt
from xml.etree import ElementTree

import numpy as np
import pytest

from averagefair import audit
from tests.support.cli_runs import (
    fits_80_columns,
    fixture_forks,  # noqa: F401
    strict,
    write,
)
from tests.support.decided import decided

TABLES = ("audit", "labels.csv", "decisions.csv", "--id", "person")
CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 5, None: 0}
TINY = 1e-6
WORLD = decided(n=40, m=80, chances=(0.05, 0.6))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("gates")
    WORLD.write(place)
    write(place / "one.csv", ["person", "only"], [["a", 1], ["b", 0]])
    write(place / "blank.csv", ["person", "t1", "t2"], [["a", "", ""], ["b", "", ""]])
    write(place / "made.csv", ["person", "t1", "t2"], [["a", 1, 1], ["b", 0, 1]])
    return place


@pytest.fixture(scope="module")
def found():
    return audit(WORLD.labels, WORLD.before, individual_names=WORLD.names)


def ask(forks, folder, *more, tables=TABLES):
    """Run an audit with a request; check that word, code and JSON agree."""
    done = forks.run(folder, *tables, *more, "--json", code=None)
    facts = strict(done.out)
    outcome, parts = facts["outcome"], [part["outcome"] for part in facts["parts"]]
    assert outcome == next((w for w in ("FAIL", "INCONCLUSIVE", "PASS") if w in parts), None)
    passes = "--inconclusive-passes" in more and outcome == "INCONCLUSIVE"
    assert done.returncode == (0 if passes else CODES[outcome])
    assert facts["failed"] == (outcome == "FAIL")
    return facts


def lines(forks, folder, *more):
    """Return the last printed lines, one for each part; the last one has the outcome."""
    facts = ask(forks, folder, *more)
    done = forks.run(folder, *TABLES, *more, code=None)
    assert done.returncode == CODES[facts["outcome"]]
    assert fits_80_columns(done.out)
    shown = done.out.splitlines()[-len(facts["parts"]) :]
    told = [f"{part['outcome']}: {part['words']}" for part in facts["parts"]]
    assert sorted(shown) == sorted(told)
    assert shown[-1].startswith(f"{facts['outcome']}: ")
    return shown


def expected_of_sigma(found, bound):
    if found.dispersion.upper <= bound:
        return "PASS"
    return "FAIL" if sqrt(found.dispersion.sigma2.low) > bound else "INCONCLUSIVE"


def test_the_figures_that_the_gates_need_differ(found):
    spread = found.dispersion
    assert 0 < sqrt(spread.sigma2.low) < spread.sigma < spread.upper < sqrt(spread.sigma2.high)


@pytest.mark.parametrize("side", [-TINY, TINY])
def test_sigma_is_the_default_and_goes_by_its_interval(forks, folder, found, side):
    spread = found.dispersion
    for edge, words in (
        (spread.upper, ["INCONCLUSIVE", "PASS"]),
        (sqrt(spread.sigma2.low), ["FAIL", "INCONCLUSIVE"]),
    ):
        bound = edge + side
        facts = ask(forks, folder, "--fail-above", repr(bound))
        assert facts["outcome"] == words[side > 0] == expected_of_sigma(found, bound)
        assert (facts["fail_on"], facts["figure"]) == ("sigma", pytest.approx(spread.sigma))
        (part,) = facts["parts"]
        assert part["low"] == pytest.approx(sqrt(spread.sigma2.low))
        assert part["high"] == pytest.approx(sqrt(spread.sigma2.high))
        assert part["bound"] == pytest.approx(bound)


def test_the_last_line_says_what_was_found(forks, folder, found):
    low, high = sqrt(found.dispersion.sigma2.low), sqrt(found.dispersion.sigma2.high)
    assert lines(forks, folder, "--fail-above", "0.05") == [
        f"FAIL: sigma {found.dispersion.sigma:.3f} (95% CI {low:.3f} to {high:.3f}) is above 0.05"
    ]
    both = lines(forks, folder, "--fail-above", "0.9", "--alpha", "0.2", "--beta", "0.05")
    assert both == [
        f"PASS: sigma {found.dispersion.sigma:.3f} is at most {found.dispersion.upper:.3f} (95% "
        "bound), within 0.9",
        "INCONCLUSIVE: all but 5% within \u00b10.2 of a common rate: more tasks may settle it",
    ]


@pytest.mark.parametrize("side", [-TINY, TINY])
def test_the_mean_goes_by_its_interval(forks, folder, found, side):
    for edge, words in (
        (found.mean.high, ["INCONCLUSIVE", "PASS"]),
        (found.mean.low, ["FAIL", "INCONCLUSIVE"]),
    ):
        facts = ask(forks, folder, "--fail-on", "mean", "--fail-above", repr(edge + side))
        assert facts["outcome"] == words[side > 0]
        assert facts["figure"] == pytest.approx(found.mean.value)


@pytest.mark.parametrize("figure", ["near", "sd", "spread"])
def test_observed_figures_pass_or_fail(forks, folder, found, figure):
    value = {
        "near": found.curve.at(0.05)["alpha"],
        "sd": found.dispersion.sd,
        "spread": found.range.width,
    }[figure]
    for step, outcome in ((1e-9, "PASS"), (-1e-9, "FAIL")):
        facts = ask(forks, folder, "--fail-on", figure, "--fail-above", repr(value + step))
        assert facts["outcome"] == outcome
        assert facts["figure"] == pytest.approx(value, abs=1e-12)


VERDICTS = {"met": "PASS", "not met": "FAIL", "inconclusive": "INCONCLUSIVE"}


def test_denoised_is_the_verdict_at_the_bound(forks, folder):
    seen = set()
    for bound in (0.05, 0.2, 0.45):
        asked = audit(WORLD.labels, WORLD.before, alpha=bound, beta=0.05)
        facts = ask(forks, folder, "--fail-on", "denoised", "--fail-above", bound)
        assert facts["outcome"] == VERDICTS[asked.assessment.verdict.value]
        assert facts["figure"] == pytest.approx(asked.assessment.denoised_alpha)
        seen.add(facts["outcome"])
    assert seen == {*VERDICTS.values()}


@pytest.mark.parametrize(("alpha", "outcome"), [("0.01", "FAIL"), ("0.2", "INCONCLUSIVE")])
def test_a_request_of_alpha_counts_too(forks, folder, alpha, outcome):
    known = audit(WORLD.labels, WORLD.before, alpha=float(alpha), beta=0.05).assessment
    facts = ask(forks, folder, "--alpha", alpha, "--beta", "0.05")
    assert facts["outcome"] == VERDICTS[known.verdict.value] == outcome
    facts = ask(forks, folder, "--alpha", alpha, "--beta", "0.05", "--fail-above", "0.9")
    assert [part["outcome"] for part in facts["parts"]] == [outcome, "PASS"]
    assert facts["outcome"] == outcome


def test_an_inconclusive_outcome_may_pass_and_keeps_its_word(forks, folder, found):
    bound = repr(found.dispersion.upper - TINY)
    facts = ask(forks, folder, "--fail-above", bound, "--inconclusive-passes")
    assert facts["outcome"] == "INCONCLUSIVE"
    facts = ask(forks, folder, "--fail-above", "0.01", "--inconclusive-passes")
    assert facts["outcome"] == "FAIL"


def test_nothing_asked_has_no_outcome(forks, folder):
    facts = ask(forks, folder)
    assert (facts["outcome"], facts["parts"]) == (None, [])
    said = forks.run(folder, *TABLES)
    assert not any(word in said.out for word in ("PASS", "FAIL", "INCONCLUSIVE:"))


@pytest.mark.parametrize(("given", "used"), [("sigma", "sd"), ("denoised", "near"), ("sd", "sd")])
def test_on_learned_tasks_observed_figures_replace_the_others(forks, folder, given, used):
    seen = audit(WORLD.labels, WORLD.before, learned_tasks=True)
    value = {"sd": seen.dispersion.sd, "near": seen.curve.at(0.05)["alpha"]}[used]
    for step, outcome in ((1e-9, "PASS"), (-1e-9, "FAIL")):
        bound = repr(value + step)
        more = ("--learned-tasks", "--fail-on", given, "--fail-above", bound)
        facts = ask(forks, folder, *more)
        assert (facts["outcome"], facts["fail_on"]) == (outcome, used)
        (part,) = facts["parts"]
        assert (f"replaces {given}" in part["words"]) == (given != used)


def test_on_learned_tasks_alpha_goes_by_what_was_observed(forks, folder):
    rates = np.abs(WORLD.labels - WORLD.before).mean(axis=1)
    for alpha in (0.05, 0.49):
        met = np.ptp(rates) <= 2 * alpha
        facts = ask(forks, folder, "--learned-tasks", "--alpha", alpha)
        assert facts["outcome"] == ("PASS" if met else "FAIL")


@pytest.mark.parametrize(
    ("tables", "figure", "why"),
    [
        (("one.csv", "one.csv"), "sigma", "with one task that counts"),
        (("one.csv", "one.csv"), "mean", "with one task that counts"),
        (("blank.csv", "made.csv"), "sigma", "no cell counts"),
        (("blank.csv", "made.csv"), "denoised", "no cell counts"),
        (("blank.csv", "made.csv"), "spread", "no cell counts"),
        (("made.csv", "made.csv"), "sigma", "no variation"),
    ],
)
def test_a_figure_that_cannot_be_estimated_is_inconclusive_and_says_why(
    forks, folder, tables, figure, why
):
    more = ("--fail-on", figure, "--fail-above", "0.1")
    facts = ask(forks, folder, *more, tables=("audit", *tables, "--id", "person"))
    assert facts["outcome"] == "INCONCLUSIVE"
    assert why in facts["parts"][0]["words"]


def test_nobody_with_a_rate_leaves_alpha_inconclusive(forks, folder):
    tables = ("audit", "blank.csv", "made.csv", "--id", "person")
    facts = ask(forks, folder, "--alpha", "0.1", tables=tables)
    assert facts["outcome"] == "INCONCLUSIVE"


# JUnit XML


def cases(path):
    """Read the file as a build does: its counts must be those of its elements."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    found = suite.findall("testcase")
    for element in (root, suite):
        assert int(element.get("tests")) == len(found) > 0
        for kind in ("failure", "error", "skipped"):
            counted = "skipped" if kind == "skipped" else f"{kind}s"
            assert int(element.get(counted)) == len(suite.findall(f"testcase/{kind}"))
        assert float(element.get("time")) >= 0
    for case in found:
        assert case.get("name")
        assert case.get("classname") == "averagefair.audit"
        assert float(case.get("time")) >= 0
        assert len({child.tag for child in case} - {"system-out"}) <= 1
    assert "Audit of individual error rates" in suite.findtext("system-out")
    return found


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        (("--fail-above", "0.9"), [None]),
        (("--fail-above", "0.01"), ["failure"]),
        (("--fail-above", "0.15"), ["error"]),
        (("--fail-above", "0.15", "--inconclusive-passes"), ["skipped"]),
        (("--fail-above", "0.9", "--alpha", "0.01"), ["failure", None]),
        ((), [None]),
    ],
)
def test_junit_has_a_case_for_each_part(forks, folder, tmp_path, more, kinds):
    facts = strict(
        forks.run(folder, *TABLES, *more, "--junit", tmp_path / "a.xml", "--json", code=None).out
    )
    found = cases(tmp_path / "a.xml")
    assert [
        next((child.tag for child in case if child.tag != "system-out"), None) for case in found
    ] == kinds
    for case, part in zip(found, facts["parts"], strict=False):
        (child,) = case
        text = child.get("message") if child.tag != "system-out" else child.text
        assert text == f"{part['outcome']}: {part['words']}"
    if not facts["parts"]:
        assert "nothing was asked" in found[0].get("name")
    assert facts["junit"] == str(tmp_path / "a.xml")


def test_junit_holds_any_name(forks, tmp_path):
    names = ['<&">', "]]>", "a\x1bb", "\ufffe", "\u202ez", "\U0001f600"]
    rows = [[name, place % 2, 1] for place, name in enumerate(names)]
    write(tmp_path / "l.csv", ["person", "t1", "t2"], rows)
    write(tmp_path / "d.csv", ["person", "t1", "t2"], [[name, 1, 0] for name in names])
    forks.run(tmp_path, "audit", "l.csv", "d.csv", "--id", "person", "--junit", "a.xml")
    assert cases(tmp_path / "a.xml")
    forks.run(tmp_path, *("audit", "l.csv", "d.csv", "--id", "person", "--junit", "a.csv"), code=2)


def test_the_report_shows_the_outcome(forks, folder, tmp_path):
    facts = ask(forks, folder, "--fail-above", "0.01", "-o", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"FAIL: {facts['parts'][0]['words']}" in page
