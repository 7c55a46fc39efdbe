"""Readings that one half of the tables chooses, and the other half judges."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.decide.month import THESIS_MIX
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED
from cgrsp_simpy.papers.thesis import readings
from cgrsp_simpy.papers.thesis.experiments import TABLES
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.readings import ByArrival
from cgrsp_simpy.papers.thesis.verdict import Judged
from cgrsp_simpy.rental.workload import DAYS


def waits(policy, tight):
    jobs = cg.simulate(cg.day("hectic", jobs=200), policy, seed=1).jobs
    return (jobs["start_s"] - jobs["submit_s"])[jobs["tight"] == tight].mean()


def test_by_arrival_tight_jobs_do_not_overtake_jobs_of_equal_time():
    run = cg.simulate(cg.day("hectic", jobs=200), ByArrival("spt"), seed=1)
    for level in (1, 2, 3):
        dispatched = run.jobs["dispatch_s"][run.jobs["complexity"] == level]
        assert np.all(np.diff(dispatched) >= 0)  # jobs are in the order of arrival
    assert waits("spt", True) < waits(ByArrival("spt"), True)
    assert waits("spt", False) > waits(ByArrival("spt"), False)


def test_what_has_no_equal_times_is_not_run_again():
    tables = readings._tables(True)
    policies = {
        cell.measure.sources[0].policy.partition(":")[0]
        for table in tables.values()
        for cell in table.cells
    }
    assert policies == {"spt", "spt-rescue", "rh", "cadr", "cadr-oo", "adaptive"}
    assert sum(len(table.cells) for table in readings._tables(False).values()) == 234


def test_each_half_chooses_the_reading_of_its_least_misfit(monkeypatch):
    # tables of odd numbers are for the second reading, those of even ones for the first
    z = {("5.5", "a"): 2.0, ("5.5", "b"): 1.0, ("5.2", "a"): 0.5, ("5.2", "b"): 3.0}

    def judged(table, results):
        far = z.get((table.id, results.name), 1.5)
        verdict = REPRODUCED if far < 2 else DIFFERENT
        return [
            Judged(table.id, "", "", "", "1", "1", z=far, counted=True, verdict=verdict)
        ]

    monkeypatch.setattr(readings, "judged", judged)
    monkeypatch.setattr(readings, "HALVES", {"odd": ("5.5",), "even": ("5.2",)})
    tables = {id: TABLES[id] for id in ("5.5", "5.2")}
    tried = {name: SimpleNamespace(name=name, tables=tables) for name in "ab"}
    odd, even = readings._halved("here", "choice", tried, tried["a"])
    assert odd.ours.startswith("b: 0 of 1 cells agree")
    assert (odd.verdict, even.verdict) == (DIFFERENT, DIFFERENT)
    assert even.ours.startswith("a: 0 of 1 cells agree")
    assert "median |z| of odd tables: a 2.00, b 1.00; fitted and judged" in odd.reason
    assert odd.reason.endswith("1 of 2 cells agree (50.0 %), rms z 1.46")


@pytest.mark.parametrize("hectic", [0.1, 0.3])
def test_the_mix_of_days_is_found_again(monkeypatch, hectic):
    mix = {**THESIS_MIX, "hectic": hectic, "normal": 0.7 - hectic}
    drawn = np.random.default_rng(6).uniform(1, 100, (10, 4, 4))
    table = PRINTED["5.13"]
    kinds, figures = [*mix], ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
    jobs = np.array([share * DAYS[kind][1] for kind, share in mix.items()])
    month = drawn @ (jobs / jobs.sum())
    month[:, 3] = 30 * drawn[:, 3] @ [*mix.values()]
    rows = {
        name: tuple(f"{figure:.2f}" for figure in month[place])
        for place, name in enumerate(table.rows)
    }
    monkeypatch.setitem(PRINTED, "5.13", replace(table, rows=rows))

    policies = [readings.NAMES[name] for name in table.rows]

    class Given:
        replications = 2

        def values(self, source, n):
            place = policies.index(source.policy)
            figure = figures.index(source.figure)
            kind = source.scenario.removeprefix("month").strip()
            if not kind:
                return month[place, figure] + np.array([-0.1, 0.1])
            return np.full(n, drawn[place, figure, kinds.index(kind)])

    entries = [*readings._mixes(Given())]
    text = f"quiet 0.2, normal {0.7 - hectic:g}, hectic {hectic:g}, surge 0.1"
    for entry in entries:
        assert entry.ours == f"{text}: 20 of 20 cells agree"
        assert entry.verdict == REPRODUCED
