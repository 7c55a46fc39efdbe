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

from cgrsp_simpy.base.checks import check_number, check_one_of, require
from cgrsp_simpy.base.table import Table, cells_of, figure_text
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.simulation import Process
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.state import Resumed, State
from cgrsp_simpy.rental.view import View
from cgrsp_simpy.rental.why import explained
from cgrsp_simpy.studies.replicate import engine_for

LEVELS = (0.05, 0.5, 0.95)  # of a median and its 90 % range
LOOK_S = 60.0  # between looks at whether a run may stop
FIGURES = {
    "wait_min": "mean wait of the waiting jobs, min",
    "missed": "missed deadlines",
    "last_end_min": "minutes until the last of the jobs ends",
    "queue_empty_min": "minutes until no job waits",
    "cost_usd": "cost of the jobs, USD",
}
"""Figures of an alternative, and their meaning."""


@dataclass(frozen=True)
class NextDispatches:
    """The dispatches that a policy makes now.

    Attributes
    ----------
    rows : list of dict
        Per dispatch: job, slots, gpu and reason, "" for a policy of your own.
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


class _Asked:
    """A policy whose first answer is kept, with its reasons."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.name = policy, policy_name(policy)
        self.answer: list[Any] | None = None
        self.reasons: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "policy":  # not set yet, while copying
            raise AttributeError(name)
        return getattr(self.policy, name)

    def __call__(self, view: View) -> Iterable[Any]:
        answer, self.reasons = explained(self.policy, view)
        if not hasattr(answer, "__iter__"):
            answer = () if answer is None else (answer,)
        self.answer = list(answer)
        return self.answer


