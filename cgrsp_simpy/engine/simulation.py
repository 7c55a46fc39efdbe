"""One run: scenario, policy and seed in, records out."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import simpy

from cgrsp_simpy.engine.dispatcher import Dispatcher, policy_name
from cgrsp_simpy.engine.fleet import Fleet
from cgrsp_simpy.engine.processes import Setting, source
from cgrsp_simpy.engine.tracing import Listener
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.job import Draws, Job
from cgrsp_simpy.model.record import Recorder, Run
from cgrsp_simpy.model.scenario import Scenario

__all__ = ["run_once"]


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

    policy: called at each decision; the run works on a copy, so that a policy with memory is fresh for every run.
    jobs: the seed's jobs and draws, where they have been generated already. records: keep a row a job; without them memory
    does not grow with the number of jobs. listener: is called with each Event.

    Raises PolicyError if the policy answers what cannot be carried out, or holds jobs for ever.
    """
    check_whole("seed", seed, least=0)
    env = simpy.Environment()
    fleet = Fleet(env, scenario.slots, scenario.gpus if scenario.free_types else ())
    recorder = Recorder(keep=records)
    dispatcher = Dispatcher(env, fleet, scenario, copy.deepcopy(policy), seed, listener)
    gpu_index = {gpu.name: index for index, gpu in enumerate(scenario.gpus)}
    setting = Setting(env, dispatcher, scenario.market, recorder, gpu_index, listener)
    if jobs is None:
        jobs = scenario.workload.generate(seed, scenario.service)
    env.process(source(setting, jobs))
    env.run()
    dispatcher.check_done()
    kept = recorder.close()
    held_s = tuple(slot.held_s for slot in fleet.slots)
    return Run(scenario, policy_name(policy), seed, recorder.totals, held_s, dispatcher.decisions, kept)
