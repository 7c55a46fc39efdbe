"""States of clusters: from runs and files, errors, and runs that start from them."""

import json
from dataclasses import fields, replace
from pathlib import Path
from time import process_time

import jsonschema
import numpy as np
import pytest
from scipy.stats import chisquare
from support import check_refused, output

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.cluster.jobs import Jobs, Mix, Offered, generate
from cgrsp_simpy.cluster.state import (
    ClosedNode,
    RunningJob,
    State,
    WaitingJob,
    duration_above,
)
from cgrsp_simpy.decide.live import forecast, next_dispatches
from cgrsp_simpy.logs import Tags

SCHEMA = json.loads(
    (Path(cg.__file__).parent / "data" / "cluster_state.schema.json").read_text()
)
NODES = cg.cluster.Cluster((8, 8, 4))
MIX = Mix(gpus=((1,), (2,), (4,), (8,), (12, 16)), users=5)
JOBS = generate(MIX, 150, 1.1, NODES, 3)
TABLE = {
    "scenario": "cluster cluster=2x16",
    "now_s": 900,
    "waiting": [
        {"id": 7, "submit_s": 700, "gpus": 32, "estimate_s": 600},
        {"id": 8, "submit_s": 800, "gpus": 8, "estimate_s": 600},
        {"id": 9, "submit_s": 850, "gpus": 8, "estimate_s": 6000},
    ],
    "running": [
        {
            "id": 3,
            "submit_s": 300,
            "gpus": 16,
            "estimate_s": 3600,
            "start_s": 400,
            "place": [[0, 16]],
        }
    ],
}


def read(state):
    """The state, by way of its JSON."""
    text = json.dumps(state.table()).replace("Infinity", "null")
    jsonschema.validate(json.loads(text), SCHEMA)
    return State.from_table(json.loads(text))


REMEMBER = ["conservative", "multifactor:half_life_s=3600", "las"]
NAMES = dict.fromkeys([*REMEMBER, *cg.cluster.SCHEDULERS, "pbs:pairs=true"])


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("scheduler", NAMES)
def test_without_randomness_a_run_from_a_state_equals_the_whole_run(scheduler):
    """Durations are the estimates; schedulers with memory go on with it."""
    scenario = cg.cluster.Scenario(JOBS, NODES)
    whole = cg.simulate(scenario, scheduler)
    jobs = whole.jobs
    for at_s in (0.0, jobs["submit_s"][40], jobs["finish_s"][60], 0.7e5):
        state = whole.state(float(at_s))
        assert read(state) == state
        model = state.resumed(scenario)
        rest = cg.simulate(model, scheduler, 5)
        same = jobs[np.isin(jobs["job"], rest.jobs["job"])]
        assert len(rest.jobs) == len(jobs) - (jobs["finish_s"] <= at_s).sum() > 0
        for name in ("submit_s", "start_s", "finish_s", "gpus", "user"):
            assert rest.jobs[name] == pytest.approx(same[name], abs=1e-6), name
        assert rest.parts() == {job: whole.parts()[job] for job in rest.jobs["job"]}
        assert rest.summary()["wait_s"] > 0
        assert len(rest.rows()) == len(rest.jobs)


def test_drawn_jobs_that_have_not_arrived_arrive_later():
    scenario = cg.cluster.Scenario(Offered(MIX, jobs=5, warm_up=2, after=3), NODES)
    arrivals_s = [at_s for at_s, *_ in scenario.arrivals(Draw(0))]
    state = cg.simulate(scenario, "fifo").state(arrivals_s[3])
    assert (len(arrivals_s), state.to_come) == (10, 6)


def test_jobs_that_take_cores_and_memory_and_ask_for_nodes():
    cluster = cg.cluster.Cluster(
        (4, 4, 4),
        (16, 16, 32),
        (64, 64, 128),
        types=("a", "a", "b"),
        partitions=("x", "x,y", "y"),
    )
    rng = stream(1, "suite cluster state")
    number = 60
    gpus, duration_s = rng.integers(0, 7, number), rng.uniform(60, 900, number)
    jobs = Jobs(
        np.cumsum(rng.exponential(120, number)),
        gpus,
        duration_s,
        duration_s,
        *(None, np.zeros(number, int), None, None),
        tags=Tags({"partition": rng.choice(["", "x", "y"], number).tolist()}),
        nodes=np.where(
            gpus < 5,
            rng.integers(0, 3, number) % np.maximum(2, gpus + 1),
            2 * rng.integers(0, 2, number),
        ),
        cores=rng.integers(1, 9, number),
        memory_gb=rng.integers(1, 30, number).astype(float),
    )
    scenario = cg.cluster.Scenario(jobs, cluster)
    whole = cg.simulate(scenario, "easy")
    for at_s in whole.jobs["submit_s"][[10, 30]]:
        state = whole.state(float(at_s))
        assert read(state) == state
        rest = cg.simulate(state.resumed(scenario), "easy")
        same = whole.jobs[np.isin(whole.jobs["job"], rest.jobs["job"])]
        assert rest.jobs["finish_s"] == pytest.approx(same["finish_s"], abs=1e-6)
        assert rest.parts() == {job: whole.parts()[job] for job in rest.jobs["job"]}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [40, 150], ids=["few", "many"])
