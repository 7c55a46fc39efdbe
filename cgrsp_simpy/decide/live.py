"""Decisions on a queue as it is now: the next dispatches of a policy, and when each job
will probably start and end.
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
from cgrsp_simpy.studies.replicate import check_policies, check_seeds, engine_for

LEVELS = (0.05, 0.5, 0.95)  # of a median and its 90 % range
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
        Per dispatch the job and its resources; reason, if it is known.
    waiting : int
        Number of jobs that go on waiting.
    wake_s : float or None
        When the policy asks to decide again, seconds, if no job arrives or ends before.
    memory : Any
        The policy's, for the next state; None if it has none.
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
        What is known of jobs, market and terms.
    policy : str or callable
        As in `simulate`.

    Raises
    ------
    InputError
        For a state that the scenario cannot have.
    PolicyError
        If the answer cannot be carried out.
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

    start_s, finish_s: per job, in order of their numbers. late: whether each misses its
    deadline; None if jobs have none. empty_s: when no job waits for the first time.
    figures: those of FIGURES that the jobs have.
    """

    start_s: np.ndarray[Any, Any]
    finish_s: np.ndarray[Any, Any]
    late: np.ndarray[Any, Any] | None
    empty_s: float
    figures: dict[str, float]


def sample(resumed: Any, policy: Any, seed: int, engine: str = "simpy") -> Sample:
    """Run a scenario from its state until the jobs of the state have ended and no job
    waits; with another engine than "simpy" to its end, compiled if possible.
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
    empty_s = _empty_s(jobs["submit_s"], jobs["dispatch_s"], now_s)
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
    """Stop the arrivals when the jobs of the state have ended and no job waits."""
    yield live.timeout(state.now_s + LOOK_S)
    known = {job.id for job in state.jobs}
    while live.pending_claims or not known.isdisjoint(map(job_id, live.job_processes)):
        yield live.timeout(LOOK_S)
    live.stop_arrivals = True


def _empty_s(submit_s: Any, dispatch_s: Any, now_s: float) -> float:
    """Return the first time from now on at which no job waits, seconds."""
    times_s = np.concatenate([[now_s], np.sort(dispatch_s[dispatch_s >= now_s])])
    came = np.searchsorted(np.sort(submit_s), times_s, side="right")
    went = np.searchsorted(np.sort(dispatch_s), times_s, side="right")
    return float(times_s[came == went][0])


@dataclass(frozen=True)
class Forecast:
    """When the jobs of a state will start and end, and what changes would bring.

    Attributes
    ----------
    state : State
        The queue and its slots.
    samples : mapping
        Label of an alternative -> a Sample per seed; the first is the forecast. Seeds
        are common to all, so that differences are paired.
    """

    state: State
    samples: Mapping[str, Sequence[Sample]]

    @property
    def first(self) -> Sequence[Sample]:
        """The samples of the forecast."""
        return next(iter(self.samples.values()))

    @cached_property
    def jobs(self) -> list[dict[str, Any]]:
        """Per job its number, and of its start and its end, seconds, the median and the
        quantiles between which 90 % of the runs lie; the probability of missing its
        deadline, if it has one.
        """
        known = sorted(job.id for job in self.state.jobs)
        columns = {
            "job": known,
            **_range("start", [sample.start_s for sample in self.first]),
            **_range("end", [sample.finish_s for sample in self.first]),
        }
        if self.first[0].late is not None:
            late = np.array([sample.late for sample in self.first], float)
            columns["miss_probability"] = late.mean(axis=0).tolist()
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    @cached_property
    def queue(self) -> dict[str, float]:
        """The same of the time at which no job waits, seconds."""
        return _range("empty", [sample.empty_s for sample in self.first])

    @cached_property
    def figures(self) -> list[dict[str, Any]]:
        """Per alternative the means of FIGURES, with 95 % intervals."""
        return [
            {"alternative": label} | self._means(label, None) for label in self.samples
        ]

    @cached_property
    def differences(self) -> list[dict[str, Any]]:
        """Per further alternative the mean differences from the first, paired."""
        first, *others = self.samples
        return [
            {"alternative": label, "from": first} | self._means(label, first)
            for label in others
        ]

    def _means(self, label: str, first: str | None) -> dict[str, Any]:
        """Return the means of an alternative, or of its differences from another."""
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
        """Return the tables of jobs, and of alternatives if there are several."""
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
            f" {median:,.1f} min ({low:,.1f} to {high:,.1f})."
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
    """Return quantiles of times over the runs, seconds."""
    # by this method a range of n runs holds a further one with the chance of 90 %
    quantiles = np.quantile(values, LEVELS, axis=0, method="weibull").tolist()
    return {f"{name}_{part}_s": value for part, value in zip(PARTS, quantiles)}


def _cells(row: Mapping[str, Any], names: Iterable[str], signed: bool) -> list[str]:
    """Return the cells of an alternative, or of its differences."""
    cells = [f"{row['alternative']}{', difference' * signed}"]
    for name in names:
        mean, (low, high) = row[name]["mean"], row[name]["ci95"]
        half = "" if not signed else f" ± {figure_text((high - low) / 2)}"
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
        The first is the one in use; what each of the others would change is estimated.
    seeds : iterable of int
        Of the runs, which are common to all alternatives.
    slot : str, optional
        Name of a GPU type, to estimate what one more slot of it would change; of a
        cluster, the GPUs of one more node.
    later_h : float, optional
        Hours, > 0, to estimate what it would change to dispatch nothing until then.

    Raises
    ------
    InputError
        For a state that the scenario cannot have.
    """
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
