"""Parameters of scenarios by name: full and short, of parts, and of every module."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of

DAY = cg.day("hectic")


@dataclass(frozen=True)
class Left:
    size: int = 1
    both: int = 2


@dataclass(frozen=True)
class Right:
    both: int = 3
    inner: Left = field(default_factory=Left)


@dataclass(frozen=True)
class Shop(cg.Model):
    left: Left = field(default_factory=Left)
    right: Right = field(default_factory=Right)
    size: float = 0.5
    depth: int = 1


test_an_ambiguous_or_unknown_parameter_name_is_rejected = refusals(
    ({"both": 1}, "unknown parameter 'both'"),  # of two parts
    ({"sise": 1}, "unknown parameter 'sise'; did you mean 'size'?"),
    ({"left.sise": 1}, "unknown parameter 'left.sise'"),
    ({"xyz": 1}, "(allowed: left, right, size, depth, inner)"),
    ({"right.size": 3}, "unknown parameter 'right.size'"),
    (
        {"inner": Left(), "right.inner": Left()},
        "right.inner(=Left(size=1, both=2)) must be omitted: right.inner is"
        " given twice",
    ),
    (
        {"right.inner": Right(), "right.inner.size": 3},
        "unknown parameter of inner 'size' (allowed: both, inner)",
    ),
    ({"left": 3, "left.size": 1}, "unknown parameter 'left.size'"),
    call=lambda words: subject_of(Shop()).varied(**words),
)


def test_a_sweep_takes_full_and_short_names():
    grid = {"terms.warm_s": [0.0, 60.0], "slots": 2, "jobs": 20}
    study = cg.sweep(DAY, grid, ["fifo"], [0])
    short = cg.sweep(
        DAY, {"warm_s": [0.0, 60.0], "slots": 2, "jobs": 20}, ["fifo"], [0]
    )
    assert [row["terms.warm_s"] for row in study.rows] == [0.0, 60.0]
    assert [row["cost_usd"] for row in study.rows] == [
        row["cost_usd"] for row in short.rows
    ]


@pytest.mark.parametrize(
    ("scenario", "words", "expected"),
    [
        (Shop(), {"size": 2.0}, Shop(size=2.0)),  # the outermost of its name
        (
            Shop(),
            {"left.size": 7, "right.inner.both": 9},
            Shop(Left(7), Right(inner=Left(both=9))),
        ),
        (Shop(), {"left": Left(5, 6), "left.both": 8}, Shop(Left(5, 8))),
        (
            cg.llm.Scenario(),  # a part of another class has its own parameters
            {"steps": "roofline", "steps.efficiency": 0.4},
            cg.llm.Scenario(steps="roofline:efficiency=0.4"),
        ),
        (DAY, {"slots": 7}, cg.day("hectic", slots=7)),
        (DAY, {"slots": ["RTX A4000"]}, cg.day("hectic", slots=["RTX A4000"])),
        (DAY, {"gpus": "2025"}, cg.day("hectic", gpus="2025")),
        (DAY, {"gpus": 2025, "slots": 3}, cg.day("hectic", slots=3, gpus="2025")),
        (DAY, {"clock": "printed"}, cg.day("hectic", clock="printed")),
        (DAY, {"tight_fraction": 0.5}, cg.day("hectic", tight_fraction=0.5)),
        (
            DAY,
            {"sight": "now", "persistence_s": 60.0},
            cg.day("hectic", persistence_s=60.0, sight="now"),
        ),
        (
            cg.cluster.Scenario(),
            {"cluster": "4x8+1x4"},
            cg.cluster.Scenario(cluster=cg.cluster.Cluster((8, 8, 8, 8, 4))),
        ),
        (
            cg.dag.Scenario("er:n=20"),
            {"budget": 50},
            cg.dag.Scenario("er:n=20", budget=cg.dag.Budget(evaluations=50)),
        ),
    ],
)
def test_parameters_are_set_by_name_and_may_be_abbreviated(scenario, words, expected):
    assert subject_of(scenario).varied(**words) == expected


test_a_wrong_abbreviation_is_rejected = refusals(
    (DAY, {"slots": "7"}, "slots(='7') must be a whole number >= 1"),
    (DAY, {"gpus": 2024}, "unknown gpus '2024'"),
    (DAY, {"clock": "local"}, "unknown clock 'local'"),
    (cg.cluster.Scenario(), {"cluster": "4by8"}, "cluster(='4by8') must be"),
    (cg.cluster.Scenario(), {"cluster": "0x8"}, "number of nodes(=0)"),
    (cg.llm.Scenario(), {"steps": "roofline:tflops=fast"}, "tflops(='fast')"),
    (cg.llm.Scenario(), {"steps": "roofline:speed=1"}, "'speed'"),
    (cg.llm.Scenario(), {"steps": "a.csv:names=x"}, "steps(='a.csv:names=x')"),
    call=lambda scenario, words: subject_of(scenario).varied(**words),
)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (cg.llm.Scenario, {"steps": "roofline:efficiency=0.4"}),
        (cg.dag.Scenario, {"graph": "star:n=5", "budget": 7}),
        (cg.waiting.Scenario, {"machines": "3x16"}),
        (cg.cluster.Scenario, {"cluster": "4x8"}),
    ],
)
def test_a_constructor_accepts_the_same_texts(kind, words):
    assert kind(**words) == subject_of(kind()).varied(**words)


def test_machines_of_a_size_are_a_text():
    waiting = cg.waiting.Scenario(cg.waiting.ExponentialJobs(10))
    varied = subject_of(waiting).varied(machines="3x16")
    assert [(size.cores, size.memory_gb) for size in varied.machines] == [
        (16, 64.0)
    ] * 3
    varied = subject_of(varied).varied(machines=2)
    assert [size.cores for size in varied.machines] == [16, 16]
    varied = subject_of(waiting).varied(machines="1x8x100")
    assert varied.machines[0].memory_gb == 100.0
    for wrong in ("3x", "x3", "3x4x5x6", "1.5x4", "2x0.5", "0x4", "many"):
        with pytest.raises(cg.InputError):
            subject_of(waiting).varied(machines=wrong)


test_a_parameter_without_effect_is_rejected = refusals(
    (
        DAY,
        ["terms.restart_s"],
        [],
        "terms.restart_s is used only by preemption_per_h",
    ),
    (cg.hgsp.Scenario(), ["moves"], ["greedy"], "moves"),
    (cg.dag.Scenario(), ["budget.seconds"], ["heft"], "omitted unless one of"),
    call=lambda scenario, names, policies: subject_of(scenario).check_effective(
        names, policies
    ),
)


def test_a_parameter_with_an_effect_is_accepted():
    subject_of(DAY).check_effective(["terms.restart_s", "terms.preemption_per_h"], [])
    subject_of(cg.hgsp.Scenario()).check_effective(["moves"], ["greedy", "search"])
    subject_of(cg.dag.Scenario()).check_effective(["budget.seconds"], ["annealing"])


@pytest.mark.parametrize(
    ("engine", "listener", "compiled"),
    [("simpy", None, False), ("auto", None, True), ("auto", [].append, False)],
)
def test_the_compiled_loop_has_no_listener(engine, listener, compiled, monkeypatch):
    subject = subject_of(cg.day("quiet", jobs=1))
    monkeypatch.setattr(type(subject), "compiled", lambda *_: "a compiled run")
    run = subject.run("fifo", engine=engine, listener=listener)
    assert (run == "a compiled run") == compiled


def test_policies_without_a_steady_state_are_left_out_by_default():
    few = cg.waiting.Scenario(cg.waiting.ExponentialJobs(1000), machines=90)
    subject = subject_of(few)
    unsteady = [
        name for name in few.policies if few.under(subject.make_policy(name)).unsteady
    ]
    assert "ajw" in unsteady and [*subject.left_out()] == unsteady
    assert {*subject.default_policies()} == {*few.policies} - {*unsteady}
