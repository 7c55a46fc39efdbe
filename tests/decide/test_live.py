"""The next dispatches and the forecast of a queue."""

import json
import sys
from dataclasses import replace
from itertools import count, islice, permutations

import numpy as np
import pytest
from support import process

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide.live import (
    PARTS,
    forecast,
    next_dispatches,
    queue_empty_s,
    sample,
)

DAY = cg.day("hectic")


class Observed:
    """A policy whose answers are kept, by the time of the decision."""

    def __init__(self, policy):
        self.policy, self.name, self.answers = cg.make_policy(policy), policy, {}

    def __deepcopy__(self, memo):
        return self

    def __call__(self, view):
        answer = self.policy(view)
        answer = list(answer or ())
        self.answers[view.now_s] = [
            (item[0].id, item[1].index) for item in answer if len(item) == 2
        ]
        return answer


@pytest.mark.parametrize(
    "policy",
    ["triage", *(pytest.param(p, marks=pytest.mark.slow) for p in ("cadr", "atc"))],
)
def test_the_next_dispatches_equal_the_simulation(policy):
    scenario = replace(DAY, workload=replace(DAY.workload, jobs=60))
    observed = Observed(policy)
    cg.simulate(scenario, observed, 1)
    waits = [at_s for at_s, answer in observed.answers.items() if answer]
    for at_s in waits[5:40:9]:
        # the state before the decision: what it dispatches still waits
        state = cg.simulate(scenario, policy, 1, engine="simpy").state(at_s)
        now = [job for job in state.running if job.dispatch_s == at_s]
        fields = ("id", "submit_s", "deadline_s", "complexity", "deadline_class")
        back = [
            {name: getattr(job, name) for name in fields}
            for job in (*now, *state.waiting)
        ]
        before = [job for job in state.table()["running"] if job["dispatch_s"] < at_s]
        table = state.table() | {
            "waiting": sorted(back, key=lambda job: job["id"]),
            "running": before,
        }
        decision = next_dispatches(cg.State.from_table(table), scenario, policy)
        rows = [(row["job"], *row["slots"]) for row in decision.rows]
        assert rows == observed.answers[at_s]
        assert all(row["reason"] for row in decision.rows)
        assert decision.waiting == len(back) - len(rows)


def test_no_policy_decides_while_no_slot_is_idle():
    """Some rules use the fastest idle slot."""
    job = {"submit_s": 0, "deadline_s": 60}
    running = [job | {"id": 0, "slots": [0], "dispatch_s": 0}]
    table = {"now_s": 9, "slots": ["RTX 3090"], "waiting": [job | {"id": 1}]}
    state = cg.State.from_table(table | {"running": running})
    for policy in cg.POLICIES:
        if policy not in ("edf-p", "srpt"):  # these suspend running jobs
            decision = next_dispatches(state, DAY, policy)
            assert (decision.rows, decision.waiting) == ([], 1)


HOLDING = {
    # Low stock is an hour's delay, and at six, in a quarter of an hour, there is none
    "now_s": 9 * 3600 + 2700,
    "slots": ["RTX 3090"],
    "waiting": [{"id": 0, "submit_s": 35000, "deadline_s": 42300}],
}


def test_a_job_is_held_and_the_time_of_the_next_decision_reported():
    decision = next_dispatches(cg.State.from_table(HOLDING), DAY, "triage")
    assert (decision.rows, decision.waiting) == ([], 1)
    assert decision.wake_s == pytest.approx(10 * 3600, abs=1)
    state = cg.State.from_table(HOLDING | {"now_s": 36001})
    assert [row["job"] for row in next_dispatches(state, DAY, "triage").rows] == [0]


def test_a_policy_sees_the_last_observed_stock():
    def by_status(view):
        slot = next(iter(view.idle))
        if view.status(slot) != 2:
            yield view.queue[0], slot

    table = HOLDING | {"now_s": 36001}
    for status, number in (("High", 1), ("Low", 0)):
        seen = {"gpu": "RTX 3090", "status": status, "seen_s": 35990}
        state = cg.State.from_table(table | {"stock": [seen]})
        assert len(next_dispatches(state, DAY, by_status).rows) == number


