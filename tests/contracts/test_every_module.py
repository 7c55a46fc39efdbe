"""Each module offers the same operations, from Python and from the command line."""

import io
import json
import pickle
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from support import check_refused, csv_rows, output

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.studies.subject import subject_of


class Case(NamedTuple):
    """A module: a small scenario, its words, and what fits it.

    words: its name and words on the command line. policies: two names. parameter: a
    policy with a parameter, where one has any. own: the source of a user's policy.
    grid: of a sweep.
    """

    scenario: Any
    words: str
    policies: tuple[str, str]
    parameter: str
    own: str
    grid: dict[str, list[Any]]


CASES = {
    "rental": lambda: Case(
        cg.day("normal", jobs=30),
        "normal jobs=30",
        ("edf", "fifo"),
        "rh:reserve=2",
        "def oldest(view):\n    return list(zip(view.queue, view.idle))\n",
        {"slots": [2, 3]},
    ),
    "waiting": lambda: Case(
        cg.waiting.Scenario(cg.waiting.ExponentialJobs(150, 0.02, 500.0), machines=8),
        "waiting jobs=150 rate_per_s=0.02 service_s=500 machines=8",
        ("ajw-t", "njw"),
        "sww:wait_s=60",
        "def oldest(view):\n"
        "    while (job := view.first()) is not None and (machine := view.room(job))"
        " is not None:\n"
        "        yield job, machine\n",
        {"machines": [4, 8]},
    ),
    "llm": lambda: Case(
        cg.llm.Scenario(cg.llm.Offered(30, rate_per_s=9.0), cg.llm.Service(gpus=4)),
        "llm source.requests=30 source.rate_per_s=9 service.gpus=4",
        ("wsrpt", "fifo"),
        "sjf",
        "def oldest(view):\n"
        "    for request in view.queue:\n"
        "        for replica in view.free[:1]:\n"
        "            if view.room(replica) >= request.tokens:\n"
        "                yield request, replica\n",
        {"gpus": [2, 4]},
    ),
    "cluster": lambda: Case(
        cg.cluster.Scenario(cg.cluster.Offered(jobs=30, warm_up=0, after=0)),
        "cluster jobs=30 warm_up=0 after=0",
        ("easy", "sjf"),
        "hps:monotone=true",
        "def oldest(view):\n"
        "    while jobs := view.fitting():\n"
        "        yield jobs[0], view.room(view.gpus[jobs[0]])\n",
        {"load": [0.5, 1.0]},
    ),
    "dag": lambda: Case(
        cg.dag.Scenario("er:n=20", cg.dag.Servers(3), budget=cg.dag.Budget(50)),
        "dag:er:n=20 platform.gpus=3",
        ("heft", "rtgs"),
        "rtgs:b=0.5",
        "def oldest(view):\n"
        "    for node in view.queue:\n"
        "        for gpu in view.rooms(node)[:1]:\n"
        "            yield node, gpu\n",
        {"gpus": [2, 3]},
    ),
    "spot": lambda: Case(
        cg.spot.Scenario(hours=8.0, deadline=10.0),
        "spot hours=8 deadline=10",
        ("greedy", "uniform-progress"),
        "time-sliced:slices=4",
        "def oldest(view):\n"
        "    if view.on is None:\n"
        "        yield view.job, (view.up or [view.on_demand])[0]\n",
        {"hours": [6.0, 8.0]},
    ),
    "hgsp": lambda: Case(
        cg.hgsp.Scenario(cg.hgsp.Level(**{**vars(LEVELS["tasks1"]), "tasks": 10})),
        "hgsp:tasks1 source.tasks=10",
        ("atc", "greedy"),
        "search:moves=50",
        "def oldest(view):\n"
        "    for task in view.queue:\n"
        "        for gpu in view.free:\n"
        "            if task.memory_gb <= gpu.kind.memory_gb:\n"
        "                yield task, gpu\n"
        "                break\n",
        {"tasks": [20, 30]},
    ),
}
every_module = pytest.mark.parametrize(
    "case", [pytest.param(make, id=name) for name, make in CASES.items()]
)


@pytest.fixture
def own_file(tmp_path):
    """Write a file with the policy of the case; return path and function."""

    def made(case):
        path = tmp_path / "own.py"
        path.write_text(case.own, encoding="utf-8")
        return f"{path}:oldest", namespace(case)["oldest"]

    return made


def namespace(case):
    result: dict[str, Any] = {}
    exec(case.own, result)
    return result


def same(one, other):
    """Rows that are equal, NaN counted as itself."""
    return json.dumps(one) == json.dumps(other)


@every_module
def test_steps_lead_to_the_same_run(case):
    case = case()
    walk, events = cg.step_through(case.scenario, case.policies[0], seed=1), []
    cg.simulate(case.scenario, case.policies[0], 1, listener=events.append)
    steps = list(walk)
    assert [str(step.event) for step in steps] == list(map(str, events))
    assert not steps[-1].future
    assert any(step.future for step in steps)


