"""States of queues: read, rejected, taken from runs, and runs that start from them."""

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios
from scipy.stats import chisquare, expon, lognorm
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide.live import forecast, next_dispatches
from cgrsp_simpy.rental.state import RunningJob, SeenStock, State, WaitingJob

SCHEMA = json.loads(
    (Path(cg.__file__).parent / "data" / "state.schema.json").read_text()
)
DAY = cg.day("hectic")
TABLE = {
    "scenario": "hectic",
    "now_s": 900,
    "slots": ["RTX 3090", "RTX A5000"],
    "waiting": [
        {"id": 7, "submit_s": 700, "deadline_s": 4300, "deadline_class": "tight"},
        {"id": 8, "submit_s": 800, "deadline_s": 29600, "complexity": 3},
    ],
    "running": [
        {
            "id": 3,
            "submit_s": 300,
            "deadline_s": 29100,
            "slots": [1],
            "dispatch_s": 400,
        }
    ],
    "stock": [{"gpu": "RTX 3090", "status": "Low", "seen_s": 890}],
}


def deterministic(jobs, **changes):
    """The hectic day with its first jobs of a seed, and without any randomness."""
    listed = [job for job, _ in DAY.workload.generate(1, DAY.service)][:jobs]
    plenty = cg.Clock(((0, 100.0),))
    market = cg.Market(plenty, ((5, 5), (60.5, 60.5), (333.3, 333.3)), high_cap=1)
    return replace(
        DAY,
        workload=cg.JobList(listed),
        service=cg.Service(sigma=(0, 0, 0)),
        market=market,
        **changes,
    )


# ---- runs that start from a state ----


FREE, BILLED = (
    {"free_types": True},
    {"terms": cg.Terms(billed_from="provisioning", minimum_s=600)},
)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("triage", FREE | BILLED),
        ("rh", {}),
        ("triage", {}),
        ("triage", BILLED),
        ("rh", FREE),
        ("rh", BILLED),
    ],
)
def test_without_randomness_a_run_from_a_state_equals_the_whole_run(
    policy, changes, tmp_path
):
    scenario = deterministic(100, **changes)
    whole = cg.simulate(scenario, policy, engine="simpy")
    jobs = whole.jobs
    times_s = [0.0, 333.3, jobs["dispatch_s"][30], jobs["finish_s"][30]]
    for at_s in [*times_s, jobs["submit_s"][30]]:
        state = whole.state(float(at_s))
        state.to_json(tmp_path / "state.json")
        table = json.loads((tmp_path / "state.json").read_text())
        jsonschema.validate(table, SCHEMA)
        assert State.from_table(table) == state
        rest = cg.simulate(state.resumed(scenario), policy, 5)
        same = jobs[np.isin(jobs["job"], rest.jobs["job"])]
        assert len(rest.jobs) == len(jobs) - (jobs["finish_s"] <= at_s).sum()
        for name in ("submit_s", "dispatch_s", "start_s", "finish_s", "slot"):
            assert np.array_equal(rest.jobs[name], same[name]), (at_s, name)
        assert rest.jobs["cost_usd"] == pytest.approx(same["cost_usd"], abs=1e-12)
        assert rest.state(float(at_s)) == state