@pytest.mark.parametrize(
    ("state", "more"),
    [
        ({"scenario": "hectic", "slots": ["RTX 3090"]}, ["cgrsp_simpy.logs.formats"]),
        ({"scenario": "cluster"}, []),
    ],
    ids=["rental", "cluster"],
)
def test_a_decision_loads_no_module_without_need(state, more, tmp_path):
    """These take longer to load than the decision takes."""
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state | {"now_s": 900}))
    code = "import sys, cgrsp_simpy.cli as cli; cli.main(sys.argv[1:])"
    script = f"{code}; print(); print(*sys.modules)"
    command = [sys.executable, "-c", script, "next", str(path), "--format", "json"]
    answer, _, loaded = process(command, tmp_path).stdout.strip().rpartition("\n")
    assert json.loads(answer)["figures"] == []
    without = "scipy matplotlib numba pandas sklearn ortools".split()
    without += [
        f"cgrsp_simpy.{name}"
        for name in (
            "analysis.statistics decide.advice decide.month"
            " studies.compare studies.executors studies.function studies.identity"
            " studies.isolation studies.replicate studies.store studies.study"
        ).split()
    ]
    assert {*loaded.split()}.intersection([*without, *more]) == set()


# ---- a job that cannot be in time ----

SURE = replace(  # an order takes five seconds to come, and a job a minute
    DAY,
    service=cg.Service(sigma=(0, 0, 0)),
    market=cg.Market(cg.Clock(((0, 100.0),)), ((5.0, 5.0),) * 3, high_cap=1),
)
JOB_S = 5 + 59.7


@pytest.mark.parametrize(
    ("deadlines_s", "late", "order", "missed"),
    [
        ([1030, 1150, 1250], 0, [1, 2, 0], {"fifo": 1, "edf": 1}),
        ([1030, 1150, 1075], 0, [2, 1, 0], {"fifo": 2, "edf": 3}),
        ([1300, 1020, 1140], 1, [2, 0, 1], {"fifo": 2, "edf": 1}),
    ],
)
def test_a_job_that_cannot_meet_its_deadline(deadlines_s, late, order, missed):
    """Triage serves it last and misses no other deadline, as the best of all orders."""

    def late_in(jobs):
        ends_s = {job: 1000 + JOB_S * place for place, job in enumerate(jobs, 1)}
        return {job for job in jobs if ends_s[job] > deadlines_s[job]}

    best = min(map(late_in, permutations(range(3))), key=len)
    assert all(late in late_in(jobs) for jobs in permutations(range(3)))
    assert late_in(order) == best == {late}
    waiting = [
        {"id": job, "submit_s": 900, "deadline_s": due_s}
        for job, due_s in enumerate(deadlines_s)
    ]
    table = {"now_s": 1000, "slots": ["RTX 3090"], "to_come": 0, "waiting": waiting}
    state = cg.State.from_table(table)
    decision = next_dispatches(state, SURE, "triage")
    assert [row["job"] for row in decision.rows] == order[:1]
    result = forecast(state, SURE, ["triage", *missed], range(2))
    chances = [row["miss_probability"] for row in result.jobs]
    assert chances == [float(job == late) for job in range(3)]
    starts_s = {row["job"]: row["start_median_s"] for row in result.jobs}
    assert sorted(starts_s, key=starts_s.get) == order
    means = {row["alternative"]: row["missed"]["mean"] for row in result.figures}
    assert means == {"triage": 1, **missed}
    figures = {
        name: result.figures[0][name]["mean"]
        for name in ("wait_min", "last_end_min", "queue_empty_min", "cost_usd")
    }
    rent_usd = 3 * 59.7 * cg.THESIS_GPUS[0].price_usd_per_h / 3600
    by_hand = [(100 + JOB_S) / 60, 3 * JOB_S / 60, 2 * JOB_S / 60, rent_usd]
    assert [*figures.values()] == pytest.approx(by_hand)


# ---- a forecast ----


def busy_states():
    """Random states in which a job waits: scenario, policy, run and state.

    In the other states, about half, the queue is empty now: nothing is uncertain.
    """
    for seed in count():
        rng = stream(seed, "suite busy state")
        near = cg.DeadlineClass("near", 0.5, 600.0, tight=True)
        far = cg.DeadlineClass("far", 0.5, 2400.0)
        rate_per_s = float(rng.choice([0.01, 0.02, 0.04]))
        scenario = replace(
            DAY,
            workload=cg.PoissonWorkload(60, rate_per_s, deadlines=(near, far)),
            slots=cg.round_robin(int(rng.integers(1, 5))),
            market=cg.Market(persistence_s=float(rng.choice([0, 600]))),
        )
        policy = str(rng.choice(["triage", "fifo", "spt", "cadr"]))
        run = cg.simulate(scenario, policy, seed, engine="simpy")
        state = run.state(float(rng.uniform(300, 1500)))
        if state.waiting:
            yield scenario, policy, run, state


