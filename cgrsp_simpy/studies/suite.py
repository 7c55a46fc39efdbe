"""A suite of scenarios, drawn by a documented law, on which policies are judged.

A policy that is tuned on the thesis's four days may be caught out on others. `scenario` draws one
by its seed: slots, types, prices, stock over the day, delays, deadlines and load, each as its
function here says. Seeds of TRAIN are for making policies, those of TEST for judging them. `judge`
runs policies on them, and says what each costs beyond the best of the others, and where most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.analysis.statistics import Mean, mean, paired_difference
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole, require
from cgrsp_simpy.model.model import Model
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.model.table import aligned
from cgrsp_simpy.rental.deadlines import DeadlineClass, DeadlineClasses, Deadlines
from cgrsp_simpy.rental.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.rental.market import CLOCKS, Clock, HourlyStock, Market
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import COMPLEXITY_MIX, PoissonWorkload
from cgrsp_simpy.studies.configuration import open_store
from cgrsp_simpy.studies.replicate import (
    Wanted,
    check_policies,
    check_seeds,
    checked_model,
    replicate,
)
from cgrsp_simpy.studies.study import Row, Tidy, failures_told, interval, plain_mean

__all__ = ["TEST", "TRAIN", "Judgement", "Prices", "judge", "scenario"]

TRAIN = range(100)
TEST = range(5000, 5100)
HARMLESS_S = ((0.0, 10.0), (30.0, 120.0), (120.0, 600.0))  # Low stock that blocks nothing


def scenario(seed: int) -> Scenario:
    """The scenario of a seed.

    Parameters
    ----------
    seed : int
        Names the scenario; the runs in it have seeds of their own.

    Returns
    -------
    Scenario
        Two to twelve slots, or fifty in one of ten; half of them on the thesis's types; free
        choice of type in three of ten; offered load from .5 to 2 by execution time alone.
    """
    check_whole("seed", seed, least=0)
    rng = stream(seed, "suite")
    gpus = _gpus(rng)
    number = 50 if rng.random() < 0.1 else int(rng.integers(2, 13))
    market = _market(rng, gpus)
    deadlines = _deadlines(rng)
    slots = round_robin(number, gpus)
    jobs = int(rng.integers(200, 901)) * (2 if number == 50 else 1)
    work_s = sum(
        share * sum(gpu.mean_execution_s[level] for gpu in slots) / number
        for level, share in enumerate(COMPLEXITY_MIX)
    )
    rate_per_s = float(rng.uniform(0.5, 2.0)) * number / work_s
    return Scenario(
        f"suite {seed}",
        PoissonWorkload(jobs, rate_per_s, deadlines=deadlines),
        slots,
        gpus,
        free_types=bool(rng.random() < 0.3),
        market=market,
    )


def _gpus(rng: Generator) -> tuple[GpuType, ...]:
    """The thesis's types, or two to four of 20 to 240 s, .2 to 5 USD/h and beta .35 to .95."""
    if rng.random() < 0.5:
        return THESIS_GPUS
    made = []
    for index in range(int(rng.integers(2, 5))):
        base_s = float(20 * 12 ** rng.random())
        times_s = (round(base_s, 1), round(1.15 * base_s, 1), round(1.6 * base_s, 1))
        price = round(float(0.2 * 25 ** rng.random()), 2)
        made.append(GpuType(f"type {index + 1}", price, times_s, round(rng.uniform(0.35, 0.95), 2)))
    return tuple(made)


def _market(rng: Generator, gpus: Sequence[GpuType]) -> Market:
    """The calibrated day, one of own bands, one that is always the same, or hours a type.

    Delays are the thesis's, but Low stock is harmless in one of five.
    """
    start_h = float(rng.integers(0, 24))
    kind = rng.choice(["calibrated", "bands", "constant", "hourly"], p=[0.3, 0.35, 0.15, 0.2])
    bands: tuple[tuple[float, float], ...] = CLOCKS["calibrated"].bands
    if kind == "bands":
        hours = [0, *sorted(rng.choice(range(1, 24), size=int(rng.integers(1, 5)), replace=False))]
        bands = tuple((float(hour), round(rng.uniform(0.4, 1.3), 2)) for hour in hours)
    elif kind == "constant":
        bands = ((0.0, round(rng.uniform(0.4, 1.3), 2)),)
    stock = tuple(_hourly(rng, gpu.name) for gpu in gpus) if kind == "hourly" else ()
    delay_s = HARMLESS_S if rng.random() < 0.2 else Market().delay_s
    return Market(Clock(bands, 8.0 if kind == "calibrated" else start_h), delay_s, stock=stock)


