"""Triage on scenarios that were not used for its development: the test scenarios of
both kinds, and the days of the thesis on other seeds.
"""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.judge import judge
from benchmarks.suite import TEST, page_column, scenario, wide

import cgrsp_simpy as cg

PAGES = Path(__file__).parents[2] / "docs" / "explanation"
HOWTO = " ".join((PAGES / "bounds.md").read_text(encoding="utf-8").split())
FRESH = range(9000, 9200)
LAWS = {"suite": scenario, "wide": wide}
HEADERS = {"suite": "`scenario`", "wide": "`wide`"}  # in the how-to


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_on_the_test_scenarios_triage_costs_least(law):
    study = judge([LAWS[law](seed) for seed in TEST], list(cg.POLICIES), range(4), 2)
    cents = {row["policy"]: 100 * row["usd_per_job"] for row in study.table()}
    assert min(cents, key=cents.get) == "triage"
    regret = study.regret("triage")
    assert column(law) == page_column(study)
    assert regret.low < 0 < regret.high  # the page says that both intervals include 0
    if law == "wide":
        share = 100 * np.mean(study.values("wide 5004", "triage")) / len(TEST)
        sentence = (
            f"contributes {share:.1f} of the {cents['triage']:.1f} US cents of triage"
        )
        assert sentence in HOWTO


def column(law):
    """Return a column of the table in the how-to, by the label of the row."""
    lines = (PAGES / "bounds.md").read_text(encoding="utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    header, _, *rows = cells
    index = header.index(HEADERS[law])
    return {row[0]: row[index] for row in rows}


@pytest.mark.long
@pytest.mark.parametrize(
    ("day", "wait_min", "miss_pct", "late_min"),
    [("hectic", 136, 4.0, 2.2), ("surge", 88.1, 1.3, 0.9)],
)
def test_on_the_days_of_the_thesis_few_deadlines_are_missed(
    day, wait_min, miss_pct, late_min
):
    [row] = cg.compare(cg.day(day), ["triage"], FRESH).means().values()
    assert row["wait_min"].mean <= wait_min
    assert row["miss_pct"].mean <= miss_pct
    assert row["tardiness_min"].mean <= late_min
