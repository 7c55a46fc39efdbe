"""Decisions by rules: the next job, and the type of its slot."""

from __future__ import annotations

import math

from cgrsp_simpy.base.compiled import ask, bisect, inlined
from cgrsp_simpy.market.stock import last_poll_s
from cgrsp_simpy.rental.kernel.queue import offered, send, take
from cgrsp_simpy.rental.kernel.state import LAST, TIERS, Array, Setting, State

# ---- the stock ----


@inlined
def by_law(setting: Setting, kind: int, at_s: float, uniform: float) -> int:
    """Return the status of a type for a variate (thesis Eq. 3.1)."""
    hour = (setting.start_h[0] + at_s / 3600.0) % 24.0
    band = bisect(setting.hours, hour, 0, len(setting.hours), True) - 1
    if uniform < setting.below[kind, band, 0]:
        return 0
    return 1 if uniform < setting.below[kind, band, 1] else 2


@inlined
def held(run: State, kind: int, at_s: float) -> float:
    """Return the current variate of a type whose stock persists."""
    epochs_s = run.epochs_s[kind]
    epoch = bisect(epochs_s, at_s, 0, len(epochs_s), True) - 1
    return float(run.levels[kind, epoch])


@inlined
def show(run: State, setting: Setting, kind: int) -> int:
    """Return the status shown for a type at this decision."""
    gpu, at_s, look_s = setting.gpu[kind], run.now_s[0], setting.look_s[kind]
    if run.shown[gpu] < 0:
        if look_s < 0:
            uniform = run.seen[run.number.looked]
            run.number.looked += 1
        else:
            at_s = last_poll_s(at_s, look_s)
            uniform = held(run, kind, at_s)
        run.shown[gpu] = by_law(setting, kind, at_s, uniform)
    return int(run.shown[gpu])


# ---- the job ----


@inlined
def answered(run: State, rule: int, parameters: Array) -> bool:
    """Set the answer of a rule; return False if it failed."""
    run.answer[LAST] = 0.0
    ask(rule, run.figures, parameters, run.answer)
    return bool(run.answer[LAST])


@inlined
def ranked(run: State, setting: Setting) -> bool:
    """Set the tiers of each class; return False if a rule failed."""
    for job_class in range(len(run.first)):
        begin, last = run.first[job_class], run.last[job_class]
        run.took[job_class, :] = run.stop[job_class, :] = last
        if begin == last:
            continue
        if setting.how.first_come or run.number.waiting == 1:
            run.took[job_class, 0] = begin
        elif setting.how.by_index:
            run.took[job_class, 0] = begin
            if not indexed(run, setting, job_class):
                return False
        else:
            of_class(run, setting, setting.level[job_class], setting.tight[job_class])
            if not answered(run, setting.rules[0], setting.of_order):
                return False
            for tier in range(TIERS):
                run.took[job_class, tier] = begin
                begin = bisect(
                    run.due_s[job_class], run.answer[3 * tier], begin, last, False
                )
                run.stop[job_class, tier] = begin
                run.rank[job_class, tier, 0] = run.answer[3 * tier + 1]
                run.rank[job_class, tier, 1] = run.answer[3 * tier + 2]
                if begin == last:
                    break
    return True


@inlined
def indexed(run: State, setting: Setting, job_class: int) -> bool:
    """Set the index of a class's first job as its rank; False if the rule failed."""
    if run.took[job_class, 0] == run.last[job_class]:
        return True
    job = run.rows[run.who[job_class, run.took[job_class, 0]]]
    figures = run.figures[0]
    of_class(run, setting, job.complexity - 1, job.tight)
    figures.deadline_s, figures.weight = job.deadline_s, job.weight
    succeeded = answered(run, setting.rules[0], setting.of_order)
    run.rank[job_class, 0, 0] = run.answer[0]
    return succeeded and not math.isnan(run.answer[0])


@inlined
def of_class(run: State, setting: Setting, level: int, tight: float) -> None:
    """Set the rule arguments that describe a class of jobs."""
    figures = run.figures[0]
    figures.reference_s = setting.by_level[0, level]
    figures.fastest_s = setting.by_level[1, level]
    figures.slowest_s = setting.by_level[2, level]
    figures.fastest_idle_s = run.fastest_s[level]
    figures.tight = tight


