"""One long job under a deadline, and a market: what policies are simulated, compared and swept
on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.logs.series import read_series
from cgrsp_simpy.model.checks import InputError, check_number, check_whole, require
from cgrsp_simpy.spot.market import HOUR_S, MOST_HOURS, Traces, TwoState
from cgrsp_simpy.spot.outcome import METRICS
from cgrsp_simpy.spot.policies import COMPARED, POLICIES
from cgrsp_simpy.spot.rules import Oracle
from cgrsp_simpy.spot.simulation import Drawn, Simulation
from cgrsp_simpy.spot.view import Policy, Terms

__all__ = ["Setting", "read_traces"]

MOST_ZONES = 8
WORK = 500  # a run takes about as long as so many jobs of the thesis's model


def read_traces(paths: Sequence[str | Path], needed: int = 1, history: float = 0.5) -> Traces:
    """The zones of files, one a file; see `logs.series.read_series`.

    Parameters
    ----------
    paths : sequence of str or Path
        The files.
    needed : int
        How many instances at once the job needs.
    history : float
        As of `Traces`.

    Returns
    -------
    Traces
        A zone a file, in their order.

    Raises
    ------
    InputError
        For what is wrong with a file, or with files together.
    """
    return Traces(tuple(read_series(path, needed) for path in paths), history)


@dataclass(frozen=True)
class Setting(Model):
    """A job and its market: everything that a run depends on, but the policy and the seed.

    Parameters
    ----------
    source : Traces or TwoState
        Series of zones, in which the seed draws the start, the same for all policies; or a made-up
        market, drawn by the seed.
    hours : float
        C(0) of the paper: computing that the job needs, hours.
    deadline : float
        R(0): by when it must be done, hours from its start; room for the work and one overhead.
    overhead : float
        d, the changeover delay: time of each start without progress, hours. Work, deadline and
        overhead are whole seconds.
    spot_usd_per_h, on_demand_usd_per_h : float
        Prices, USD an hour; spot is cheaper. Unless told, those of a V100 in the paper.
    zones : int, optional
        The first so many of the source; all that it has unless told.

    Raises
    ------
    InputError
        For what is not allowed.

    References
    ----------
    Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
    """

    source: Traces | TwoState = field(default_factory=TwoState)
    hours: float = 48.0
    deadline: float = 52.0
    overhead: float = 0.1
    spot_usd_per_h: float = 0.97
    on_demand_usd_per_h: float = 3.06
    zones: int | None = None

    metrics = METRICS
    shown = ("cost_usd", "cost_pct", "saving_pct", "missed", "restarts", "spot_h", "on_demand_h")
    tested = ("cost_usd",)
    precise = "cost_usd"
    policies = POLICIES
    compared = COMPARED

    def __post_init__(self) -> None:
        require(
            isinstance(self.source, (Traces, TwoState)), "source", self.source, "Traces or TwoState"
        )
        check_number("hours", self.hours, above=0)
        check_number("overhead", self.overhead, above=0)
        check_number("deadline", self.deadline, above=0)
        for name in ("hours", "overhead", "deadline"):
            hours = getattr(self, name)
            require(hours <= MOST_HOURS, name, hours, f"at most {MOST_HOURS:,}, ten years")
            seconds = hours * HOUR_S
            require(
                abs(seconds - round(seconds)) < 1e-6,
                name,
                getattr(self, name),
                "a whole number of seconds, in hours",
            )
        if self.deadline < self.hours + self.overhead - 1e-9:
            raise InputError(
                f"deadline(={self.deadline!r}) must be at least hours + overhead, here"
                f" {self.hours + self.overhead:g} h: it could not be met on demand"
            )
        check_number("spot_usd_per_h", self.spot_usd_per_h, above=0)
        check_number("on_demand_usd_per_h", self.on_demand_usd_per_h, above=self.spot_usd_per_h)
        if self.zones is not None:
            check_whole("zones", self.zones, least=1, most=self.source.most_zones)
        check_whole("zones", self.number_of_zones, least=1, most=MOST_ZONES)
        self.source.check(self.terms.deadline_s)

    @property
    def name(self) -> str:
        """What is to be done, and where."""
        zones = "" if self.number_of_zones == 1 else f" in {self.number_of_zones} zones"
        return (
            f"{self.hours:g} h within {self.deadline:g} h, overhead {self.overhead:g} h;"
            f" {self.source}{zones}"
        )

    @property
    def jobs(self) -> int:
        """One."""
        return 1

    @property
    def work(self) -> int:
        """As many jobs of the thesis's model take about as long."""
        return WORK * self.number_of_zones

    @property
    def number_of_zones(self) -> int:
        """How many zones a run has."""
        return self.source.zones if self.zones is None else self.zones

    @property
    def terms(self) -> Terms:
        """The job, in seconds."""
        work_s, deadline_s, overhead_s = (
            float(round(h * HOUR_S)) for h in (self.hours, self.deadline, self.overhead)
        )
        return Terms(
            work_s,
            deadline_s,
            overhead_s,
            self.spot_usd_per_h,
            self.on_demand_usd_per_h,
        )

    def draw(self, seed: int) -> Drawn:
        """What the market does in the run of a seed.

        Parameters
        ----------
        seed : int
            Of the draws.

        Returns
        -------
        Drawn
            Shared by all policies.
        """
        terms = self.terms
        return Drawn(terms, self.source.draw(self.number_of_zones, terms.deadline_s, seed))

    def varied(self, **parameters: Any) -> Setting:
        """The setting with other parameters.

        Parameters
        ----------
        **parameters : Any
            Its own, and those of its source, such as up_h of a made-up market or history of traces.

        Returns
        -------
        Setting
            A copy.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        names = [item.name for item in fields(self.source)]
        return self._varied(parameters, "source", self.source, names)

    def simulation(
        self,
        policy: Policy | Oracle,
        seed: int,
        *,
        drawn: Drawn | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        """A run that has been set up and not let go.

        Parameters
        ----------
        policy, seed, drawn, records, listener
            As of `Model.simulation`; every record is kept.

        Returns
        -------
        Simulation
            Its `close()` answers with the outcome once `env` has run.
        """
        return Simulation(self.draw(seed) if drawn is None else drawn, policy, listener)