HELD = cg.Market(persistence_s=1200.0, sight="poll:120")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "policy", "seeds"),
    [
        (
            {
                "service": cg.Service("exponential"),
                "workload": cg.HourlyWorkload(
                    50, cg.ArrivalRates((60.0, 20.0) * 12), (0.5, 0.3, 0.2)
                ),
            },
            "fifo",
            25,
        ),
        ({}, "triage", 80),
        ({"market": HELD}, "watch", 80),
        ({"market": replace(HELD, sight="none")}, "fifo", 80),
    ],
    ids=["exponential, by hour", "thesis", "stock polled", "stock not seen"],
)
def test_runs_from_a_state_are_distributed_as_runs_through_it(changes, policy, seeds):
    """A run's own future ranks among runs from its state as any of these."""
    workload = cg.PoissonWorkload(50, 0.02)
    scenario = replace(DAY, **{"workload": workload} | changes)
    others, ranks = 4, {"all": [], "running": [], "cost": []}
    for seed in range(seeds):
        run = cg.simulate(scenario, policy, seed, engine="simpy")
        at_s = 600.0 + 1800.0 * stream(seed, "suite").random()
        state = run.state(at_s)
        known = [job.id for job in state.jobs]
        held = [job.id for job in state.running]
        if not held:
            continue
        model = state.resumed(scenario)
        futures = [run, *(cg.simulate(model, policy, s) for s in range(others))]
        figures = {name: [] for name in ranks}
        for future in futures:
            jobs = future.jobs[np.isin(future.jobs["job"], known)]
            own = np.isin(jobs["job"], held)
            figures["all"].append(jobs["finish_s"].sum())
            figures["running"].append(jobs["finish_s"][own].sum())
            figures["cost"].append(jobs["cost_usd"].sum())
        for name, values in figures.items():
            ranks[name].append(sum(value < values[0] for value in values[1:]))
    for name, places in ranks.items():
        assert len(places) > 0.7 * seeds
        counts = np.bincount(places, minlength=others + 1)
        assert chisquare(counts).pvalue > 0.002, name


any_scenario = scenarios() | scenarios(gangs=True)


@pytest.mark.parametrize("above", [0.0, 0.8, 1.3])
@pytest.mark.parametrize(
    "service, law",
    [
        (cg.Service(sigma=(0.2,)), lognorm(0.2, scale=np.exp(-0.02))),
        (cg.Service("exponential"), expon()),
    ],
)
@pytest.mark.parametrize("uniform", [0.01, 0.3, 0.99])
def test_the_run_time_of_a_running_job_is_drawn_above_its_elapsed_time(
    service, law, above, uniform
):
    factor = service.factor_above(1, uniform, above)
    assert law.sf(factor) / law.sf(above) == pytest.approx(1 - uniform)


def test_if_no_factor_is_above_what_has_run_the_job_ends_at_once():
    spread, certain = cg.Service(sigma=(0.2,)), cg.Service(sigma=(0.0,))
    assert spread.factor_above(1, 0.0, 0.0) == 0.0
    assert spread.factor_above(1, 0.0, 1e-9) > 1e-9  # the probability rounds to 1
    assert 1e9 < spread.factor_above(1, 0.5, 1e9) <= 1e9 + 0.01
    assert certain.factor_above(1, 0.5, 0.7) == 1
    assert 1.3 < certain.factor_above(1, 0.5, 1.3) < 1.3 + 1e-9


def state_of(scenario, policy, part, seed):
    """The state of a run at a part of its length."""
    run = cg.simulate(scenario, policy, seed, engine="simpy")
    return run.state(float(part * run.jobs["finish_s"].max()))


@pytest.mark.slow
@settings(max_examples=100)
@given(
    any_scenario,
    st.sampled_from([cg.Terms(), cg.Terms(billed_from="provisioning", minimum_s=600)]),
    st.sampled_from("fifo spt lcf rh cadr atc covert triage".split()),
    st.floats(0, 1),
    st.integers(0, 9),
)
@example(cg.day("quiet", jobs=3), cg.Terms(), "fifo", 1.0, 0)  # no job is left
def test_a_compiled_run_from_a_state_equals_simpy_to_the_last_digit(
    scenario, terms, policy, part, seed
):
    pytest.importorskip("numba")
    scenario = replace(scenario, terms=terms)
    state = state_of(scenario, policy, part, seed)
    now = replace(state, wake_s=None)
    for start in (state, now, replace(state, wake_s=state.now_s + 50)):
        model = start.resumed(scenario)
        subject = model.subject(model)
        compiled = subject.compiled(subject.make_policy(policy), 1, None, True)
        if compiled is not None:
            run = cg.simulate(model, policy, 1, engine="simpy")
            assert all(
                np.allclose(one[name], other[name], 1e-13, 1e-9, equal_nan=True)
                if one[name].dtype.kind == "f"
                else np.array_equal(one[name], other[name])
                for one, other in (
                    (run.jobs, compiled.jobs),
                    (run.claims, compiled.claims),
                )
                for name in one.dtype.names
            )
            assert run.decisions == compiled.decisions
            assert np.allclose(run.held_s, compiled.held_s, 1e-13, 1e-9)


