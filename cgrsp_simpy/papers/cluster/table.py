"""Table II and the paper's claims, published and reproduced, over offered loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, paired_difference
from cgrsp_simpy.base.parameters import Count, TwoOrMore, checked
from cgrsp_simpy.base.table import with_halves
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.report import STARVED_S
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.replicate import simulate
from cgrsp_simpy.studies.study import Comparison

STATIC = ("fifo", "sjf", "shortest", "shortest-gpu")  # the paper's static schedulers
DYNAMIC = ("hps", "pbs", "sbs")  # the paper's dynamic schedulers
LOADS = (0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)  # the paper gives no rate of arrivals
# highest load at which most are stable; load of about the paper's utilisation
LOAD, FULL = 0.7, 0.9
JOBS = 1000
FIGURES = (
    "throughput_per_h",
    "utilisation_pct",
    "wait_s",
    "wait_variance_s2",
    "starved",
)
# The paper submits 1,000 jobs to an empty cluster and none after them. Without that
# cut, other jobs come before and after the measured ones.
CUT, UNCUT = SETTINGS = ("cut", "uncut")

# cluster-schedulers.txt Table II; Sections VI.A and VI.B for the static schedulers. The
# unit of the variance is not printed.
PUBLISHED: dict[str, dict[str, float]] = {
    "fifo": {
        "throughput_per_h": 12.5,
        "utilisation_pct": 45.2,
        "wait_variance_s2": 126.0,
    },
    "sjf": {"utilisation_pct": 67.4, "wait_variance_s2": 2847.0, "starved": 156.0},
    "shortest": {"wait_variance_s2": 1957.0, "starved": 89.0},
    "shortest-gpu": {"wait_variance_s2": 1678.0, "starved": 67.0},
    "hps": dict(zip(FIGURES, (25.8, 78.2, 757.0, 457.0, 12.0))),
    "pbs": dict(zip(FIGURES, (24.3, 76.1, 823.0, 524.0, 18.0))),
    "sbs": dict(zip(FIGURES, (23.7, 74.6, 891.0, 679.0, 25.0))),
}
# "Dynamic beats static": the figure, and whether more is better.
CLAIMS = {"throughput_per_h": True, "starved": False, "wait_variance_s2": False}

Results = Mapping[tuple[str, float], Comparison]  # (setting, load) -> study


def studies(
    loads: Sequence[float] = LOADS,
    seeds: Iterable[int] = range(10),
    jobs: int = JOBS,
    executor: Executor | int | None = None,
    schedulers: Sequence[str] = STATIC + DYNAMIC,
) -> dict[tuple[str, float], Comparison]:
    """Compare schedulers on the same jobs per setting and offered load.

    Settings: as in the paper (cut) and, for loads below 1, with arrivals that continue
    (uncut).
    """
    seeds = list(seeds)
    return {
        (setting, load): compare(
            scenario(setting, load, jobs), schedulers, seeds, executor
        )
        for setting in SETTINGS
        for load in loads
        if setting == CUT or load < 1
    }


def scenario(setting: str, load: float, jobs: int) -> Scenario:
    """Return a scenario of `jobs` measured jobs; if uncut, others surround them."""
    uncut = setting == UNCUT
    return Scenario(
        Offered(jobs=jobs, load=load, warm_up=jobs * uncut, after=8 * jobs * uncut)
    )


class Runs:
    """Runs shared by figures. seeds: number of seeds, from 0. jobs: number per run."""

    @checked
    def __init__(
        self,
        seeds: Count = 10,
        jobs: TwoOrMore = JOBS,
        executor: Executor | int | None = None,
    ) -> None:
        self.seeds, self.jobs, self.executor = seeds, jobs, executor

    @cached_property
    def tabled(self) -> Results:
        """Comparisons of all schedulers in both settings at each load."""
        # multifactor needs the users of a log, and ordered is for replays of logs
        names = tuple(
            name for name in SCHEDULERS if name not in ("multifactor", "ordered")
        )
        return studies(LOADS, range(self.seeds), self.jobs, self.executor, names)

    def run(self, scheduler: str) -> Run:
        """Return a run of seed 0 at load FULL with three times as many jobs."""
        return simulate(scenario(CUT, FULL, 3 * self.jobs), scheduler)


def closest(results: Results) -> dict[str, float]:
    """Return per scheduler the load with cut utilisation closest to that printed.

    Without a printed utilisation: the load closest to FULL.
    """
    means = {
        load: study.means()
        for (setting, load), study in results.items()
        if setting == CUT
    }
    return {
        name: min(
            means,
            key=lambda load: abs(
                means[load][name]["utilisation_pct"].mean - printed["utilisation_pct"]
                if "utilisation_pct" in printed
                else load - FULL
            ),
        )
        for name, printed in PUBLISHED.items()
    }


def rows(results: Results) -> list[dict[str, Any]]:
    """Return one row per scheduler, setting and load: means, half widths, published.

    closest: whether this is the load that the function `closest` returns.
    """
    loads = closest(results)
    return [
        {
            "scheduler": name,
            "setting": setting,
            "load": load,
            "closest": load == loads[name],
            **{
                column: value
                for figure in FIGURES
                for column, value in (
                    *with_halves({figure: means[figure]}).items(),
                    (f"published_{figure}", published.get(figure)),
                )
            },
        }
        for name, published in PUBLISHED.items()
        for (setting, load), study in results.items()
        for means in [study.means()[name]]
    ]


def claims(results: Results) -> list[dict[str, Any]]:
    """Return one row per claim, setting and load: dynamic minus static, paired by seed.

    mean: difference of the group means. best: the worst dynamic scheduler minus the
    best static one ("consistently outperform"). Each has a 95 % interval and whether
    the claim holds: "yes", "no" (the opposite is significant), or "open", also if
    neither group is stable.
    """
    table = []
    for figure, more_is_better in CLAIMS.items():
        for (setting, load), study in results.items():
            static, dynamic = (
                np.array([study.values(name, figure) for name in group])
                for group in (STATIC, DYNAMIC)
            )
            best, worst = (np.max, np.min) if more_is_better else (np.min, np.max)
            row: dict[str, Any] = {"figure": figure, "setting": setting, "load": load}
            for kind, one, other in (
                ("mean", dynamic.mean(axis=0), static.mean(axis=0)),
                ("best", worst(dynamic, axis=0), best(static, axis=0)),
            ):
                difference = paired_difference(one.tolist(), other.tolist())
                row |= with_halves({kind: difference})
                row[f"{kind}_holds"] = _holds(difference, more_is_better)
            table.append(row)
    return table


def _holds(difference: Mean, more_is_better: bool) -> str:
    if difference.low > 0 or difference.high < 0 or abs(difference.mean) == inf:
        return "yes" if (difference.mean > 0) == more_is_better else "no"
    return "open"


def verdict(
    tested: Sequence[Mapping[str, Any]], figure: str, kind: str, setting: str = CUT
) -> tuple[str, str]:
    """Return the ledger's verdict on a claim, and at which loads it is true."""
    answers = {
        row["load"]: row[f"{kind}_holds"]
        for row in tested
        if (row["figure"], row["setting"]) == (figure, setting)
    }
    yes = [f"{load:g}" for load, answer in answers.items() if answer == "yes"]
    if len(yes) == len(answers):
        return ledger.REPRODUCED, "true at every load"
    judged = ledger.DIFFERENT if "no" in answers.values() else ledger.UNDECIDED
    where = f"loads {', '.join(yes)}" if yes else "none of the loads"
    return judged, f"true at {where}"


def gpu_hours(row: Mapping[str, float]) -> float:
    """Return the mean GPU-hours per job that throughput and utilisation imply."""
    return row["utilisation_pct"] / 100 * PAPER_CLUSTER.gpus / row["throughput_per_h"]


def least_variance(row: Mapping[str, float]) -> float:
    """Return the least variance of the waits, s^2, from their mean and starved jobs."""
    starved = row["starved"]
    rest_s = (JOBS * row["wait_s"] - starved * STARVED_S) / (JOBS - starved)
    return float(
        np.repeat([STARVED_S, rest_s], [int(starved), JOBS - int(starved)]).var()
    )
