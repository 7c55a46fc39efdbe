"""What became of the job: its instances, what they cost, and the figures of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cgrsp_simpy.model.model import Metric
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.timeline import CLAIM, VISIT, Timeline
from cgrsp_simpy.spot.view import JOB

if TYPE_CHECKING:
    from cgrsp_simpy.spot.simulation import Drawn

__all__ = ["METRICS", "Outcome", "Stay"]

HOUR_S = 3600.0
ROUNDING_S = 1e-3  # who ends later than the deadline by less is in time: sums of doubles

METRICS = {
    "cost_usd": Metric("cost", "USD"),
    "cost_pct": Metric("cost, of on demand only", "%"),
    "saving_pct": Metric("saving, of the omniscient optimum's", "%", "more"),
    "missed": Metric("deadlines missed"),
    "finish_h": Metric("end of the job", "h", ""),
    "restarts": Metric("restarts"),
    "taken": Metric("instances taken away"),
    "spot_h": Metric("time on spot", "h", ""),
    "on_demand_h": Metric("time on demand", "h", ""),
    "idle_h": Metric("time without an instance", "h", ""),
    "executing_usd": Metric("cost while executing", "USD", ""),
    "changeover_usd": Metric("cost of changeovers", "USD"),
    "wasted_usd": Metric("cost of changeovers cut short", "USD"),
}
"""What the figures of a run are."""


class Stay(NamedTuple):
    """The job on one instance.

    Attributes
    ----------
    place : int
        The zone's index, or that of on demand.
    from_s, to_s : float
        From its start, with the changeover, until it ended; seconds.
    end : str
        done, taken (by the market) or left (by the policy).
    """

    place: int
    from_s: float
    to_s: float
    end: str


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(ShownRun):
    """What became of the job.

    Attributes
    ----------
    drawn : Drawn
        The job's terms, and what the market did.
    policy : str
        Its name.
    stays : tuple of Stay
        The instances that the job had, in order.
    """

    drawn: Drawn
    policy: str
    stays: tuple[Stay, ...]

    @property
    def title(self) -> str:
        """The job, the zones and the policy."""
        terms, zones = self.drawn.terms, ", ".join(zone.name for zone in self.drawn.zones)
        job = f"{terms.work_s / HOUR_S:g} h within {terms.deadline_s / HOUR_S:g} h"
        return f"{job}, {zones}: {self.policy}"

    def usd(self, place: int, length_s: float) -> float:
        """What an instance costs for a time.

        Parameters
        ----------
        place : int
            A zone's index, or that of on demand.
        length_s : float
            Seconds.

        Returns
        -------
        float
            USD.
        """
        terms = self.drawn.terms
        spot = place < len(self.drawn.zones)
        per_h = terms.spot_usd_per_h if spot else terms.on_demand_usd_per_h
        return length_s / HOUR_S * per_h

    @property
    def finish_s(self) -> float:
        """When the job was done, seconds."""
        return self.stays[-1].to_s

    def summary(self) -> dict[str, float]:
        """The figures of the run, by name; labels and units stand in METRICS.

        An instance costs from its start until it ends, by the second, the changeover included; a
        job without an instance costs nothing. On demand only costs its price for the work and one
        changeover. A changeover cut short, since the instance was taken or left, has brought
        nothing: that is what is wasted, since the job keeps all its progress.
        """
        terms, zones = self.drawn.terms, len(self.drawn.zones)
        only_usd = self.usd(zones, terms.work_s + terms.overhead_s)
        cost_usd = sum(self.usd(stay.place, stay.to_s - stay.from_s) for stay in self.stays)
        most_usd = only_usd - self.drawn.optimum.cost_usd
        phases = self.phases
        split = {
            phase: sum(
                self.usd(place, to_s - from_s)
                for place, kind, from_s, to_s in phases
                if kind == phase
            )
            for phase in ("executing", "changeover", "wasted")
        }
        held_h = [
            sum(stay.to_s - stay.from_s for stay in self.stays if (stay.place < zones) == spot)
            / HOUR_S
            for spot in (True, False)
        ]
        return {
            "cost_usd": cost_usd,
            "cost_pct": 100 * cost_usd / only_usd,
            "saving_pct": 100 * (only_usd - cost_usd) / most_usd if most_usd > 1e-9 else nan,
            "missed": float(self.finish_s > terms.deadline_s + ROUNDING_S),
            "finish_h": self.finish_s / HOUR_S,
            "restarts": len(self.stays) - 1,
            "taken": sum(stay.end == "taken" for stay in self.stays),
            "spot_h": held_h[0],
            "on_demand_h": held_h[1],
            "idle_h": self.finish_s / HOUR_S - sum(held_h),
            **{f"{phase}_usd": usd for phase, usd in split.items()},
        }

    @cached_property
    def phases(self) -> list[tuple[int, str, float, float]]:
        """Place, phase, from and to, seconds: changeover (wasted if cut short), executing."""
        found, overhead_s = [], self.drawn.terms.overhead_s
        for stay in self.stays:
            ready_s = stay.from_s + overhead_s
            if stay.to_s > ready_s or stay.end == "done":
                found.append((stay.place, "changeover", stay.from_s, ready_s))
                found.append((stay.place, "executing", ready_s, stay.to_s))
            else:
                found.append((stay.place, "wasted", stay.from_s, stay.to_s))
        return [each for each in found if each[3] > each[2]]

    @property
    def claims(self) -> np.ndarray[Any, np.dtype[Any]]:
        """What the job held, a structured array of CLAIM: one row a place and phase."""
        return np.array(
            [(JOB, place, 1, phase, from_s, to_s) for place, phase, from_s, to_s in self.phases],
            CLAIM,
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dict, since there is one job: its terms and the figures."""
        return [{"job": JOB, **self.drawn.terms._asdict(), **self.summary()}]

    @property
    def timeline(self) -> Timeline:
        """The run as places and a job, which it is drawn from."""
        terms, zones = self.drawn.terms, self.drawn.zones
        visits = np.array(
            [(JOB, 0.0, self.stays[0].from_s, self.finish_s, terms.deadline_s)], VISIT
        )
        places = (*(f"spot {zone.name}" for zone in zones), "on demand")
        return Timeline(
            "place", places, (1.0,) * len(places), self.claims, visits, policy=self.policy
        )
