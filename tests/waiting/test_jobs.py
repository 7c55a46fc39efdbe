"""Logs of batch jobs: which lines become which jobs, omissions, errors, memory."""

import numpy as np
import pytest
from support import check_refused

from cgrsp_simpy.waiting.jobs import ListedJobs, describe, read_jobs

HEAD = "; Version: 2.2\n; Computer: Abacus 3\n; MaxNodes: 2\n; MaxProcs: 8\n;\n"
CSV_HEAD = (
    "userid,wallclock_limit_sec,wallclock_runtime_sec,num_cores,total_MB_req,status,"
    "time\n"
)
GB_IN_KB = 1024 * 1024


def line(
    submit=0, run=60, allocated=1, used=-1, requested=-1, requested_kb=-1, status=1
):
    """A line of SWF; fields that are not passed are as on most lines of real logs, or
    missing.
    """
    return (
        f"7 {submit} -1 {run} {allocated} -1 {used} {requested} 3600 {requested_kb}"
        f" {status} 3 1 -1 2 -1 -1 -1\n"
    )


def row(time, run=60, cores=1, mb=1024, status="DONE"):
    return f"5,3600,{run},{cores},{mb},{status},{time}\n"


@pytest.fixture
def read(tmp_path):
    """Return the jobs that are read from a text."""

    def make(text, name="log.swf", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_jobs(path, **options)

    return make


def columns(log):
    """The jobs of a log, row by row: submission, run time, cores, memory."""
    return list(
        zip(
            *(
                getattr(log.jobs, column).tolist()
                for column in ("submit_s", "run_s", "cores", "memory_gb")
            )
        )
    )


# ---- the Standard Workload Format ----

# Fields besides the submission -> run time, cores and memory of the job
# that it is
KEPT = [
    ({}, (60.0, 1, 0.0)),  # no memory is known
    ({"run": 0.25}, (0.25, 1, 0.0)),  # times need not be whole
    ({"run": 0}, (0.0, 1, 0.0)),  # less than half a second
    # what was allocated comes first
    ({"allocated": 4, "requested": 8}, (60.0, 4, 0.0)),
    ({"allocated": -1, "requested": 8}, (60.0, 8, 0.0)),  # then what was requested
    # none allocated is as good as not known
    ({"allocated": 0, "requested": 8}, (60.0, 8, 0.0)),
    # what was requested comes first
    ({"requested_kb": GB_IN_KB, "used": 5}, (60.0, 1, 1.0)),
    ({"used": GB_IN_KB // 2}, (60.0, 1, 0.5)),  # then what was used
    # each processor has it
    ({"requested_kb": GB_IN_KB, "allocated": 4}, (60.0, 4, 4.0)),
    ({"requested_kb": GB_IN_KB, "allocated": -1, "requested": 2}, (60.0, 2, 2.0)),
    ({"requested_kb": 0, "used": GB_IN_KB}, (60.0, 1, 0.0)),  # none was requested
    ({"status": 0}, (60.0, 1, 0.0)),  # failed, after it held a processor
    ({"status": 0, "run": 0}, (0.0, 1, 0.0)),  # failed at once
    ({"status": 5}, (60.0, 1, 0.0)),  # cancelled while it ran
    ({"status": -1}, (60.0, 1, 0.0)),  # its end is unknown
]


@pytest.mark.parametrize(("said", "job"), KEPT, ids=[str(said) for said, _ in KEPT])
def test_a_line_of_swf_gives_the_job(read, said, job):
    log = read(HEAD + line(**said))
    assert columns(log) == [(0.0, *job)]
    assert (len(log.log.report.bad), log.log.report.counts) == (0, {})


@pytest.mark.parametrize("cores", ["", ",cores"])
def test_gpus_are_not_priced_as_cores(read, cores):
    """A log whose jobs hold GPUs is refused, unless each takes a machine as a whole;
    one without GPUs is not.
    """
    text = (
        f"submit_s,service_s,gpus{cores}\n"
        f"0,60,1{cores and ',8'}\n"
        f"5,60,0{cores and ',8'}\n"
    )
    check_refused(
        lambda: read(text, "log.csv"),
        r"1 of 2 jobs use GPUs \(mean 1\).* use a table of machines",
    )
    assert read(text, "log.csv", whole=True).jobs.cores.tolist() == (
        [8, 8] if cores else [1, 1]
    )
    assert read(text.replace("60,1", "60,0"), "log.csv").jobs.jobs == 2


LEFT_OUT = [
    ({"status": 2}, "part of a job"),  # to be continued
    ({"status": 3}, "part of a job"),  # its last part
    ({"status": 4}, "part of a job"),  # its last part, which failed
    # only a job's first part says when it came
    ({"status": 2, "submit": -1}, "part of a job"),
    ({"status": 5, "run": 0}, "cancelled before it ran"),
    ({"status": 5, "run": -1, "allocated": -1}, "cancelled before it ran"),
    ({"run": -1}, "no run time"),
    ({"submit": -1}, "no submit time"),
    ({"allocated": -1}, "no processors"),
    ({"allocated": 0, "requested": 0}, "no processors"),
]


@pytest.mark.parametrize(
    ("said", "reason"), LEFT_OUT, ids=[str(said) for said, _ in LEFT_OUT]
)
def test_a_line_that_is_not_a_separate_job_is_left_out_and_counted(read, said, reason):
    log = read(HEAD + line(0) + line(**{"submit": 5, **said}) + line(9))
    assert columns(log) == [(0.0, 60.0, 1, 0.0), (9.0, 60.0, 1, 0.0)]
    assert (len(log.log.report.bad), log.log.report.counts) == (0, {reason: 1})


def test_time_0_is_the_first_submission(read):
    assert read(
        HEAD + line(500) + line(502.5) + line(502.5)
    ).jobs.submit_s.tolist() == [
        0.0,
        2.5,
        2.5,
    ]
    # of the jobs that are left
    assert read(
        HEAD + line(3, run=-1) + line(10) + line(11)
    ).jobs.submit_s.tolist() == [0.0, 1.0]


# ---- CSV ----


def test_the_layout_of_the_authors_is_read(read):
    log = read(
        CSV_HEAD
        + row("2016-01-01 23:59:50", 100, 4, 2048)
        + row("2016-01-02 00:00:00.5", 7.5, 64, 1536, "EXIT"),
        "log.csv",
    )
    # also the one that was not DONE
    assert columns(log) == [(0.0, 100.0, 4, 2.0), (10.5, 7.5, 64, 1.5)]
    assert (len(log.log.report.bad), log.log.report.counts, log.log.header) == (
        0,
        {},
        {},
    )


def test_jobs_of_a_table_that_cannot_be_run_are_left_out(read):
    log = read(
        CSV_HEAD
        + row(0)
        + row(1, run="")
        + row(2, run=-1)
        + row(3, cores=0)
        + row(-1)
        + row(9),
        "log.csv",
    )
    assert log.jobs.submit_s.tolist() == [0.0, 9.0]
    assert (len(log.log.report.bad), log.log.report.counts) == (
        0,
        {"no run time": 2, "no submit time": 1, "no processors": 1},
    )


# ---- a log in one line ----


def test_a_log_is_summarised_on_one_line():
    """Four jobs in two days: 2 a day; 100, 179, 180 and 43,741 s; (100 x 1 + 179 x 1 +
    180 x 2 + 43,741 x 4) / 172,800 s.
    """
    seconds, cores = [100, 179, 180, 43_741], [1, 1, 2, 4]
    log = ListedJobs(
        np.array([1e5, 1e5, 2e5, 1e5 + 2 * 86_400]),
        np.array(seconds),
        np.array(cores),
        np.zeros(4),
    )
    assert sum(
        run * width for run, width in zip(seconds, cores)
    ) / 172_800 == pytest.approx(1.0162, abs=1e-4)
    assert (
        describe(log)
        == "4 jobs in 2.00 days, 2.0 per day, load 1.0 cores; run time mean 11,050.0 s,"
        " median 179.5 s, 50.0% below 3 minutes; mean cores 2.00"
    )