@settings(max_examples=15)
@given(
    any_scenario,
    st.sampled_from("fifo balanced adaptive rh cadr-oo c-mu covert triage".split()),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_any_state_passes_through_json_and_has_decisions_and_a_forecast(
    scenario, policy, part, seed
):
    state = state_of(scenario, policy, part, seed)
    text = json.dumps(state.table()).replace("Infinity", "null")
    assert State.from_table(json.loads(text)) == state
    state = replace(state, running=state.running[1:], wake_s=None)  # a job has ended
    decision = next_dispatches(state, scenario, policy)
    assert decision.waiting + len(decision.rows) == len(state.waiting)
    assert all(row["reason"] for row in decision.rows)
    gpu = scenario.gpus[0].name
    result = forecast(state, scenario, [policy], range(2), slot=gpu, later_h=0.1)
    assert [row["job"] for row in result.jobs] == sorted(job.id for job in state.jobs)
    assert all(len(table.text()) > 0 for table in result.tables())


def test_estimates_in_seconds_are_the_ones_that_policies_see_and_runs_use():
    """Between two classes, and beyond all; on another type in its proportion."""
    times = [65.0, 80.0, 600.0]
    table = {
        "now_s": 100,
        "slots": ["RTX A5000"],
        "to_come": 0,
        "waiting": [
            {"id": n, "submit_s": n, "deadline_s": 1e5, "estimate_s": times[-1 - n]}
            for n in range(3)
        ],
    }
    scenario = deterministic(100)
    model = State.from_table(table).resumed(scenario)
    first, other = (scenario.gpus[n].mean_execution_s for n in (0, 1))
    nearest = [1, 1, 2]  # by the ratio
    expected = [s * other[n] / first[n] for s, n in zip(times, nearest)]
    run = cg.simulate(model, "spt")
    jobs = run.jobs[np.argsort(run.jobs["start_s"])]
    assert jobs["job"].tolist() == [2, 1, 0]
    assert jobs["finish_s"] - jobs["start_s"] == pytest.approx(expected)
    at_s = float(jobs["start_s"][1]) + 1
    rest = run.state(at_s)
    assert [entry.estimate_s for entry in rest.jobs] == [80.0, 600.0]
    again = cg.simulate(rest.resumed(scenario), "spt").jobs
    assert again["finish_s"] == pytest.approx(jobs["finish_s"][[2, 1]])
    random = replace(scenario, service=cg.Service())
    model = State.from_table(table).resumed(random)
    runs = [cg.simulate(model, "spt", seed).jobs for seed in range(50)]
    means = np.mean([run["finish_s"] - run["start_s"] for run in runs], axis=0)
    assert means == pytest.approx(expected[::-1], rel=0.06)
    assert cg.simulate(replace(model), "triage", 1).jobs["job"].tolist() == [0, 1, 2]


def test_a_job_of_a_log_takes_longer_than_it_has():
    log = cg.LoggedWorkload(
        submit_s=range(0, 6000, 60),
        service_s=range(100, 1100, 10),
        deadline_s=[float("nan")] * 100,
        gpus=[1] * 100,
        weight=[1] * 100,
    )
    scenario = replace(DAY, workload=log)
    state = cg.simulate(scenario, "fifo").state(3000)
    ends = [cg.simulate(state.resumed(scenario), "fifo", s).jobs for s in range(6)]
    assert state.running
    assert all(jobs["finish_s"].min() > 3000 for jobs in ends)
    service_s = np.array(log.service_s)[np.array(log.complexity) == 1]
    # the first has been running for 372.5 s on the type of the log
    assert {round(jobs["service_s"][0], 6) for jobs in ends} <= {
        *service_s[service_s > 372].tolist()
    }


class Alternating:
    """Serve the oldest and the youngest job in turn."""

    name = "alternating"

    def __init__(self):
        self.turn = 0

    def __call__(self, view):
        self.turn += 1
        yield view.queue[-(self.turn % 2)], next(iter(view.idle))


class Saving(Alternating):
    """The same, which can be saved."""

    def save(self):
        return {"turn": self.turn}

    def restore(self, memory):
        self.turn = memory["turn"]


def test_a_policys_memory_is_restored_or_the_state_rejected():
    scenario = deterministic(60)
    whole = cg.simulate(scenario, Saving(), engine="simpy")
    state = whole.state(500.0)
    assert state.memory == {"turn": state.memory["turn"]} != {"turn": 0}
    rest = cg.simulate(state.resumed(scenario), Saving())
    same = np.isin(whole.jobs["job"], rest.jobs["job"])
    assert np.array_equal(rest.jobs["finish_s"], whole.jobs["finish_s"][same])
    check_refused(
        lambda: cg.simulate(scenario, Alternating(), engine="simpy").state(500.0),
        r"has attributes .* save\(\)",
    )
    check_refused(
        lambda: cg.simulate(state.resumed(scenario), Alternating()),
        r"a policy with a method restore",
    )


# ---- states that cannot be ----


def changed(**changes):
    return TABLE | changes


def job(**changes):
    return {"id": 9, "submit_s": 800, "deadline_s": 30000} | changes


def running(**changes):
    return job(slots=[0], dispatch_s=850) | changes


BAD = {
    "two jobs on one slot": (
        changed(running=[TABLE["running"][0], running(slots=[1])]),
        "slot of job 9(=1) must be free, but job 3 holds it",
    ),
    "negative time": (
        changed(waiting=[job(submit_s=-1)]),
        "submit_s of job 9(=-1) must be a number >= 0",
    ),
    "unknown type": (changed(slots=["RTX 3090", "RTX 9"]), "unknown GPU type 'RTX 9'"),
    "too many jobs": (
        changed(waiting=[{}] * 10_001),
        "jobs waiting(=10001) must be at most 10,000",
    ),
    "NaN": (changed(now_s=float("nan")), "NaN must be a finite number"),
    "unknown key": (changed(clock=3), "unknown key in the file 'clock'"),
    "no clock": ({"scenario": "hectic", "slots": ["RTX 3090"]}, "the file lacks now_s"),
    "a list": ([], "the file(=[]) must be a table"),
    "no list": (changed(waiting=5), "waiting(=5) must be a list"),
    "equal numbers": (
        changed(waiting=[job(), job()]),
        "id(=9) must be unique, but two jobs have it",
    ),
    "a running job that began in the future": (
        changed(running=[running(start_s=901)]),
        "must be in the order submission, dispatch, start, now",
    ),
    "a running job that ends before it began": (
        changed(running=[running(start_s=849)]),
        "must be in the order submission, dispatch, start, now",
    ),
    "an estimate twice": (
        changed(waiting=[job(complexity=2, estimate_s=60)]),
        "complexity of job 9(=2) must be omitted if estimate_s is given",
    ),
    "an estimate of nothing": (
        changed(waiting=[job(estimate_s=0)]),
        "estimate_s of job 9(=0) must be a number > 0",
    ),
    "a waiting job of the future": (
        changed(waiting=[job(submit_s=1000)]),
        "submit_s of job 9(=1000) must be at most now_s, 900",
    ),
    "numbers out of order": (
        changed(waiting=[job(id=1, submit_s=850), job(id=2, submit_s=800)]),
        "submit_s of job 2(=800) must be at least that of job 1, 850",
    ),
    "no such slot": (
        changed(running=[running(slots=[2])]),
        "must be below 2, the number of slots",
    ),
    "too few slots": (
        changed(running=[running(gpus=2)]),
        "must be 2, one per GPU, all different",
    ),
    "a deadline before the submission": (
        changed(waiting=[job(deadline_s=1)]),
        "0 <= submit_s <= deadline_s",
    ),
    "unknown class": (
        changed(waiting=[job(deadline_class="tigt")]),
        "unknown deadline_class of job 9 'tigt'",
    ),
    "too complex": (
        changed(waiting=[job(complexity=4)]),
        "complexity of job 9(=4) must be at most 3",
    ),
    "too wide": (
        changed(waiting=[job(gpus=3)]),
        "gpus of job 9(=3) must be at most 2",
    ),
    "unknown status": (
        changed(stock=[{"gpu": "RTX 3090", "status": "low", "seen_s": 0}]),
        "unknown status of RTX 3090 'low'",
    ),
    "stock of a later time": (
        changed(stock=[{"gpu": "RTX 3090", "status": "Low", "seen_s": 999}]),
        "seen_s of RTX 3090(=999) must be at most now_s, 900",
    ),
    "a wake-up before now": (changed(wake_s=3), "wake_s(=3) must be at least now_s"),
    "no slot": (changed(slots=[]), "slots(=[]) must be at least one slot"),
    "too many slots": (
        changed(slots=["RTX 3090"] * 10_001),
        "must be at most 10,000 slots (here 10001)",
    ),
    "days of a month": (changed(scenario="month"), "must be a Scenario of rented"),
    "another scenario": (changed(scenario="waiting"), "scenario(='waiting') must be"),
    "no scenario": (changed(scenario=""), "must be a scenario and parameters"),
    "warm instances": (
        changed(scenario="hectic terms.warm_s=60"),
        "terms.warm_s(=60) must be 0.0: a state cannot represent its effects",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_impossible_states_give_a_one_line_error(case, file, capsys):
    verb = "forecast" if case in ("too wide", "no clock") else "next"
    table, message = BAD[case]
    path = file(json.dumps(table), "state.json")
    assert main([verb, str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert line.startswith(f"cgrsp {verb}: ")
    assert message in line


DEEP = b'{"memory": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
LONG = b'{"now_s": ' + b"9" * 5000 + b"}"
TWICE = json.dumps(TABLE)[:-1].encode() + b', "now_s": 950}'


@pytest.mark.parametrize(
    "content", [b"{", b"\xff", b"", b"[1, 2", b"[]", DEEP, LONG, TWICE]
)
def test_a_file_that_is_not_json_gives_a_one_line_error(content, tmp_path, capsys):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    assert main(["next", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"cgrsp next: {path}: ")


class Workshop(cg.Model):
    """One machine and no job."""

    def resources(self):
        return cg.slots(1)

    def arrivals(self, draw):
        return ()


def test_a_run_without_states_and_a_replayed_market_are_rejected():
    check_refused(
        lambda: cg.simulate(Workshop(), "first").state(3),
        "runs of workshop cannot start from a state",
    )
    series = cg.StockSeries("RTX 3090", (0.0, 50.0), (0, 2), 100.0)
    replayed = replace(DAY, market=cg.Market(series=(series,)))
    state = State.from_table({"now_s": 5, "slots": ["RTX 3090"]})
    check_refused(lambda: state.resumed(replayed), r"market\.series")


OF_STATE = SCHEMA["properties"]


@pytest.mark.parametrize(
    ("schema", "cls"),
    [
        (SCHEMA, State),
        (OF_STATE["waiting"]["items"], WaitingJob),
        (OF_STATE["running"]["items"], RunningJob),
        (OF_STATE["stock"]["items"], SeenStock),
    ],
    ids=["state", "waiting", "running", "stock"],
)
def test_the_schema_has_the_parameters_of_a_state(schema, cls):
    assert [*schema["properties"]] == [item.name for item in fields(cls)]
    jsonschema.validate(TABLE, SCHEMA)
    assert State.from_table(TABLE).waiting[1].complexity == 3


def test_a_status_that_the_market_never_has_is_rejected():
    scenario = replace(DAY, market=cg.Market(high_cap=0, persistence_s=9))
    table = changed(stock=[{"gpu": "RTX 3090", "status": "High", "seen_s": 890}])
    check_refused(
        lambda: State.from_table(table).resumed(scenario),
        "unknown status of RTX 3090 'High'",
    )
