"""A graph on GPUs as a model: own policies, memory of policies, parameters of sweeps,
ranks.
"""

import numpy as np
import pytest
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.ranks import rank_test
from cgrsp_simpy.dag.report import METRICS
from cgrsp_simpy.dag.scenario import simulate
from cgrsp_simpy.studies.subject import subject_of

SMALL = cg.dag.Scenario("er:n=12,degree=2", cg.dag.Servers(3), budget=cg.dag.Budget(20))


class InTurn:
    """A policy with memory: GPUs in turn, over all nodes that it has put."""

    name = "in turn"

    def __init__(self):
        self.put = 0

    def __call__(self, view):
        for node in view.queue:
            if gpus := view.rooms(node):
                self.put += 1
                yield node, gpus[self.put % len(gpus)]


def test_makespan_and_evaluations_of_a_run_are_in_its_figures():
    run = cg.simulate(SMALL, "rtgs", 3)
    result = cg.dag.find(SMALL.problem(3), "rtgs", cg.dag.Budget(20), 3)
    figures = run.summary()
    assert list(figures) == list(METRICS)
    assert (figures["makespan_s"], figures["evaluations"]) == (result.makespan_s, 20)
    assert figures["bound_s"] == cg.dag.lower_bound_s(SMALL.problem(3))
    assert figures == cg.simulate(SMALL, "rtgs", 3).summary()
    assert cg.simulate(SMALL, InTurn(), 3).summary()["evaluations"] == 0


def test_data_without_work_have_no_finite_ratio_to_the_bound():
    """1 GB over 25 GB/s takes 0.04 s; the bound, which excludes transfers, is 0."""
    graph = cg.dag.Graph([0.0, 0.0], [0, 0], [(0, 1)], [1.0])
    platform = cg.dag.Servers(gpus=2, per_server=1).platform()
    for gpu, end_s, ratio in (([0, 1], 0.04, np.inf), ([0, 0], 0.0, 1.0)):
        run = simulate(cg.dag.Problem(graph, platform), cg.dag.Plan(gpu))
        summary = run.summary()
        assert (summary["makespan_s"], summary["over_bound"]) == (end_s, ratio)


def test_memory_in_gigabytes_is_as_many_megabytes():
    """In floating point, 1.001 * 1000 is below 1001."""
    sizes_mb = [1001, 1003, 80_000, 999_999]
    platforms = [cg.dag.Servers(memory_gb=mb / 1000).platform() for mb in sizes_mb]
    assert [platform.memory_mb[0] for platform in platforms] == sizes_mb
    check_refused(lambda: cg.dag.Servers(tflops=()), r"tflops\(=\(\)\) must be a list")


def test_an_existing_plan_is_a_policy_too():
    plan = cg.dag.find(SMALL.problem(3), "cpop", cg.dag.Budget(1)).plan
    run, own = cg.simulate(SMALL, plan, 3), cg.simulate(SMALL, "cpop", 3)
    assert run.jobs.tolist() == own.jobs.tolist() and run.policy == own.policy == "cpop"
    assert run.summary()["evaluations"] == 0 and own.summary()["evaluations"] == 1
    study = cg.compare(SMALL, {"mine": plan, "heft": "heft"}, [3])
    assert study.values("mine", "makespan_s") == [run.summary()["makespan_s"]]


@pytest.mark.parametrize("scheduler", ["heft", InTurn()])
def test_the_schedule_of_a_run_equals_its_measurements(scheduler):
    run = cg.simulate(SMALL, scheduler, 3)
    result = cg.dag.schedule_of(run)
    assert result.makespan_s == run.summary()["makespan_s"] == run.timeline.end_s
    assert result.plan.gpu.tolist() == run.jobs["gpu"].tolist()
    assert result.plan.scheduler == run.policy
    result.plan.check(result.problem)


@pytest.mark.parametrize(
    ("graph", "state", "policies", "is_random"),
    [
        ("star:n=5", "free", ["heft", "cpop"], False),
        ("star:n=5", "free", ["random"], True),
        ("star:n=5", "free", ["heft", "rtgs"], True),
        ("star:n=5", "busy", ["heft"], True),
        ("er:n=5,degree=1", "free", ["heft"], True),
    ],
)
def test_the_seed_matters_if_anything_is_drawn(graph, state, policies, is_random):
    subject = subject_of(cg.dag.Scenario(graph, state=state))
    assert subject.is_random_under(policies) == is_random


def test_a_study_is_divided_by_the_cost_of_searches():
    assert SMALL.jobs == 12 and subject_of(SMALL).work == 240
    assert (
        subject_of(subject_of(SMALL).varied(budget=cg.dag.Budget(seconds=1.0))).work
        == 12_000
    )


WRONG = [
    ({"graph": "tree"}, "unknown graph 'tree'"),
    ({"graph": 7}, r"graph\(=7\) must be a string or of type Graph"),
    ({"graph": "er:n=9,degree=5"}, r"degree\(=5.0\) must be at most 4"),
    ({"platform": 7}, r"platform\(=7\) must be of type Servers or of type Platform"),
    ({"budget": "7"}, r"budget\(='7'\) must be of type Budget"),
    ({"state": "full"}, "unknown state 'full'"),
    ({"graph": "x.json:j_1"}, r"graph\(='x.json:j_1'\) must be a file name without"),
    ({"graph": "x.csv"}, r"graph\(='x.csv'\) must include a job .* x.csv:j_17"),
]


test_a_wrong_scenario_is_an_error_when_it_is_made = refusals(
    *WRONG, call=lambda given: cg.dag.Scenario(**given)
)


# ---- ranks ----


def ranking(study):
    """The tables below a comparison."""
    return subject_of(SMALL).study_details(study)[0]


def test_ranks_are_of_makespans_on_the_same_graphs():
    study = cg.compare(SMALL, ["heft", "round-robin", "random"], range(6))
    table = np.array([study.values(name, "makespan_s") for name in study.policies])
    below = (table[:, None] > table).sum(axis=1)
    equal = (table[:, None] == table).sum(axis=1)
    ranks = (below + (equal + 1) / 2).mean(axis=1)
    (table,) = ranking(study)
    heading, _, *rows = table.text().splitlines()
    assert "Friedman chi-square" in heading
    assert [row.split() for row in rows] == [
        [name, f"{rank:.2f}"] for rank, name in sorted(zip(ranks, study.policies))
    ]


def test_no_ranks_are_reported_for_one_repeated_graph():
    """Ten equal sets of makespans are one block, not ten: a test would find a
    difference that does not exist.
    """
    graph = SMALL.problem(0).graph
    scenario = cg.dag.Scenario(graph, cg.dag.Servers(3))
    study = cg.compare(scenario, ["heft", "round-robin", "work"], range(10))
    values = [study.values(name, "makespan_s") for name in study.policies]
    assert rank_test(np.transpose(values)).p < 0.01 and ranking(study) == []
    assert ranking(cg.compare(SMALL, ["heft", "work"], range(3))) == []
    searched = cg.compare(
        subject_of(scenario).varied(budget=10),
        ["heft", "random-search", "rtgs"],
        range(4),
    )
    assert "Friedman" in ranking(searched)[0].text()


def test_only_searches_cost_as_many_plans_as_their_budget_has():
    scenario = cg.dag.Scenario("er:n=30", budget=cg.dag.Budget(50))
    assert (
        subject_of(scenario).work_of(["heft", "cpop", cg.dag.Plan(np.zeros(30, int))])
        == 3 * 30
    )
    assert (
        subject_of(scenario).work_of(["heft", "rtgs:b=2", "annealing"])
        == 30 + 2 * 50 * 30
    )
