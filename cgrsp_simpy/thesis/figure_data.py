"""The data behind the thesis's figures: for each the rows that are plotted, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.engine.places import Slot
from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.gpu import THESIS_GPUS
from cgrsp_simpy.rental.market import CLOCKS, Market, Status
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.policies.rules import fastest
from cgrsp_simpy.rental.scenario import Scenario, day
from cgrsp_simpy.rental.view import Policy, View
from cgrsp_simpy.rental.workload import JobList, PoissonWorkload
from cgrsp_simpy.studies.replicate import simulate
from cgrsp_simpy.thesis.examples import QOS_FIRST, SEVEN_JOBS, THREE_JOBS
from cgrsp_simpy.thesis.experiments import FIGURES, MONTH, NAMES, TABLES, Source
from cgrsp_simpy.thesis.published import PRINTED
from cgrsp_simpy.thesis.runs import Results
from cgrsp_simpy.thesis.verdict import Judged, judged

Row = dict[str, Any]


# ---- From the tables ----


def table_rows(id: str, results: Results) -> list[Row]:
    """A table's figures: published, reproduced and half width, by row and column."""
    return [_row(each) for each in judged(TABLES[id], results)]


def _row(each: Judged) -> Row:
    return {
        "row": each.row,
        "column": each.column,
        "part": each.part,
        "published": float(each.printed.split()[0]),
        "reproduced": each.value,
        "half_width_95": each.half_width,
        "n": each.n,
        "verdict": each.verdict,
        "counted": each.counted,
    }


def benchmark(results: Results) -> list[Row]:
    """Figure 5.4: seven policies on the normal and the hectic day; published are 30 seeds, and one
    for the hectic day.
    """
    found = []
    for name, policy in NAMES.items():
        if name not in PRINTED["5.1"].rows:
            continue
        of_types = judged(TABLES["5.5"], results)
        normal = [each for each in of_types if (each.row, each.column) == ("normal", name)]
        hectic = [each for each in judged(TABLES["5.2"], results) if each.row == name]
        single = dict(zip(PRINTED["5.1"].columns, PRINTED["5.1"].rows[name]))
        for figure in ("wait, min", "miss, %"):
            (one,) = [each for each in normal if each.part == figure]
            (other,) = [each for each in hectic if each.column == figure]
            found.append({**_row(one), "row": "normal", "column": policy, "part": figure})
            place = {"row": "hectic", "column": policy, "part": figure}
            found.append({**_row(other), **place, "published": float(single[figure])})
    return found


def lateness(results: Results) -> list[Row]:
    """Figure 5.8: misses and tardiness of the month, and how Adaptive differs from CADR in
    the same months.
    """
    found = [
        row for row in table_rows("5.13", results) if row["column"] in ("miss, %", "tardiness, min")
    ]
    for figure in ("miss, %", "tardiness, min"):
        one, other = (
            next(row for row in found if (row["row"], row["column"]) == (name, figure))
            for name in ("Adaptive", "CADR")
        )
        mine, its = (
            results.values(Source(MONTH, policy, FIGURES[figure]), one["n"])
            for policy in ("adaptive", "cadr")
        )
        ours = paired_difference(mine, its)
        published = one["published"] - other["published"]
        found.append(
            {
                **one,
                "row": "Adaptive - CADR",
                "part": "paired difference",
                "published": published,
                "verdict": "",
            }
        )
        found[-1] |= {"reproduced": ours.mean, "half_width_95": ours.half_width, "counted": False}
    return found


def kinds_of_days(results: Results) -> list[Row]:
    """Figure 5.7 (a): the mean wait over the months' days of a kind, by policy; the interval is
    over replications.
    """
    found = []
    for kind in ("quiet", "normal", "surge", "hectic"):
        for policy in dict.fromkeys(row["policy"] for row in results.days):
            months: dict[int, list[float]] = {}
            for row in results.days:
                if (row["kind"], row["policy"]) == (kind, policy):
                    months.setdefault(row["replication"], []).append(row["wait_min"])
            wait = mean([float(np.mean(waits)) for waits in months.values()])
            found.append(
                {
                    "kind": kind,
                    "policy": policy,
                    "wait_min": wait.mean,
                    "half_width_95": wait.half_width,
                    "months": wait.n,
                }
            )
    return found


