"""The worked example of the page on triage, by formulas that are written out here."""

from math import exp, sqrt
from pathlib import Path

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.triage import Triage

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "triage.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())
GPU = cg.THESIS_GPUS[0]
DAY = cg.Scenario("one slot", cg.PoissonWorkload(100, 0.01), (GPU,), (GPU,))
HOUR = 3600.0
WAIT, LATE, MISS = 0.001 / 60, 0.01 / 60, 1.0  # USD per second, and per deadline
MIX = (0.4, 0.4, 0.2)
WORK_S = sum(share * work_s for share, work_s in zip(MIX, GPU.mean_execution_s))


def shares(multiplier):
    """Probability, minimum and maximum delay by status (thesis Eq. 3.1 and 3.2)."""
    high = min(0.95, GPU.high_stock_probability * multiplier)
    medium = min(0.9, 1.5 * GPU.high_stock_probability * multiplier, 1 - high)
    return (high, 0, 10), (medium, 30, 120), (1 - high - medium, 600, 7200)


def mean_s(law):
    return sum(chance * (least + most) / 2 for chance, least, most in law)


def variance_s2(law):
    """Of delay and execution together."""
    delay_s2 = (
        sum(p * (a * a + a * b + b * b) / 3 for p, a, b in law) - mean_s(law) ** 2
    )
    return (
        delay_s2 + sum(p * w * w for p, w in zip(MIX, GPU.mean_execution_s)) - WORK_S**2
    )


def beyond(law, x):
    """P(D > x), and E[(D - x)+]."""
    chance = late_s = 0.0
    for p, a, b in law:
        if p > 0 and x < b:
            above = b - max(a, x)
            chance += p * above / (b - a)
            late_s += p * above / (b - a) * ((b + max(a, x)) / 2 - x)
    return chance, late_s


def ahead_s(law, jobs):
    return 300 + 0.6 * sqrt(jobs * variance_s2(law))


def test_the_index_of_three_jobs_in_the_morning():
    now_s, law = 3 * HOUR, shares(0.9)
    due_s = {"A": 600.0, "B": 900.0, "C": -60.0}
    works_s = {"A": GPU.mean_execution_s[0], "B": GPU.mean_execution_s[2]}
    works_s["C"] = works_s["A"]
    h = ahead_s(law, 3)
    assert f"the expected delay is {mean_s(law):.1f} s" in TEXT
    assert f"a horizon of {h:.0f} s" in TEXT
    index = {}
    for name, left_s in due_s.items():
        x = left_s - works_s[name]
        usd = WAIT + LATE if x < 0 else WAIT + MISS / h * exp(-x / h)
        index[name] = usd * HOUR / (works_s[name] + mean_s(law)) * HOUR
        held_s = works_s[name] + mean_s(law)
        cells = f"| {usd * HOUR:.2f} | {held_s:.0f} s | {index[name]:.0f} |"
        [row] = [
            line
            for line in PAGE.read_text().splitlines()
            if line.startswith(f"| {name} |")
        ]
        assert cells in row
    jobs = [
        cg.Job(0, now_s - 600, now_s + due_s["A"], 1, True),
        cg.Job(1, now_s - 600, now_s + due_s["B"], 3, True),
        cg.Job(2, now_s - 600, now_s + due_s["C"], 1, True),
    ]
    [sent] = Triage()(DAY.moment(jobs, now_s, {}))
    assert sent[0].id == 0 and index["A"] > index["B"] > index["C"]
    assert f"an hour of waiting would cost {WAIT * HOUR:.2f}" in TEXT


def cents(now_s, due_s):
    """Both sides of (4) for a job of complexity 1 that waits alone, each by its two
    parts.
    """
    law, later = shares(0.5), shares(1.0)
    after_s, work_s = 10 * HOUR - now_s, GPU.mean_execution_s[0]
    x = due_s - work_s
    chance, late_s = beyond(law, x)
    now = WAIT * mean_s(law) + LATE * late_s + MISS * chance
    then = WAIT * (after_s + mean_s(later))
    assert beyond(later, x - after_s) == (0, 0)
    missing_s = sum(p * max(0.0, (a + b) / 2 + work_s - after_s) for p, a, b in law[:2])
    p, a, b = law[2]
    missing_s += (
        p * (b - max(a, after_s - work_s)) ** 2 / 2 / (b - a)
        if after_s > a
        else (p * ((a + b) / 2 + work_s - after_s))
    )
    return (
        100 * now,
        100 * WAIT * missing_s,
        100 * then,
        100 * WAIT * (work_s + mean_s(later)),
    )


def test_a_job_is_held_15_minutes_before_the_scarcity_ends_but_not_an_hour():
    job = cg.Job(0, 8 * HOUR, 9.75 * HOUR + 7200, 1, True)
    now, slot, then, later_slot = cents(9.75 * HOUR, 7200)
    assert f"| now | {now:.2f} | {slot:.2f} | {now + slot:.2f} |" in TEXT
    assert (
        f"| at six | {then:.2f} | {later_slot:.2f} | {then + later_slot:.2f} |" in TEXT
    )
    assert [wake.at_s for wake in Triage()(DAY.moment([job], 9.75 * HOUR, {}))] == [
        10 * HOUR
    ]
    now, slot, then, later_slot = cents(9 * HOUR, 7200)
    assert f"({then + later_slot:.2f} cents compared with {now + slot:.2f})" in TEXT
    job = cg.Job(0, 8 * HOUR, 9 * HOUR + 7200, 1, True)
    [sent] = Triage()(DAY.moment([job], 9 * HOUR, {}))
    assert sent[0] is job or sent[0].id == 0