def test_runs_from_a_state_are_distributed_as_runs_through_it(seeds):
    """A run's own future ranks among runs from its state as any of these."""
    mix = replace(MIX, overestimate=4.0)
    scenario = cg.cluster.Scenario(Offered(mix, 60, 1.0, 60, 200), NODES)
    others, ranks = 4, {"running": [], "all": []}
    for seed in range(seeds):
        run = cg.simulate(scenario, "easy", seed)
        at_s = float(run.jobs["submit_s"][70])
        state = replace(run.state(at_s), to_come=40)
        held = [job.id for job in state.running]
        known = [job.id for job in state.jobs]
        model = state.resumed(scenario)
        futures = [run, *(cg.simulate(model, "easy", s) for s in range(others))]
        for name, numbers in (("running", held), ("all", known)):
            sums = [
                f.jobs["finish_s"][np.isin(f.jobs["job"], numbers)].sum()
                for f in futures
            ]
            ranks[name].append(sum(value < sums[0] for value in sums[1:]))
    for name, places in ranks.items():
        counts = np.bincount(places, minlength=others + 1)
        assert chisquare(counts).pvalue > 0.002, name


def test_a_remaining_duration_depends_on_estimate_and_elapsed_time():
    """Inversion, against drawn durations and estimates that are nearly the same."""
    mix = Mix(overestimate=3.0)
    jobs = generate(mix, 400_000, 1.0, cg.cluster.Cluster((64,)), 1)
    near = abs(jobs.estimate_s / 9000 - 1) < 0.02
    for above_s in (0.0, 4000.0):
        drawn = jobs.duration_s[near & (jobs.duration_s > above_s)]
        levels = (0.1, 0.5, 0.9)
        expected = [duration_above(mix, 9000.0, level, above_s) for level in levels]
        assert np.quantile(drawn, levels) == pytest.approx(expected, rel=0.04)
    assert duration_above(Mix(), 9000.0, 0.5, 100.0) == 9000.0


@pytest.mark.parametrize(
    ("uniform", "above_s", "duration_s"),
    [
        *((0.4, 0, 200 / 3), (0.9, 0, 400 / 3)),
        *((0.5, 80, 100), (0.75, 80, 400 / 3), (0.5, 150, 1200 / 7)),
        (0.5, 250, 250),  # past the estimate
    ],
)
def test_a_remaining_duration_by_hand(uniform, above_s, duration_s):
    """Half of the durations are from 10 to 100 s, half from 100 to 10,000 s.

    Between 50 and 200 s, the density over d is 2 / d^2 below 100 s and 1 / d^2 above.
    """
    mix = Mix(
        limits_s=(100,),
        duration_shares=(0.5, 0.5),
        shortest_s=10,
        longest_s=10_000,
        overestimate=3,
    )
    assert duration_above(mix, 200, uniform, above_s) == pytest.approx(duration_s)


def test_a_job_of_a_log_runs_as_long_as_those_of_the_log_over_its_estimate():
    jobs = replace(JOBS, estimate_s=2.0 * JOBS.duration_s)
    scenario = cg.cluster.Scenario(jobs, NODES)
    whole = cg.simulate(scenario, "fifo")
    state = whole.state(5e4)
    rest = cg.simulate(state.resumed(scenario), "fifo", 1).jobs
    same = whole.jobs[np.isin(whole.jobs["job"], rest["job"])]
    assert rest["finish_s"] == pytest.approx(same["finish_s"], abs=1e-6)


# ---- nodes that are closed ----