@inlined
def first_of(run: State, setting: Setting) -> tuple[int, int]:
    """Return the class and tier of the next job; class -1 if there is none."""
    best, best_tier, least = -1, 0, (0.0, 0.0, 0.0, 0)
    for job_class in range(len(run.first)):
        if run.number.idle <= setting.how.held_back and not setting.tight[job_class]:
            continue
        for tier in range(TIERS):
            at = run.took[job_class, tier]
            if at == run.last[job_class]:
                break
            if at == run.stop[job_class, tier]:
                continue
            rank, row = run.rank[job_class, tier], run.who[job_class, at]
            key = rank[0], rank[1], run.due_s[job_class, at], run.rows[row].id
            if best < 0 or key < least:
                best, best_tier, least = job_class, tier, key
    return best, best_tier


# ---- its slots ----


@inlined
def placed(run: State, setting: Setting, row: int) -> int:
    """Return the type with the least score for a job; -1 if a rule failed."""
    number = offered(run, setting)
    job = run.rows[row]
    figures = run.figures[0]
    best = run.offers[0]
    if number == 1 or not setting.how.by_score:
        return int(best)
    level = job.complexity - 1
    of_class(run, setting, level, job.tight)
    figures.submit_s, figures.deadline_s = job.submit_s, job.deadline_s
    figures.fastest_offer_s = figures.cheapest_offer_usd_per_h = figures.best_status = (
        math.inf
    )
    for place in range(number):
        kind = run.offers[place]
        figures.fastest_offer_s = min(
            figures.fastest_offer_s, setting.mean_s[kind, level]
        )
        figures.cheapest_offer_usd_per_h = min(
            figures.cheapest_offer_usd_per_h, setting.price[kind]
        )
        if setting.how.by_score == 2:
            figures.best_status = min(
                figures.best_status, float(show(run, setting, kind))
            )
    a = b = c = math.inf
    for place in range(number):
        kind = run.offers[place]
        figures.mean_s = setting.mean_s[kind, level]
        figures.price_usd_per_h = setting.price[kind]
        figures.status = run.shown[setting.gpu[kind]]
        if not answered(run, setting.rules[1], setting.of_score):
            return -1
        x, y, z = run.answer[0], run.answer[1], run.answer[2]
        if not place or x < a or (x == a and (y < b or (y == b and z < c))):
            best, a, b, c = kind, x, y, z
    return int(best)


@inlined
def by_rules(run: State, setting: Setting) -> bool:
    """Dispatch jobs by rules; return False if a rule failed."""
    number = run.number
    figures = run.figures[0]
    best, row, gpus, nth = 0, 0, 0, 0
    run.shown[:] = -1
    figures.now_s, figures.waiting = run.now_s[0], number.waiting
    figures.next_free_s = math.inf
    for slot in range(len(run.fleet) if setting.how.looks_ahead else 0):
        if run.fleet[slot].row >= 0:
            figures.next_free_s = min(
                figures.next_free_s, run.rows[run.fleet[slot].row].finish_s
            )
    if figures.next_free_s < run.now_s[0] or figures.next_free_s == math.inf:
        figures.next_free_s = run.now_s[0]
    offers = offered(run, setting) if setting.how.of_idle else 0
    figures.mean_fastest_idle_s = 0.0
    for level in range(len(run.fastest_s) if offers else 0):
        run.fastest_s[level] = math.inf
        for place in range(offers):
            mean_s = setting.mean_s[run.offers[place], level]
            run.fastest_s[level] = min(run.fastest_s[level], mean_s)
        figures.mean_fastest_idle_s += setting.mix[level] * run.fastest_s[level]
    if not ranked(run, setting):
        return False
    while number.idle:
        if nth == gpus:
            best, tier = first_of(run, setting)
            if best < 0:
                break
            row = int(run.who[best, run.took[best, tier]])
            gpus, nth = run.rows[row].gpus, 0
            if gpus > number.idle:  # no overtaking
                break
            take(run, best, tier)
        kind = placed(run, setting, row)
        if kind < 0:
            return False
        slot = run.idle[0 if setting.how.free_types else kind]
        send(run, setting, row, nth, kind, slot)
        nth += 1
        again = setting.how.by_index and nth == gpus and number.idle
        if again and not indexed(run, setting, best):
            return False
    return True