@pytest.mark.quick_cases(3)
@every_module
def test_policies_are_compared_swept_and_kept(case, tmp_path):
    case = case()
    study = cg.compare(case.scenario, case.policies, range(3), out=tmp_path / "out")
    assert study.policies == list(case.policies)
    again = cg.compare(case.scenario, case.policies, range(3), out=tmp_path / "out")
    assert json.dumps(again.rows) == json.dumps(study.rows)
    study.to_csv(tmp_path / "rows.csv")
    assert len(csv_rows((tmp_path / "rows.csv").read_text())) == len(study.rows)
    precise = subject_of(case.scenario).report.precise
    assert {*json.loads(study.json())["figures"][0][precise]} == {"mean", "ci95", "n"}
    sweep = cg.sweep(case.scenario, case.grid, case.policies, range(2))
    [(name, values)] = case.grid.items()
    assert [point[name] for point in sweep.points] == values
    own = subject_of(case.scenario).varied(**{name: values[0]})
    assert same(sweep.studies[0].rows, cg.compare(own, case.policies, range(2)).rows)
    check_refused(
        lambda: cg.compare(own, case.policies, range(3), out=tmp_path / "out"),
        ["use another directory"],
    )


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (name != "rental"))
        for name, make in CASES.items()
    ],
)
def test_two_processes_give_the_same_rows_with_functions_and_lambdas_too(
    case, own_file
):
    case = case()
    own = namespace(case)["oldest"]
    policies = [case.policies[0], own, case.parameter]
    here = cg.compare(case.scenario, policies, range(3))
    assert not here.failures
    assert same(
        cg.compare(case.scenario, policies, range(3), executor=2).rows, here.rows
    )


@every_module
def test_a_user_policy_is_a_function_or_a_text(case, own_file):
    case = case()
    text, function = own_file(case)
    one, other = (cg.simulate(case.scenario, policy, 2) for policy in (text, function))
    assert json.dumps(one.rows()) == json.dumps(other.rows())


@every_module
def test_a_run_has_jobs_claims_figures_and_files_whatever_the_model(case, tmp_path):
    case = case()
    run = cg.simulate(case.scenario, case.policies[0], 1)
    assert {
        *subject_of(case.scenario).report.tested,
        subject_of(case.scenario).report.precise,
    } <= set(run.summary())
    assert set(run.summary()) <= set(subject_of(case.scenario).report.metrics)
    assert len(run.claims) and len(run.timeline.visits) == case.scenario.jobs
    times = [
        run.jobs[name] for name in ("submit_s", "dispatch_s", "start_s", "finish_s")
    ]
    for before, after in pairwise(times):
        assert not (before > after + 1e-6).any()  # NaN where a job starts elsewhere
    assert len(run.jobs) == len(run.rows()) == case.scenario.jobs
    assert set(run.claims["job"].tolist()) <= set(run.jobs["job"].tolist())
    assert (run.claims["to_s"] > run.claims["from_s"]).all()
    first = next(iter(run.rows()[0]))
    assert sum(row["jobs"] for row in run.by(first)) == case.scenario.jobs
    run.to_csv(tmp_path / "jobs.csv")
    assert (
        len((tmp_path / "jobs.csv").read_text().splitlines()) == case.scenario.jobs + 1
    )


@pytest.mark.slow
@every_module
def test_rows_go_to_pandas(case):
    pytest.importorskip("pandas")
    case = case()
    study = cg.compare(case.scenario, case.policies, range(2))
    assert len(study.to_pandas()) == len(study.rows)
    assert (
        len(cg.simulate(case.scenario, case.policies[0]).to_pandas())
        == case.scenario.jobs
    )


@pytest.mark.slow
@every_module
def test_a_command_steps_through_and_draws_the_run_that_it_lists(
    case, tmp_path, monkeypatch, capsys
):
    case = case()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    words = [
        "run",
        *case.words.split(),
        "--policy",
        case.policies[0],
        "--show",
    ]

    def told(*shown):
        lines = output(capsys, *words, *shown).splitlines()
        return [line for line in lines if not line.startswith((" " * 12, "seconds "))]

    listed = told("events")
    assert told("step") == listed
    assert (
        told("events", "--show", "a.svg", "--show", "a.html")[: len(listed)] == listed
    )
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("a.svg", "a.html"))


@pytest.mark.parametrize("module", [cg, cg.llm, cg.dag])
def test_an_unknown_name_of_a_module_is_rejected(module):
    with pytest.raises(AttributeError, match="no attribute 'Settings'"):
        _ = module.Settings


# ---- pickling ----


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(
    "case",
    [  # searches take seconds
        pytest.param(
            make, id=name, marks=[pytest.mark.slow] * (name in ("hgsp", "dag"))
        )
        for name, make in CASES.items()
    ],
)
def test_every_run_of_every_policy_survives_the_standard_pickle(case):
    scenario = case().scenario
    # these need other terms
    for policy in scenario.policies.keys() - {"edf-p", "srpt"}:
        run = cg.simulate(scenario, policy)
        copy = pickled(run)
        assert (copy.title, copy.jobs.dtype, copy.jobs.tobytes()) == (
            (run.title, run.jobs.dtype, run.jobs.tobytes())
        )
        # NaN differs from itself
        assert str(dict(copy.summary())) == str(dict(run.summary()))
        assert copy.claims.tobytes() == run.claims.tobytes()


def test_runs_and_studies_of_policies_without_a_name_survive_the_standard_pickle():
    def rule():
        return lambda view: zip(view.queue, view.idle)

    day = cg.day("quiet")
    mine = cg.ListPolicy(cg.rules.by_deadline, cg.rules.cheapest, "mine")
    policies = {
        "fifo": "fifo",
        "rule": rule(),
        "mine": mine,
        "made": subject_of(day).make_policy("watch"),
    }
    assert pickled(cg.simulate(day, rule())).rule is not None
    for study in (
        cg.compare(day, policies, range(2)),
        cg.compare(cg.month({"quiet": 1.0}, 2), policies, range(2)),
    ):
        assert pickled(study).json() == study.json()
        assert pickled(study).policies == list(policies)
