"""Months: days of types drawn from a mix, compared like single days."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from studies.runs import same
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.decide.month import THESIS_MIX, days_of

# ---- months ----

MIX = {"quiet": 0.6, "normal": 0.3, "hectic": 0.1}


def day_of(kind):
    """Days of few jobs, and of slots of their own."""
    slots, jobs = {"quiet": (2, 4), "normal": (3, 20), "hectic": (4, 200)}[kind]
    return cg.day(kind, slots, tight_fraction=0.5, jobs=jobs)


@pytest.fixture(scope="module")
def months():
    return cg.compare(
        cg.month(MIX, 8, day_of), ["fifo", "spt", "rh:reserve=2"], [5, 6, 7]
    )


def test_days_depend_on_the_replication_alone():
    assert [each.number for each in days_of(MIX, 40, 3)] == list(range(1, 41))
    assert days_of(MIX, 1, 3) == [(1, "hectic", 181934618644409)]
    every = [days_of(MIX, 40, replication) for replication in range(5)]
    assert len({tuple(each.kind for each in days) for days in every}) == 5
    assert len({each.seed for days in every for each in days}) == 200


def test_a_month_is_the_same_among_others(months):
    alone = cg.compare(cg.month(MIX, 8, day_of), ["rh:reserve=2", "fifo"], [6])
    assert same(
        alone.rows[1:],
        [row for row in months.rows if (row["policy"], row["seed"]) == ("fifo", 6)],
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
    assert stats.chisquare(counts, [750, 1500, 450, 300]).pvalue < 1e-6


def test_every_day_is_a_separate_run(months):
    for policy in months.policies:
        for row in months.run(policy, 6).rows():
            run = cg.simulate(day_of(row["kind"]), policy, row["seed"])
            drawn = ("day", "kind", "seed")
            figures = {name: row[name] for name in row if name not in drawn}
            assert same([figures], [run.summary()])


def test_every_policy_is_run_on_the_same_days(months):
    for seed in months.seeds:
        for policy in months.policies:
            assert [
                (row["day"], row["kind"], row["seed"])
                for row in months.run(policy, seed).rows()
            ] == [tuple(each) for each in days_of(MIX, 8, seed)]


def weighted(days, figure, weights):
    return np.average([each[figure] for each in days], weights=weights)


def test_figures_of_a_month_follow_from_its_jobs(months):
    for row in months.rows:
        days = months.run(row["policy"], row["seed"]).rows()
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


def test_misses_of_a_month_follow_from_its_tight_and_loose_jobs(months):
    for row in months.rows[::4]:  # each policy and each seed once
        run = months.run(row["policy"], row["seed"])
        jobs = np.concatenate([run.day(each["day"]).jobs for each in run.rows()])
        late = jobs["finish_s"] > jobs["deadline_s"]
        assert row["tight_miss_pct"] == pytest.approx(
            100 * late[jobs["tight"]].mean(), rel=1e-12
        )
        assert row["loose_miss_pct"] == pytest.approx(
            100 * late[~jobs["tight"]].mean(), rel=1e-12
        )
    assert any(row["miss_pct"] > 0 for row in months.rows)


def test_months_are_compared_as_days_are(months):
    assert months.title == "8 days of quiet 0.6, normal 0.3, hectic 0.1"
    assert (
        str(months).splitlines()[0]
        == f"{months.title}: mean of 3 seeds ± 95 % half width"
    )
    assert months.differences()["spt"]["wait_min"] == cg.statistics.paired_difference(
        *(months.values(policy, "wait_min") for policy in ("spt", "fifo"))
    )


def test_a_month_is_not_one_simulation(months, tmp_path):
    run = months.run("fifo", 6)
    for call, words in (
        (
            partial(cg.simulate, run.scenario, "fifo", listener=print),
            "not a single simulation",
        ),
        (partial(run.by, "user"), "cannot be grouped by a column"),
        (partial(run.day, 9), ["day(=9) must be 1 to 8"]),
    ):
        check_refused(call, words)
    assert repr(run) == "<8 days of quiet 0.6, normal 0.3, hectic 0.1, fifo, seed 6>"
    run.to_csv(tmp_path / "days.csv")
    assert (tmp_path / "days.csv").read_text().count("\n") == 9
    assert months.scenario.jobs == 228  # 227.2, rounded up


@pytest.mark.slow
def test_the_days_of_a_month_are_rows_of_a_data_frame(months):
    pytest.importorskip("pandas")
    assert len(months.run("fifo", 6).to_pandas()) == 8