def month(results: Results) -> list[Row]:
    """Figure 5.7: waits by kind of day, and the month's wait and miss beside the published ones."""
    shown = [
        row for row in table_rows("5.13", results) if row["column"] in ("wait, min", "miss, %")
    ]
    whole = [{"kind": "month", "policy": NAMES[row["row"]], **row} for row in shown]
    kinds = [
        {"kind": row["kind"], "policy": row["policy"], "column": "wait, min", **_reproduced(row)}
        for row in kinds_of_days(results)
    ]
    keys = ("kind", "policy", "column", "published", "reproduced", "half_width_95", "n")
    return [{key: row.get(key, math.nan) for key in keys} for row in [*kinds, *whole]]


def _reproduced(row: Row) -> Row:
    return {
        "reproduced": row["wait_min"],
        "half_width_95": row["half_width_95"],
        "n": row["months"],
    }


def daily_rows(
    results: Results, policies: Iterable[str] = ("fifo", "spt", "edf", "rh", "cadr")
) -> list[Row]:
    """Figure 5.9: the share of missed deadlines by day of the first replication."""
    keys = ("policy", "replication", "day", "kind", "seed", "miss_pct")
    chosen = list(policies)
    return [
        {key: row[key] for key in keys}
        for row in results.days
        if row["policy"] in chosen and row["replication"] == 0
    ]


# ---- From single runs ----


def three_jobs() -> list[Row]:
    """Figure 3.2: the worked example of Section 3.7."""
    return simulate(THREE_JOBS, QOS_FIRST).rows()


def seven_jobs() -> list[Row]:
    """Figure 4.1: the worked example of Section 4.5.9, under both policies."""
    runs = {name: simulate(SEVEN_JOBS, make_policy(name)) for name in ("fifo", "spt-rescue")}
    return [{"policy": name, **row} for name, run in runs.items() for row in run.rows()]


class _Watch:
    """The policy of Section 3.7's text, which keeps what it saw and answered the first time that
    a view pleases.
    """

    name = QOS_FIRST.name

    def __init__(self, rows: list[Row], pleases: Callable[[View], bool], seed: int) -> None:
        self.rows, self.pleases, self.seed = rows, pleases, seed

    def __deepcopy__(self, memo: object) -> _Watch:
        return self

    def __call__(self, view: View) -> Any:
        answer = QOS_FIRST(view)
        if not self.rows and self.pleases(view):
            self.rows += [{"seed": self.seed, **row} for row in _seen(view, answer)]
        return answer


def _seen(view: View, answer: list[Any]) -> list[Row]:
    """A view and its answer: a row a waiting job and a row a slot.

    slot: of a job, where it is sent; -1 for nowhere.

    first_s: a slot's mean execution time of the first waiting job.
    """
    chosen = {job.id: slot.index for job, slot in answer}
    common = {"time_s": view.now_s, "policy": _Watch.name}
    rows: list[Row] = [
        {
            **common,
            "what": "job",
            "id": job.id,
            "slot": chosen.get(job.id, -1),
            "kind": f"complexity {job.complexity}",
        }
        | {
            "state": "tight" if job.tight else "loose",
            "minutes": (job.deadline_s - view.now_s) / 60,
        }
        | {"first_s": math.nan, "price_usd_per_h": math.nan}
        for job in view.queue
    ]
    for slot in view.slots:
        end_s = slot.expected_end_s
        state = "busy" if end_s is not None else view.status(slot).name.title()
        minutes = math.nan if end_s is None else (end_s - view.now_s) / 60
        rows.append(
            {**common, "what": "slot", "id": slot.index, "slot": slot.index, "kind": slot.gpu.name}
        )
        rows[-1] |= {"state": state, "minutes": minutes}
        rows[-1] |= {
            "first_s": view.mean_s(view.queue[0], slot),
            "price_usd_per_h": slot.gpu.price_usd_per_h,
        }
    return rows


TOGETHER = 3  # jobs that are submitted at one instant there, so that there is something to decide


def scenes(seed: int) -> Scenario:
    """A surge day whose jobs come three at a time, each three when the last of them
    would have come.
    """
    usual = day("surge")
    jobs = [job for job, _ in usual.workload.generate(seed, usual.service)]
    late_s = [
        jobs[min(job.id - job.id % TOGETHER + TOGETHER, len(jobs)) - 1].submit_s - job.submit_s
        for job in jobs
    ]
    moved = (
        job._replace(submit_s=job.submit_s + s, deadline_s=job.deadline_s + s)
        for job, s in zip(jobs, late_s)
    )
    return replace(usual, name="surge, three jobs at a time", workload=JobList(tuple(moved)))


