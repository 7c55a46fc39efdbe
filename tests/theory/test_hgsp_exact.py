"""The exact program and the lower bounds, against brute force and known optima."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy
from hgsp.tasks import SLOW, instance_of, needs_orlib, optimum_of, orlib, unrelated
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from support import brute_force, check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.solver import SolverError
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide import bounds as day_bounds
from cgrsp_simpy.hgsp import exact as exact_program
from cgrsp_simpy.hgsp.bounds import alone, by_capacity, lower_bound
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.instance import Gpu, Instance, cluster
from cgrsp_simpy.hgsp.schedule import from_sequences
from cgrsp_simpy.hgsp.search import search


@st.composite
def tiny(draw, most=5):
    number = draw(st.integers(1, most))
    row = st.tuples(
        st.integers(1, 9),
        st.sampled_from([0, 5, 20]),
        st.integers(0, 15),
        st.integers(0, 5),
        st.integers(0, 6),
    )
    rows = np.array(draw(st.lists(row, min_size=number, max_size=number)), dtype=float)
    gpus = draw(
        st.lists(
            st.sampled_from(
                [Gpu("fast", 10, 2.0), Gpu("odd", 10, 1.5), Gpu("slow", 40, 1.0)]
            ),
            max_size=1,
        )
    )
    return unrelated(draw, Instance(*rows.T, gpus=(Gpu("slow", 40, 1.0), *gpus)))


def by_the_slowest(instance, moves):
    """A poor schedule: the tasks on the first GPU, the last one first."""
    rows = [range(instance.tasks - 1, -1, -1), *[()] * (len(instance.gpus) - 1)]
    return from_sequences(instance, [[*row] for row in rows]), 0


# of equal GPUs, tasks go to the second only if others go to the first
TWINS = instance_of(
    (4, 5, 4, 3, 0), (5, 9, 5, 2, 0), (3, 0, 6, 1, 1), gpus=(SLOW, SLOW)
)


@example(TWINS, True)
@given(tiny(), st.booleans())
@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])  # shrinks slowly
def test_brute_force_agrees_with_the_program_and_bounds_stay_below(instance, poor):
    """Return whether the program knows the schedule of a search, or a poor one."""
    best = brute_force(instance)
    poor = poor and np.isfinite(instance.times_s[:, 0]).all()
    with patch.object(exact_program, "search", by_the_slowest if poor else search):
        exact = solve_exact(instance)
    assert exact.optimal
    assert exact.schedule.fault() == ""
    assert exact.schedule.weighted_tardiness == pytest.approx(best, abs=1e-6)
    assert exact.bound <= best + 1e-6
    assert lower_bound(instance) <= best + 1e-6


def tight(tasks, seed, gpus=None):
    """Tasks that arrive nearly at once, with hardly more time than they take."""
    return cg.hgsp.generate(cg.hgsp.Level(tasks, "small", 5.0, (0.4, 1.0)), seed, gpus)


def test_the_lateness_of_a_task_without_weight_does_not_count():
    """On one GPU of speed 1, all due at 1: of 5 s and weight 2, then of 4 s, then that
    of none.
    """
    rows = (5, 0, 1, 0, 0), (5, 0, 1, 2, 0), (4, 0, 1, 1, 0)
    exact = solve_exact(instance_of(*rows, gpus=(SLOW,)))
    assert exact.schedule.weighted_tardiness == 2 * (5 - 1) + (9 - 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nobody_beats_the_proven_optimum_of_eight_tasks_on_three_gpus(seed):
    instance = tight(8, seed)
    exact = solve_exact(instance)
    value = exact.schedule.weighted_tardiness
    assert exact.optimal
    assert exact.bound == pytest.approx(value, rel=1e-6)
    for name in cg.hgsp.SCHEDULERS:
        assert cg.hgsp.schedule_of(
            cg.hgsp.solve(instance, name, moves=10_000)
        ).weighted_tardiness >= value * (1 - 1e-9), name


@pytest.mark.slow
def test_a_time_limit_leaves_an_honest_answer():
    instance = cg.hgsp.generate(cg.hgsp.Level(40, "small", 20.0, (0.5, 1.0)), 0)
    exact = solve_exact(instance, 1.0)
    assert not exact.optimal
    assert exact.schedule.fault() == ""
    assert exact.bound <= exact.schedule.weighted_tardiness
    check_refused(lambda: solve_exact(instance, 0), "time_limit_s")


# Four tasks on GPUs of speed 1 and 1.5, on which HiGHS with its presolve answers status
# 4, "Solve error" (SciPy 1.17.1).
HARD = Instance(
    [7, 7, 7, 4],
    [0] * 4,
    [0, 0, 0, 3],
    [1] * 4,
    [2, 2, 2, 5],
    gpus=(Gpu("slow", 40, 1.0), Gpu("odd", 10, 1.5)),
    name="hard",
)


def test_a_program_that_fails_with_presolve_is_solved_without():
    exact = solve_exact(HARD)
    assert exact.optimal
    assert exact.schedule.weighted_tardiness == pytest.approx(brute_force(HARD))
    assert exact.bound == pytest.approx(36)
    result = cg.hgsp.solve(HARD, "milp").summary()
    assert (result["lower_bound"], result["gap_pct"]) == (
        pytest.approx(36),
        pytest.approx(0, abs=1e-6),
    )


@pytest.fixture
def failing(monkeypatch):
    """A solver that always answers status 4; whether each try had its presolve."""
    tries = []

    def fails(*_, options, **__):
        assert options.get("time_limit", 0) < 1
        tries.append(options["presolve"])
        return scipy.optimize.OptimizeResult(
            status=4, message="Solve error", x=None, fun=None, mip_dual_bound=None
        )

    for name in ("linprog", "milp"):
        monkeypatch.setattr(scipy.optimize, name, fails)
    lower_bound.cache_clear()
    yield tries
    lower_bound.cache_clear()


def test_a_failure_is_reported_and_other_results_are_kept(failing, caplog):
    """The bound is that of tasks alone: 7 / 1.5 s from 2 on for three of them, and
    5 + 4 / 1.5 - 3.
    """
    result = solve_exact(HARD, 0.5)
    assert not result.optimal
    assert result.schedule.fault() == ""
    assert result.bound == pytest.approx(3 * (2 + 7 / 1.5) + 5 + 4 / 1.5 - 3)
    assert failing == [True, False] * 2
    assert (
        "hard: the solver failed, with presolve and without: Solve error" in caplog.text
    )
    assert (
        "hard: no bound by capacity: the solver failed, with presolve and without:"
        " Solve error" in caplog.text
    )
    assert by_capacity(HARD) == 0


def test_a_schedule_that_meets_a_bound_is_optimal_without_the_solver(failing):
    """A task of 10 / 2 s that arrives at 1, is due at 3, and has a weight of 2."""
    exact = solve_exact(instance_of((10, 0, 3, 2, 1)))
    assert exact.optimal and exact.bound == 2 * (1 + 5 - 3)


def test_the_bound_of_a_day_is_rejected_if_its_solver_fails(failing, capsys):
    with pytest.raises(
        SolverError, match="the solver failed, with presolve and without: Solve error"
    ):
        day_bounds.lower_bound(cg.day("quiet", jobs=5))
    assert failing == [True, False]
    assert main(["bound", "quiet", "jobs=5", "--seeds", "2"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "the solver failed" in err


@pytest.mark.quick_cases(2)
@needs_orlib
@pytest.mark.parametrize("index", range(1, 126, 31))
def test_bounds_are_below_the_known_optima(index):
    assert lower_bound(orlib(index)) <= optimum_of(index) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "most_gap"),
    [("tasks3", 0.021), ("tasks4", 0.03)],
)
def test_bounds_are_tight_under_overload(level, most_gap):
    instance = cg.hgsp.generate(level, 0)
    best = min(
        cg.hgsp.dispatch(instance, rule).weighted_tardiness
        for rule in cg.hgsp.RULES.values()
    )
    assert (1 - most_gap) * best < lower_bound(instance) <= best


def test_the_bound_alone_counts_unavoidable_tardiness():
    late = Instance([10.0], [0], [3.0], [2.0], [1.0], cluster("small-30"))
    assert alone(late) == 0.0
    slow = Instance([114.0], [0], [2.0], [5.0], [1.0], cluster("small-30"))
    assert alone(slow) == pytest.approx(5 * (1 + 2 - 2))
    assert by_capacity(slow) <= 5
