"""Triage on the thesis's days, paired with the policies of the thesis on the same
seeds.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.judge import judge
from support import script

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean as statistics_mean
from cgrsp_simpy.rental.policies import SECTIONS


def differences(study, policy, other, figure):
    """Mean of the paired differences, and its standard error."""
    result = np.array(study.values(policy, figure)) - np.array(
        study.values(other, figure)
    )
    return result.mean(), result.std(ddof=1) / math.sqrt(len(result))


def mean(study, figure):
    return float(np.mean(study.values("triage", figure)))


@pytest.mark.slow
@pytest.mark.parametrize("other", ["cadr", "rh", "edf"])
def test_on_the_hectic_day_fewer_jobs_miss_than_under_the_best_of_the_thesis(other):
    study = cg.compare(cg.day("hectic"), ["triage", other], range(5000, 5010))
    less, error = differences(study, "triage", other, "miss_pct")
    assert less < -2 * error < 0


# ---- the how-to's 20 days ----

LIMITS = Path(__file__).parents[2] / "docs" / "explanation" / "bounds.md"
HOWTO = " ".join(LIMITS.read_text(encoding="utf-8").split())
SHOWN = range(5000, 5020)


def shown(value, digits=1):
    """A mean with its half width as the how-to shows it."""
    return f"{value.mean:.{digits}f} ± {value.half_width:.{digits}f}"


@pytest.mark.slow
def test_the_readme_compares_misses_of_triage_and_cadr_on_the_hectic_day():
    study = cg.compare(cg.day("hectic"), ["triage", "cadr"], SHOWN)
    miss = {policy: row["miss_pct"].mean for policy, row in study.means().items()}
    wait = {policy: row["wait_min"].mean for policy, row in study.means().items()}
    fewer = cg.statistics.paired_difference(
        study.values("cadr", "miss_pct"), study.values("triage", "miss_pct")
    )
    assert (
        f"CADR waits {wait['cadr']:.1f} min and triage {wait['triage']:.1f}," in HOWTO
    )
    assert (
        f"CADR misses {miss['cadr']:.1f} % of the deadlines and triage"
        f" {miss['triage']:.1f}, {shown(fewer)} points" in HOWTO
    )
    assert fewer.low > 0


@pytest.mark.long
def test_the_readme_compares_waits_with_the_bound_of_the_same_seeds():
    bounds = [
        cg.lower_bound(cg.day("hectic"), seed, "wait", 1800).value for seed in SHOWN
    ]
    fixed = cg.compare(cg.day("hectic"), ["triage"], SHOWN).values("triage", "wait_min")
    free = cg.compare(cg.day("hectic", free_types=True), ["triage", "cadr"], SHOWN)
    above = cg.statistics.paired_difference(fixed, bounds)
    below = cg.statistics.paired_difference(bounds, free.values("cadr", "wait_min"))
    assert (
        f"no policy can wait less than {shown(statistics_mean(bounds))} min on average"
        in HOWTO
    )
    assert f"{shown(above)} above the bound" in HOWTO and above.low > 0
    assert (
        f"and CADR waits {free.means()['cadr']['wait_min'].mean:.1f} min:"
        f" {shown(below)} below"
        in HOWTO
        and below.low > 0
    )
    means = free.means()["triage"]
    assert (
        f"triage waits {means['wait_min'].mean:.1f} min and misses"
        f" {means['miss_pct'].mean:.2f} %" in HOWTO
    )


@pytest.mark.slow
def test_the_page_states_when_triage_is_worse():
    loses = script("where_triage_loses").dear_and_fast()
    [beside] = judge([loses], ["adaptive", "c-mu", "triage"], SHOWN).against_best(
        "triage"
    )
    more = beside.difference
    assert more.low > 0
    cents = f"{100 * more.mean:.1f} ± {100 * more.half_width:.1f}"
    assert (
        f"triage costs {cents} US cents per job more than the best of two others"
        in HOWTO
    )


@pytest.mark.long
@pytest.mark.parametrize("day", ["hectic", "surge"])
def test_triage_misses_fewer_deadlines_than_each_policy_of_the_thesis(day):
    """Except Adaptive on the surge day, whose difference is not significant."""
    policies = [
        policy for policy, section in SECTIONS.items() if section.startswith("4.")
    ]
    study = cg.compare(cg.day(day), ["triage", *policies], range(5000, 5100))
    for policy in policies:
        more = cg.statistics.paired_difference(
            study.values("triage", "miss_pct"), study.values(policy, "miss_pct")
        )
        as_few = (day, policy) == ("surge", "adaptive") and more.low < 0
        assert more.high < 0 or as_few, policy