@pytest.mark.parametrize(("opens_s", "until_s"), [(2000, 1e5), (900.5, None)])
def test_no_job_starts_on_a_closed_node_before_it_opens(opens_s, until_s):
    table = TABLE | {"closed": [{"node": 1, "until_s": opens_s}]}
    state = State.from_table(table)
    scenario = cg.cluster.Scenario(replace(JOBS), cg.cluster.Cluster((16, 16)))
    assert state.resumed(scenario).to_come == (JOBS.arrival_s > state.now_s).sum()
    model = replace(state, to_come=0).resumed(scenario)
    jobs = {int(job["job"]): job for job in cg.simulate(model, "fifo-skip").jobs}
    assert jobs[8]["start_s"] == jobs[9]["start_s"] == opens_s
    assert jobs[3]["start_s"] == 400
    drains = TABLE | {"closed": [{"node": 0, "until_s": until_s}], "to_come": 0}
    drains["waiting"] = TABLE["waiting"][1:]
    model = State.from_table(drains).resumed(scenario)
    run = cg.simulate(model, "easy")
    assert {node for job in (8, 9) for node, _ in run.parts()[job]} == {1}
    state = run.state(950.0)
    assert state.closed == (ClosedNode(0, until_s),)
    assert run.jobs["finish_s"][0] == 400 + model.durations_s(0)[0]


def test_easy_does_not_count_gpus_of_a_draining_node_that_become_free():
    """Job 3 ends on the draining node at 4000 s, job 5 on the open one at 10,000 s.

    Job 9 would delay job 7 from 10,000 s, not from 4000 s.
    """
    table = also(place=[[1, 8]], gpus=8, estimate_s=9400)
    table["waiting"] = [
        TABLE["waiting"][0] | {"gpus": 16},
        TABLE["waiting"][2] | {"estimate_s": 20_000},
    ]
    drains = table | {"closed": [{"node": 0, "until_s": 1e6}]}
    room = "leaves room for job 7, which could start at 4000 s"
    assert reasons("easy", table) == {9: room}
    assert reasons("easy", drains) == {}


@pytest.mark.parametrize("job", [7, pytest.param(10**7, marks=pytest.mark.slow)])
def test_a_node_closed_for_a_long_time_and_a_large_job_number_cost_little_time(job):
    closed = [{"node": node, "until_s": 1e9} for node in range(2)]
    before_s = process_time()
    [row] = forecast(
        State.from_table(
            TABLE
            | {"closed": closed, "running": []}
            | {"waiting": [TABLE["waiting"][0] | {"id": job}]}
        ),
        cg.cluster.Scenario(Offered(jobs=9), cg.cluster.Cluster((16, 16))),
        ["easy"],
        range(1),
    ).jobs
    assert row["start_median_s"] == 1e9 and process_time() - before_s < 10


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"closed": [{"node": 1, "until_s": 2000}]},
            "must be another one",
        ),
        *(
            (
                {"policy": "conservative", "memory": memory},
                r"^memory\(=.*\) must be a return value",
            )
            for memory in ({"reserved": [[1]]}, {"kept": 3}, [1, 2])
        ),
    ],
)
def test_closed_nodes_or_an_unsaved_scheduler_memory_are_rejected(more, message):
    scenario = cg.cluster.Scenario(Offered(), cg.cluster.Cluster((16, 16)))
    state = State.from_table(TABLE | more)
    check_refused(lambda: next_dispatches(state, scenario, "conservative"), message)


# ---- the commands ----


@pytest.fixture
def path(tmp_path):
    def write(table):
        file = tmp_path / "state.json"
        file.write_text(json.dumps(table))
        return str(file)

    return write


@pytest.mark.parametrize(
    ("scheduler", "started"), [("easy", [8]), ("fifo", []), ("fifo-skip", [8, 9])]
)
def test_next_lists_the_jobs_that_a_scheduler_starts(scheduler, started, path, capsys):
    """Job 7 needs all nodes; behind it job 8 ends before it can start."""
    answer = json.loads(
        output(
            capsys, *f"next {path(TABLE)} --policy {scheduler} --format json".split()
        )
    )
    assert [row["job"] for row in answer["figures"]] == started
    assert answer["next"]["waiting"] == 3 - len(started)
    # on nodes with cores, of which the jobs take some, too
    on_cores = {
        "waiting": [job | {"cores": 1} for job in TABLE["waiting"]],
        "running": [TABLE["running"][0] | {"place": [[1, 16]]}],
    }
    scenario = cg.cluster.Scenario(Offered(), cg.cluster.Cluster((16, 16), (8, 8)))
    rows = next_dispatches(State.from_table(TABLE | on_cores), scenario, scheduler).rows
    assert [(row["job"], row["nodes"]) for row in rows] == [
        (job, ["0:8"]) for job in started
    ]


def reasons(scheduler, state=TABLE, nodes=2):
    """The reasons of the next dispatches, by job, on nodes of 16 GPUs."""
    scenario = cg.cluster.Scenario(Offered(), cg.cluster.Cluster((16,) * nodes))
    rows = next_dispatches(State.from_table(state), scenario, scheduler).rows
    return {row["job"]: row["reason"] for row in rows}


