"""A case: which jobs meet which policy on which machines; the model of the waiting policies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, python_numbers, require
from cgrsp_simpy.waiting.formulas import closed_form, unsteady
from cgrsp_simpy.waiting.jobs import Chunk, ExponentialJobs, JobSource, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Prices, Size, exact_gb, rent_per_h
from cgrsp_simpy.waiting.orders import Order, order_of
from cgrsp_simpy.waiting.outcome import METRICS, Outcome
from cgrsp_simpy.waiting.policies import (
    GOES,
    NO_ERRORS,
    POLICIES,
    Kinds,
    Mispredictions,
    WaitingPolicy,
    ajw,
    foreseen,
)
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.simulation import Simulation

__all__ = ["Case"]


@dataclass(frozen=True)
class Case(Model):
    """Jobs, and machines that are owned or rented: everything that a run depends on, but the seed.

    A study puts its own policies in the place of the case's: a name of POLICIES with parameters, as
    in "sww:wait_s=60", or a WaitingPolicy. A function of a `WaitingView` ("own.py:function" in a
    text) says in which order waiting jobs get machines: it takes the place of the order, and who
    waits, and how long, is as the case's own policy says.

    Parameters
    ----------
    source : JobSource
        The jobs: generated anew for each seed, or those of a log.
    policy : WaitingPolicy
        Who waits, and how long, unless a study says otherwise; ajw: every job, as long as it takes.
    machines : int or tuple of Size
        Number of fixed machines that execute one job at a time, whatever it needs; or the sizes of
        fixed machines that jobs share by their cores and memory. 0, or no size: none is owned, and
        every job goes on demand at once; under ajw, where no job does, at least one must be owned.
    order : str or callable
        "fcfs", first come first served; "sjf", shortest job first of those that find room;
        "own.py:function", or a function of a `WaitingView`. Running times are known.
    prices : Prices
        Of an hour, fixed and on demand.
    sizes : sequence of Size
        Those for rent, where machines are shared; a job rents the cheapest that it fits on, and a
        fixed machine costs prices.fixed / prices.on_demand of what renting it costs.
    errors : Mispredictions
        How often waits and running times are mispredicted.
    work_conserving : bool
        Whether a job that is to go on demand without waiting takes an idle fixed machine if there
        is one.

    Raises
    ------
    InputError
        For what is not allowed.
    """

    source: JobSource
    policy: WaitingPolicy = ajw()  # noqa: RUF009, it is frozen
    machines: int | tuple[Size, ...] = 1
    order: str | Order = field(default="fcfs", metadata={"policy": True})
    prices: Prices = PAPER_PRICES
    sizes: tuple[Size, ...] = M5
    errors: Mispredictions = NO_ERRORS
    work_conserving: bool = False

    metrics = METRICS
    shown = ("wait_s", "price", "on_demand_fraction", "opportunity")
    tested = shown
    precise = "wait_s"
    policies = POLICIES
    compared = tuple(POLICIES)

    def __post_init__(self) -> None:
        python_numbers(self)
        made = hasattr(self.source, "jobs") and hasattr(self.source, "chunks")
        require(made, "source", self.source, "a source of jobs, such as ExponentialJobs")
        require(isinstance(self.policy, WaitingPolicy), "policy", self.policy, "a WaitingPolicy")
        order_of(self.order)
        least = 0 if self.policy.rents else 1
        if isinstance(self.machines, int):
            check_whole("machines", self.machines, least=least)
            return
        machines = entries_of("machines", self.machines, "a number of machines, or a list of sizes")
        for size in machines:
            require(isinstance(size, Size), "machines", size, "a list of Size")
        require(len(machines) >= least, "machines", machines, "at least one")
        object.__setattr__(self, "machines", machines)
        price = self.prices.on_demand
        require(price > 0, "on-demand price", price, "above 0 where a table has the prices")
        covered = math.isfinite(self.fixed_per_h)
        require(covered, "machines", machines, "of sizes that the price table covers")

    # ---- as a model ----

    @property
    def name(self) -> str:  # type: ignore[override]
        """What comes, and on how many machines in which order."""
        number = self.machines if isinstance(self.machines, int) else len(self.machines)
        order = self.order if isinstance(self.order, str) else policy_name(self.order)
        return f"{self.source}, {number} machine{'s' * (number != 1)}, {order}"

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.source.jobs

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether seeds differ: not where jobs are listed, and all that is predicted is right."""
        return not isinstance(self.source, ListedJobs) or self.errors != NO_ERRORS

    def make_policy(self, policy: Any) -> WaitingPolicy | Order:
        """A policy from its text, or an order, a function of a WaitingView, of the case's policy.

        Parameters
        ----------
        policy : Any
            A name of POLICIES with parameters, "own.py:function", a WaitingPolicy, or a function of
            a WaitingView.

        Returns
        -------
        WaitingPolicy or callable
            What `simulation` takes.

        Raises
        ------
        InputError
            For an unknown name, parameter or file, and where a listed job would wait for a machine
            that no fixed machine is large enough for.
        """
        made: WaitingPolicy | Order = (
            policy if isinstance(policy, WaitingPolicy) else super().make_policy(policy)
        )
        case = self.under(made)
        if case.shared and isinstance(self.source, ListedJobs):
            for _ in case.foreseen(0):
                pass
        return made

    def under(self, policy: WaitingPolicy | Order) -> Case:
        """The case under another policy, or in an order that a function says.

        Parameters
        ----------
        policy : WaitingPolicy or callable
            As of `make_policy`.

        Returns
        -------
        Case
            A copy.
        """
        if isinstance(policy, WaitingPolicy):
            return replace(self, policy=policy)
        return replace(self, order=policy)

    def simulation(
        self,
        policy: WaitingPolicy | Order,
        seed: int,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; jobs are drawn as they come.

        Returns
        -------
        Simulation
            Its `close()` answers with the outcome once `env` has run.
        """
        return Simulation(self.under(policy), seed, listener, keep=records)

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Outcome:
        """The run of a policy on a seed; by the recursion where only its figures are asked for.

        The recursion is several times as fast, and its figures are the same to the bit; it covers
        whole machines, first come, first served.

        Parameters
        ----------
        policy : Any
            As `make_policy` takes.
        seed, drawn, records, listener
            As of `Model.simulation`.

        Returns
        -------
        Outcome
            Its `summary()` gives the figures by name.

        Raises
        ------
        InputError
            For a policy that is not allowed.
        PolicyError
            If an order answers what cannot be carried out.
        """
        case = self.under(self.make_policy(policy))
        if case.recursive and not records and listener is None:
            return follow(case, seed)
        return super().run(policy, seed, drawn=drawn, records=records, listener=listener)

    def outcome(self, run: Outcome) -> dict[str, list[float]]:
        """What a study keeps of a run: its figures, of the whole and of each batch.

        Parameters
        ----------
        run : Outcome
            As from `run`.

        Returns
        -------
        dict
            Name -> the figure of the whole, then of each batch.
        """
        return {name: values.tolist() for name, values in run.by_batch().items()}

    def figures(self, outcome: dict[str, list[float]]) -> dict[str, float]:
        """The figures of the whole run, from what a study has kept of it.

        Parameters
        ----------
        outcome : dict
            As of `outcome`.

        Returns
        -------
        dict
            Name -> value; units stand in `metrics`.
        """
        return {name: values[0] for name, values in outcome.items()}

    def varied(self, **parameters: Any) -> Case:
        """The case with other parameters, for sweeps.

        Parameters
        ----------
        **parameters
            Of the case (machines, where they are shared also as a number; order, work_conserving),
            of its source (jobs, rate_per_s, service_s), of its prices (fixed, on_demand), or of its
            errors (wait_over, wait_under, run_over, run_under).

        Returns
        -------
        Case
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        own, changed = dict(parameters), self
        for part in ("source", "prices", "errors"):
            held = getattr(self, part)
            names = [item.name for item in fields(held) if item.name in own]
            inner = {name: own.pop(name) for name in names}
            if inner:
                changed = replace(changed, **{part: replace(held, **inner)})
        if isinstance(own.get("machines"), int) and not isinstance(self.machines, int):
            own["machines"] = self.machines[:1] * own["machines"]
        return super(Case, changed).varied(**own)

    # ---- what it is ----

    @property
    def shared(self) -> bool:
        """Whether jobs share the machines."""
        return not isinstance(self.machines, int)

    @property
    def fixed_per_h(self) -> float:
        """What renting all fixed machines would cost per hour; whole machines count as 1 each."""
        if isinstance(self.machines, int):
            return float(self.machines)
        cores = np.array([size.cores for size in self.machines])
        memory_gb = np.array([size.memory_gb for size in self.machines])
        return float(rent_per_h(cores, memory_gb, self.sizes).sum())

    @property
    def recursive(self) -> bool:
        """Whether the recursion covers it: for whole machines, first come, first served."""
        return not self.shared and self.order == "fcfs"

    @property
    def pace_per_s(self) -> float:  # type: ignore[override]
        """Of the recursion, where it covers the case."""
        return 1_000_000.0 if self.recursive else Model.pace_per_s

    @property
    def steady(self) -> bool:
        """Whether the jobs are a part of a stream without end, and not all there
        are; see `Tally`.
        """
        return not isinstance(self.source, ListedJobs)

    @property
    def unsteady(self) -> str:
        """Why generated jobs have no steady state on whole machines; "" if they have one."""
        if not isinstance(self.source, ExponentialJobs) or not isinstance(self.machines, int):
            return ""
        load = (self.source.rate_per_s, self.source.service_s)
        if self.machines == 0 or math.isfinite(
            closed_form(self.policy, *load, self.machines).wait_s
        ):
            return ""
        return unsteady(self.policy, *load, self.machines)

    def formula(self) -> dict[str, float] | None:
        """What the closed form says: wait_s, price, on_demand_fraction, opportunity.

        None of jobs or machines of which there is no formula, of another order, or of
        mispredictions other than those of waits under sww.
        """
        if not isinstance(self.source, ExponentialJobs) or not isinstance(self.machines, int):
            return None
        wrong, runs_wrong = self.errors != NO_ERRORS, self.errors.run_over or self.errors.run_under
        if not self.recursive or self.work_conserving or self.machines == 0:
            return None
        if runs_wrong or (wrong and self.policy.name != "sww"):
            return None
        load = (self.source.rate_per_s, self.source.service_s)
        found = closed_form(self.policy, *load, self.machines, self.prices, self.errors)
        price, wait_s = float(found.price), float(found.wait_s)
        share, opportunity = float(found.on_demand_fraction), price * wait_s / 3600
        return {
            "wait_s": wait_s,
            "price": price,
            "on_demand_fraction": share,
            "opportunity": opportunity,
        }

    def foreseen(self, seed: int) -> Iterator[tuple[Chunk, Kinds]]:
        """The jobs with what is foreseen for them; a job that no fixed machine could take goes on
        demand.

        Parameters
        ----------
        seed : int
            Of the jobs, and of wrong predictions.

        Yields
        ------
        tuple of (Chunk, array)
            Jobs in order of submission, and for each what is foreseen.

        Raises
        ------
        InputError
            Names the job, if it may not, or if no machine for rent is large enough.
        """
        first = 0
        for chunk, kinds in foreseen(self.source, self.policy, self.errors, seed):
            if not isinstance(self.machines, int):
                chunk = chunk._replace(memory_gb=exact_gb(chunk.memory_gb))
                self._require_fit(first, chunk, self.sizes, "no machine that is for rent")
                unfit = ~_fits(chunk, self.machines)
                if not self.policy.rents:
                    self._require_fit(
                        first,
                        chunk,
                        self.machines,
                        "no fixed machine, and under ajw every job waits for one",
                    )
                kinds[unfit] = GOES
            elif self.machines == 0:
                kinds[:] = GOES
            yield chunk, kinds
            first += len(kinds)

    @staticmethod
    def _require_fit(first: int, chunk: Chunk, sizes: Sequence[Size], where: str) -> None:
        for row in np.flatnonzero(~_fits(chunk, sizes))[:1]:
            most = max(sizes, key=lambda size: (size.cores, size.memory_gb))
            raise InputError(
                f"job {first + row + 1} ({chunk.cores[row]} cores, {chunk.memory_gb[row]:g} GB)"
                f" fits on {where}; the largest has {most.cores} cores and {most.memory_gb:g} GB"
            )


def _fits(chunk: Chunk, sizes: Sequence[Size]) -> npt.NDArray[np.bool_]:
    return np.isfinite(rent_per_h(chunk.cores, chunk.memory_gb, sizes))
