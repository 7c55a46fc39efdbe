"""The event list, the queue of waiting jobs, and the idle slots."""

from __future__ import annotations

from cgrsp_simpy.base.compiled import bisect, inlined
from cgrsp_simpy.rental.kernel.state import TIERS, Setting, State

# ---- events ----


@inlined
def schedule(run: State, leaf: int, at_s: float) -> None:
    """Set the next event of a leaf, after all others at its time; update the tree."""
    run.at_s[leaf], run.order[leaf] = at_s, run.number.order
    run.number.order += 1
    node = (leaf + len(run.at_s)) >> 1
    while node:
        least, other = run.tree[2 * node], run.tree[2 * node + 1]
        if run.at_s[other] < run.at_s[least] or (
            run.at_s[other] == run.at_s[least] and run.order[other] < run.order[least]
        ):
            least = other
        run.tree[node] = least
        node >>= 1


# ---- jobs ----


@inlined
def join(run: State, setting: Setting) -> bool:
    """Add the next job to the queue; return False if there is no room."""
    number, job = run.number, run.jobs[run.number.next]
    job_class = setting.alike[job.complexity - 1, job.deadline_class]
    first, last = run.first[job_class], run.last[job_class]
    due_s, who = run.due_s[job_class], run.who[job_class]
    if last == len(who) or not number.free:
        return False
    if first == last and job_class not in run.turn[: number.classes]:
        run.turn[number.classes] = job_class
        number.classes += 1
    number.free -= 1
    row = run.free[number.free]
    run.rows[row] = job
    key = 0.0 if setting.how.first_come else job.deadline_s
    place = bisect(due_s, key, first, last, True)
    for at in range(last, place, -1):
        due_s[at], who[at] = due_s[at - 1], who[at - 1]
    due_s[place], who[place], run.last[job_class] = key, row, last + 1
    number.next += 1
    number.waiting += 1
    return True


@inlined
def leave(run: State, job_class: int, at: int) -> int:
    """Remove a job from the queue; return the shift of the jobs before it, 0 or 1."""
    first, last = run.first[job_class], run.last[job_class]
    due_s, who = run.due_s[job_class], run.who[job_class]
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


# ---- slots ----


@inlined
def offered(run: State, setting: Setting) -> int:
    """Set the offers: types that can be provisioned now; return their number.

    Types are in order of their first idle slot; free types share the first one.
    """
    number, free = 0, setting.how.free_types
    for kind in range(len(setting.price)):
        slot = run.idle[0 if free else kind]
        if slot < len(run.fleet):
            at = number
            while at and not free and run.idle[run.offers[at - 1]] > slot:
                run.offers[at] = run.offers[at - 1]
                at -= 1
            run.offers[at] = kind
            number += 1
    return number


@inlined
def offer(run: State, setting: Setting, slot: int) -> None:
    """Update the first slot of a group: the first idle warm one, else the first."""
    group, rents, first = setting.group[slot], setting.how.rents, len(run.fleet)
    for at in range(0 if rents else min(run.idle[group], slot), len(run.fleet)):
        if run.fleet[at].row < 0 and setting.group[at] == group:
            first = min(first, at)
            if run.fleet[at].payer >= 0 or not rents:
                first = at
                break
    run.idle[group] = first


@inlined
def send(
    run: State, setting: Setting, row: int, nth: int, kind: int, slot: int
) -> None:
    """Assign an idle slot, as a type, to a job."""
    sent = run.sent[run.number.sent]
    sent.row, sent.nth, sent.kind, sent.slot = row, nth, kind, slot
    run.fleet[slot].row = row
    run.number.sent += 1
    run.number.idle -= 1
    offer(run, setting, slot)