FIRST, SHORT, LONG = TABLE["waiting"]
BEFORE = "ends by its estimate before job 7 could start, at 4000 s"
HEAD = "first in the queue"


@pytest.mark.parametrize(
    ("scheduler", "waiting", "closed", "expected"),
    [
        ("easy", [FIRST, SHORT, LONG], [], {8: BEFORE}),
        (
            "fifo-skip",
            [FIRST, SHORT, LONG],
            [],
            {8: BEFORE, 9: "fits now; may delay job 7, which could start at 4000 s"},
        ),
        ("conservative", [FIRST, SHORT, LONG], [], {8: BEFORE}),
        # job 8 ends at 4000 s, as does job 3
        (
            "easy",
            [FIRST | {"gpus": 24}, SHORT | {"estimate_s": 3100}, LONG],
            [],
            {8: BEFORE, 9: "leaves room for job 7, which could start at 4000 s"},
        ),
        (
            "easy",
            [FIRST | {"gpus": 48}, SHORT],
            [{"node": 2, "until_s": 1e5}],
            {8: "fits now; job 7 cannot start before a node opens"},
        ),
        ("fifo", [SHORT, LONG], [], {8: HEAD, 9: HEAD}),
        (lambda view: [cg.Wake(view.now_s + 1)], [SHORT], [], {}),
        (
            "shortest",
            [LONG, SHORT | {"id": 10, "submit_s": 860}],
            [],
            {10: "preferred to job 9, which fits too", 9: HEAD},
        ),
    ],
)
def test_the_reasons_of_a_cluster(scheduler, waiting, closed, expected):
    """Job 3 ends at 4000 s by its estimate; job 7 needs all GPUs, 8 and 9 half a node.

    Of these, 8 ends before 4000 s and 9 after it.
    """
    state = TABLE | {"waiting": waiting, "closed": closed}
    assert reasons(scheduler, state, 2 + len(closed)) == expected


@pytest.mark.parametrize(
    ("estimate_s", "end_s", "easy_min", "late"),
    [
        (3600, 4000, -(4600 - 900) / 3 / 60, 0),
        (500, 900, 0, 0),
        (400, 400 + 2 * 500, 0, 1),
    ],
    ids=["estimates are right", "a job ends now", "a job is past its estimate"],
)
def test_a_forecast_of_a_cluster(estimate_s, end_s, easy_min, late, path, capsys):
    """The wide job follows the first one, which takes as long again if it is late."""
    running = [TABLE["running"][0] | {"estimate_s": estimate_s}]
    table = TABLE | {"to_come": 0, "running": running}
    scenario = cg.cluster.Scenario(Offered(), cg.cluster.Cluster((16, 16)))
    result = forecast(
        State.from_table(table),
        *(scenario, ["fifo", "easy"], range(3)),
        slot="16",
        later_h=1,
    )
    ends_s = {row["job"]: row["end_median_s"] for row in result.jobs}
    assert ends_s == {3: end_s, 7: end_s + 600, 8: end_s + 1200, 9: end_s + 6600}
    assert "miss_probability" not in result.jobs[0]
    assert [row["alternative"] for row in result.figures] == [
        *("fifo", "easy", "one more 16", "1 h later")
    ]
    easy, more, later = (row["wait_min"]["mean"] for row in result.differences)
    assert easy == pytest.approx(easy_min) and more < 0 < later
    file = path(table)
    out = output(capsys, *f"forecast {file} --seeds 3 --policies easy,fifo".split())
    assert "start_median_min" in out and "missed" not in out and "cost" not in out
    out += output(capsys, "next", file)
    assert out.count("are past their estimates: 1.") == 2 * late


class Alternating:
    """A scheduler with a memory that it does not save."""

    def __init__(self):
        self.turn = 0

    def __call__(self, view):
        self.turn += 1
        for job in view.fitting()[:1]:
            yield job, view.room(view.needs[job])


def test_a_scheduler_that_does_not_save_its_memory_is_rejected():
    scenario = cg.cluster.Scenario(JOBS, NODES)
    state = cg.simulate(scenario, "conservative").state(5e4)
    assert state.memory["reserved"]
    state = cg.simulate(scenario, "conservative").state(JOBS.arrival_s[0])
    assert [row[0] for row in state.memory["kept"]] == [0]
    wrong = replace(state, policy="easy").resumed(scenario)
    for call, words in (
        (
            lambda: cg.simulate(scenario, Alternating()).state(5e4),
            r"has attributes .* save\(\)",
        ),
        (lambda: cg.simulate(wrong, "easy"), "a policy with a method restore"),
        (lambda: state.resumed(wrong), "must be a Scenario of a cluster"),
    ):
        check_refused(call, words)


