"""Jobs on several slots: the record holds all of them, and so do pictures and files."""

from dataclasses import replace

import numpy as np
import pytest
from support import refusals, utilisation

import cgrsp_simpy as cg
from cgrsp_simpy.base.timeline import PHASES
from cgrsp_simpy.rental.record import Totals


def gangs(seed, free_types=False):
    """Jobs of one to four GPUs with random arrivals."""
    rng = np.random.default_rng(seed)
    times_s = np.sort(rng.uniform(0, 3000, 40))
    jobs = [
        cg.Job(
            i,
            s,
            s + 2000,
            int(rng.integers(1, 4)),
            bool(i % 3),
            int(rng.integers(1, 5)),
        )
        for i, s in enumerate(times_s)
    ]
    return cg.Scenario(
        "gangs", cg.JobList(jobs), cg.round_robin(5), free_types=free_types
    )


@pytest.mark.parametrize("free_types", [False, True])
@pytest.mark.parametrize("policy", ["fifo", "spt", "cadr"])
@pytest.mark.parametrize("seed", range(2))
def test_claims_show_which_job_holds_which_slot(seed, policy, free_types):
    run = cg.simulate(gangs(seed, free_types), policy, seed)
    jobs, claims = run.jobs, run.claims
    assert jobs["gpus"].max() > 1
    for job in jobs:
        own = claims[claims["job"] == job["job"]]
        assert len(set(own["resource"].tolist())) == job["gpus"] == len(own) / 2
        assert own["resource"][0] == job["slot"]
        times_s = [job[name] for name in ("dispatch_s", "start_s", "finish_s")]
        phases = [*zip(PHASES, times_s, times_s[1:])]
        assert own[["phase", "from_s", "to_s"]].tolist() == phases * job["gpus"]
        if not free_types:
            types = [run.scenario.slots[slot] for slot in own["resource"][::2]]
            assert run.scenario.gpus[job["gpu"]] == types[0]
            prices = sum(gpu.price_usd_per_h for gpu in types)
            assert job["cost_usd"] == pytest.approx(job["service_s"] * prices / 3600)
    for slot, held_s in enumerate(run.held_s):
        own = claims[claims["resource"] == slot]
        assert (own["to_s"] - own["from_s"]).sum() == pytest.approx(held_s)
    share = (claims["to_s"] - claims["from_s"]).sum() / (5 * run.tally.end_s)
    assert utilisation(run) == pytest.approx((share, share))
    assert [row["slots"].split() for row in run.rows()] == [
        list(dict.fromkeys(map(str, claims["resource"][claims["job"] == job["job"]])))
        for job in jobs
    ]


def test_phases_of_no_length_are_left_out():
    at_once = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))
    run = cg.simulate(replace(cg.day("quiet", jobs=20), market=at_once), "fifo")
    assert run.claims["phase"].tolist() == ["executing"] * 20
    assert np.array_equal(run.claims["from_s"], run.jobs["dispatch_s"])


test_without_records_there_are_no_claims = refusals(
    (lambda: cg.simulate(gangs(0), "fifo", records=False).claims, "has no records")
)


def test_sums_do_not_depend_on_the_blocks_of_records():
    scenario = cg.day("hectic", jobs=60)
    jobs = cg.simulate(scenario, "fifo", 1).jobs
    columns = {name: np.asarray(jobs[name]) for name in jobs.dtype.names}
    # some are late, of both classes
    columns["finish_s"] = columns["finish_s"] + 9 * 3600
    parts = [{name: own[part::3] for name, own in columns.items()} for part in range(3)]
    whole, added = (Totals.of(scenario.workload.classes) for _ in range(2))
    whole.add(columns)
    for part in parts:
        added.add(part)
    assert all(own.missed for own in whole.by_class)
    for own, other in zip(whole.by_class, added.by_class):
        assert own[:3] == other[:3] and own[3:] == pytest.approx(other[3:])
    assert (whole.completed, whole.missed) == (added.completed, added.missed)