def next_dispatches(state: State, scenario: Scenario, policy: Any) -> NextDispatches:
    """Return the dispatches that a policy would make now.

    The policy is the same function of the same view as in a simulation.

    Parameters
    ----------
    state : State
        The queue and its slots.
    scenario : Scenario
        What is known of jobs, market and terms; the slots are the state's.
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
    live = subject.simulation(_Asked(subject.make_policy(policy)), 0)
    while live.env.peek() <= state.now_s:
        live.advance(1)
    asked = live.policy.policy
    rows, wakes_s = [], []
    for item in asked.answer or ():
        if hasattr(item, "at_s"):
            wakes_s.append(float(item.at_s))
            continue
        job, slots = item
        slots = slots if isinstance(slots, Sequence) else (slots,)
        rows.append(
            {
                "job": job.id,
                "slots": [slot.index for slot in slots],
                "gpu": "+".join(dict.fromkeys(slot.gpu.name for slot in slots)),
                "reason": asked.reasons.get(job.id, ""),
            }
        )
    save = getattr(asked.policy, "save", None)
    return NextDispatches(
        rows,
        len(state.waiting) - len(rows),
        min(wakes_s, default=None),
        save() if save else None,
    )


# ---- a forecast ----


@dataclass(frozen=True, eq=False)
class Sample:
    """Times and costs of the jobs of a state in one run.

    start_s, finish_s, late: per job, in order of their numbers. wait_s: mean of the
    waiting jobs, NaN if there are none. empty_s: when no job waits for the first time.
    cost_usd: of all.
    """

    start_s: np.ndarray[Any, Any]
    finish_s: np.ndarray[Any, Any]
    late: np.ndarray[Any, Any]
    wait_s: float
    empty_s: float
    cost_usd: float

    def figures(self, now_s: float) -> list[float]:
        """Return the values of FIGURES."""
        last_s = float(self.finish_s.max(initial=now_s))
        return [
            self.wait_s / 60,
            float(self.late.sum()),
            (last_s - now_s) / 60,
            (self.empty_s - now_s) / 60,
            self.cost_usd,
        ]


def sample(resumed: Resumed, policy: Any, seed: int, engine: str = "simpy") -> Sample:
    """Run a scenario from its state until the jobs of the state have ended and no job
    waits; with another engine than "simpy" to its end, compiled if possible.
    """
    state, subject = resumed.state, resumed.subject(resumed)
    policy, run = subject.make_policy(policy), None
    if engine != "simpy":
        run = subject.compiled(policy, seed, None, True)
    if run is None:
        live = subject.simulation(policy, seed)
        live.process(_stop(live, resumed))
        run = live.finish()
    jobs = run.jobs
    ours = jobs[np.isin(jobs["job"], [*resumed.known_jobs])]
    waited = np.isin(ours["job"], [job.id for job in state.waiting])
    waits_s = (ours["dispatch_s"] - ours["submit_s"])[waited]
    return Sample(
        ours["start_s"],
        ours["finish_s"],
        ours["finish_s"] > ours["deadline_s"],
        float(waits_s.mean()) if len(waits_s) else math.nan,
        _empty_s(jobs["submit_s"], jobs["dispatch_s"], state.now_s),
        float(math.fsum(ours["cost_usd"].tolist())),
    )


def _stop(live: Any, resumed: Resumed) -> Process:
    """Stop the arrivals when the jobs of the state have ended and no job waits."""
    yield live.timeout(resumed.state.now_s + LOOK_S)
    known = {*resumed.known_jobs.values()}
    while live.pending_claims or not known.isdisjoint(live.job_processes):
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

    @cached_property
    def jobs(self) -> list[dict[str, Any]]:
        """Per job its number, the median and 90 % range of its start and end, seconds,
        and the probability of missing its deadline.
        """
        [samples, *_] = self.samples.values()
        starts_s = np.array([sample.start_s for sample in samples])
        ends_s = np.array([sample.finish_s for sample in samples])
        late = np.mean([sample.late for sample in samples], axis=0)
        rows = []
        known = sorted(job.id for job in self.state.jobs)
        for place, number in enumerate(known):
            rows.append(
                {
                    "job": number,
                    **_range("start", starts_s[:, place]),
                    **_range("end", ends_s[:, place]),
                    "miss_probability": float(late[place]),
                }
            )
        return rows

    @cached_property
    def queue(self) -> dict[str, float]:
        """Median and 90 % range of the time at which no job waits, seconds."""
        [samples, *_] = self.samples.values()
        return _range("empty", np.array([sample.empty_s for sample in samples]))

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
        return dict(zip(FIGURES, means))

    def _values(self, label: str) -> Any:
        now_s = self.state.now_s
        return np.array([sample.figures(now_s) for sample in self.samples[label]])

    def tables(self) -> list[Table]:
        """Return the tables of jobs, and of alternatives if there are several."""
        now_s, [first, *others] = self.state.now_s, self.samples
        rows = [
            {
                name.replace("_s", ", min"): (value - now_s) / 60
                if name.endswith("_s")
                else value
                for name, value in row.items()
            }
            for row in self.jobs
        ]
        empty = [(value - now_s) / 60 for value in self.queue.values()]
        note = (
            "Minutes from now; ranges are of 90 %. No job waits after"
            f" {empty[1]:,.1f} min ({empty[0]:,.1f} to {empty[2]:,.1f})."
        )
        if not rows:
            return [Table(f"forecast, {first}", [["no job"]], note)]
        tables = [Table(f"forecast, {first}", cells_of(rows), note)]
        if others:
            meanings = "; ".join(f"{name}: {text}" for name, text in FIGURES.items())
            cells = [["alternative", *FIGURES]]
            cells += [_cells(row, signed=False) for row in self.figures]
            cells += [_cells(row, signed=True) for row in self.differences]
            title = f"alternatives; differences from {first}, with 95 % intervals"
            tables.append(Table(title, cells, f"{meanings}."))
        return tables


def _range(name: str, values: Any) -> dict[str, float]:
    """Return the median and 90 % range of times, seconds."""
    # by this method a range of n runs holds a further one with the chance of 90 %
    low, median, high = np.quantile(values, LEVELS, method="weibull").tolist()
    return {f"{name}_low_s": low, f"{name}_median_s": median, f"{name}_high_s": high}


def _cells(row: Mapping[str, Any], signed: bool) -> list[str]:
    """Return the cells of an alternative, or of its differences."""
    cells = [f"{row['alternative']}{', difference' * signed}"]
    for name in FIGURES:
        mean, (low, high) = row[name]["mean"], row[name]["ci95"]
        half = "" if not signed else f" ± {figure_text((high - low) / 2)}"
        cells.append(f"{figure_text(mean)}{half}")
    return cells


def forecast(
    state: State,
    scenario: Scenario,
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
        The queue and its slots.
    scenario : Scenario
        The distributions of jobs, market and terms; the slots are the state's.
    policies : sequence of str or callable
        The first is the one in use; what each of the others would change is estimated.
    seeds : iterable of int
        Of the runs, which are common to all alternatives.
    slot : str, optional
        Name of a GPU type, to estimate what one more slot of it would change.
    later_h : float, optional
        Hours, > 0, to estimate what it would change to dispatch nothing until then.

    Raises
    ------
    InputError
        For a state that the scenario cannot have.
    """
    resumed, seeds = state.resumed(scenario), [*seeds]
    require(bool(policies), "policies", policies, "at least one policy")
    require(bool(seeds), "seeds", seeds, "at least one seed")
    subject = resumed.subject(resumed)
    first = policies[0]
    alternatives = {
        policy_name(subject.make_policy(policy)) if callable(policy) else str(policy): (
            resumed,
            policy,
        )
        for policy in policies
    }
    if slot is not None:
        types = {gpu.name: gpu for gpu in scenario.gpus}
        check_one_of("GPU type", slot, types)
        more = replace(resumed, slots=(*resumed.slots, types[slot]))
        alternatives[f"one more {slot}"] = more, first
    if later_h is not None:
        check_number("later_h", later_h, above=0)
        later = replace(resumed, wait_s=3600.0 * later_h)
        alternatives[f"{later_h:g} h later"] = later, first
    engine = engine_for("auto", [], resumed.jobs * len(seeds) * len(alternatives))
    return Forecast(
        state,
        {
            label: [sample(model, policy, seed, engine) for seed in seeds]
            for label, (model, policy) in alternatives.items()
        },
    )
