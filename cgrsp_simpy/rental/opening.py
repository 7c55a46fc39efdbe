"""Slots by the hour: the number of open slots, and the opening of a slot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count, pairwise, takewhile
from typing import Annotated, Any

from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.parameters import (
    Entries,
    Hour,
    NotNegative,
    Whole,
    declared,
    listed,
    parameter,
    rule,
)

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
    return ", ".join([f"{least} slot{'s' * (least != 1)}", *spans])


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