def _hourly(rng: Generator, name: str) -> HourlyStock:
    """One spell of two to ten hours in which Low stock has a chance of up to a half."""
    first, length = int(rng.integers(0, 24)), int(rng.integers(2, 11))
    scarce, high = round(rng.uniform(0.05, 0.5), 2), round(rng.uniform(0.3, 1), 2)
    chances = []
    for hour in range(24):
        low = scarce if (hour - first) % 24 < length else 0.0
        chances.append(((1 - low) * high, (1 - low) * (1 - high), low))
    return HourlyStock(name, tuple(chances))


def _deadlines(rng: Generator) -> Deadlines:
    """A share of 0 to 1 with half an hour to two hours, the others four to twelve; or three kinds."""
    tight, tight_s = round(rng.uniform(0, 1), 2), round(rng.uniform(1800, 7200))
    loose_s = round(rng.uniform(4, 12) * 3600)
    if rng.random() < 0.75:
        return DeadlineClasses(tight, tight_s, loose_s)
    middle = round((1 - tight) / 2, 4)
    return (
        DeadlineClass("rush", tight, tight_s, tight=True),
        DeadlineClass("today", middle, round((tight_s + loose_s) / 2)),
        DeadlineClass("later", 1 - tight - middle, loose_s),
    )


# ---- judging ----


class Prices(NamedTuple):
    """What a job costs beside its rent, as in `triage`.

    Attributes
    ----------
    miss_usd : float
        USD for a job that is late.
    late_usd_per_min, wait_usd_per_min : float
        USD for a minute of lateness, and of waiting.
    """

    miss_usd: float = 1.0
    late_usd_per_min: float = 0.01
    wait_usd_per_min: float = 0.001

    def usd_per_job(self, figures: Mapping[str, Any], jobs: int) -> float:
        """What a run costs.

        Parameters
        ----------
        figures : mapping
            Those of a run on rented slots.
        jobs : int
            Their number.

        Returns
        -------
        float
            Rent, misses, lateness and waiting, USD a job.
        """
        rent_usd, miss = figures["cost_usd"] / jobs, figures["miss_pct"] / 100
        late_min, wait_min = figures["tardiness_min"], figures["wait_min"]
        late_usd, wait_usd = self.late_usd_per_min, self.wait_usd_per_min
        return float(rent_usd + self.miss_usd * miss + late_usd * late_min + wait_usd * wait_min)


def judge(
    scenarios: Iterable[Model[Any]],
    policies: Sequence[Any],
    seeds: Iterable[int] = range(4),
    executor: Executor | int | None = None,
    *,
    prices: Prices | None = None,
    title: str = "scenarios",
    out: str | Path | None = None,
) -> Judgement:
    """Run policies on scenarios, all on the same seeds.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Of rented slots, with names that differ.
    policies : sequence
        As in `simulate`, two or more.
    seeds : iterable of int
        Of the runs in each scenario.
    executor : Executor or int, optional
        As in `compare`.
    prices : Prices, optional
        Beside the rent; default: 1 USD a miss, .01 a late minute, .001 a minute of waiting.
    title : str
        What the scenarios are.
    out : str or Path, optional
        A results directory, from which the same call resumes.

    Returns
    -------
    Judgement
        Its rows, regrets and table.

    Raises
    ------
    InputError
        For a scenario, policy, seed or price that is not allowed.
    """
    made, seeds = [_rented(each) for each in scenarios], check_seeds(seeds)
    names = [each.name for each in made]
    require(len(set(names)) == len(names) > 0, "scenarios", names, "one or more, names that differ")
    prices = prices or Prices()
    for name, value in prices._asdict().items():
        check_number(f"price {name}", value, least=0)
    named = check_policies(policies, made[0])
    require(len(named) > 1, "policies", list(named), "two or more")
    store = open_store(out, "suite", named, seeds, scenarios=made, prices=prices._asdict())
    runs = replicate([Wanted(each, list(named.values()), seeds) for each in made], executor, store)
    rows: list[Row] = []
    for each in made:
        for name, policy in named.items():
            for seed in seeds:
                row = runs.figures(each, policy, seed)
                if "error" not in row:
                    row = {"usd_per_job": prices.usd_per_job(row, each.jobs), **row}
                rows.append({"scenario": each.name, "policy": name, "seed": seed, **row})
    study = Judgement(title, rows)
    study.keep(store)
    return study


