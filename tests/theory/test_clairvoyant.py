"""The clairvoyant optimum: by hand, against all schedules, and against every policy on
the same draws.
"""

from itertools import permutations, product

import numpy as np
import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.decide.clairvoyant import MOST_JOBS, optimum

MINUTE = cg.GpuType("minute", 0.1, (60.0, 120.0), 1.0)
CERTAIN = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((10.0, 10.0),) * 3)


def listed(*rows, slots=(MINUTE,), market=CERTAIN, **other):
    """A scenario of jobs (submission, deadline, complexity) with certain execution
    times.
    """
    jobs = tuple(
        cg.Job(i, submit, due, level) for i, (submit, due, level) in enumerate(rows)
    )
    gpus = tuple(dict.fromkeys(slots))
    return cg.Scenario(
        "by hand",
        cg.JobList(jobs),
        tuple(slots),
        gpus,
        market=market,
        service=cg.Service(sigma=(0.0, 0.0)),
        **other,
    )


def weighed(objective, run):
    """The objective of a run."""
    wait, miss, late = (
        run.summary()[name] for name in ("wait_min", "miss_pct", "tardiness_min")
    )
    return {"wait": wait, "miss": miss, "tardiness": late, "mix": wait + miss + late}[
        objective
    ]


def test_one_job_waits_for_its_delay_alone():
    result = optimum(listed((5, 1000, 1)), objective="wait")
    assert result.value == result.wait_min == pytest.approx(10 / 60)
    assert result.miss_pct == result.tardiness_min == 0
    (record,) = result.schedule
    assert (record.dispatch_s, record.start_s, record.finish_s) == (5, 15, 75)


def test_holding_pays_if_scarcity_ends():
    """Low stock for the first 6 minutes, then none: a job of an hour's delay waits
    for the change.
    """
    market = cg.Market(
        cg.Clock(((0, 0.0), (0.1, 1.0))),
        delay_s=((0.0, 0.0), (0.0, 0.0), (3600.0, 3600.0)),
    )
    (record,) = optimum(listed((0, 9000, 1), market=market), objective="wait").schedule
    assert record.dispatch_s == pytest.approx(360)
    assert record.start_s == record.dispatch_s


def brute_force(scenario, seed, objective):
    """Every order on every division of the jobs, each dispatched at once or at a
    change of the clock.
    """
    jobs = list(scenario.workload.generate(seed, scenario.service))
    market = scenario.market
    changes = [14400.0, 36000.0]
    best = np.inf
    for order in permutations(jobs):
        for slots in product(range(len(scenario.slots)), repeat=len(jobs)):
            free, sums = [0.0] * len(scenario.slots), np.zeros(3)
            for (job, draws), slot in zip(order, slots):
                gpu, ready = scenario.slots[slot], max(free[slot], job.submit_s)
                times = [ready, *(change for change in changes if change > ready)]
                starts = [
                    at
                    + market.provisioning_s(
                        market.status(gpu, at, draws.status), draws.delay
                    )
                    for at in times
                ]
                free[slot] = (
                    min(starts)
                    + gpu.mean_execution_s[job.complexity - 1] * draws.service
                )
                late = max(0.0, free[slot] - job.deadline_s)
                sums += np.array(
                    [(min(starts) - job.submit_s) / 60, 100 * (late > 0), late / 60]
                ) / len(jobs)
            best = min(
                best, {"wait": sums[0], "miss": sums[1], "mix": sums.sum()}[objective]
            )
    return best


def scarce(jobs, free_types=False):
    """Jobs that arrive minutes before the scarce hours, on two slots."""
    law = cg.day("hectic", tight_fraction=0.5).workload
    drawn = [job for job, _ in law.generate(3, cg.Service())][:jobs]
    moved = [
        job._replace(
            submit_s=14200 + 15 * job.id, deadline_s=14500 + 120 * (job.id % 3)
        )
        for job in drawn
    ]
    return cg.Scenario(
        "scarce",
        cg.JobList(tuple(moved)),
        cg.day("hectic", slots=2).slots,
        free_types=free_types,
    )


@pytest.mark.parametrize("objective", ["wait", "miss", "mix"])
def test_brute_force_finds_nothing_better(objective):
    for seed in range(3):
        best = optimum(scarce(4), seed, objective)
        assert best.value == pytest.approx(brute_force(scarce(4), seed, objective))
        assert [record.job for record in best.schedule] == list(range(4))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("objective", ["tardiness", "mix"])
def test_no_policy_beats_the_clairvoyant_on_the_same_draws(objective):
    scenario, prices = scarce(9), []
    for seed in range(3):
        best = optimum(scenario, seed, objective).value
        runs = [
            weighed(objective, cg.simulate(scenario, policy, seed))
            for policy in ("fifo", "spt", "edf", "rh", "cadr")
        ]
        assert best <= min(runs) + 1e-9
        prices.append(min(runs) - best)
    assert max(prices) > 0, "not knowing costs nothing here: the test shows nothing"


test_bad_input_gives_a_one_line_error = refusals(
    ((cg.day("hectic"),), f"at most {MOST_JOBS}"),
    ((cg.day("quiet"), 0, "profit"), "unknown objective 'profit'"),
    ((cg.day("quiet"), -1), "seed"),
    ((cg.Scenario("wide", cg.JobList((cg.Job(0, 0, 1, gpus=2),))),), "gpus of job 0"),
    call=lambda given: optimum(*given),
)
