"""Terms of renting (refusals, bills, preemption and so on), and hours of slots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count, pairwise, takewhile
from typing import Annotated, Any, Literal

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.parameters import (
    Entries,
    Hour,
    NotNegative,
    Positive,
    Whole,
    declared,
    limits,
    listed,
    parameter,
    rule,
)
from cgrsp_simpy.base.table import many
from cgrsp_simpy.market.model import Market, one_per_type
from cgrsp_simpy.rental.job import HOURS

DAY_H = 24
HOUR_S = 3600.0

FromHour = Annotated[tuple[Hour, Whole], listed("a pair [hour, slots]", 2)]
SlotHours = Annotated[
    Entries[FromHour],
    rule(
        "pairs [hour, slots], with increasing hours and at least one slot at some hour",
        lambda hours: (
            (not hours or any(slots for _, slots in hours))
            and all(a < b for (a, _), (b, _) in pairwise(hours))
        ),
    ),
]


@declared()
class Opening:
    """Number of open slots by hour of day; the first slots of the fleet are open.

    A slot that closes finishes its job first, and is billed until then. The order of a
    slot depends on the stock in the same way as a dispatch: at Low stock it is delayed,
    or with the terms' `retry_s` refused and repeated.
    """

    hours: SlotHours = parameter(
        "Pairs of an hour of day and the number of open slots from that hour on,"
        " with increasing hours; the last number holds until the first hour of"
        " the next day. Without pairs, all slots are always open. On the command"
        " line: slots=0:2+10:5.",
        default=(),
    )
    boot_s: NotNegative = parameter(
        "Time from the order of a slot until it is open, seconds, in addition to"
        " the delay of the stock; this time is billed.",
        default=0.0,
    )
    minimum_s: NotNegative = parameter(
        "Minimum billed time per order of a slot, seconds; 0: no minimum.", default=0.0
    )

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metric that opening hours add to a run."""
        label = "slot hours billed beyond the schedule"
        return {"overtime_h": Metric(label, "h")} if self.hours else {}

    def spans_s(self, slot: int, start_h: float) -> Iterator[tuple[float, float]]:
        """Yield the times at which a slot opens and closes, in seconds.

        The first opening may be negative. start_h: hour of day at time 0.
        """
        states = [(hour, slots > slot) for hour, slots in self.hours]
        if all(is_open for _, is_open in states):
            yield 0.0, math.inf
        since_s = math.inf
        is_partial = len({is_open for _, is_open in states}) == 2
        for day in count(-1) if is_partial else ():
            for hour, is_open in states:
                at_s = HOUR_S * (DAY_H * day + hour - start_h)
                if is_open:
                    since_s = min(since_s, at_s)
                else:
                    if since_s < at_s and at_s > 0:
                        yield since_s, at_s
                    since_s = math.inf

    def open_s(self, slots: int, start_h: float, end_s: float) -> float:
        """Return the slot-seconds of the schedule from time 0 to end_s.

        slots: total number of slots. start_h: hour of day at time 0.
        """
        if not self.hours:
            return slots * end_s
        return summed(
            min(close_s, end_s) - max(0.0, open_s)
            for slot in range(slots)
            for open_s, close_s in takewhile(
                lambda span: span[0] < end_s, self.spans_s(slot, start_h)
            )
        )

    def mean_slots(self, slots: int) -> float:
        """Return the mean number of open slots over a day. slots: the total number."""
        return self.open_s(slots, 0.0, DAY_H * HOUR_S) / (DAY_H * HOUR_S)


def describe_hours(hours: Sequence[tuple[float, int]]) -> str:
    """Return the hours in words, such as "2 slots, 5 from 10 to 14 h"."""
    least = min(number for _, number in hours)
    ends = [*(hour for hour, _ in hours[1:]), hours[0][0] or DAY_H]
    spans = [
        f"{number} from {begin:g} to {end:g} h"
        for (begin, number), end in zip(hours, ends)
        if number > least
    ]
    return ", ".join([many(least, "slot"), *spans])


