"""Decisions for the current queue: a policy's next dispatches, and forecasts of the
start and end of each job.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import check_number
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.base.table import Table, cells_of, figure_text
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.engine.simulation import Process
from cgrsp_simpy.engine.state import State, carry_out

LEVELS = (0.05, 0.5, 0.95)  # quantiles: median and 90 % range
PARTS = ("p5", "median", "p95")  # their names
LOOK_S = 60.0  # between looks at whether a run may stop
FIGURES = {
    "wait_min": "mean wait of the waiting jobs, min",
    "missed": "missed deadlines",
    "last_end_min": "minutes until the last of the jobs ends",
    "queue_empty_min": "minutes until no job waits",
    "cost_usd": "cost of the jobs, USD",
}
"""Figures of an alternative, and their meaning; those of deadlines and costs if the
jobs have them.
"""


@dataclass(frozen=True)
class NextDispatches:
    """The dispatches that a policy makes now.

    Attributes
    ----------
    rows : list of dict
        One row per dispatch: the job, its resources and, if known, the reason.
    waiting : int
        Number of jobs that remain in the queue.
    wake_s : float or None
        Time in seconds at which the policy asks to decide again, if no job arrives or
        ends before.
    memory : Any
        State that the policy saves for its next decision; None if it has none.
    """

    rows: list[dict[str, Any]]
    waiting: int
    wake_s: float | None
    memory: Any


def next_dispatches(state: State, scenario: Any, policy: Any) -> NextDispatches:
    """Return the dispatches that a policy would make now.

    The policy is the same function of the same view as in a simulation.

    Parameters
    ----------
    state : State
        The queue and its resources.
    scenario : Model
        What is known about jobs, market and terms.
    policy : str or callable
        As in `simulate`.

    Raises
    ------
    InputError
        If the state is impossible in the scenario.
    PolicyError
        If the policy's decision cannot be carried out.
    """
    resumed = replace(state, wake_s=None, to_come=0).resumed(scenario)
    subject = resumed.subject(resumed)
    live = subject.simulation(subject.make_policy(policy), 0)
    replay = live.policy
    replay.answer = []
    carry_out(live, state.now_s)
    wakes_s = [float(item.at_s) for item in replay.answer if isinstance(item, Wake)]
    items = [item for item in replay.answer if not isinstance(item, Wake)]
    return NextDispatches(
        [resumed.described(*item, replay.reasons) for item in items],
        len(state.waiting) - len(items),
        min(wakes_s, default=None),
        replay.save() if hasattr(replay, "save") else None,
    )


# ---- a forecast ----


@dataclass(frozen=True, eq=False)
class Sample:
    """Times of the jobs of a state in one run.

    start_s, finish_s: one time per job, in order of job number. late: whether each job
    misses its deadline; None if jobs have no deadlines. empty_s: first time at which no
    job waits. figures: those metrics of FIGURES that apply to the jobs.
    """

    start_s: np.ndarray[Any, Any]
    finish_s: np.ndarray[Any, Any]
    late: np.ndarray[Any, Any] | None
    empty_s: float
    figures: dict[str, float]


def sample(resumed: Any, policy: Any, seed: int, engine: str = "simpy") -> Sample:
    """Run a scenario until the state's jobs have ended and no job waits.

    With an engine other than "simpy", run to the end, compiled if possible.
    """
    state, subject = resumed.state, resumed.subject(resumed)
    policy, run = subject.make_policy(policy), None
    if engine != "simpy":
        run = subject.compiled(policy, seed, None, True)
    if run is None:
        live = subject.simulation(policy, seed)
        live.process(_stop(live, state))
        run = live.finish()
    jobs, now_s = run.jobs, state.now_s
    ours = jobs[np.isin(jobs["job"], [job.id for job in state.jobs])]
    columns, ends_s = ours.dtype.names, ours["finish_s"]
    waited = np.isin(ours["job"], [job.id for job in state.waiting])
    waits_s = (ours["dispatch_s"] - ours["submit_s"])[waited]
    empty_s = queue_empty_s(jobs["submit_s"], jobs["dispatch_s"], now_s)
    late = ends_s > ours["deadline_s"] if "deadline_s" in columns else None
    figures = {
        "wait_min": float(waits_s.mean()) / 60 if len(waits_s) else math.nan,
        "missed": None if late is None else float(late.sum()),
        "last_end_min": (float(ends_s.max(initial=now_s)) - now_s) / 60,
        "queue_empty_min": (empty_s - now_s) / 60,
        "cost_usd": math.fsum(ours["cost_usd"]) if "cost_usd" in columns else None,
    }
    known = {name: value for name, value in figures.items() if value is not None}
    return Sample(ours["start_s"], ends_s, late, empty_s, known)


def _stop(live: Any, state: State) -> Process:
    """Stop arrivals once the jobs of the state have ended and no job waits."""
    yield live.timeout(state.now_s + LOOK_S)
    known = {job.id for job in state.jobs}
    while live.pending_claims or not known.isdisjoint(map(job_id, live.job_processes)):
        # ever longer, so that a run of years is looked at rarely
        yield live.timeout(max(LOOK_S, 0.05 * (live.now_s - state.now_s)))
    live.stop_arrivals = True


def late_jobs(state: State) -> str:
    """Return a sentence on the running jobs past their estimates; "" if none is."""
    number = state.past_estimate
    return f" Running jobs that are past their estimates: {number}." if number else ""


def queue_empty_s(submit_s: Any, dispatch_s: Any, now_s: float) -> float:
    """Return the first time from now on at which no job waits, in seconds."""
    times_s = np.concatenate([[now_s], np.sort(dispatch_s[dispatch_s >= now_s])])
    arrived = np.searchsorted(np.sort(submit_s), times_s, side="right")
    dispatched = np.searchsorted(np.sort(dispatch_s), times_s, side="right")
    return float(times_s[arrived == dispatched][0])


@dataclass(frozen=True)
class Forecast:
    """Forecast of the start and end of the jobs of a state, with alternatives.

    Attributes
    ----------
    state : State
        The queue and its slots.
    samples : mapping
        Label of an alternative -> one Sample per seed; the first is the forecast. All
        alternatives use the same seeds, so that differences are paired.
    """

    state: State
    samples: Mapping[str, Sequence[Sample]]

    @property
    def first(self) -> Sequence[Sample]:
        """The samples of the forecast, without changes."""
        return next(iter(self.samples.values()))

    @cached_property
    def jobs(self) -> list[dict[str, Any]]:
        """One dict per job: number, 5 % quantile, median and 95 % quantile of its start
        and end in seconds, and the probability of missing its deadline, if any.
        """
        columns = {
            "job": sorted(job.id for job in self.state.jobs),
            **_range("start", [sample.start_s for sample in self.first]),
            **_range("end", [sample.finish_s for sample in self.first]),
        }
        if self.first[0].late is not None:
            late = np.array([sample.late for sample in self.first], float)
            columns["miss_probability"] = late.mean(axis=0).tolist()
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    @cached_property
    def queue(self) -> dict[str, float]:
        """Quantiles of the first time at which no job waits, as in `jobs`."""
        return _range("empty", [sample.empty_s for sample in self.first])

    @cached_property
    def figures(self) -> list[dict[str, Any]]:
        """One dict per alternative: the means of FIGURES, with 95 % intervals."""
        return [
            {"alternative": label} | self._means(label, None) for label in self.samples
        ]

    @cached_property
    def differences(self) -> list[dict[str, Any]]:
        """One dict per further alternative: paired mean differences from the first."""
        first, *others = self.samples
        return [
            {"alternative": label, "from": first} | self._means(label, first)
            for label in others
        ]

    def _means(self, label: str, first: str | None) -> dict[str, Any]:
        """Return the means of an alternative, or of its differences from `first`."""
        # these load part of SciPy
        from cgrsp_simpy.analysis.statistics import mean
        from cgrsp_simpy.studies.study import plain_mean

        values = self._values(label)
        if first is not None:
            values = values - self._values(first)
        means = [plain_mean(mean(column)) for column in values.T]
        return dict(zip(self.first[0].figures, means))

    def _values(self, label: str) -> Any:
        return np.array([[*sample.figures.values()] for sample in self.samples[label]])

    def tables(self) -> list[Table]:
        """Return a table of jobs and, if there are several, one of alternatives."""
        now_s, [first, *others] = self.state.now_s, self.samples
        rows = [
            {
                name.removesuffix("_s") + "_min" * name.endswith("_s"): (
                    (value - now_s) / 60 if name.endswith("_s") else value
                )
                for name, value in row.items()
            }
            for row in self.jobs
        ]
        low, median, high = [(value - now_s) / 60 for value in self.queue.values()]
        note = (
            "Minutes from now: the median, and the 5 % and 95 % quantiles, between"
            " which the time lies with a probability of 90 %. No job waits after"
            f" {median:,.1f} min ({low:,.1f} to {high:,.1f}).{late_jobs(self.state)}"
        )
        if not rows:
            return [Table(f"forecast, {first}", [["no job"]], note)]
        tables = [Table(f"forecast, {first}", cells_of(rows), note)]
        if others:
            figures = self.first[0].figures
            meanings = "; ".join(f"{name}: {FIGURES[name]}" for name in figures)
            cells = [["alternative", *figures]]
            cells += [_cells(row, figures, signed=False) for row in self.figures]
            cells += [_cells(row, figures, signed=True) for row in self.differences]
            title = f"alternatives; differences from {first}, with 95 % intervals"
            tables.append(Table(title, cells, f"{meanings}."))
        return tables


def _range(name: str, values: Any) -> dict[str, Any]:
    """Return the quantiles LEVELS of times over the runs, in seconds."""
    # with this method the range covers a further run with probability 90 %
    quantiles = np.quantile(values, LEVELS, axis=0, method="weibull").tolist()
    return {f"{name}_{part}_s": value for part, value in zip(PARTS, quantiles)}


def _cells(row: Mapping[str, Any], names: Iterable[str], signed: bool) -> list[str]:
    """Return the cells of an alternative, or of its differences if signed."""
    cells = [f"{row['alternative']}{', difference' * signed}"]
    for name in names:
        mean, (low, high) = row[name]["mean"], row[name]["ci95"]
        half = f" ± {figure_text((high - low) / 2)}" if signed else ""
        cells.append(f"{figure_text(mean)}{half}")
    return cells


def forecast(
    state: State,
    scenario: Any,
    policies: Sequence[Any],
    seeds: Iterable[int] = range(200),
    *,
    slot: str | None = None,
    later_h: float | None = None,
) -> Forecast:
    """Forecast the start and end of every job of a state, by runs that start from it.

    Parameters
    ----------
    state : State
        The queue and its resources.
    scenario : Model
        The distributions of jobs, market and terms.
    policies : sequence of str or callable
        The first is the policy in use; each of the others is compared with it.
    seeds : iterable of int
        Seeds of the runs, common to all alternatives.
    slot : str, optional
        Name of a GPU type: estimate the effect of one more slot of this type; for a
        cluster, the GPUs of one more node.
    later_h : float, optional
        Estimate the effect of dispatching no job for this many hours, > 0.

    Raises
    ------
    InputError
        If the state is impossible in the scenario.
    """
    from cgrsp_simpy.studies.replicate import check_policies, check_seeds, engine_for

    resumed, listed = state.resumed(scenario), check_seeds(seeds)
    named = check_policies(policies, resumed)
    alternatives = {label: (resumed, policy) for label, policy in named.items()}
    [_, first], *_ = alternatives.values()
    if slot is not None:
        alternatives[f"one more {slot}"] = resumed.one_more(slot), first
    if later_h is not None:
        check_number("later_h", later_h, above=0)
        later = replace(resumed, wait_s=3600.0 * later_h)
        alternatives[f"{later_h:g} h later"] = later, first
    engine = engine_for("auto", [], resumed.jobs * len(listed) * len(alternatives))
    return Forecast(
        state,
        {
            label: [sample(model, policy, seed, engine) for seed in listed]
            for label, (model, policy) in alternatives.items()
        },
    )
