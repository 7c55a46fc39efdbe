"""How far policies are from what no policy can do better than, seed by seed.

A bound is on an expectation over the draws, given the arrivals of a seed. It is compared with a
policy's mean over many draws of the same arrivals, never with one run of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.model.checks import check_whole, require
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.bounds import Bound, Weights, lower_bound
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import LoggedWorkload, redrawn
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.executors import as_they_come

LUCKS = 20  # draws of a seed's arrivals, which a policy's figures are averaged over
BIN_S = 600.0  # wider than a bound's default: here there are many
OBJECTIVES = {"wait_min": "wait", "miss_pct": "miss"}  # figure -> objective of its bound
GAPS = {"wait_min": "wait_gap_min", "miss_pct": "miss_gap_pct"}


def lower_bounds(
    scenario: Scenario,
    objectives: Sequence[str | Weights],
    seeds: Sequence[int],
    executor: Executor | int | None = None,
    bin_s: float = BIN_S,
) -> list[list[Bound]]:
    """Lower bounds by objective and seed, with a bar of progress; tens of seconds each."""
    tasks = [(objective, seed) for objective in objectives for seed in seeds]
    work = partial(_bound, scenario, bin_s)
    done: dict[int, Bound] = {}
    with progress(total=len(tasks), unit=" bounds", delay=0) as bar:
        for number, bound in as_they_come(work, dict(enumerate(tasks)), executor):
            done[number] = bound
            bar.update()
    return [
        [done[place * len(seeds) + number] for number in range(len(seeds))]
        for place in range(len(objectives))
    ]


def _bound(scenario: Scenario, bin_s: float, task: tuple[str | Weights, int]) -> Bound:
    objective, seed = task
    return lower_bound(scenario, objective, seed, bin_s)


def bounds_of(
    scenario: Scenario, seeds: Sequence[int], executor: Executor | int | None = None
) -> dict[str, list[float]]:
    """Lower bounds by figure, one a seed, of wait_min and miss_pct; tens of seconds each."""
    found = lower_bounds(scenario, list(OBJECTIVES.values()), seeds, executor)
    return {figure: [bound.value for bound in own] for figure, own in zip(OBJECTIVES, found)}


def over_lucks(scenario: Scenario, policy: Any, seed: int, lucks: int) -> list[dict[str, float]]:
    """The figures of a policy on the arrivals of a seed, one run for each of so many draws.

    The seeds of the draws are drawn of the stream "lucks"; also statuses that a policy sees, and
    its own random numbers, are of these seeds.
    """
    check_whole("lucks", lucks, least=1)
    drawn = list(scenario.workload.generate(seed, scenario.service))
    measured = isinstance(scenario.workload, LoggedWorkload)
    found = []
    for own in stream(seed, "lucks").integers(2**62, size=lucks).tolist():
        jobs = redrawn(drawn, own, scenario.service, measured)
        arrivals = [(job.submit_s, job, draws) for job, draws in jobs]
        run = scenario.run(policy, own, drawn=arrivals, records=False)
        found.append(scenario.figures(scenario.outcome(run)))
    return found


def expected(
    scenario: Scenario,
    policies: Mapping[str, Any],
    seeds: Sequence[int],
    executor: Executor | int | None = None,
    lucks: int = LUCKS,
) -> dict[tuple[str, str, int], float]:
    """The means over draws of wait_min, miss_pct and tardiness_min by policy, figure and seed."""
    keys = [(name, seed) for name in policies for seed in seeds]
    tasks = {place: (policies[name], seed) for place, (name, seed) in enumerate(keys)}
    found: dict[tuple[str, str, int], float] = {}
    for place, runs in as_they_come(partial(_lucks, scenario, lucks), tasks, executor):
        name, seed = keys[place]
        for figure in ("wait_min", "miss_pct", "tardiness_min"):
            found[name, figure, seed] = mean([run[figure] for run in runs]).mean
    return found


def _lucks(scenario: Scenario, lucks: int, task: tuple[Any, int]) -> list[dict[str, float]]:
    return over_lucks(scenario, *task, lucks)


def with_gaps(study: Comparison, executor: Executor | int | None = None) -> Comparison:
    """The comparison with two figures more: wait_gap_min and miss_gap_pct, what the mean over
    LUCKS draws of a seed's arrivals is above the lower bound of that seed.

    Gap and bound are of the same arrivals and of expectations, but that a mean over LUCKS draws
    still has luck: a gap can be below 0 by that.
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
    done = [row for row in study.rows if "error" not in row]
    means: dict[tuple[str, str, int], float] = {}
    for policy in dict.fromkeys(row["policy"] for row in done):
        seeds = [row["seed"] for row in done if row["policy"] == policy]
        means |= expected(scenario, {policy: study.named[policy]}, seeds, executor)
    rows = [
        row
        | {
            GAPS[figure]: means[row["policy"], figure, row["seed"]] - own[row["seed"]]
            for figure, own in by_seed.items()
            if figure in row
        }
        for row in study.rows
    ]
    return replace(study, _rows=rows)
