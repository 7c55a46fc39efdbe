"""How far policies are from what no policy can do better than, seed by seed."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

from cgrsp_simpy.model.checks import require
from cgrsp_simpy.rental.bounds import lower_bound
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.executors import as_they_come

__all__ = ["bounds_of", "with_gaps"]

OBJECTIVES = {"wait_min": "wait", "miss_pct": "miss"}  # figure -> objective of its bound
GAPS = {"wait_min": "wait_gap_min", "miss_pct": "miss_gap_pct"}


def _bound(task: tuple[Scenario, str, int]) -> float:
    return lower_bound(*task).value


def bounds_of(
    scenario: Scenario, seeds: list[int], executor: Executor | int | None = None
) -> dict[str, list[float]]:
    """Lower bounds by figure, one a seed, of wait_min and miss_pct; tens of seconds each."""
    tasks = [(scenario, objective, seed) for objective in OBJECTIVES.values() for seed in seeds]
    done = dict(as_they_come(_bound, dict(enumerate(tasks)), executor))
    values = [done[number] for number in range(len(tasks))]
    return {
        figure: values[place * len(seeds) :][: len(seeds)]
        for place, figure in enumerate(OBJECTIVES)
    }


def with_gaps(study: Comparison, executor: Executor | int | None = None) -> Comparison:
    """The comparison with two figures more: wait_gap_min and miss_gap_pct, what is above the lower
    bound of the same seed.

    A bound is on the expectation over the draws of a seed's jobs: a single run can be below it,
    the mean over seeds cannot but by chance.
    """
    scenario = study.scenario
    require(
        isinstance(scenario, Scenario),
        "scenario",
        scenario,
        "one of rented slots: of others no bound is known",
    )
    assert isinstance(scenario, Scenario)
    bounds = bounds_of(scenario, study.seeds, executor)
    by_seed = {figure: dict(zip(study.seeds, values)) for figure, values in bounds.items()}
    rows = [
        row
        | {
            GAPS[figure]: row[figure] - own[row["seed"]]
            for figure, own in by_seed.items()
            if figure in row
        }
        for row in study.rows
    ]
    return replace(study, _rows=rows)
