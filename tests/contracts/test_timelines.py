"""Listings, steps, claims and plots of timelines of runs, in every model."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from support import frame_at

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.base.timeline import CLAIM, VISIT
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.jobs import generate as generate_cluster
from cgrsp_simpy.dag.listing import heft
from cgrsp_simpy.dag.platform import Platform
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.hgsp.generate import generate as generate_tasks
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.policies import waiting_policy

JOBS, SEED = 40, 1


@dataclass
class Watched:
    """A run to watch.

    set_up: with a listener, about to start. executing: of an outcome, by job, amounts
    times seconds.
    """

    set_up: Callable[[Any], Any]
    executing: Callable[[Any], dict[int, float]]


def thesis(policy, seed):
    """Jobs of one to three GPUs on five slots; of complexities at random, half of them
    late.
    """
    rng = np.random.default_rng(seed)
    times_s = np.sort(rng.uniform(0, 2000, JOBS)).tolist()
    listed = [
        cg.Job(
            job,
            at_s,
            at_s + 200,
            int(rng.integers(1, 4)),
            bool(job % 3),
            int(rng.integers(1, 4)),
        )
        for job, at_s in enumerate(times_s)
    ]
    scenario = cg.Scenario("gangs", cg.JobList(listed), cg.round_robin(5))
    return Watched(
        lambda listener: subject_of(scenario).simulation(
            cg.make_policy(policy), seed, listener=listener
        ),
        lambda run: dict(
            zip(run.jobs["job"].tolist(), run.jobs["service_s"] * run.jobs["gpus"])
        ),
    )


def waits(policy, order, shared, seed):
    """Jobs of one to four cores, on four machines taken as wholes, or on two that are
    shared; some rent on demand.
    """
    rng = np.random.default_rng(seed)
    submit_s, run_s = np.sort(rng.uniform(0, 400, JOBS)), rng.uniform(1, 60, JOBS)
    cores, memory_gb = rng.integers(1, 5, JOBS), rng.integers(0, 9, JOBS).astype(float)
    machines = (
        (cg.waiting.Size("a", 4, 16.0, 1.0), cg.waiting.Size("b", 6, 12.0, 1.0))
        if shared
        else 4
    )
    scenario = cg.waiting.Scenario(
        cg.waiting.ListedJobs(submit_s, run_s, cores, memory_gb),
        waiting_policy(policy, 20.0, 10.0),
        machines,
        order,
    )

    def executing(run):
        weight = run.jobs["cores"] if shared else np.ones(JOBS)
        return dict(zip(run.jobs["job"].tolist(), weight * run.jobs["run_s"]))

    return Watched(
        lambda listener: subject_of(scenario).simulation(
            scenario.policy, seed, listener=listener
        ),
        executing,
    )


def graph(scheduler, seed):
    """A random graph on three GPUs of different speeds."""
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((JOBS, JOBS)) < 0.1, 1))
    made = cg.dag.Graph(
        rng.uniform(1, 30, JOBS),
        rng.integers(1, 9, JOBS),
        edges,
        rng.uniform(0, 4, len(edges)),
    )
    platform = Platform(
        np.array([1.0, 2.0, 0.7]),
        np.array([12, 16, 9]),
        np.array([0, 0, 1]),
        np.full((3, 3), 2.0),
    )
    scenario = cg.dag.Scenario(made, platform)
    problem = scenario.problem()
    return Watched(
        lambda listener: subject_of(scenario).simulation(
            scheduler(problem), seed, drawn=problem, listener=listener
        ),
        lambda run: dict(enumerate(run.jobs["finish_s"] - run.jobs["start_s"])),
    )


def first_room(view):
    """Every node that is ready to the first GPU with room for it."""
    for node in view.queue:
        for gpu in view.rooms(node)[:1]:
            yield node, gpu


def cluster(scheduler, seed):
    """Jobs of up to a node and more on the paper's cluster, faster than it can serve
    them.
    """
    jobs = generate_cluster(cg.cluster.Mix(), 2 * JOBS, 1.5, PAPER_CLUSTER, seed)
    subject = subject_of(cg.cluster.Scenario(jobs))
    policy = subject.make_policy(scheduler)
    return Watched(
        lambda listener: subject.simulation(policy, 0, listener=listener),
        lambda outcome: dict(enumerate(jobs.gpus * jobs.duration_s)),
    )


def tasks(scheduler, reality, seed):
    """Tasks on three GPUs, twice as many as these can do: by a plan that is carried
    out, or by a rule online.
    """
    instance = generate_tasks(cg.hgsp.Level(JOBS, "small", 2.0, (1.0, 3.0)), seed)
    scenario = cg.hgsp.Scenario(instance, **reality)
    policy = subject_of(scenario).make_policy(scheduler)
    return Watched(
        lambda listener: subject_of(scenario).simulation(
            policy, seed, listener=listener
        ),
        lambda run: dict(
            enumerate(run.jobs["finish_s"] - run.jobs["start_s"], start=1)
        ),
    )


MODELS = {
    "thesis, fifo": lambda seed: thesis("fifo", seed),
    "thesis, cadr": lambda seed: thesis("cadr", seed),
    "waiting, njw": lambda seed: waits("njw", "fcfs", False, seed),
    "waiting, ajw-t": lambda seed: waits("ajw-t", "fcfs", False, seed),
    "waiting, shared, ajw": lambda seed: waits("ajw", "fcfs", True, seed),
    "waiting, shared, ajw-t, sjf": lambda seed: waits("ajw-t", "sjf", True, seed),
    "dag": lambda seed: graph(heft, seed),
    "dag, own": lambda seed: graph(lambda problem: first_room, seed),
    "cluster, fifo-skip": lambda seed: cluster("fifo-skip", seed),
    "cluster, easy": lambda seed: cluster("easy", seed),
    "hgsp, planned": lambda seed: tasks("greedy", {}, seed),
    "hgsp, online": lambda seed: tasks(
        "atc:online=true", {"noise": 0.3, "delay_s": 5.0}, seed
    ),
}


@dataclass
class Seen:
    """A run, its listener's events, its steps, and what each job executed."""

    run: Any
    told: list
    steps: list
    executing: dict[int, float]

    @property
    def timeline(self):
        return self.run.timeline


