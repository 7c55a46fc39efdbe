"""One run: scenario, policy and seed in, records out."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import simpy

from cgrsp_simpy.engine.claims import Slot
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.rental.budget import Budget
from cgrsp_simpy.rental.instances import Renting
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.processes import Setting, job_process, source
from cgrsp_simpy.rental.record import Recorder, Run
from cgrsp_simpy.rental.renting import renting_process
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.view import Policy

if TYPE_CHECKING:
    from cgrsp_simpy.rental.scenario import Scenario

__all__ = ["Simulation", "run_once"]


def run_once(
    scenario: Scenario,
    policy: Policy,
    seed: int = 0,
    *,
    jobs: Iterable[tuple[Job, Draws]] | None = None,
    records: bool = True,
    listener: Listener | None = None,
) -> Run:
    """Simulate until the last job completes.

    policy: called at each decision; the run works on a copy, so that a policy with memory is
    fresh for every run.
    jobs: the seed's jobs and draws, where they have been generated already. records: keep
    a row a job; without them memory does not grow with the number of jobs. listener: is called
    with each Event.

    Raises PolicyError if the policy answers what cannot be carried out, or holds jobs for ever.
    """
    check_whole("seed", seed, least=0)
    simulation = Simulation(scenario, policy, seed, jobs, records, listener)
    simulation.env.run()
    return simulation.close()


class Simulation:
    """A run that has been set up, with its source of arrivals about to start, and has not been let
    go.

    Parameters
    ----------
    scenario : Scenario
        What is run.
    policy : Policy
        As of `make_policy`; a copy decides.
    seed : int
        Of all random numbers.
    jobs : iterable of tuple of (Job, Draws) or None
        Jobs with their draws, in order of submission; None draws those of the seed.
    records : bool
        Whether the run keeps what became of each job.
    listener : callable or None
        Called with each Event.
    """

    def __init__(
        self,
        scenario: Scenario,
        policy: Policy,
        seed: int,
        jobs: Iterable[tuple[Job, Draws]] | None,
        records: bool,
        listener: Listener | None,
    ) -> None:
        self.scenario, self.policy, self.seed = scenario, policy, seed
        env = self.env = simpy.Environment()
        self.state = scenario.dispatch_state(seed)
        slots = [Slot(env, "slot", index) for index in range(len(scenario.slots))]
        terms, own, self.budget = scenario.terms, copy.deepcopy(policy), None
        asked: Any = own
        if terms.budget_usd_per_day is not None:
            clock = scenario.market.clock
            asked = self.budget = Budget(own, terms.budget_usd_per_day, clock)
        self.engine = Engine(
            env,
            slots,
            self.state,
            asked,
            listener,
            hears_all=getattr(own, "suspends", False),
            running=self.state.running,
        )
        self.recorder = Recorder(records, scenario.workload.classes, terms.columns)
        gpu_index = {gpu.name: index for index, gpu in enumerate(scenario.gpus)}
        stock = self.state.stock
        setting = Setting(env, self.engine, stock.market, stock, self.recorder, gpu_index)
        process = partial(job_process, setting)
        if terms != Terms():
            renting = Renting(setting, self.state, seed, own, self.budget)
            process = partial(renting_process, renting)
        if jobs is None:
            jobs = scenario.workload.generate(seed, scenario.service)
        env.process(source(env, jobs, process))

    def close(self) -> Run:
        """What the run leaves, once nothing is left to happen."""
        self.engine.check_done()
        kept = self.recorder.close()
        name, recorder = policy_name(self.policy), self.recorder
        if self.budget is not None:
            recorder.totals.more["budget_days"] = len(self.budget.days)
        held_s, decisions = tuple(self.state.held_s), self.engine.dispatcher.decisions
        return Run(
            self.scenario,
            name,
            self.seed,
            recorder.totals,
            held_s,
            decisions,
            kept,
            recorder.gangs,
            recorder.claims,
        )
