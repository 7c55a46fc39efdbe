"""The job on spot instances, its stays on instances, and the costs of checkpoints."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.parameters import (
    NotNegative,
    declared,
    limits,
    parameter,
    rule,
)


class Job(NamedTuple):
    """The job: its work, deadline and prices.

    id: its name in tables. work_s: computing time that it needs. deadline_s: deadline,
    from its start. overhead_s: changeover time without progress at each start.
    """

    id: int
    work_s: float
    deadline_s: float
    overhead_s: float
    spot_usd_per_h: float
    on_demand_usd_per_h: float


@declared()
class Checkpoints:
    """How work is saved before an instance ends, and the costs of that.

    Work of the last `write_s` seconds is lost. If an instance is preempted with a
    shorter notice, or none, all work since the last written checkpoint is lost.
    """

    checkpoint_s: NotNegative = parameter(
        "Computing time between the checkpoints of an instance, seconds; 0:"
        " checkpoints are continuous.",
        default=0.0,
    )
    write_s: Annotated[
        float,
        limits("a number >= 0", ge=0),
        rule("whole seconds", lambda seconds: seconds == int(seconds)),
    ] = parameter(
        "Time to write a checkpoint, seconds; it contains the state at the start"
        " of the write.",
        default=0.0,
    )
    notice_s: NotNegative = parameter(
        "Notice before an instance is preempted, seconds: 120 on AWS, 30 on"
        " Google Cloud.",
        default=0.0,
    )
    size_gb: NotNegative = parameter(
        "Size of a checkpoint, GB. It is stored in the region of the first zone"
        " at first, and later in that where the job last ran.",
        default=0.0,
    )
    transfer_usd_per_gb: NotNegative = parameter(
        "Price of moving a checkpoint to another region, USD per GB.", default=0.0
    )
    storage_usd_per_gb_month: NotNegative = parameter(
        "Price of storing a checkpoint until the job is completed, USD per GB and"
        " month of 730 hours.",
        default=0.0,
    )

    def __post_init__(self) -> None:
        for name, owner in {
            "notice_s": "checkpoint_s",
            "transfer_usd_per_gb": "size_gb",
            "storage_usd_per_gb_month": "size_gb",
        }.items():
            if getattr(self, name) and not getattr(self, owner):
                raise InputError(f"{name} requires {owner}")

    @property
    def abrupt(self) -> bool:
        """Whether a preemption occurs before a checkpoint can be written."""
        return bool(self.checkpoint_s) and (
            self.notice_s < self.write_s or not self.notice_s
        )

    @property
    def most_lost_s(self) -> float:
        """Greatest computing time that can be lost at once, seconds."""
        return self.write_s + self.abrupt * self.checkpoint_s

    def lost_s(self, computed_s: float, taken: bool) -> float:
        """Return the computing time lost when an instance ends, seconds."""
        kept_s = max(0.0, computed_s - self.write_s)
        if taken and self.abrupt:
            kept_s = min(
                kept_s, (kept_s + 1e-6) // self.checkpoint_s * self.checkpoint_s
            )
        return computed_s - kept_s

    @property
    def moving_usd(self) -> float:
        """Cost of moving the checkpoint to another region, USD."""
        return self.size_gb * self.transfer_usd_per_gb

    @property
    def storing_usd_per_h(self) -> float:
        """Cost of storing the checkpoint, USD per hour."""
        return self.size_gb * self.storage_usd_per_gb_month / 730


FREE = Checkpoints()  # nothing is lost, and nothing costs


class Stay(NamedTuple):
    """Stay of the job on one instance, from start to end, including the changeover.

    place: the zone's number, or that of on demand. end: done, taken (by the market) or
    left (by the policy); "" for a planned stay.
    """

    place: int
    from_s: float
    to_s: float
    end: str = ""

    def wasted(self, overhead_s: float) -> bool:
        """Return whether the stay ended before its changeover did."""
        return self.end != "done" and self.to_s <= self.from_s + overhead_s
