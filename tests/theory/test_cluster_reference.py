"""FCFS, SJF and F1 on one pool against figures that another program prints."""

from math import log10
from pathlib import Path

import numpy as np
import pytest
from cluster.cases import simulate

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.backfilling import shadow

LUBLIN = (
    Path(__file__).resolve().parents[3] / "shared" / "data" / "swf" / "lublin_256.swf"
)
GPUS = 256


def sjf(arrival_s, gpus, request_s):
    return request_s, arrival_s


def f1(arrival_s, gpus, request_s):
    return (log10(request_s) * gpus + 870 * log10(arrival_s),)


class InTurn:
    """The waiting job of least key is the next; while it does not fit, nothing starts,
    or with `fill` what ends before it can.

    That time is what the estimates say when the job becomes the next. Jobs fill in by
    arrival.
    """

    asks_on_arrival = True

    def __init__(self, key, fill):
        self.key, self.fill, self.next = key, fill, None

    def __call__(self, view):
        while view.head is not None:
            if self.next is None:
                known = view.jobs
                columns = known.arrival_s, known.gpus, known.estimate_s
                self.next = min(
                    view.queue,
                    key=lambda job: self.key(*(column[job] for column in columns)),
                )
                self.start_s = shadow(view, self.next)[0]
            place = view.room(view.gpus[self.next])
            if place is None:
                break
            job, self.next = self.next, None
            yield job, place
        for job in view.queue if self.fill else ():
            if (
                job != self.next
                and view.now_s + view.estimate_s[job] < self.start_s
                and (place := view.room(view.gpus[job]))
            ):
                yield job, place


@pytest.mark.skipif(not LUBLIN.is_file(), reason="the log is not here")
@pytest.mark.parametrize(
    ("key", "fill", "printed"),
    [
        (lambda arrival_s, *_: arrival_s, False, 8626.0437),
        (sjf, False, 453.3415),
        (f1, False, 368.6423),
        (sjf, True, 78.2297),
        (f1, True, 49.5533),
    ],
)
def test_bounded_slowdown_on_a_published_log_is_as_another_program_prints_it(
    key, fill, printed
):
    """Jobs 300 to 1323 of lublin_256 (Zhang et al. 2020, RLScheduler, SC '20), one pool
    of 256 processors.

    Columns of the log: 2 submission, 4 run time, 5 and 8 processors, 9 requested time,
    or -1 for the run time.
    """
    lines = [
        line.split()
        for line in LUBLIN.read_text().splitlines()
        if not line.startswith(";")
    ]
    rows = np.array(
        [
            [float(line[column]) for column in (1, 3, 4, 7, 8)]
            for line in lines
            if float(line[3]) > 0
        ]
    )[300:1324]
    arrival_s, run_s, allocated, requested, request_s = rows.T
    none = np.zeros(len(rows))
    limit_s = np.where(request_s == -1, run_s, request_s)
    jobs = cg.cluster.Jobs(
        arrival_s,
        np.maximum(allocated, requested),
        run_s,
        limit_s,
        None,
        none,
        None,
        None,
    )
    run = simulate(jobs, cg.cluster.Cluster((GPUS,)), InTurn(key, fill))
    found = cg.cluster.metrics(run)
    assert found["bounded_slowdown"] == pytest.approx(printed, abs=5e-5)
