"""A cluster simulated in plain Python, and logs of it; shares no code with the package.

Jobs of one log take GPUs of equal nodes, or whole nodes if they are wider than one.
"""

import random
from collections import namedtuple

Job = namedtuple("Job", "submit_s gpus run_s limit_s user after think_s")


def shadow(head, free, size, running, now_s):
    """Return when a job will have room by the limits of running jobs, and the free GPUs
    then.
    """
    free, start_s = list(free), now_s
    for end_s, place in sorted((max(end_s, now_s), place) for end_s, place in running):
        if end_s > start_s and room(head.gpus, free, size, "best"):
            break
        start_s = end_s
        for node, gpus in place:
            free[node] += gpus
    return start_s, free


def room(gpus, free, size, placement):
    """Return the nodes and GPUs for a job; empty if there is no room."""
    place = [(node, size) for node, left in enumerate(free) if left == size]
    place = place[: gpus // size] if gpus > size else []
    gpus -= size * len(place)
    if gpus:
        taken = {node for node, _ in place}
        fit = [
            (KEYS[placement](left), node)
            for node, left in enumerate(free)
            if left >= gpus and node not in taken
        ]
        if not fit or gpus > size:
            return []
        place.append((min(fit)[1], gpus))
    return place


# key of a node with so many GPUs free
KEYS = {
    "first": lambda left: 0,
    "best": lambda left: left,
    "spread": lambda left: -left,
}
# key of a waiting job under each order; rank: its place in the queue
ORDERS = {
    "arrival": lambda job, rank, state: rank,
    "latest": lambda job, rank, state: -rank,
    "widest": lambda job, rank, state: (-job.gpus, rank),
    "shortest": lambda job, rank, state: (job.limit_s, rank),
    "longest": lambda job, rank, state: (-job.limit_s, rank),
    "random": lambda job, rank, state: state.generator.random(),
    "fewest running": lambda job, rank, state: (state.running_of(job.user), rank),
}
KNOWN = {  # name in the package: order, and what a job that does not fit does
    "fifo": ("arrival", "wait"),
    "fifo-skip": ("arrival", "skip"),
    "shortest": ("shortest", "skip"),
    "easy": ("arrival", "backfill"),
    "ordered:by=shortest,blocked=wait": ("shortest", "wait"),
    "ordered:by=latest": ("latest", "skip"),
    "ordered:by=widest": ("widest", "skip"),
    "ordered:by=shortest,blocked=backfill": ("shortest", "backfill"),
}
UNKNOWN = {
    "random": ("random", "skip"),
    "longest": ("longest", "skip"),
    "users in turn": ("fewest running", "skip"),
    "half-hourly": ("arrival", "skip"),
}


class Run:
    """One run: `ready_s` and `start_s` of each job."""

    def __init__(self, jobs, nodes, size, scheduler, placement):
        self.jobs, self.size = jobs, size
        self.scheduler, self.placement = scheduler, placement
        self.order, self.blocked = {**KNOWN, **UNKNOWN}[scheduler]
        self.cycle_s = 1800 if scheduler == "half-hourly" else 0
        self.generator = random.Random("order")
        self.free, self.running, self.queue = [size] * nodes, {}, []
        self.ready_s, self.start_s = [None] * len(jobs), [None] * len(jobs)
        coming = [(j.submit_s, n) for n, j in enumerate(jobs) if j.after is None]
        followers, now_s = {}, 0.0
        for number, job in enumerate(jobs):
            followers.setdefault(job.after, []).append(number)
        while coming or self.running or self.queue:
            ends_s = [end_s for end_s, _ in self.running.values()]
            times_s = ends_s + [at_s for at_s, _ in coming]
            if self.cycle_s and self.queue:
                times_s.append((now_s // self.cycle_s + 1) * self.cycle_s)
            now_s = min(times_s)
            for number in [
                n for n, (end_s, _) in self.running.items() if end_s <= now_s
            ]:
                _, place = self.running.pop(number)
                for node, gpus in place:
                    self.free[node] += gpus
                for later in followers.get(number, ()):
                    job = jobs[later]
                    coming.append((max(now_s + job.think_s, job.submit_s), later))
            for at_s, number in sorted(coming):
                if at_s <= now_s:
                    self.ready_s[number] = at_s
                    self.queue.append(number)
            coming = [item for item in coming if item[0] > now_s]
            if not self.cycle_s or now_s % self.cycle_s == 0:
                self.decide(now_s)

    def running_of(self, user):
        return sum(self.jobs[number].user == user for number in self.running)

    def decide(self, now_s):
        """Start jobs."""
        skipped, head = set(), None
        while True:
            ranked = [
                (ORDERS[self.order](self.jobs[number], rank, self), number)
                for rank, number in enumerate(self.queue)
                if number not in skipped
            ]
            if not ranked:
                return
            number = min(ranked)[1]
            job = self.jobs[number]
            place = room(job.gpus, self.free, self.size, self.placement)
            if place and head is not None:  # must not delay the head
                start_s, then = head[1:]
                for node, gpus in place if now_s + job.limit_s > start_s else ():
                    then[node] -= gpus
                if min(then) < 0 or not room(head[0].gpus, then, self.size, "best"):
                    for node, gpus in place:
                        then[node] += gpus
                    place = []
            if place:
                for node, gpus in place:
                    self.free[node] -= gpus
                self.queue.remove(number)
                self.start_s[number] = now_s
                self.running[number] = (now_s + job.run_s, place)
                continue
            if self.blocked == "wait":
                return
            if self.blocked == "backfill" and head is None:
                by_limit = [
                    (self.start_s[n] + self.jobs[n].limit_s, place)
                    for n, (_, place) in self.running.items()
                ]
                head = (job, *shadow(job, self.free, self.size, by_limit, now_s))
            skipped.add(number)


def drawn(seed, number, nodes, size, load, exact):
    """Jobs of whole seconds; users know run times if exact, else they overestimate."""
    generator = random.Random(f"{seed} jobs")
    jobs, now_s = [], 0.0
    for job in range(number):
        gpus = generator.choice([1, 1, 1, 2, 2, 4, 4, 8, 16])
        run_s = 1 + int(generator.lognormvariate(7.5, 1.2))
        now_s += generator.expovariate(load * nodes * size / 4.33 / 3700)
        after = (
            generator.randrange(max(job - 20, 0), job)
            if job and generator.random() < 0.3
            else None
        )
        think_s = generator.choice([0, 0, 60, 600]) if after is not None else 0
        asked_s = run_s * generator.uniform(1, 4) // 60 * 60 + 60
        limit_s = run_s if exact else asked_s
        jobs.append(
            Job(
                int(now_s), gpus, run_s, limit_s, generator.randrange(5), after, think_s
            )
        )
    return jobs


def log_of(run):
    """The CSV log of a run."""
    lines = ["job_id,submit_s,start_s,service_s,limit_s,gpus,user,after,think_s"]
    for number, (job, start_s) in enumerate(zip(run.jobs, run.start_s)):
        after, think_s = (
            ("", "") if job.after is None else (f"j{job.after}", job.think_s)
        )
        lines.append(
            f"j{number},{job.submit_s},{start_s},{job.run_s},{job.limit_s},{job.gpus},"
            f"u{job.user},{after},{think_s}"
        )
    return "\n".join(lines) + "\n"
