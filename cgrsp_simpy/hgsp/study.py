"""Tasks on GPUs: what schedulers are simulated, compared and swept on, and what comes of a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import TaskPolicy
from cgrsp_simpy.hgsp.reality import POLICIES, Way
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS, Found, Limits
from cgrsp_simpy.hgsp.simulation import Simulation, Uncertainty, simulate
from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_one_of, require
from cgrsp_simpy.model.model import Metric, Model
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.timeline import Timeline

__all__ = ["METRICS", "Setting", "Solution", "Trial", "solve"]

ROUNDING = 1e-12  # of times that a plan and a simulation add up
PLANNED = ("gpu_number", "start_s", "finish_s")
OF_LEVEL = ("tasks", "cluster", "load", "slack")

METRICS = {
    "weighted_tardiness": Metric("weighted tardiness", "s"),  # hgsp.txt Eq. 1
    "act_s": Metric("mean time from arrival to completion", "s"),  # Eq. 8
    "twct": Metric("weighted time from arrival to completion", "s"),  # Eq. 7
    "dmc": Metric("missed deadlines"),  # Eq. 9
    "dmr_pct": Metric("missed deadlines", "%"),  # Eq. 10
    "makespan_s": Metric("last completion", "s"),  # Eq. 11
    "utilisation_pct": Metric("GPUs in use", "%", "more"),  # Eq. 12
    "planned_weighted_tardiness": Metric("weighted tardiness of the plan", "s"),
    "lower_bound": Metric("least weighted tardiness there can be", "s", ""),
    "gap_pct": Metric("by how much the optimum can be below", "%"),
}
"""What the figures of a `Solution` are."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ShownRun):
    """What came of a scheduler.

    Parameters
    ----------
    scheduler : str
        Its text, or the name of the function.
    schedule : Schedule
        As it was measured when the engine carried it out.
    planned : Schedule
        Made ahead with all known; of a policy of one's own, what it does where all is certain.
    seconds : float
        That the scheduler took to plan, on the clock of this computer.
    lower_bound : float
        On the weighted tardiness of any schedule; NaN where service times differ from the plan.
    is_as_planned : bool
        Whether nothing can differ from the plan.
    course : sequence
        Of a search, step by step.
    """

    scheduler: str
    schedule: Schedule
    planned: Schedule
    seconds: float
    lower_bound: float
    is_as_planned: bool = True
    course: Sequence[Any] = ()

    @property
    def title(self) -> str:
        """The tasks and the scheduler."""
        return f"{self.schedule.instance.name}: {self.scheduler}"

    @property
    def gap_pct(self) -> float:
        """By how much the optimum can be below, in % of the weighted tardiness found.

        NaN if no bound is known but that nothing is below 0; what reaches 0 is optimal all the
        same, and its gap is 0.
        """
        value = self.schedule.weighted_tardiness
        if value == 0:
            return 0.0
        return 100 * max(0.0, value - self.lower_bound) / value if self.lower_bound > 0 else nan

    def summary(self) -> dict[str, float]:
        """The metrics (hgsp.txt equations 1, 7 to 12), the plan's where reality differs,
        lower_bound and gap_pct.

        Where service times vary there is no bound. The seconds that planning took are no part of
        it: they differ from run to run.
        """
        planned = (
            {}
            if self.is_as_planned
            else {"planned_weighted_tardiness": self.planned.weighted_tardiness}
        )
        bounds = (
            {}
            if self.lower_bound != self.lower_bound
            else {"lower_bound": self.lower_bound, "gap_pct": self.gap_pct}
        )
        return {**self.schedule.metrics, **planned, **bounds}

    def rows(self) -> list[dict[str, Any]]:
        """One dict a task, as of `Schedule.rows`, and what was planned under
        planned_ and its name.
        """
        times = zip(self.schedule.rows(), self.planned.rows())
        return [{**row, **{f"planned_{key}": own[key] for key in PLANNED}} for row, own in times]

    def by(self, tag: str) -> list[dict[str, Any]]:
        """The figures of the tasks of each value of a column of their file.

        Parameters
        ----------
        tag : str
            The column's name.

        Returns
        -------
        list of dict
            As of `Schedule.by`.
        """
        return self.schedule.by(tag)

    @property
    def claims(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Who held which GPU when, as of `Schedule.claims`."""
        return self.schedule.claims

    @property
    def timeline(self) -> Timeline:
        """The run for plots, as of `Schedule.timeline`."""
        return self.schedule.timeline


class Trial:
    """A scheduler's run that has been set up, and planned ahead if it plans, and not let go.

    Parameters
    ----------
    instance : Instance
        Tasks and GPUs.
    way : Way
        The scheduler, and how it meets reality.
    uncertainty : Uncertainty
        In what reality differs from a plan.
    listener : callable, optional
        Called with each Event.
    """

    def __init__(
        self,
        instance: Instance,
        way: Way,
        uncertainty: Uncertainty,
        listener: Listener | None = None,
    ) -> None:
        self.instance, self.way, self.uncertainty = instance, way, uncertainty
        limits = way.limits(uncertainty.seed)
        self._begin = time.perf_counter()
        self.found = self._planned(limits)
        self.seconds = time.perf_counter() - self._begin
        plan = self.found.schedule if self.found else None
        self.run = Simulation(instance, way.policy(plan, limits), uncertainty, listener)
        self.env, self.engine = self.run.env, self.run.engine

    def _planned(self, limits: Limits) -> Found | None:
        """The plan; a policy of one's own has none ahead."""
        name = self.way.scheduler
        return SCHEDULERS[name](self.instance, limits) if isinstance(name, str) else None

    def close(self) -> Solution:
        """What came of it, once nothing is left to happen.

        Raises
        ------
        RuntimeError
            If a plan does not come out as planned although all is certain.
        """
        measured, way, certain = self.run.close(), self.way, self.uncertainty.is_certain
        if self.found is None:
            self.seconds = time.perf_counter() - self._begin
            self.found = Found(
                measured if certain else simulate(self.instance, way.policy(None, way.limits(0)))
            )
        if certain and way.is_frozen:
            _check_as_planned(measured, self.found.schedule)
        bound = nan if self.uncertainty.noise else max(self.found.bound, lower_bound(self.instance))
        as_planned = certain and not way.replan_s
        planned = replace(self.found.schedule, policy=way.name)
        return Solution(
            way.name, measured, planned, self.seconds, bound, as_planned, self.found.course
        )


def _check_as_planned(found: Schedule, plan: Schedule) -> None:
    same = np.array_equal(found.gpu, plan.gpu) and np.allclose(
        found.finish_s, plan.finish_s, rtol=ROUNDING, atol=0
    )
    if not same:
        raise RuntimeError(f"{plan.instance.name}: the simulation did not come out as planned")


@dataclass(frozen=True)
class Setting(Model[Solution]):
    """Tasks on GPUs, and in what reality differs from the plans: all but the scheduler
    and the seed.

    Parameters
    ----------
    source : str, Level or Instance
        A name of LEVELS or a Level, whose tasks are drawn anew for each seed, or tasks that are
        there (a file), the same for every seed.
    noise : float
        Coefficient of variation of service times, which no plan knows; see `Uncertainty`.
    delay_s : float
        Provisioning delay before each task, seconds.
    unknown_arrivals : bool
        Tasks are known when they arrive: no plan is frozen, a rule is asked online.
    replan_s : float, optional
        Plan anew every so many seconds, unless a scheduler's text says how it meets reality.
    moves : int, optional
        Of an annealing whose text gives no limit.
    seconds : float, optional
        Of an annealing or a MILP whose text gives no limit.

    Raises
    ------
    InputError
        For what is not allowed.
    """

    source: str | Level | Instance = "tasks1"
    noise: float = 0.0
    delay_s: float = 0.0
    unknown_arrivals: bool = False
    replan_s: float | None = None
    moves: int | None = None
    seconds: float | None = None

    metrics = METRICS
    shown = (
        "weighted_tardiness",
        "planned_weighted_tardiness",
        "dmr_pct",
        "act_s",
        "makespan_s",
        "utilisation_pct",
        "gap_pct",
    )
    tested = ("weighted_tardiness", "dmr_pct", "act_s")
    precise = "weighted_tardiness"
    policies = POLICIES
    compared = ("fifo", "greedy", "sagreedy", "annealing:moves=20000", "atc")
    noun = "scheduler"

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            check_one_of("load level", self.source, LEVELS)
        known = isinstance(self.source, (str, Level, Instance))
        require(known, "source", self.source, "a Level or its name, or an Instance")
        Uncertainty(self.noise, self.delay_s)
        check_bool("unknown_arrivals", self.unknown_arrivals)
        if self.replan_s is not None:
            check_number("replan_s", self.replan_s, above=0)
        Limits(0, self.moves, self.seconds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The tasks, and what no plan knows."""
        told = {
            f"noise {self.noise:g}": self.noise,
            f"delay {self.delay_s:g} s": self.delay_s,
            "unknown arrivals": self.unknown_arrivals,
            f"plans every {self.replan_s or 0:g} s": self.replan_s,
        }
        source = self.source if isinstance(self.source, str) else self.source.name
        return ", ".join([source, *(text for text, holds in told.items() if holds)])

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether tasks or their times are drawn; on tasks that are there only a
        search has luck.
        """
        return self.noise > 0 or not isinstance(self.source, Instance)

    @property
    def jobs(self) -> int:
        """Number of tasks of a run."""
        return LEVELS[self.source].tasks if isinstance(self.source, str) else self.source.tasks

    def default_policies(self) -> tuple[str, ...]:
        """The schedulers of a comparison: rules alone where no plan is possible, the annealing
        within the setting's limits.
        """
        if self.unknown_arrivals and self.replan_s is None:
            return tuple(RULES)
        limited = self.moves is not None or self.seconds is not None
        return tuple(name.partition(":")[0] if limited else name for name in self.compared)

    def make_policy(self, policy: str | TaskPolicy) -> Way:
        """A scheduler from its text, or a function of a TaskView, and how it meets this reality.

        Parameters
        ----------
        policy : str or callable
            A name of SCHEDULERS with parameters, "own.py:function", or a function of a TaskView.

        Returns
        -------
        Way
            What `simulation` takes.

        Raises
        ------
        InputError
            For an unknown name or parameter, and for a scheduler to which no way is open.
        """
        made: Any = super().make_policy(policy)
        way = made.within(self.moves, self.seconds) if isinstance(made, Way) else Way(made)
        if way.is_frozen and self.replan_s is not None:
            way = replace(way, replan_s=self.replan_s)
        elif way.is_frozen and self.unknown_arrivals:
            if way.scheduler not in RULES:
                raise InputError(
                    f"{way.name} plans ahead, which unknown arrivals do not allow; have it plan"
                    f" anew (replan_s), or use a rule ({', '.join(RULES)})"
                )
            way = replace(way, online=True)
        if way.scheduler == "annealing" and way.replan_s and not (way.moves or way.seconds):
            raise InputError(
                "annealing plans anew (replan_s) with few moves; give their number"
                " (moves) or seconds"
            )
        return way

    def draw(self, seed: int) -> Instance:
        """The tasks of a seed.

        Parameters
        ----------
        seed : int
            Of the tasks; an instance is the same for all.

        Returns
        -------
        Instance
            Tasks and GPUs.
        """
        return self.source if isinstance(self.source, Instance) else generate(self.source, seed)

    def simulation(
        self,
        policy: Way,
        seed: int,
        *,
        drawn: Instance | None = None,
        records: bool = True,  # noqa: ARG002, the figures need every task
        listener: Listener | None = None,
    ) -> Trial:
        """A run that has been set up, and planned ahead if it plans, and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; every record is kept.

        Returns
        -------
        Trial
            Its `close()` answers with the outcome once `env` has run.
        """
        instance = self.draw(seed) if drawn is None else drawn
        return Trial(instance, policy, Uncertainty(self.noise, self.delay_s, seed), listener)

    def varied(self, **parameters: Any) -> Setting:
        """The setting with other parameters.

        Parameters
        ----------
        **parameters : Any
            Its own, and those of its Level (tasks, cluster, load, slack).

        Returns
        -------
        Setting
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        level = LEVELS[self.source] if isinstance(self.source, str) else self.source
        names = OF_LEVEL if isinstance(level, Level) else ()
        return self._varied(parameters, "source", level, names)


def solve(
    instance: Instance,
    scheduler: str | TaskPolicy,
    *,
    seed: int = 0,
    moves: int | None = None,
    seconds: float | None = None,
) -> Solution:
    """Schedule an instance, and carry the schedule out.

    Parameters
    ----------
    instance : Instance
        The tasks and their GPUs.
    scheduler : str or callable
        As of `Setting.make_policy`.
    seed : int
        Of the searches, SEEDED.
    moves, seconds : optional
        What a search may spend, as of `Limits`.

    Returns
    -------
    Solution
        The schedule, what it is worth, and how far from the best it can be.

    Raises
    ------
    InputError
        For what is not allowed.
    """
    return Setting(instance, moves=moves, seconds=seconds).run(scheduler, seed)