@pytest.fixture(scope="module", params=MODELS)
def seen(request):
    watched, message = MODELS[request.param](SEED), []
    simulation = watched.set_up(message.append)
    simulation.env.run()
    run = simulation.close()
    return Seen(run, message, list(steps(watched.set_up)), watched.executing(run))


# ---- listing and steps ----


def test_each_job_is_in_the_listing_from_its_arrival_to_its_end(seen):
    times_s = [event.time_s for event in seen.told]
    assert times_s == sorted(times_s)
    own = {
        job: [event for event in seen.told if event.job == job]
        for job in seen.executing
    }
    for visit in seen.timeline.visits:
        (came,) = [event for event in own[visit["job"]] if event.kind == "submit"]
        last = own[visit["job"]][-1]
        assert came.time_s == pytest.approx(visit["ready_s"])
        assert (last.kind, last.time_s) == ("finish", pytest.approx(visit["end_s"]))
    assert {event.label for event in seen.told} == {seen.timeline.label}
    assert all(str(event).split()[1] == event.kind.split()[0] for event in seen.told)


def test_the_steps_are_the_events_of_the_listing(seen):
    assert [step.event for step in seen.steps] == seen.told
    assert all(str(step).startswith(str(step.event)) for step in seen.steps)
    assert seen.steps[-1].waiting == ()
    assert not any(seen.steps[-1].holders)


def last_of_each_instant(seen):
    return [
        list(group)[-1]
        for _, group in groupby(seen.steps, key=lambda step: step.time_s)
    ]


def test_the_drawn_queue_equals_the_queue_of_the_steps(seen):
    times_s, lengths = queue_length(seen.timeline)
    for step in last_of_each_instant(seen):
        assert lengths[np.searchsorted(times_s, step.time_s, side="right") - 1] == len(
            step.waiting
        )


def test_a_job_holding_a_resource_has_a_claim(seen):
    claims, last_s = seen.timeline.claims, seen.timeline.end_s
    for step in last_of_each_instant(seen):
        here = claims[
            (claims["from_s"] <= step.time_s) & (step.time_s < claims["to_s"])
        ]
        holding = {holder.job for held in step.holders for holder in held}
        assert holding <= set(here["job"].tolist()) or step.time_s == last_s


# ---- claims ----


