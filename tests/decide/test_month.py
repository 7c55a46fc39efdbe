"""Months: days of kinds that a mix draws, compared as days are."""

from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest
from scipy import stats
from studies.runs import same

import cgrsp_simpy as cg
from cgrsp_simpy.analysis import statistics
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.decide.month import THESIS_MIX, days_of

# ---- months ----

MIX = {"quiet": 0.6, "normal": 0.3, "hectic": 0.1}


def day_of(kind):
    """Days of few jobs, and of slots of their own."""
    slots, jobs = {"quiet": (2, 4), "normal": (3, 20), "hectic": (4, 250)}[kind]
    return cg.day(kind, slots, tight_fraction=0.5, jobs=jobs)


@pytest.fixture(scope="module")
def months():
    return cg.month(
        MIX, ["fifo", "spt", "rh:reserve=2"], 8, 3, first_seed=5, scenario=day_of
    )


def test_days_depend_on_the_replication_alone():
    assert days_of(MIX, 40, 3) == days_of(MIX, 40, 3)
    assert [each.number for each in days_of(MIX, 40, 3)] == list(range(1, 41))
    every = [days_of(MIX, 40, replication) for replication in range(5)]
    assert len({tuple(each.kind for each in days) for days in every}) == 5
    assert len({each.seed for days in every for each in days}) == 200


def test_a_month_is_the_same_among_others(months):
    alone = cg.month(MIX, ["rh:reserve=2", "fifo"], 8, 1, first_seed=6, scenario=day_of)
    days = [row for row in months.days if row["replication"] == 6]
    assert same(
        alone.days[:8], [row for row in days if row["policy"] == "rh:reserve=2"]
    )
    assert same(
        alone.rows[1:],
        [row for row in months.rows if (row["policy"], row["seed"]) == ("fifo", 6)],
    )


def test_kinds_follow_the_mix():
    kinds = [each.kind for each in days_of(MIX, 3000, 0)]
    counts = [kinds.count(kind) for kind in MIX]
    assert (
        stats.chisquare(counts, [3000 * share for share in MIX.values()]).pvalue > 0.001
    )
    # another mix is seen
    assert (
        stats.chisquare(counts, [3000 * share for share in (0.5, 0.4, 0.1)]).pvalue
        < 1e-6
    )


def test_kinds_follow_the_mix_over_many_months():
    kinds = [
        each.kind
        for replication in range(150)
        for each in days_of(THESIS_MIX, 20, replication)
    ]
    counts = [kinds.count(kind) for kind in THESIS_MIX]
    assert (
        stats.chisquare(counts, [3000 * share for share in THESIS_MIX.values()]).pvalue
        > 0.001
    )
    wrong = [3000 * share for share in (0.25, 0.5, 0.15, 0.1)]
    assert stats.chisquare(counts, wrong).pvalue < 1e-6


def test_every_day_is_a_run_of_its_own(months):
    assert len(months.days) == 3 * 3 * 8
    for row in months.days:
        run = cg.simulate(day_of(row["kind"]), row["policy"], row["seed"])
        assert same(
            [
                {
                    name: value
                    for name, value in row.items()
                    if name not in ("policy", "replication", "day", "kind", "seed")
                }
            ],
            [run.summary()],
        )


def test_every_policy_meets_the_same_days(months):
    days = [
        [
            (row["replication"], row["day"], row["kind"], row["seed"])
            for row in months.days
            if row["policy"] == policy
        ]
        for policy in months.policies
    ]
    assert days[0] == [
        tuple(each) for seed in (5, 6, 7) for each in days_of(MIX, 8, seed)
    ]
    assert days[0] == days[1] == days[2]


def days_behind(study, row):
    return [
        each
        for each in study.days
        if (each["policy"], each["replication"]) == (row["policy"], row["seed"])
    ]


def weighted(days, figure, weights):
    return np.average([each[figure] for each in days], weights=weights)


def test_figures_of_a_month_are_those_of_its_jobs(months):
    for row in months.rows:
        days = days_behind(months, row)
        jobs = [each["completed"] for each in days]
        assert len(set(jobs)) > 1
        assert (row["jobs"], row["completed"]) == (sum(jobs), sum(jobs))
        for figure in ("wait_min", "miss_pct", "tardiness_min"):
            assert row[figure] == pytest.approx(weighted(days, figure, jobs), rel=1e-12)
        assert row["cost_usd"] == pytest.approx(
            sum(each["cost_usd"] for each in days), rel=1e-12
        )
        held = [len(day_of(each["kind"]).slots) * each["makespan_h"] for each in days]
        assert row["utilisation_pct"] == pytest.approx(
            weighted(days, "utilisation_pct", held), rel=1e-12
        )
        # not a mean over days
        assert row["wait_min"] != pytest.approx(
            weighted(days, "wait_min", None), rel=1e-3
        )
        assert row["utilisation_pct"] != pytest.approx(
            weighted(days, "utilisation_pct", None), rel=1e-3
        )


def test_misses_of_a_month_are_those_of_its_tight_and_loose_jobs(months):
    for row in months.rows:
        records = [
            months.run(row["policy"], row["seed"], each["day"]).jobs
            for each in days_behind(months, row)
        ]
        jobs = np.concatenate(records)
        late = jobs["finish_s"] > jobs["deadline_s"]
        assert row["miss_pct"] == pytest.approx(100 * late.mean(), rel=1e-12)
        assert row["tight_miss_pct"] == pytest.approx(
            100 * late[jobs["tight"]].mean(), rel=1e-12
        )
        assert row["loose_miss_pct"] == pytest.approx(
            100 * late[~jobs["tight"]].mean(), rel=1e-12
        )
        assert row["wait_min"] == pytest.approx(
            (jobs["start_s"] - jobs["submit_s"]).mean() / 60, rel=1e-12
        )


def test_some_job_of_the_months_misses(months):
    # or the test above would compare zeros
    assert any(row["miss_pct"] > 0 for row in months.rows)


def test_what_a_study_has_found_stands_for_nothing_else_later(months):
    day = cg.day("quiet", jobs=2)
    found = [
        (months, "mix"),
        (cg.compare(day, ["fifo"], range(1)), "scenario"),
        (
            cg.sweep(cg.day, {"name": "quiet", "jobs": [2]}, ["fifo"], range(1)),
            "points",
        ),
    ]
    for study, name in found:
        with pytest.raises(FrozenInstanceError):
            setattr(study, name, None)


def test_months_are_compared_as_days_are(months):
    assert months.seeds == [5, 6, 7]
    assert months.title == "8 days of quiet 0.6, normal 0.3, hectic 0.1"
    assert (
        str(months).splitlines()[0]
        == f"{months.title}: mean of 3 seeds ± 95 % half width"
    )
    first, second = months.values("fifo", "wait_min"), months.values("spt", "wait_min")
    assert months.differences()["spt"]["wait_min"] == statistics.paired_difference(
        second, first
    )


def test_the_command_compares_months(printed):
    line = "month --mix quiet=0.9,normal=0.1 --days 3 --seeds 4:6 --slots 3"
    line += " --policies fifo,rh:reserve=2,gate=0.9"
    study = cg.month(
        {"quiet": 0.9, "normal": 0.1},
        ["fifo", "rh:reserve=2,gate=0.9"],
        3,
        2,
        4,
        partial(cg.day, slots=3),
    )
    assert printed(line) == f"{study}\n"
    assert printed(f"{line} --format csv") == csv_text(study.rows)
    assert printed(f"{line} --format json") == study.json()