def decision() -> list[Row]:
    """Figure 3.1: the first decision that is as its caption says, on days of `scenes` of
    seed 0, 1, 2, ...

    A tight job and two loose ones wait, in this order; at least as many slots are idle, and
    not all; of those that are idle two are the cheapest, and the fastest for the tight job
    is none of these.
    """
    rows: list[Row] = []
    for seed in count():
        simulate(scenes(seed), _Watch(rows, _as_captioned, seed), seed)
        if rows:
            break
    return rows


def _as_captioned(view: View) -> bool:
    queue, idle = view.queue, view.idle
    if [job.tight for job in queue] != [True, False, False] or not TOGETHER <= len(idle) < len(
        view.slots
    ):
        return False
    prices = [slot.gpu.price_usd_per_h for slot in idle]
    return fastest(view, queue[0], idle).gpu.price_usd_per_h > min(prices) == sorted(prices)[1]


SEEDS = 10  # of the runs behind the two figures below


def stock_over_the_day(days: Iterable[str] = ("normal", "surge")) -> list[Row]:
    """Share of dispatches by the stock status met, by hour of the run, under FIFO."""
    found = []
    for name in days:
        runs = [simulate(day(name), make_policy("fifo"), seed).jobs for seed in range(SEEDS)]
        jobs = np.concatenate(runs)
        hours = (jobs["dispatch_s"] // 3600).astype(int)
        for hour in range(int(hours.max()) + 1):
            met = jobs["status"][hours == hour]
            shares = {
                f"{status.name.lower()}_pct": 100 * float(np.mean(met == status))
                if len(met)
                else 0.0
                for status in Status
            }
            found.append({"day": name, "hour": hour, "dispatches": len(met), **shares})
    return found


def queues(
    policies: Iterable[str] = ("fifo", "spt", "edf", "rh", "cadr"), step_s: float = 300.0
) -> list[Row]:
    """Waiting jobs over the hectic day by policy: the mean over seeds, every five minutes."""
    times_s = np.arange(0, 12 * 3600 + step_s, step_s)
    found: list[Row] = []
    for policy in policies:
        lengths = []
        for seed in range(SEEDS):
            at_s, jobs = queue_length(simulate(day("hectic"), make_policy(policy), seed))
            place = np.searchsorted(at_s, times_s, "right") - 1
            lengths.append(np.where(place >= 0, jobs[place], 0))
        for hour, waiting in zip(times_s / 3600, np.array(lengths).T):
            average = mean(waiting)
            half = average.half_width
            found.append(
                {
                    "policy": policy,
                    "time_h": float(hour),
                    "waiting": average.mean,
                    "half_width_95": half,
                }
            )
    return found


SNAPSHOTS, WINDOWS_H = 77, ((1, 2), (18, 19))  # Section 5.1.1, Figure 5.3


def multiplier() -> list[Row]:
    """Figure 5.3: the stock multiplier by hour of day, calibrated and printed, the two windows in
    which most of the snapshots of prices and stock lie, whose times are not printed, and arrivals
    by hour of the generated data.
    """
    found: list[Row] = []
    for name, clock in CLOCKS.items():
        edges = [*(hour for hour, _ in clock.bands), 24.0]
        for (_, value), begin, end in zip(clock.bands, edges, edges[1:]):
            found.append(
                {
                    "what": name,
                    "from_h": begin,
                    "to_h": end,
                    "value": value,
                    "run_starts_h": clock.start_h,
                }
            )
    found += [
        {"what": "snapshots", "from_h": begin, "to_h": end, "value": SNAPSHOTS, "run_starts_h": 0}
        for begin, end in WINDOWS_H
    ]
    hours = np.bincount([row["hour"] for row in generated_jobs()], minlength=24).tolist()
    return found + [
        {"what": "arrivals", "from_h": hour, "to_h": hour + 1, "value": jobs, "run_starts_h": 0}
        for hour, jobs in enumerate(hours)
    ]


# ---- A generated data set in place of the studio's ----

# jobs, Section 5.1.1
COUNTS = {"RTX 3090": 1119, "RTX A5000": 4916, "RTX A4000": 257, "RTX A4500": 335}
# Table 4.1
AVERAGES_S = {"RTX 3090": 78.1, "RTX A5000": 74.0, "RTX A4000": 97.9, "RTX A4500": 86.0}
RANGE_S = (30.0, 352.0)  # Section 5.1.1
SIGMA = (0.04, 0.11, 0.23)  # log-space, by complexity
RARE = 0.008  # share of jobs drawn over the whole printed range: the tails
MORNING = range(6, 9)  # hours of the printed peak
PEAK = 3.0  # arrivals in a peak hour over those in another


def generated_jobs() -> list[Row]:
    """6,627 jobs whose counts and means by type, dispersion and range follow the printed
    statistics; not the studio's data.
    """
    rng = stream(0, "generated")
    weights = np.array([PEAK if hour in MORNING else 1.0 for hour in range(24)])
    found = []
    for gpu in THESIS_GPUS:
        number, average = COUNTS[gpu.name], AVERAGES_S[gpu.name]
        low, middle, high = gpu.mean_execution_s
        below = middle if gpu.name in ("RTX A4500", "RTX A4000") else (low + middle) / 2
        # of complexity 3, so that the mean comes out
        share = min(1.0, (average - below) / (high - below))
        mix = (
            (0.0, 1 - share, share)
            if below == middle
            else ((1 - share) / 2, (1 - share) / 2, share)
        )
        level = rng.choice(3, size=number, p=mix)
        sigma = np.array(SIGMA)[level]
        seconds = np.array([low, middle, high])[level] * np.exp(
            sigma * rng.standard_normal(number) - sigma**2 / 2
        )
        rare = rng.random(number) < RARE
        seconds[rare] = np.exp(
            rng.uniform(math.log(RANGE_S[0]), math.log(RANGE_S[1]), int(rare.sum()))
        )
        seconds[~rare] *= (average * number - seconds[rare].sum()) / seconds[~rare].sum()
        seconds = np.clip(seconds, *RANGE_S)
        hours = rng.choice(24, size=number, p=weights / weights.sum())
        found += [
            {"gpu": gpu.name, "hour": int(hour), "execution_s": float(each)}
            for hour, each in zip(hours, seconds)
        ]
    return found


# ---- The package itself ----

QUEUE = "event queue"
PARTS: dict[str, tuple[tuple[Any, ...], str]] = {  # as in Section 4.1: who carries it out, and what
    QUEUE: (("simpy.Environment",), "submit, start and finish of each job, by time"),
    "Job Generator": ((PoissonWorkload,), "jobs with draws of their own"),
    "DES Core": ((Simulation,), "a job's life; one decision an instant"),
    "Scheduler": ((Policy, View), "a function of what may be seen"),
    "Fleet Manager": ((Slot, Market), "who holds a slot; stock and delay"),
    "Metrics Collector": ((Records, Run), "a row a job; means by class"),
}
MESSAGES = (  # from, to, what is said
    ("Job Generator", QUEUE, "arrivals"),
    (QUEUE, "DES Core", "next event"),
    ("DES Core", QUEUE, "start, finish"),
    ("DES Core", "Scheduler", "View"),
    ("Scheduler", "DES Core", "(job, slot)"),
    ("Scheduler", "Fleet Manager", "idle slots?"),
    ("DES Core", "Fleet Manager", "claim, release"),
    ("DES Core", "Metrics Collector", "records"),
)


def architecture() -> list[Row]:
    """Figure 5.2: the components of Section 4.1 with the names that carry them out here, what they
    send each other, and the types of the fleet.
    """
    found: list[Row] = [
        {"what": "part", "name": part, "to": "", "names": " ".join(_named(by)), "text": does}
        for part, (by, does) in PARTS.items()
    ]
    found += [
        {"what": "message", "name": one, "to": other, "names": "", "text": said}
        for one, other, said in MESSAGES
    ]
    return found + [
        {"what": "type", "name": gpu.name, "to": "Fleet Manager", "names": "GpuType", "text": ""}
        for gpu in THESIS_GPUS
    ]


def _named(by: Iterable[Any]) -> list[str]:
    """The names of classes and functions."""
    return [each if isinstance(each, str) else each.__name__ for each in by]