def test_claims_are_rows_that_take_time(seen):
    claims, visits = seen.timeline.claims, seen.timeline.visits
    assert (claims.dtype, visits.dtype) == (CLAIM, VISIT)
    assert (claims["to_s"] > claims["from_s"]).all()
    assert set(claims["job"].tolist()) <= set(visits["job"].tolist())
    assert len(set(visits["job"].tolist())) == len(visits)
    assert (
        len(seen.timeline.resources)
        == len(seen.timeline.sizes)
        > claims["resource"].max()
    )
    of = {job: claims[claims["job"] == job] for job in visits["job"].tolist()}
    for job, ready_s, granted_s, end_s, _ in visits:
        assert ready_s <= granted_s <= end_s or (
            np.isnan(granted_s) and not len(of[job])
        )
        assert len(of[job]) == 0 or (
            of[job]["from_s"].min(),
            of[job]["to_s"].max(),
        ) == (
            granted_s,
            pytest.approx(end_s),
        )


def test_claims_never_exceed_the_size_of_a_place(seen):
    for place, size in enumerate(seen.timeline.sizes):
        own = seen.timeline.claims[seen.timeline.claims["resource"] == place]
        times_s, changes = (
            np.concatenate(each)
            for each in ((own["from_s"], own["to_s"]), (own["amount"], -own["amount"]))
        )
        in_order = np.lexsort((changes, times_s))  # of one instant, first what ends
        assert np.cumsum(changes[in_order]).max(initial=0) <= size * (1 + 1e-9)


def test_the_executing_time_of_every_job_is_in_the_claims_once(seen):
    claims = seen.timeline.claims[seen.timeline.claims["phase"] == "executing"]
    for job, executing in seen.executing.items():
        own = claims[claims["job"] == job]
        assert ((own["to_s"] - own["from_s"]) * own["amount"]).sum() == pytest.approx(
            executing
        )
        assert len(np.unique(own["resource"])) == len(own)  # on each place one row


# ---- pictures ----


def held(claims, sizes):
    """The share of its place, times seconds, of each claim."""
    return (
        claims["amount"]
        / np.array(sizes)[claims["resource"]]
        * (claims["to_s"] - claims["from_s"])
    )


def area(corners):
    x, y = corners.T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


def in_seconds(label):
    return {"(s)": 1.0, "(min)": 60.0, "(h)": 3600.0}[label.split()[-1]]


@pytest.mark.quick_cases(1)
def test_a_gantt_chart_holds_all_claims(seen, tmp_path):
    ax = cg.plots.gantt(seen.run)
    boxes = [
        path.vertices[:4]
        for each in ax.collections
        if isinstance(each, PolyCollection)
        for path in each.get_paths()
    ]
    drawn = sum(map(area, boxes)) * in_seconds(ax.get_xlabel()) / 0.78
    assert drawn == pytest.approx(held(seen.timeline.claims, seen.timeline.sizes).sum())
    late = seen.timeline.visits["end_s"] > seen.timeline.visits["due_s"]
    assert late.any() == (
        "missed its deadline" in [text.get_text() for text in ax.get_legend().texts]
    )
    ax.figure.savefig(tmp_path / "gantt.png", dpi=40)


@pytest.mark.quick_cases(2)
def test_a_slot_timeline_holds_all_claims(seen):
    ax = cg.plots.slot_timeline(seen.run)
    executing, *others = (
        area(each.get_paths()[0].vertices) * in_seconds(ax.get_xlabel())
        for each in ax.collections
    )
    claims, sizes = seen.timeline.claims, seen.timeline.sizes
    assert executing == pytest.approx(
        held(claims[claims["phase"] == "executing"], sizes).sum()
    )
    assert executing + sum(others) == pytest.approx(len(sizes) * seen.timeline.end_s)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_frame_shows_which_job_holds_which_slot(seen, share):
    claims, time_s = seen.timeline.claims, share * seen.timeline.end_s
    boxes = frame_at(seen.run, time_s)[1].collections[0].get_paths()
    here = claims[(claims["from_s"] <= time_s) & (time_s < claims["to_s"])]
    shares = here["amount"] / np.array(seen.timeline.sizes)[here["resource"]]
    filled = sum(path.get_extents().height / 0.9 for path in boxes)
    assert filled == pytest.approx(shares.sum())