@pytest.mark.parametrize("states", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_forecasts_are_calibrated(states):
    """Ranges of 90 % hold in 85 to 95 % of the cases; misses are as often as forecast.

    The jobs of a state share what comes, so that their sums per state are compared.
    """
    inside = {"start": [], "end": [], "empty": []}
    missed = []  # per state: the forecast of each job, and whether it missed
    for scenario, policy, run, state in islice(busy_states(), states):
        result = forecast(state, scenario, [policy], range(39))
        jobs = {int(job["job"]): job for job in run.jobs}
        waiting = {job.id for job in state.waiting}
        empty_s = queue_empty_s(
            run.jobs["submit_s"], run.jobs["dispatch_s"], state.now_s
        )
        times = [("empty", result.queue, empty_s)]
        for row in result.jobs:
            job = jobs[row["job"]]
            times.append(("end", row, job["finish_s"]))
            if row["job"] in waiting:
                times.append(("start", row, job["start_s"]))
        for name, row, value in times:
            low, median, high = (row[f"{name}_{part}_s"] for part in PARTS)
            assert low <= median <= high
            inside[name].append(low - 1e-6 <= value <= high + 1e-6)
        late = [
            jobs[row["job"]]["finish_s"] > jobs[row["job"]]["deadline_s"]
            for row in result.jobs
        ]
        chances = [row["miss_probability"] for row in result.jobs]
        missed.append((np.array(chances), np.array(late)))
    # of few states the bounds are wide
    least, most = (0.6, 1.0) if states < 200 else (0.85, 0.95)
    for name, values in inside.items():
        assert least <= np.mean(values) <= most, name
    # standard errors of an interval of 95 %; for three parts at once, by Bonferroni
    for low, high, most in (
        (0.05, 0.95, 2.0),
        (0.05, 0.35, 2.4),
        (0.35, 0.65, 2.4),
        (0.65, 0.95, 2.4),
    ):
        sums = np.array(
            [
                (late - chances)[(low <= chances) & (chances <= high)].sum()
                for chances, late in missed
            ]
        )
        assert abs(sums.sum()) <= most * np.sqrt((sums**2).sum()) + 1e-9, (low, high)
    chances, late = map(np.concatenate, zip(*missed))
    assert np.mean(late[chances < 0.05]) < 0.03
    assert np.mean(late[chances > 0.95]) > 0.97


def test_alternatives_are_paired():
    state = cg.simulate(DAY, "triage", 3, engine="simpy").state(300.0)
    scenario = replace(DAY, workload=replace(DAY.workload, jobs=60))
    state = replace(state, to_come=10)
    result = forecast(
        *(state, scenario, ["fifo", "spt"], range(6)), slot="RTX 3090", later_h=1.0
    )
    names = ["fifo", "spt", "one more RTX 3090", "1 h later"]
    assert [row["alternative"] for row in result.figures] == names
    _, more, later = result.differences
    assert [row["from"] for row in result.differences] == ["fifo"] * 3
    assert more["wait_min"]["ci95"][1] < 0
    assert later["wait_min"]["ci95"][0] > 30
    first, fourth = (result.samples[name] for name in (names[0], names[3]))
    running = [n for n, row in enumerate(result.jobs) if row["start_p95_s"] < 300]
    assert running
    for one, other in zip(first, fourth):  # what runs already ends as before
        assert np.array_equal(one.finish_s[running], other.finish_s[running])
    [jobs, alternatives] = result.tables()
    assert len(jobs.rows) == 1 + len(state.jobs)
    assert len(alternatives.rows) == 1 + 4 + 3


def test_the_queue_of_an_empty_state_is_empty_now():
    state = cg.State(now_s=60, slots=("RTX 3090",), to_come=0)
    result = forecast(state, DAY, ["fifo"], range(3))
    samples = [
        sample(state.resumed(DAY), "fifo", 0, engine)
        for engine in ("simpy", "compiled")
    ]
    assert [each.empty_s for each in samples] == [60, 60]
    assert result.jobs == []
    assert {*result.queue.values()} == {60.0}
    assert "no job" in result.tables()[0].text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("next STATE --policy fifo,spt", "--policy(='fifo,spt') must be one policy"),
        ("next STATE --policy fif", "unknown policy 'fif'"),
        ("next none.json", "none.json: No such file or directory"),
        ("forecast STATE --slot RTX", "unknown GPU type 'RTX'"),
    ],
)
def test_invalid_calls_give_a_one_line_error(words, message, file, capsys):
    path = file(json.dumps(HOLDING | {"scenario": "hectic"}), "state.json")
    assert main(words.replace("STATE", str(path)).split()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
