"""Answers to lecture 1: the event list."""

# %% [markdown]
# **1.1** One line of the loop changes: which of the waiting jobs is taken.

# %%
import heapq
from heapq import heapify, heappop
from itertools import pairwise

import cgrsp_simpy as cg

SUBMIT_S = (10, 25, 30, 55)
SERVICE_S = (40, 10, 30, 20)


def by_hand(choose):
    """Starts by job, and rows (clock, number waiting).

    choose: from the queue to the job that goes next.
    """
    future, queue, busy, start_s, rows = [(SUBMIT_S[0], "submit", 0)], [], False, {}, []
    while future:
        now_s, kind, job = heapq.heappop(future)
        if kind == "submit":
            queue.append(job)
            if job + 1 < len(SUBMIT_S):
                heapq.heappush(future, (SUBMIT_S[job + 1], "submit", job + 1))
        else:
            busy = False
        if queue and not busy:
            job, busy = choose(queue), True
            queue.remove(job)
            start_s[job] = now_s
            heapq.heappush(future, (now_s + SERVICE_S[job], "finish", job))
        rows.append((now_s, len(queue)))
    return start_s, rows


start_s, _ = by_hand(choose=lambda queue: min(queue, key=SERVICE_S.__getitem__))
waits_s = [start_s[job] - SUBMIT_S[job] for job in range(4)]
print("waits, shortest first:", waits_s)
print("1.1:", cg.exercises.check(1.1, sum(waits_s) / 4))

# %% [markdown]
# **1.2** Each row of the table holds until the next one: weigh it with that time.
# The area is also the sum of the waits, as each waiting job adds one second to both in
# each second. Lecture 3 makes a law of that.

# %%
start_s, rows = by_hand(choose=lambda queue: queue[0])
area = sum(
    waiting * (later_s - now_s) for (now_s, waiting), (later_s, _) in pairwise(rows)
)
end_s = rows[-1][0]
print(
    f"area {area} job seconds, the sum of the waits"
    f" {sum(start_s[job] - SUBMIT_S[job] for job in range(4))} s"
)
print(f"on average {area / end_s:.3f} jobs wait")
print("1.2:", cg.exercises.check(1.2, area / end_s))

# %% [markdown]
# **1.3** An entry is a triple; Python compares triples from the left. The third number
# is that of the scheduling, so it keeps the order where all else is equal.

# %%


def in_order(events):
    """The numbers of the events as they happen."""
    entries = [
        (time, priority, n, number) for n, (time, priority, number) in enumerate(events)
    ]
    heapify(entries)
    return [heappop(entries)[-1] for _ in events]


print("1.3:", cg.exercises.check(1.3, in_order))