def _rented(made: Model[Any]) -> Scenario:
    require(isinstance(checked_model(made), Scenario), "scenario", made, "one of rented slots")
    assert isinstance(made, Scenario)
    return made


class Beside(NamedTuple):
    """A policy on a scenario beside the best of the others.

    Attributes
    ----------
    scenario, policy, other : str
        The other is the one of least mean.
    difference : Mean
        Paired by seed, the policy's less the other's.
    """

    scenario: str
    policy: str
    other: str
    difference: Mean


@dataclass(frozen=True)
class Judgement(Tidy):
    """What policies cost on scenarios.

    Its rows are dicts, one a scenario, policy and seed: the expected cost `usd_per_job` and the
    figures of the run's summary.

    Attributes
    ----------
    title : str
        What the scenarios are.
    """

    title: str
    _rows: list[Row] = field(repr=False)

    @property
    def rows(self) -> list[Row]:
        """One dict a scenario, policy and seed."""
        return self._rows

    def _each(self, key: str) -> list[Any]:
        return list(dict.fromkeys(row[key] for row in self.rows))

    @property
    def scenarios(self) -> list[str]:
        """Their names, as given."""
        return self._each("scenario")

    @property
    def policies(self) -> list[str]:
        """Their names, as given."""
        return self._each("policy")

    @property
    def seeds(self) -> list[int]:
        """Those of the runs."""
        return self._each("seed")

    @cached_property
    def _by_run(self) -> dict[tuple[str, str], list[Row]]:
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row["scenario"], row["policy"]), []).append(row)
        return found

    def values(self, scenario: str, policy: str, figure: str = "usd_per_job") -> list[float]:
        """A figure by seed.

        Parameters
        ----------
        scenario, policy, figure : str
            As they are called in the rows.

        Returns
        -------
        list of float
            NaN where the run failed.

        Raises
        ------
        InputError
            For an unknown name.
        """
        check_one_of("scenario", scenario, self.scenarios)
        check_one_of("policy", policy, self.policies)
        return [row.get(figure, np.nan) for row in self._by_run[scenario, policy]]

    def beside(
        self,
        policy: str,
        figure: str = "usd_per_job",
        others: Sequence[str] | None = None,
        confidence: float = 0.95,
    ) -> list[Beside]:
        """A policy beside the best of the others, on each scenario.

        The best is chosen on the same seeds, which flatters it: where several are equal, the
        difference is above 0 in expectation.

        Parameters
        ----------
        policy, figure : str
            As they are called in the rows.
        others : sequence of str, optional
            Policies that it is compared with; default: all.
        confidence : float
            Of the interval.

        Returns
        -------
        list of Beside
            As the scenarios; the regret, where the figure is the expected cost.

        Raises
        ------
        InputError
            For an unknown name, or no others.
        """
        rest = [each for each in others or self.policies if each != policy]
        require(len(rest) > 0, "others", others, "a policy or more")
        found = []
        for scenario in self.scenarios:
            means = {each: mean(self.values(scenario, each, figure)).mean for each in rest}
            best = min(means, key=means.__getitem__)
            own = self.values(scenario, policy, figure)
            other = self.values(scenario, best, figure)
            less = paired_difference(own, other, confidence)
            found.append(Beside(scenario, policy, best, less))
        return found

    def regret(self, policy: str) -> Mean:
        """Expected cost beyond the best of the others, USD a job; below 0: it is the best.

        Parameters
        ----------
        policy : str
            As it is called in the rows.

        Returns
        -------
        Mean
            Over the scenarios, each a mean over its seeds; with the interval over scenarios.
        """
        return mean([each.difference.mean for each in self.beside(policy)])

    def worst(
        self, policy: str, figure: str = "usd_per_job", number: int = 5
    ) -> list[Beside]:
        """The scenarios where it is furthest behind the best of the others.

        Parameters
        ----------
        policy, figure : str
            As they are called in the rows.
        number : int
            Of scenarios.

        Returns
        -------
        list of Beside
            The worst first.
        """
        found = sorted(self.beside(policy, figure), key=lambda each: -each.difference.mean)
        return found[:number]

    def behind(
        self,
        policy: str,
        points: float = 1.0,
        others: Sequence[str] | None = None,
    ) -> list[Beside]:
        """The scenarios where it misses more deadlines than the best of the others.

        Parameters
        ----------
        policy : str
            As it is called in the rows.
        points : float
            By more than so many points of per cent on average, and above 0 by the interval.
        others : sequence of str, optional
            As in `beside`.

        Returns
        -------
        list of Beside
            The worst first.
        """
        found = [
            each
            for each in self.beside(policy, "miss_pct", others)
            if each.difference.mean > points and not each.difference.low <= 0
        ]
        return sorted(found, key=lambda each: -each.difference.mean)

    def table(self) -> list[Row]:
        """A dict a policy: expected cost, regret with its interval over scenarios, the greatest
        regret and where; misses, wait, lateness; in how many scenarios its misses are more than
        one point above the best of the others, and in how many the interval can tell.
        """
        return [self._row(policy) for policy in self.policies]

    def _row(self, policy: str) -> Row:
        regret, worst = self.regret(policy), self.worst(policy, number=1)[0]
        missed = [each.difference for each in self.beside(policy, "miss_pct")]
        own: Row = {"policy": policy}
        for figure in ("usd_per_job", "miss_pct", "tardiness_min", "wait_min"):
            own[figure] = self._mean(policy, figure)
        return own | {
            "regret_usd": regret.mean,
            "regret_low": regret.low,
            "regret_high": regret.high,
            "worst_regret_usd": worst.difference.mean,
            "worst": worst.scenario,
            "behind": sum(each.mean > 1 for each in missed),
            "behind_sure": len(self.behind(policy)),
        }

    def _mean(self, policy: str, figure: str) -> float:
        each = [mean(self.values(scenario, policy, figure)).mean for scenario in self.scenarios]
        return mean(each).mean

    def as_dict(self) -> dict[str, Any]:
        """Table and regrets as plain values."""
        regrets = {
            policy: [
                {"scenario": each.scenario, "best": each.other, **plain_mean(each.difference)}
                for each in self.beside(policy)
            ]
            for policy in self.policies
        }
        found = {
            "suite": self.title,
            "scenarios": self.scenarios,
            "seeds": self.seeds,
            "policies": self.table(),
            "regrets": regrets,
        }
        return {**found, "failures": self.failures} if self.failures else found

    def __str__(self) -> str:
        """A line a policy, and the worst cases of the last."""
        number, seeds = len(self.scenarios), len(self.seeds)
        heading = f"{self.title}: means of {number} scenarios, {seeds} seeds each, regret in USD a job"
        names = [
            "policy", "usd_per_job", "regret", "worst regret", "in", "miss_pct", "tardiness_min",
            "wait_min", "1 point behind", "sure",
        ]  # fmt: skip
        lines = [heading, *aligned([names, *map(_cells, self.table())])]
        last = self.policies[-1]
        for figure, unit in (("usd_per_job", "USD a job"), ("miss_pct", "points missed")):
            lines += ["", f"{last} beside the best of the others, {unit}: the worst cases"]
            for each in self.worst(last, figure):
                text = interval(each.difference, seeds, "+") if figure == "miss_pct" else (
                    f"{each.difference.mean:+.4f} ± {each.difference.half_width:.4f}"
                )
                lines.append(f"  {each.scenario:12} {text}  {each.other}")
        return "\n".join(lines + failures_told(self))


def _cells(row: Row) -> list[str]:
    half = (row["regret_high"] - row["regret_low"]) / 2
    return [
        row["policy"],
        f"{row['usd_per_job']:.4f}",
        f"{row['regret_usd']:+.4f} ± {half:.4f}",
        f"{row['worst_regret_usd']:+.3f}",
        row["worst"],
        f"{row['miss_pct']:.2f}",
        f"{row['tardiness_min']:.2f}",
        f"{row['wait_min']:.2f}",
        str(row["behind"]),
        str(row["behind_sure"]),
    ]
