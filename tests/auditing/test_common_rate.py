"""Every sentence, picture, flag and table of an audit uses the same common rate."""

import csv
import json
import re

import numpy as np
import pytest

from averagefair import audit
from averagefair.showing.plots import RatesDisplay
from averagefair.showing.plots.audit import draw_rates
from averagefair.showing.report import audit_report
from tests.support.cli_runs import run

M = 20
RATES = np.repeat([0.1, 0.5], [150, 50])
ALPHA, BETA = 0.05, 0.05


def two_groups():
    """Return losses of 150 people decided wrongly one time in ten and 50 one time in two."""
    wrong = np.round(RATES * M).astype(int)
    return (np.arange(M) < wrong[:, None]).astype(float)


def decided(**options):
    return audit(np.zeros((200, M)), two_groups(), **options)


def data_of(page):
    block = re.search(r'<script type="application/json" id="audit-data">(.*?)</script>', page)
    return json.loads(block[1])


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("beta", [0.0, BETA, 0.3])
def test_a_band_that_holds_most_people_in_every_output(beta, learned):
    found = decided(alpha=ALPHA, beta=beta, learned_tasks=learned)
    common = found.common_rate
    # By brute force: no other window of width 2 alpha holds more people.
    grid = np.linspace(0, 1, 2001)
    most = max(np.sum(np.abs(RATES - at) <= ALPHA + 1e-9) for at in grid)
    assert np.sum(np.abs(RATES - common) <= ALPHA + 1e-9) == most == 150
    assert common == pytest.approx(0.1, abs=1e-12)

    assert found.assessment.common_rate == common
    assert found.assessment.observed_beta == pytest.approx(np.mean(np.abs(RATES - common) > ALPHA))
    assert f"The common rate is {'' if learned else 'about '}0.100." in str(found)
    assert "bove 0.150, the common rate plus alpha" in str(found)
    told = found.to_dict()
    assert told["common_rate"] == told["assessment"]["common_rate"] == common
    if learned:
        assert (found.people.flagged == (RATES > common + ALPHA)).all()
    else:
        assert (found.people.flagged == (found.people.all_low > common + ALPHA)).all()

    band = next(one for one in draw_rates(found).patches if "within" in one.get_label())
    low, high = band.get_y(), band.get_y() + band.get_height()
    assert (low, high) == (pytest.approx(common - ALPHA), pytest.approx(common + ALPHA))
    assert np.sum((low <= RATES + 1e-9) & (high + 1e-9 >= RATES)) == 150

    shown = data_of(audit_report(found))
    assert (shown["common_rate"], shown["alpha"]) == (pytest.approx(common), ALPHA)
    assert "centre of the band of ± alpha" in audit_report(found)
    assert "common_rate" not in found.curve.to_dict()  # each beta has a window of its own


def test_the_picture_of_rates_uses_the_same_rule():
    shown = RatesDisplay.from_rates(RATES, RATES, alpha=ALPHA)
    assert shown.common_rate[0] == decided(alpha=ALPHA, beta=BETA).common_rate
    assert RatesDisplay.from_rates(RATES, RATES).common_rate[0] == decided().common_rate


def test_without_alpha_it_is_the_mean_everywhere():
    found = decided()
    assert found.common_rate == found.mean.value == pytest.approx(RATES.mean())
    assert found.to_dict()["common_rate"] == found.mean.value
    assert "the estimated mean rate of 0.200" in str(found)
    assert (found.people.flagged == (found.people.all_low > RATES.mean())).all()
    level = next(one for one in draw_rates(found).lines if one.get_label() == "mean")
    assert level.get_ydata()[0] == pytest.approx(RATES.mean())
    shown = data_of(audit_report(found))
    assert (shown["common_rate"], shown["alpha"]) == (pytest.approx(RATES.mean()), None)
    assert "The mean rate, because no alpha was requested" in audit_report(found)


def test_on_the_command_line(tmp_path):
    names = ",".join(f"t{place}" for place in range(M))
    for file, cells in {"labels.csv": 0 * two_groups(), "decisions.csv": two_groups()}.items():
        rows = "\n".join(",".join(map(str, map(int, row))) for row in cells)
        (tmp_path / file).write_text(f"{names}\n{rows}\n")
    asked = ("--alpha", ALPHA, "--beta", BETA, "--people", "people.csv", "--json")
    # More tasks are needed to say whether the request is met.
    told = json.loads(run(tmp_path, "audit", "labels.csv", "decisions.csv", *asked, code=5).out)
    assert told["common_rate"] == told["assessment"]["common_rate"] == pytest.approx(0.1)
    with (tmp_path / "people.csv").open() as file:
        for row in csv.DictReader(file):
            assert row["flagged"] == ("true" if float(row["all_low"]) > 0.15 else "false")
