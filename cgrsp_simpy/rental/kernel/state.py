"""The records and arrays of a compiled run."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from cgrsp_simpy.rental.policies.outlook import Delay
from cgrsp_simpy.rental.policies.triage import Front

# return values of `advance`: what it needs; DECIDE: of `until_decision`
ENDED, JOBS, ROOM, ROWS, SEEN, STOCK, FAILED, DECIDE = range(8)
# next event of a slot
STARTS, ENDS, EXPIRES = range(3)

TIERS = 4  # maximum per class
LAST = 3 * TIERS  # position in an answer: whether the rule finished

Array = np.ndarray[Any, Any]


def record(whole: str = "", real: str = "") -> np.dtype[Any]:
    """Return a dtype of named integers and floating-point numbers, 8 bytes each."""
    return np.dtype(
        [(name, "i8") for name in whole.split()]
        + [(name, "f8") for name in real.split()]
    )


def filled(dtype: np.dtype[Any], **values: float) -> Array:
    """Return an array of one record, with these values and zeros."""
    array = np.zeros(1, dtype)
    for name, value in values.items():
        array[name] = value
    return array


# draws of a job, as in the workload
DRAWN = (
    *("id", "submit_s", "deadline_s", "complexity", "tight", "gpus", "weight"),
    *("deadline_class", "status_draw", "delay_draw", "service_draw"),
)
# a waiting, running or ended job: its record, its draws, and its bill under other terms
# than the thesis's. Of its slots so far: status the scarcest, mean_s the slowest; until
# its end finish_s is the expected one
JOB = record(
    "id complexity gpus deadline_class slot gpu status warm_starts unpaid",
    "submit_s deadline_s tight weight status_draw delay_draw service_draw"
    " dispatch_s start_s finish_s delay_s service_s mean_s cost_usd price_usd_per_h"
    " provisioning_usd idle_usd rounding_usd",
)
# numbers of a run
NUMBER = record(
    "next loaded left open order rung waiting idle free done looked decisions classes"
    " intervals sent"
)
# needs of a policy and a scenario. by_score: 2 if a status is shown. of_idle: whether
# a rule uses the fastest idle slot; rents: whether the terms differ
HOW = record(
    "first_come by_score free_types held_back looks_ahead by_index of_idle rents"
)
# warm time, minimum and increment of a bill, and whether billing starts with the order
TERMS = record("ordered", "warm_s minimum_s increment_s")
# a slot: its job, its next event, and how long it was held; of its instance, the paying
# job (-1: none), its type, and the start of billing, infinite until it is up
SLOT = record("row next payer kind", "held_s since_s")
# an assignment of the nth slot of a job
SENT = record("row nth kind slot")
# the time for which an instance was kept warm after a job
KEPT = record("job slot", "from_s to_s")
# triage: a front and its forecasts
FRONT = record(
    *[
        " ".join(field.name for field in fields(Front) if field.type == kind)
        for kind in ("int", "float")
    ]
)
DELAY = np.dtype(
    [
        ("parts", record("", "chance least_s most_s"), (3,)),
        *[(name, "f8") for name in Delay._fields[1:]],
    ]
)
LATER = np.dtype([("after_s", "f8"), ("delay", DELAY), ("seen", "i8")])
LINE = record("kind", "rent_usd spare")
# figures of a rule
FIGURE = record(
    "",
    "now_s waiting next_free_s slots offered_load dearest_usd_per_h reference_s"
    " fastest_s slowest_s fastest_idle_s tight submit_s deadline_s fastest_offer_s"
    " cheapest_offer_usd_per_h best_status mean_s price_usd_per_h status weight"
    " mean_fastest_idle_s",
)
FIGURES: Sequence[str] = FIGURE.names or ()


class State(
    namedtuple(
        "State",
        "now_s horizon_s number jobs rows slots free due_s who first last at_s "
        "order tree fleet idle out out_slots kept seen shown epochs_s levels "
        "took stop rank offers fastest_s figures answer fronts taken turn sent",
    )
):
    """Arrays of a run in progress.

    now_s, horizon_s: [1], the clock, and the time up to which the stock is drawn. jobs:
    the next arrivals. rows: waiting and running jobs; slots: their slots; free: unused
    rows. due_s, who: by class, deadlines and rows of waiting jobs, from `first` to
    `last`. at_s, order, tree: next event per slot (of a job, at its first slot), and in
    two more leaves the next arrival and the policy's next Wake; tree[1] is the leaf of
    the earliest. fleet: one record per slot. idle: first idle slot per group of slots
    that are offered together. out, out_slots: completed jobs; kept: warm intervals of
    instances. seen: variates for the statuses shown; shown: statuses by index of a
    type. epochs_s, levels: by type, starts of variates and the variates. took, stop,
    rank: first job, end and rank of each class and tier. offers: types on offer, in
    order. fastest_s: least mean time on idle slots, by level. figures, answer:
    arguments and result of a rule. fronts, taken: values used by triage; turn: classes
    in order of their first arrival. sent: assignments of a decision.
    """

    __slots__ = ()


class Setting(
    namedtuple(
        "Setting",
        "how rules of_order of_score group mean_s price gpu below hours start_h "
        "delay_s look_s holds by_level mix alike level tight weight terms",
    )
):
    """Constants of a run.

    rules: addresses of order and score; of_order, of_score: their parameters. group:
    group of each slot. mean_s: [type, level]. price: USD per hour, by type. gpu: index
    of each type in the scenario. below: [type, band, 2], variates below which stock is
    High, at least Medium. hours: starts of bands, hours of day; start_h: [1]. delay_s:
    [status, 2]. look_s: by type, seconds between polls, -1 if stock is not observed.
    holds: by type, whether stock persists. by_level: mean times on the reference type,
    least, greatest; mix: shares. alike: class by level and deadline class; level,
    tight, weight: by class.
    """

    __slots__ = ()