# ---- states that cannot be ----


def running(**changes):
    return TABLE["running"][0] | {"id": 5, "submit_s": 500, "start_s": 600} | changes


def also(**changes):
    return TABLE | {"running": [*TABLE["running"], running(**changes)]}


@pytest.mark.parametrize("scheduler", ["conservative", "multifactor"])
@pytest.mark.parametrize("cores", [(), (32, 32, 16)], ids=["GPUs", "cores"])
def test_one_more_node_with_a_memory_and_with_cores(cores, scheduler):
    """Places and reservations are of numbered nodes."""
    jobs = replace(JOBS, cores=JOBS.gpus * 2) if cores else JOBS
    scenario = cg.cluster.Scenario(jobs, replace(NODES, cores=cores))
    state = cg.simulate(scenario, scheduler).state(5e4)
    assert state.running
    more = state.resumed(scenario).one_more("1")
    run = cg.simulate(more, scheduler)
    held = run.jobs[np.isin(run.jobs["job"], [job.id for job in state.running])]
    places = {job.id: dict(job.place) for job in state.running}
    for job in held["job"].tolist():
        expected = {n + n // 3: amount for n, amount in places[job].items()}
        assert dict(run.parts()[job]) == expected
    assert len(run.jobs) == state.resumed(scenario).jobs
    assert more.cluster.cores == (*cores, *cores[-1:])


BAD = {
    "two jobs on one node": (also(), "use of node 0(=32) must be at most 16"),
    "no such node": (also(place=[[2, 16]]), "place of job 5"),
    "less than it needs": (also(place=[[1, 4]]), "its demand, 16"),
    "no pair": (also(place=[[1]]), "place"),
    "unknown kind": (also(job_kind="gaming"), "unknown job_kind of job 5 'gaming'"),
    "too wide": (
        TABLE | {"waiting": [{"id": 7, "submit_s": 700, "gpus": 33, "estimate_s": 6}]},
        "need of job 7(=33)",
    ),
    "only on a closed node": (
        TABLE
        | {"closed": [{"node": 1}], "waiting": [TABLE["waiting"][0] | {"gpus": 17}]},
        "need of job 7(=17) must be small enough for the nodes that are available",
    ),
    "no such node is closed": (
        TABLE | {"closed": [{"node": 2, "until_s": 1e5}]},
        "node of closed(=2) must be below 2, the number of nodes",
    ),
    "closed twice": (
        TABLE | {"closed": [{"node": 1, "until_s": 1e5}] * 2},
        "must be different nodes",
    ),
    "ends before it began": (also(start_s=100), "in the order submission, start, now"),
    "no estimate": (
        TABLE | {"waiting": [{"id": 7, "submit_s": 7}]},
        "lacks estimate_s",
    ),
    "no GPU": (
        TABLE | {"waiting": [TABLE["waiting"][0] | {"gpus": 0}]},
        "gpus of job 7(=0) must be a whole number >= 1, since the cluster has no cores",
    ),
    "an estimate too long": (
        TABLE | {"waiting": [TABLE["waiting"][0] | {"estimate_s": 1e308}]},
        "estimate_s of job 7(=1e+308) must be a number > 0, at most 1e+15",
    ),
    "a number too large": (
        TABLE | {"waiting": [{"id": 10**8, "submit_s": 7, "estimate_s": 6}]},
        "a whole number from 0 to 10,000,000",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_states_give_a_one_line_error(case, path, capsys):
    table, message = BAD[case]
    assert main(["next", path(table)]) == 2
    captured = capsys.readouterr()
    [line] = captured.err.splitlines()
    assert captured.out == "" and message in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--slot x", "'x' must be a number of GPUs per node"),
        ("--slot 0", "GPUs of one more node(=0) must be a whole number >= 1"),
        ("--policies las", "scheduler las needs jobs of at least two users"),
    ],
)
def test_invalid_calls_give_a_one_line_error(words, message, path, capsys):
    assert main([*f"forecast {path(TABLE)} --seeds 1".split(), *words.split()]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_the_schema_has_the_parameters_of_a_state():
    parts = {None: State, "waiting": WaitingJob, "running": RunningJob}
    for name, cls in parts.items():
        schema = SCHEMA if name is None else SCHEMA["properties"][name]["items"]
        assert [*schema["properties"]] == [item.name for item in fields(cls)]
    jsonschema.validate(TABLE, SCHEMA)
