"""The compiled loop: a run, event by event, in the order of SimPy's.

`rental.bulk` fills the arrays and calls `advance` until it returns ENDED; the arrays
keep the state in between, so that jobs, stock and rows pass in blocks. Times: seconds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.compiled import ask, bisect, called, inlined
from cgrsp_simpy.rental.policies import law, triage
from cgrsp_simpy.rental.policies.law import Delay, Later, Law, until_s
from cgrsp_simpy.rental.policies.triage import Queue, delay_of
from cgrsp_simpy.rental.terms import rounding_s

# return values of `advance`: what it needs
ENDED, JOBS, ROOM, ROWS, SEEN, STOCK, FAILED = range(7)

# ---- a row: a job's record, its bill under other terms than the thesis's, and its
# further slots, the second one last. Until dispatch STATUS, DELAY and SERVICE hold its
# draws; START and FINISH the scarcest status and slowest pace of its slots so far. Then
# FINISH is its expected end, and until its end COST is the price of its slots, USD per
# hour ----
ID, SUBMIT, DUE, COMPLEXITY, TIGHT, GPUS, OWN_WEIGHT, CLASS, DISPATCH, START, FINISH = (
    range(11)
)
SLOT, GPU, STATUS = range(11, 14)
DELAY, SERVICE, COST, WIDTH = range(14, 18)
WARM_STARTS, PROVISIONING_USD, IDLE_USD, ROUNDING_USD, UNPAID, BILLED = range(
    WIDTH, WIDTH + 6
)

# ---- numbers of a run ----
NEXT, LOADED, LEFT, OPEN, ORDER, RUNG, WAITING, IDLE, FREE, DONE = range(10)
LOOKED, DECISIONS, CLASSES, INTERVALS, SENT = range(10, 15)
# ---- settings ----
FIRST_COME, BY_SCORE, FREE_TYPES, HELD_BACK, LOOKS_AHEAD, BY_INDEX, BY_COST = range(7)
OF_IDLE, RENTS = 7, 8  # whether a rule uses the fastest idle; whether terms differ
# ---- next event of a slot ----
STARTS, ENDS, EXPIRES = range(3)

TIERS = 4  # maximum per class
LAST = 3 * TIERS  # of an answer: whether the rule finished

FIGURES = (
    *("now_s", "waiting", "next_free_s", "slots", "offered_load", "dearest_usd_per_h"),
    *(
        "reference_s",
        "fastest_s",
        "slowest_s",
        "fastest_idle_s",
        "tight",
        "submit_s",
        "deadline_s",
    ),
    *("fastest_offer_s", "cheapest_offer_usd_per_h", "best_status"),
    *("mean_s", "price_usd_per_h", "status", "weight", "mean_fastest_idle_s"),
)
NOW_S, AT_ONCE, NEXT_FREE_S, REFERENCE_S, FASTEST_S, SLOWEST_S = 0, 1, 2, 6, 7, 8
FASTEST_IDLE_S, IS_TIGHT, SUBMIT_S, DEADLINE_S, FASTEST_OFFER_S = range(9, 14)
CHEAPEST_OFFER, BEST_STATUS, MEAN_S, PRICE, STATUS_SHOWN = range(14, 19)
WEIGHT, MEAN_FASTEST_IDLE_S = range(19, 21)

Array = np.ndarray[Any, Any]


class State(NamedTuple):
    """A run in progress.

    now_s, horizon_s: [1], the clock, and until when the stock is known. number: by the
    names above. jobs: rows to come. rows: waiting and running jobs; free: numbers of
    unused rows. due_s, who: by class, deadlines and rows of waiting jobs, from `first`
    to `last`. at_s, order, tree: next event per slot (of a job's slots, at the first),
    and at the two leaves behind them the next arrival and the policy's next Wake; the
    leaf of the earliest is tree[1]. row, next, held_s: by slot, its job, its next
    event, and how long it was held; payer, kind, since_s: of its instance, the paying
    job (-1: none), its type, and the start of billing, infinite until it is up. idle:
    by group of slots that are offered alike, the first idle one. out: rows of ended
    jobs; kept: job, slot and times of warm instances. seen: variates for the statuses
    shown; shown: by index of a type. epochs_s, levels: by type, variates and their
    starts. took, stop, rank: of each class and tier. offers: types, in order.
    fastest_s: by level, over idle slots. figures, answer: of a rule. fronts, taken: of
    triage; turn: classes in order of their first arrival. sent: job, number of its
    slot, type and slot of a decision.
    """

    now_s: Array
    horizon_s: Array
    number: Array
    jobs: Array
    rows: Array
    free: Array
    due_s: Array
    who: Array
    first: Array
    last: Array
    at_s: Array
    order: Array
    tree: Array
    row: Array
    next: Array
    held_s: Array
    payer: Array
    kind: Array
    since_s: Array
    idle: Array
    out: Array
    kept: Array
    seen: Array
    shown: Array
    epochs_s: Array
    levels: Array
    took: Array
    stop: Array
    rank: Array
    offers: Array
    fastest_s: Array
    figures: Array
    answer: Array
    fronts: Array
    taken: Array
    turn: Array
    sent: Array


class Setting(NamedTuple):
    """The constants of a run.

    how: by the names above. rules: addresses of order and score; of_order, of_score:
    parameters. group: by slot. mean_s: [type, level]. price: USD per hour, by type.
    gpu: by type, its index. below: [type, band, 2], variates below which stock is High,
    Medium. hours: of day, starts of bands; start_h: [1]. delay_s: [status, 2]. look_s:
    by type, seconds between polls, -1 if nothing is seen. holds: by type, whether its
    stock persists. by_level: means on the reference type, the least, the greatest; mix:
    shares. alike: class by level and deadline class; level, tight, weight: by class.
    law: of triage. terms: warm time, minimum and increment of a bill, seconds; whether
    billing starts with the order.
    """

    how: Array
    rules: Array
    of_order: Array
    of_score: Array
    group: Array
    mean_s: Array
    price: Array
    gpu: Array
    below: Array
    hours: Array
    start_h: Array
    delay_s: Array
    look_s: Array
    holds: Array
    by_level: Array
    mix: Array
    alike: Array
    level: Array
    tight: Array
    weight: Array
    law: Law
    terms: Array


@inlined
def comes(run: State, leaf: int, at_s: float, order: int) -> None:
    """Set the next event of a leaf, and so of all."""
    run.at_s[leaf], run.order[leaf] = at_s, order
    node = (leaf + len(run.at_s)) >> 1
    while node:
        least, other = run.tree[2 * node], run.tree[2 * node + 1]
        if run.at_s[other] < run.at_s[least] or (
            run.at_s[other] == run.at_s[least] and run.order[other] < run.order[least]
        ):
            least = other
        run.tree[node] = least
        node >>= 1


# ---- the stock ----


@inlined
def by_law(setting: Setting, kind: int, at_s: float, uniform: float) -> int:
    """Return the status of a type at a variate (thesis Eq. 3.1)."""
    hour = (setting.start_h[0] + at_s / 3600.0) % 24.0
    band = bisect(setting.hours, hour, 0, len(setting.hours), True) - 1
    if uniform < setting.below[kind, band, 0]:
        return 0
    return 1 if uniform < setting.below[kind, band, 1] else 2


@inlined
def held(run: State, kind: int, at_s: float) -> float:
    """Return the variate of a type whose stock persists."""
    epochs_s = run.epochs_s[kind]
    level: float = run.levels[kind, bisect(epochs_s, at_s, 0, len(epochs_s), True) - 1]
    return level


@inlined
def show(run: State, setting: Setting, kind: int) -> int:
    """Return the status shown for a type at this decision."""
    gpu, at_s, look_s = setting.gpu[kind], run.now_s[0], setting.look_s[kind]
    if run.shown[gpu] < 0:
        if look_s < 0:
            uniform = run.seen[run.number[LOOKED]]
            run.number[LOOKED] += 1
        else:
            if look_s > 0:
                look = math.floor(at_s / look_s)
                at_s = (look - (1 if look * look_s > at_s else 0)) * look_s
            uniform = held(run, kind, at_s)
        run.shown[gpu] = by_law(setting, kind, at_s, uniform)
    return int(run.shown[gpu])


# ---- the queue ----


@inlined
def copy(source: Array, target: Array) -> None:
    """Copy a row."""
    for column in range(WIDTH):
        target[column] = source[column]


@inlined
def join(run: State, setting: Setting) -> bool:
    """Add the next job to the queue; False without room."""
    number, job = run.number, run.jobs[run.number[NEXT]]
    job_class = 0
    if not setting.how[FIRST_COME]:
        job_class = setting.alike[int(job[COMPLEXITY]) - 1, int(job[CLASS])]
    first = run.first[job_class]
    last = run.last[job_class]
    due_s = run.due_s[job_class]
    who = run.who[job_class]
    if last == len(who) or not number[FREE]:
        return False
    if first == last and job_class not in run.turn[: number[CLASSES]]:
        run.turn[number[CLASSES]] = job_class
        number[CLASSES] += 1
    number[FREE] -= 1
    row = run.free[number[FREE]]
    copy(job, run.rows[row])
    if setting.how[RENTS]:
        run.rows[row, WIDTH:BILLED] = 0.0
    key = 0.0 if setting.how[FIRST_COME] else job[DUE]
    place = bisect(due_s, key, first, last, True)
    for at in range(last, place, -1):
        due_s[at], who[at] = due_s[at - 1], who[at - 1]
    due_s[place], who[place], run.last[job_class] = key, row, last + 1
    number[NEXT] += 1
    number[WAITING] += 1
    return True


@inlined
def leave(run: State, job_class: int, at: int) -> int:
    """Remove a job from the queue; return by how much those before it moved."""
    first = run.first[job_class]
    last = run.last[job_class]
    due_s = run.due_s[job_class]
    who = run.who[job_class]
    if at - first < last - at - 1:
        for place in range(at, first, -1):
            due_s[place], who[place] = due_s[place - 1], who[place - 1]
        run.first[job_class] = first + 1
        return 1
    for place in range(at + 1, last):
        due_s[place - 1], who[place - 1] = due_s[place], who[place]
    run.last[job_class] = last - 1
    return 0


@inlined
def take(run: State, job_class: int, tier: int) -> None:
    """Remove the first job of a tier from the queue."""
    moved = leave(run, job_class, run.took[job_class, tier])
    for other in range(TIERS):
        run.took[job_class, other] += moved if other <= tier else moved - 1
        run.stop[job_class, other] += moved if other < tier else moved - 1


@inlined
def ranked(run: State, setting: Setting) -> bool:
    """Set the tiers of each class; False if a rule failed."""
    figures, answer = run.figures, run.answer
    for job_class in range(len(run.first)):
        begin, last = run.first[job_class], run.last[job_class]
        for tier in range(TIERS):
            run.took[job_class, tier] = run.stop[job_class, tier] = last
        if begin < last and (setting.how[FIRST_COME] or run.number[WAITING] == 1):
            run.took[job_class, 0] = begin
        elif begin < last and setting.how[BY_INDEX]:
            run.took[job_class, 0] = begin
            if not indexed(run, setting, job_class):
                return False
        elif begin < last:
            of_class(run, setting, setting.level[job_class], setting.tight[job_class])
            answer[LAST] = 0.0
            ask(setting.rules[0], figures, setting.of_order, answer)
            if not answer[LAST]:
                return False
            for tier in range(TIERS):
                run.took[job_class, tier] = begin
                begin = bisect(
                    run.due_s[job_class], answer[3 * tier], begin, last, False
                )
                run.stop[job_class, tier] = begin
                run.rank[job_class, tier, 0] = answer[3 * tier + 1]
                run.rank[job_class, tier, 1] = answer[3 * tier + 2]
                if begin == last:
                    break
    return True


@inlined
def indexed(run: State, setting: Setting, job_class: int) -> bool:
    """Set the rank of a class's first job, by an index; False if its rule failed."""
    if run.took[job_class, 0] == run.last[job_class]:
        return True
    job = run.rows[run.who[job_class, run.took[job_class, 0]]]
    figures = run.figures
    answer = run.answer
    of_class(run, setting, int(job[COMPLEXITY]) - 1, job[TIGHT])
    figures[DEADLINE_S], figures[WEIGHT] = job[DUE], job[OWN_WEIGHT]
    answer[LAST] = 0.0
    ask(setting.rules[0], figures, setting.of_order, answer)
    run.rank[job_class, 0, 0], run.rank[job_class, 0, 1] = answer[0], 0.0
    return bool(answer[LAST] and answer[0] == answer[0])


@inlined
def of_class(run: State, setting: Setting, level: int, tight: float) -> None:
    """Set the figures of a class of jobs."""
    figures = run.figures
    for place, figure in enumerate((REFERENCE_S, FASTEST_S, SLOWEST_S)):
        figures[figure] = setting.by_level[place, level]
    figures[FASTEST_IDLE_S], figures[IS_TIGHT] = run.fastest_s[level], tight


@inlined
def first_of(run: State, setting: Setting) -> tuple[int, int]:
    """Return the class and tier of the next job; class -1 if there is none."""
    best, best_tier, best_row = -1, 0, 0
    for job_class in range(len(run.first)):
        if run.number[IDLE] <= setting.how[HELD_BACK] and not setting.tight[job_class]:
            continue
        for tier in range(TIERS):
            at = run.took[job_class, tier]
            if at == run.last[job_class]:
                break
            if at == run.stop[job_class, tier]:
                continue
            row, gap = run.who[job_class, at], -1.0
            if best >= 0:
                gap = run.rank[job_class, tier, 0] - run.rank[best, best_tier, 0]
                if gap == 0.0:
                    gap = run.rank[job_class, tier, 1] - run.rank[best, best_tier, 1]
                if gap == 0.0:
                    gap = (
                        run.due_s[job_class, at]
                        - run.due_s[best, run.took[best, best_tier]]
                    )
                if gap == 0.0:
                    gap = run.rows[row, ID] - run.rows[best_row, ID]
            if gap < 0.0:
                best, best_tier, best_row = job_class, tier, row
    return best, best_tier


# ---- decisions ----


@inlined
def offered(run: State, setting: Setting) -> int:
    """Return how many types can be provisioned now, each on its first idle slot.

    By slot; free types are all offered on the first idle slot.
    """
    number, free = 0, setting.how[FREE_TYPES]
    for kind in range(len(setting.price)):
        slot = run.idle[0 if free else kind]
        if slot < len(run.row):
            at = number
            while at and not free and run.idle[run.offers[at - 1]] > slot:
                run.offers[at] = run.offers[at - 1]
                at -= 1
            run.offers[at] = kind
            number += 1
    return number


@inlined
def placed(run: State, setting: Setting, row: int) -> int:
    """Return the type for a job, the first of least score; -1 if a rule failed."""
    number = offered(run, setting)
    job = run.rows[row]
    figures = run.figures
    answer = run.answer
    best = run.offers[0]
    if number == 1 or not setting.how[BY_SCORE]:
        return int(best)
    level = int(job[COMPLEXITY]) - 1
    of_class(run, setting, level, job[TIGHT])
    figures[SUBMIT_S], figures[DEADLINE_S] = job[SUBMIT], job[DUE]
    figures[FASTEST_OFFER_S] = figures[CHEAPEST_OFFER] = figures[BEST_STATUS] = math.inf
    for place in range(number):
        kind = run.offers[place]
        figures[FASTEST_OFFER_S] = min(
            figures[FASTEST_OFFER_S], setting.mean_s[kind, level]
        )
        figures[CHEAPEST_OFFER] = min(figures[CHEAPEST_OFFER], setting.price[kind])
        if setting.how[BY_SCORE] == 2:
            figures[BEST_STATUS] = min(
                figures[BEST_STATUS], float(show(run, setting, kind))
            )
    a = b = c = math.inf
    for place in range(number):
        kind = run.offers[place]
        figures[MEAN_S] = setting.mean_s[kind, level]
        figures[PRICE] = setting.price[kind]
        figures[STATUS_SHOWN] = run.shown[setting.gpu[kind]]
        answer[LAST] = 0.0
        ask(setting.rules[1], figures, setting.of_score, answer)
        if not answer[LAST]:
            return -1
        x, y, z = answer[0], answer[1], answer[2]
        if not place or x < a or (x == a and (y < b or (y == b and z < c))):
            best, a, b, c = kind, x, y, z
    return int(best)


@inlined
def offer(run: State, setting: Setting, slot: int) -> None:
    """Update the first slot of a group: the first idle warm one, else the first."""
    group, rents, first = setting.group[slot], setting.how[RENTS], len(run.row)
    for at in range(0 if rents else min(run.idle[group], slot), len(run.row)):
        if run.row[at] < 0 and setting.group[at] == group:
            first = min(first, at)
            if run.payer[at] >= 0 or not rents:
                first = at
                break
    run.idle[group] = first


@inlined
def send(
    run: State, setting: Setting, row: int, nth: int, kind: int, slot: int
) -> None:
    """Assign an idle slot, as a type, to a job."""
    sent = run.sent[run.number[SENT]]
    sent[0], sent[1], sent[2], sent[3] = row, nth, kind, slot
    run.row[slot] = row
    run.number[SENT] += 1
    run.number[IDLE] -= 1
    offer(run, setting, slot)


@inlined
def dispatch(
    run: State, setting: Setting, row: int, nth: int, kind: int, slot: int
) -> None:
    """Give a job one of its slots, as a type; with the last it is dispatched."""
    now_s, job, leaf = run.now_s[0], run.rows[row], slot
    status, price, rents = -1, setting.price[kind], setting.how[RENTS]
    if not (rents and rented(run, setting, row, kind, slot)):
        uniform = held(run, kind, now_s) if setting.holds[kind] else job[STATUS]
        status = by_law(setting, kind, now_s, uniform)
    mean_s = setting.mean_s[kind, int(job[COMPLEXITY]) - 1]
    if nth:
        job[-nth], leaf = slot, int(job[SLOT])
        status, mean_s = max(status, int(job[START])), max(mean_s, job[FINISH])
        price += job[COST]
    else:
        job[SLOT], job[GPU] = slot, setting.gpu[kind]
    job[COST] = price
    if nth + 1 < job[GPUS]:
        job[START], job[FINISH] = status, mean_s
        return
    if rents:
        job[WARM_STARTS], job[UNPAID] = status < 0, job[GPUS]
    least, most = setting.delay_s[status, 0], setting.delay_s[status, 1]
    job[DELAY] = least + (most - least) * job[DELAY]  # thesis Eq. 3.2
    job[DISPATCH], job[STATUS], job[FINISH] = now_s, max(0, status), now_s + mean_s
    job[SERVICE] *= mean_s  # thesis Eq. 3.12
    run.next[leaf] = STARTS
    run.number[WAITING] -= 1
    later(run, leaf, now_s + job[DELAY])


# ---- instances, under other terms ----


@inlined
def rented(run: State, setting: Setting, row: int, kind: int, slot: int) -> bool:
    """Rent the instance of a slot to a job; whether it is a warm one."""
    warm = False
    if run.payer[slot] >= 0:
        end_idle(run, setting, slot)
        warm = run.kind[slot] == kind
        if warm:
            paid(run, slot)
        else:
            release_instance(run, setting, slot)
        comes(run, slot, math.inf, 0)
    run.payer[slot], run.kind[slot] = row, kind
    if not warm:
        run.since_s[slot] = math.inf
    return warm


@inlined
def come(run: State, setting: Setting, first: int) -> None:
    """Start the instances of a job; a warm one has waited for the others."""
    job = run.rows[run.row[first]]
    for nth in range(int(job[GPUS])):
        slot = int(job[-nth]) if nth else first
        usd = job[DELAY] * setting.price[run.kind[slot]] / 3600.0
        if run.since_s[slot] < math.inf:
            job[IDLE_USD] += usd
            continue
        run.since_s[slot] = run.now_s[0]
        if setting.terms[3]:
            run.since_s[slot] = job[DISPATCH]
            job[PROVISIONING_USD] += usd


@inlined
def end_idle(run: State, setting: Setting, slot: int) -> None:
    """End the warm time of an instance."""
    now_s = run.now_s[0]
    job = run.rows[run.payer[slot]]
    kept = run.kept[run.number[INTERVALS]]
    job[IDLE_USD] += (now_s - job[FINISH]) * setting.price[run.kind[slot]] / 3600.0
    kept[0], kept[1], kept[2], kept[3] = job[ID], slot, job[FINISH], now_s
    run.number[INTERVALS] += 1


@inlined
def release_instance(run: State, setting: Setting, slot: int) -> None:
    """Return an instance to the market."""
    used_s, job = run.now_s[0] - run.since_s[slot], run.rows[run.payer[slot]]
    more_s = rounding_s(used_s, setting.terms[1], setting.terms[2])
    job[ROUNDING_USD] += more_s * setting.price[run.kind[slot]] / 3600.0
    paid(run, slot)


@inlined
def paid(run: State, slot: int) -> None:
    """End a job's payments for an instance; after the last, record the job."""
    job = run.rows[run.payer[slot]]
    job[UNPAID] -= 1
    if not job[UNPAID]:
        done(run, run.payer[slot])
    run.payer[slot] = -1


@inlined
def done(run: State, row: int) -> None:
    """Record a job."""
    job, out = run.rows[row], run.out[run.number[DONE]]
    copy(job, out)
    for column in range(WIDTH, len(job)):
        out[column] = job[column]
    run.free[run.number[FREE]] = row
    run.number[DONE] += 1
    run.number[FREE] += 1


@inlined
def later(run: State, leaf: int, at_s: float) -> None:
    """Schedule an event after all others of the same instant."""
    comes(run, leaf, at_s, run.number[ORDER])
    run.number[ORDER] += 1


@inlined
def by_rules(run: State, setting: Setting) -> bool:
    """Dispatch jobs by rules; False if one failed."""
    number, figures, best, row, gpus, nth = run.number, run.figures, 0, 0, 0, 0
    for gpu in range(len(run.shown)):
        run.shown[gpu] = -1
    figures[NOW_S], figures[AT_ONCE] = run.now_s[0], number[WAITING]
    figures[NEXT_FREE_S] = math.inf
    for slot in range(len(run.row) if setting.how[LOOKS_AHEAD] else 0):
        if run.row[slot] >= 0:
            figures[NEXT_FREE_S] = min(
                figures[NEXT_FREE_S], run.rows[run.row[slot], FINISH]
            )
    if figures[NEXT_FREE_S] < run.now_s[0] or figures[NEXT_FREE_S] == math.inf:
        figures[NEXT_FREE_S] = run.now_s[0]
    offers = offered(run, setting) if setting.how[OF_IDLE] else 0
    figures[MEAN_FASTEST_IDLE_S] = 0.0
    for level in range(len(run.fastest_s) if offers else 0):
        run.fastest_s[level] = math.inf
        for place in range(offers):
            mean_s = setting.mean_s[run.offers[place], level]
            run.fastest_s[level] = min(run.fastest_s[level], mean_s)
        figures[MEAN_FASTEST_IDLE_S] += setting.mix[level] * run.fastest_s[level]
    if not ranked(run, setting):
        return False
    while number[IDLE]:
        if nth == gpus:
            best, tier = first_of(run, setting)
            if best < 0:
                break
            row = int(run.who[best, run.took[best, tier]])
            gpus, nth = int(run.rows[row, GPUS]), 0
            if gpus > number[IDLE]:  # no overtaking
                break
            take(run, best, tier)
        kind = placed(run, setting, row)
        if kind < 0:
            return False
        slot = run.idle[0 if setting.how[FREE_TYPES] else kind]
        send(run, setting, row, nth, kind, slot)
        nth += 1
        again = setting.how[BY_INDEX] and nth == gpus and number[IDLE]
        if again and not indexed(run, setting, best):
            return False
    return True


# ---- by triage ----


def _delay(row: Any) -> Delay:
    parts = (row[0], row[1], row[2]), (row[3], row[4], row[5])
    return Delay((*parts, (row[6], row[7], row[8])), row[9], row[10], row[11])


def _later(row: Any, now_s: float) -> Later:
    after_s = until_s(row[12], now_s) if row[12] < math.inf else math.inf
    return Later(after_s, delay_of(row), False)


called(delay_of, _delay)
called(triage.later_of, _later)
CALLED = law.band_at, law.beyond, law.completed, until_s, rounding_s, *triage.COMPILED
for each in CALLED:
    called(each)


@inlined
def by_cost(run: State, setting: Setting) -> bool:
    """Dispatch jobs as triage does; False if it would be woken at once."""
    number, now_s, alarm = run.number, run.now_s[0], len(run.row) + 1
    band, turn = law.band_at(setting.law, now_s), run.turn[: number[CLASSES]]
    queue = Queue(run.due_s, run.first, run.last, setting.weight, setting.level, turn)
    delays, later = setting.law.delays[band], setting.law.later[band]
    now = triage.moment_of(setting.law, setting.of_order, queue, delays, later, now_s)
    line_usd, left, again_s = triage.line_of(now), number[WAITING], math.inf
    run.taken[:] = 0
    while number[IDLE]:
        offers = run.offers[: on_offer(run, setting)]
        fronts = run.fronts[: triage.set_fronts(now, run.taken, run.fronts)]
        for front in fronts:
            row = run.who[int(front[triage.OWN]), int(front[triage.AT])]
            front[triage.ID] = run.rows[row, ID]
            front[triage.GPUS] = run.rows[row, GPUS]
        place, again_s = triage.choose(now, fronts, offers, line_usd, left)
        if place < 0 or fronts[place][triage.GPUS] > number[IDLE]:
            break
        front, left = fronts[place], left - 1
        job_class, kind = int(front[triage.OWN]), offers[int(front[triage.OFFER])]
        row = run.who[job_class, int(front[triage.AT])]
        for nth in range(int(front[triage.GPUS])):
            if nth:
                kind = soonest(run, delays, on_offer(run, setting))
            kind %= len(setting.price)
            send(
                run,
                setting,
                row,
                nth,
                kind,
                run.idle[0 if setting.how[FREE_TYPES] else kind],
            )
        run.taken[job_class, int(front[triage.PART])] += 1
    for job_class in turn:
        for part in range(2):
            at = triage.late_of(now, job_class) if part else run.first[job_class]
            for _ in range(run.taken[job_class, part]):
                at += leave(run, job_class, at)
    at_s = now_s + max(setting.of_order[5], again_s)
    comes(run, alarm, reached(now_s, at_s) if at_s < math.inf else at_s, 0)
    return bool(at_s > now_s)


@inlined
def on_offer(run: State, setting: Setting) -> int:
    """As `offered`, with types of warm slots after all others."""
    number, types = offered(run, setting), len(setting.price)
    for place in range(number):
        kind = run.offers[place]
        slot = run.idle[0 if setting.how[FREE_TYPES] else kind]
        run.offers[place] += types * (run.payer[slot] >= 0 and run.kind[slot] == kind)
    return number


@inlined
def soonest(run: State, delays: Array, offers: int) -> int:
    """Return the offered type of least mean delay; ties go to the first."""
    best = run.offers[0]
    for place in range(1, offers):
        kind = run.offers[place]
        if delay_of(delays[kind]).mean_s < delay_of(delays[best]).mean_s:
            best = kind
    return int(best)


# ---- events ----


@inlined
def announce(run: State) -> None:
    """Schedule the next arrival; at once, if its time has come."""
    at_s, now_s, leaf = run.jobs[run.number[NEXT], SUBMIT], run.now_s[0], len(run.row)
    if at_s <= now_s:
        comes(run, leaf, now_s, -1)
        return
    later(run, leaf, reached(now_s, at_s))


@inlined
def reached(now_s: float, at_s: float) -> float:
    """Return a later time on the clock, never before it by rounding."""
    delay_s = at_s - now_s
    if now_s + delay_s < at_s:
        delay_s = np.nextafter(delay_s, math.inf)
    return now_s + delay_s


@inlined
def vacate(run: State, setting: Setting, slot: int) -> None:
    """Make a slot idle; its instance is kept or returned."""
    now_s = run.now_s[0]
    run.held_s[slot] += now_s - run.rows[run.row[slot], DISPATCH]
    run.row[slot] = -1
    run.number[IDLE] += 1
    if setting.terms[0]:
        run.next[slot] = EXPIRES
        later(run, slot, now_s + setting.terms[0])
    elif setting.how[RENTS]:
        release_instance(run, setting, slot)
    offer(run, setting, slot)


@inlined
def end(run: State, setting: Setting, first: int) -> None:
    """End the job of a first slot."""
    row = run.row[first]
    job = run.rows[row]
    job[FINISH] = run.now_s[0]
    job[COST] = job[SERVICE] * job[COST] / 3600.0  # thesis Eq. 3.11
    comes(run, first, math.inf, 0)
    vacate(run, setting, first)
    for nth in range(1, int(job[GPUS])):
        vacate(run, setting, int(job[-nth]))
    if not setting.how[RENTS]:
        done(run, row)


@inlined
def expire(run: State, setting: Setting, slot: int) -> None:
    """Return a warm instance that no job has used in time."""
    end_idle(run, setting, slot)
    release_instance(run, setting, slot)
    comes(run, slot, math.inf, 0)
    offer(run, setting, slot)


@inlined
def decide(run: State, setting: Setting) -> int:
    """Dispatch jobs by the policy; return what is needed, or ENDED."""
    run.number[SENT] = 0
    if not (by_cost(run, setting) if setting.how[BY_COST] else by_rules(run, setting)):
        return FAILED
    for sent in run.sent[: run.number[SENT]]:
        dispatch(run, setting, sent[0], sent[1], sent[2], sent[3])
    return ENDED


@inlined
def advance(run: State, setting: Setting) -> int:
    """Continue until something is needed, or the run has ended."""
    number, kinds = run.number, len(setting.price)
    while True:
        if number[OPEN]:
            if number[NEXT] < number[LOADED]:
                announce(run)
            elif number[LEFT]:
                return JOBS
            else:
                comes(run, len(run.row), math.inf, 0)
            number[OPEN] = 0
        leaf = run.tree[1]
        at_s = run.at_s[leaf]
        if number[RUNG] and at_s > run.now_s[0]:  # after all else of this instant
            if setting.how[BY_SCORE] == 2 and number[LOOKED] + kinds > len(run.seen):
                return SEEN
            if run.now_s[0] >= run.horizon_s[0]:
                return STOCK
            if number[WAITING]:
                need = decide(run, setting)
                if need != ENDED:
                    return need
                number[DECISIONS] += 1
            number[RUNG] = 0
            continue
        if at_s == math.inf:
            return FAILED if number[WAITING] else ENDED
        if number[DONE] >= len(run.out) - len(run.row):
            return ROWS
        run.now_s[0] = at_s
        if leaf == len(run.row):
            if not join(run, setting):
                return ROOM
            number[OPEN] = 1
            number[RUNG] = number[RUNG] or number[IDLE] > 0
        elif leaf > len(run.row):
            comes(run, leaf, math.inf, 0)
            number[RUNG] = number[RUNG] or (number[WAITING] > 0 and number[IDLE] > 0)
        elif run.next[leaf] == ENDS:
            end(run, setting, leaf)
            number[RUNG] = number[RUNG] or number[WAITING] > 0
        elif run.next[leaf] == EXPIRES:
            expire(run, setting, leaf)
        else:
            job = run.rows[run.row[leaf]]
            job[START], run.next[leaf] = at_s, ENDS
            if setting.how[RENTS]:
                come(run, setting, leaf)
            later(run, leaf, at_s + job[SERVICE])
