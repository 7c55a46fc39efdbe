"""Readings that one half of the tables chooses, and the other half judges."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.decide.month import THESIS_MIX
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED
from cgrsp_simpy.papers.thesis import printed
from cgrsp_simpy.papers.thesis.printed import ByArrival
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import Judged
from cgrsp_simpy.rental.workload import DAYS


def waits(policy, tight):
    jobs = cg.simulate(cg.day("hectic", jobs=200), policy, seed=1).jobs
    return (jobs["start_s"] - jobs["submit_s"])[jobs["tight"] == tight].mean()


def test_by_arrival_tight_jobs_do_not_overtake_jobs_of_equal_time():
    run = cg.simulate(cg.day("hectic", jobs=200), ByArrival("spt"), seed=1)
    assert all(  # jobs are in the order of arrival
        np.all(np.diff(run.jobs["dispatch_s"][run.jobs["complexity"] == level]) >= 0)
        for level in (1, 2, 3)
    )
    assert waits("spt", True) < waits(ByArrival("spt"), True)
    assert waits("spt", False) > waits(ByArrival("spt"), False)
    # an order by deadline remains
    full = cg.simulate(cg.day("hectic", jobs=200, slots=2), ByArrival("adaptive"), 1)
    assert full.summary()["miss_pct"] == 0


@dataclass(frozen=True)
class Given:
    """Results with the figures of a test, for Table 5.13 by kind of day."""

    name: str
    figures: Any = None
    replications: int = 2
    tables: Any = None

    def values(self, source, n):
        kind = source.scenario.removeprefix("month").strip()
        value = self.figures[source.policy, source.figure, kind]
        return np.full(n, value) if kind else value + np.array([-0.1, 0.1])

    def sample(self, measure, n):
        return [np.resize([-1.59, 1.59], n)]


@pytest.fixture
def made_readings(monkeypatch):
    """Return a function that gives the entries of readings of two tables, and a list
    of the policies of each simulated reading.
    """
    policies = []
    # tables of odd numbers favour the second reading, those of even numbers the first
    z = {("5.5", "first"): 2.0, ("5.5", "after 3 h"): 1.0}
    z |= {("5.2", "first"): 0.5, ("5.2", "after 3 h"): 3.0}

    def reproduce(measures, *_, market=lambda day: day, **__):
        policies.append([measure.sources[0].policy for measure, _ in measures])
        clock = market(cg.day("hectic")).market.clock
        return Given(next(name for name, own in printed.HOURS.items() if own == clock))

    def judged(table, results):
        far = z.get((table.id, results.name), 1.5)
        verdict = REPRODUCED if far < 2 else DIFFERENT
        return [
            Judged(table.id, "", "", "", "1", "1", z=far, counted=True, verdict=verdict)
        ]

    monkeypatch.setattr(printed, "judged", judged)
    monkeypatch.setattr(printed, "reproduce", reproduce)
    monkeypatch.setattr(printed, "HALVES", {"odd": ("5.5",), "even": ("5.2",)})
    return lambda figures: [*printed.readings(Given("first", figures), None)], policies


def days_of(hectic):
    """Return a mix of days, and figures by policy, name and kind of day, of which a
    month is made by it.
    """
    mix = {**THESIS_MIX, "hectic": hectic, "normal": 0.7 - hectic}
    drawn = np.random.default_rng(6).uniform(1, 100, (10, 4, 4))
    jobs = np.array([share * DAYS[kind][1] for kind, share in mix.items()])
    month = drawn @ (jobs / jobs.sum())
    month[:, 3] = 30 * drawn[:, 3] @ [*mix.values()]
    figures = {}
    for place, name in enumerate(PRINTED["5.13"].rows):
        for number, figure in enumerate(
            ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
        ):
            key = printed.NAMES[name], figure
            figures[*key, ""] = month[place, number]
            for kind, value in zip(mix, drawn[place, number]):
                figures[*key, kind] = value
    return month, figures


def test_each_half_selects_the_interpretation_with_the_best_fit(made_readings):
    entries, policies = made_readings
    odd, even, by_arrival, by_deadline, *_, normal = entries(days_of(0.1)[1])
    assert [each.ours.split(" agree")[0] for each in (odd, even)] == [
        *("after 3 h: 0 of 1 cells", "after 4 h: 0 of 1 cells")
    ]
    # of printed means up to 0.9 from 0, with limits of 0.05 and 0.854
    assert normal.ours == "8, 8, 8, 8, 8: 8.0 ± 0.0"
    assert (odd.verdict, even.verdict) == (DIFFERENT, DIFFERENT)
    assert "median |z| of odd tables: after 4 h 2.00, after 3 h 1.00," in odd.reason
    assert odd.reason.endswith("1 of 2 cells agree (50.0 %), rms z 1.46")
    assert (by_arrival.verdict, by_deadline.verdict) == (REPRODUCED, DIFFERENT)
    # policies without jobs of equal time are not simulated again
    [late] = [some for some in policies if isinstance(some[0], ByArrival)]
    names = {policy.name for policy in late}
    assert names == {"spt", "spt-rescue", "rh", "cadr", "adaptive"}


@pytest.mark.parametrize("hectic", [0.1, 0.3])
def test_the_mix_of_days_is_recovered(monkeypatch, made_readings, hectic):
    month, figures = days_of(hectic)
    table = PRINTED["5.13"]
    rows = {
        name: tuple(f"{figure:.2f}" for figure in month[place])
        for place, name in enumerate(table.rows)
    }
    monkeypatch.setitem(PRINTED, "5.13", replace(table, rows=rows))
    entries = [each for each in made_readings[0](figures) if each.where == "Table 5.13"]
    text = f"quiet 0.2, normal {0.7 - hectic:g}, hectic {hectic:g}, surge 0.1"
    assert [each.ours for each in entries] == [f"{text}: 20 of 20 cells agree"] * 2
    assert {each.verdict for each in entries} == {REPRODUCED}