def slot_hours(slots: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the number of slots and the hours of pairs such as [(0, 2), (10, 5)].

    Pairs may be strings such as "0:2". Other slots are returned unchanged, without
    hours.
    """
    entries = [slots] if isinstance(slots, str) else slots
    pairs = [_pair(entry) for entry in entries] if isinstance(entries, list) else []
    if not pairs or None in pairs:
        return slots, ()
    hours = Opening(tuple(pairs)).hours  # type: ignore[arg-type]  # checked there
    return max(number for _, number in hours), hours


def _pair(entry: Any) -> Sequence[Any] | None:
    if isinstance(entry, str):
        hour, _, number = entry.partition(":")
        try:
            return float(hour), int(number)
        except ValueError:
            return None
    return entry if isinstance(entry, (list, tuple)) and len(entry) == 2 else None


ROUNDING = 1e-9  # rounding error of sums of doubles, in increments
MOST_S = 1e9  # maximum time between two attempts: thirty years
# mean lives of an instance for which what cannot be interrupted may take
MOST_LIVES = 10.0
# uninterruptible time for which a type must be in stock
LEAST_TIMES = 3.0


PerHour = Annotated[tuple[NotNegative, ...], listed("24 numbers, one per hour", HOURS)]


@declared("{} of {gpu}")
class Preemption:
    """Rate at which the market preempts instances of a GPU type."""

    gpu: str = parameter("Name of the type.")
    per_h: NotNegative | PerHour = parameter(
        "Rate per hour, >= 0: one number, or 24 numbers, one per hour of the day"
        " from midnight."
    )

    @property
    def by_hour(self) -> tuple[float, ...]:
        """The rate per hour, for each hour of the day."""
        return self.per_h if isinstance(self.per_h, tuple) else (self.per_h,) * HOURS


@declared()
class Terms:
    """The terms of renting instances for the slots; the defaults are the thesis's.

    An instance is rented for a slot when a job is dispatched to it, and returned when
    the job ends, unless it is kept warm. The job that uses an instance, or used it
    last, pays all its costs. Sources of the defaults: thesis Eq. 3.2 (delay at Low
    stock), 3.11 (execution by the second), Section 6.2.1 (no preemption).
    """

    retry_s: (
        Annotated[float, limits(f"a number > 0, at most {MOST_S:g}", gt=0, le=MOST_S)]
        | None
    ) = parameter(
        "If set, a dispatch at Low stock is refused: the job leaves its slot at"
        " once and returns to the queue after this time, seconds, > 0. None: Low"
        " stock causes a long delay, during which the job holds the slot.",
        default=None,
    )
    warm_s: NotNegative = parameter(
        "Time for which an instance is kept after its job, seconds. A job"
        " dispatched to the slot within this time, with the same type, starts at"
        " once. A policy with a method keep_s(view, slot) may choose a shorter"
        " time. Idle time is billed.",
        default=0.0,
    )
    billed_from: Literal["execution", "provisioning"] = parameter(
        'Start of the billing of an instance: "execution" or "provisioning".',
        default="execution",
    )
    minimum_s: NotNegative = parameter(
        "Minimum billed time of an instance, seconds; 0: no minimum.", default=0.0
    )
    increment_s: NotNegative = parameter(
        "The billed time is rounded up to a multiple of this increment, seconds;"
        " 0: no rounding.",
        default=0.0,
    )
    budget_usd_per_day: Positive | None = parameter(
        "Daily budget: when the amount billed since midnight reaches it, no job"
        " is dispatched before the next midnight; running jobs continue. None: no"
        " budget.",
        default=None,
    )
    preemption_per_h: NotNegative = parameter(
        "Rate per hour at which the market preempts a running instance (spot)."
        " Its job loses the work since its last checkpoint and returns to the"
        " queue.",
        default=0.0,
    )
    preemption: Annotated[Entries[Preemption], one_per_type] = parameter(
        "GPU types with their own preemption rates.", default=()
    )
    taken_when_low: bool = parameter(
        "Whether the market preempts all instances of a type when its stock"
        " becomes Low (spot): running instances at once, those ordered earlier as"
        " soon as they start. An instance ordered while the stock is Low remains"
        " until the stock becomes Low again. Requires stock that persists or is"
        " replayed.",
        default=False,
    )
    checkpoint_s: Positive | None = parameter(
        "Execution time between checkpoints, seconds, at least the time to write"
        " one; None: no checkpoints.",
        default=None,
    )
    checkpoint_cost_s: NotNegative = parameter(
        "Time for which a job stops to write a checkpoint, seconds.", default=0.0
    )
    restart_s: NotNegative = parameter(
        "Time that a stopped job needs to restart before it continues, seconds.",
        default=0.0,
    )
    suspension: bool = parameter(
        "Whether a policy may suspend running jobs; they lose no work.",
        default=False,
    )

    def __post_init__(self) -> None:
        require(
            self.checkpoint_s is None or self.checkpoint_s >= self.checkpoint_cost_s,
            "checkpoint_s",
            self.checkpoint_s,
            f"at least checkpoint_cost_s, {self.checkpoint_cost_s:g} s",
        )

    def preemptions_per_h(self, gpu: str) -> tuple[float, ...]:
        """Return the preemptions per hour of a type, for each hour of the day."""
        rates = [part.by_hour for part in self.preemption if part.gpu == gpu]
        return rates[0] if rates else (self.preemption_per_h,) * HOURS

    def check_against(
        self, market: Market, gpus: Sequence[str], longest_s: float
    ) -> None:
        """Reject terms under which jobs never end or never reach a checkpoint.

        gpus: names of the types that can be rented. longest_s: greatest mean execution
        time, seconds. Raises InputError for checkpoints further apart than longest_s,
        and for preemptions much more frequent than checkpoints; with `taken_when_low`
        also for a type whose stock does not persist, or is never in stock long enough
        to save work.
        """
        require(
            self.checkpoint_s is None or self.checkpoint_s < longest_s,
            "checkpoint_s",
            self.checkpoint_s,
            f"less than the longest mean execution time, {longest_s:g} s",
        )
        whole_s = longest_s if self.checkpoint_s is None else self.checkpoint_s
        # until work is saved
        need_s = self.restart_s + whole_s + self.checkpoint_cost_s
        most = MOST_LIVES * 3600.0 / need_s
        reason = f"because a job needs {need_s:g} s without a preemption"
        for gpu in gpus:
            per_h = max(self.preemptions_per_h(gpu))
            require(
                per_h <= most,
                f"preemptions of {gpu} per hour",
                per_h,
                f"at most {most:g}, {reason}",
            )
        series = {part.gpu: part for part in market.series}
        for gpu in gpus if self.taken_when_low else ():
            if gpu in series:
                name = f"longest seconds without Low stock of {gpu}"
                least_s = LEAST_TIMES * need_s
                stays_s = series[gpu].longest_s
            else:
                name, least_s = f"persistence_s of {gpu}", need_s / MOST_LIVES
                stays_s = market.holding(gpu).persistence_s
                require(
                    stays_s > 0,
                    "taken_when_low",
                    gpu,
                    "omitted if the stock of a type does not persist",
                )
            require(
                stays_s >= least_s, name, stays_s, f"at least {least_s:g}, {reason}"
            )

    @property
    def preemptible(self) -> bool:
        """Whether instances can be preempted."""
        by_rate = self.preemption_per_h > 0 or any(
            any(part.by_hour) for part in self.preemption
        )
        return by_rate or self.taken_when_low

    @cached_property
    def columns(self) -> dict[str, Metric]:
        """Columns of a job's record that the terms add; a run records their sums."""
        stopped = self.preemptible or self.suspension
        writes = self.checkpoint_s is not None and self.checkpoint_cost_s > 0
        restarts = stopped and self.restart_s > 0
        every = {
            "refusals": (self.retry_s is not None, Metric("refusals")),
            "warm_starts": (self.warm_s > 0, Metric("warm starts", better="more")),
            "preemptions": (self.preemptible, Metric("preemptions")),
            "suspensions": (self.suspension, Metric("suspensions", better="")),
            "lost_s": (self.preemptible, Metric("execution that was lost", "s")),
            "checkpoints_s": (writes, Metric("writing of checkpoints", "s")),
            "restarting_s": (restarts, Metric("restarting", "s")),
            "away_s": (stopped, Metric("waits after a stop", "s")),
        }
        costs = {
            "provisioning": self.billed_from == "provisioning",
            "idle": self.warm_s > 0,
            "checkpoints": writes,
            "wasted": self.preemptible or restarts,
            "rounding": self.minimum_s > 0 or self.increment_s > 0,
        }
        columns = {name: metric for name, (has, metric) in every.items() if has}
        parts = [
            part for part in PARTS if any(costs.values()) and costs.get(part, True)
        ]
        return columns | {
            f"{part}_usd": Metric(f"cost of {PARTS[part]}", "USD") for part in parts
        }

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of a run that the terms add to those of the thesis."""
        if self.budget_usd_per_day is None:
            return self.columns
        return {
            **self.columns,
            "budget_days": Metric("days whose budget was spent", "days"),
        }


def rounding_s(used_s: float, minimum_s: float, increment_s: float) -> float:
    """Return the seconds billed in addition to those used, see `Terms`; 0 if unused."""
    if not used_s:
        return 0.0
    billed_s = max(used_s, minimum_s)
    if increment_s:
        billed_s = increment_s * max(1, math.ceil(billed_s / increment_s - ROUNDING))
    return max(0.0, billed_s - used_s)


PARTS = {
    "executing": "execution",
    "provisioning": "provisioning",
    "idle": "idle instances",
    "checkpoints": "checkpoints",
    "wasted": "lost execution and restarts",
    "rounding": "minimum and increment",
}
"""Parts of the cost, which add up to it, in words."""
