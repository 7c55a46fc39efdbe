"""Logs of batch jobs: which lines become which jobs, what is left out, what is refused,
and how much memory it takes.
"""

import gzip
import re

import numpy as np
import pytest
from support import DATA, check_refused

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.waiting.jobs import ListedJobs, describe, read_jobs

# of the Parallel Workloads Archive
NASA = DATA / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz"
HEAD = "; Version: 2.2\n; Computer: Abacus 3\n; MaxNodes: 2\n; MaxProcs: 8\n;\n"
CSV_HEAD = (
    "userid,wallclock_limit_sec,wallclock_runtime_sec,num_cores,total_MB_req,status,"
    "time\n"
)
GB_IN_KB = 1024 * 1024


def line(
    submit=0, run=60, allocated=1, used=-1, requested=-1, requested_kb=-1, status=1
):
    """A line of SWF; what is not given is as it is on most lines of real logs, or
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
    """What is read from a text."""

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
    ({"status": -1}, (60.0, 1, 0.0)),  # nothing is known of its end
]


@pytest.mark.parametrize(("said", "job"), KEPT, ids=[str(said) for said, _ in KEPT])
def test_what_a_line_of_swf_says_is_the_job(read, said, job):
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
        f"0,60,4{cores and ',8'}\n"
        f"5,60,0{cores and ',8'}\n"
    )
    check_refused(
        lambda: read(text, "log.csv"),
        r"1 of 2 jobs use GPUs \(mean 4\).* use a table of machines",
    )
    assert read(text, "log.csv", whole=True).jobs.jobs == 2
    assert read(text.replace("60,4", "60,0"), "log.csv").jobs.jobs == 2


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
def test_a_line_that_is_no_job_of_its_own_is_left_out_and_counted(read, said, reason):
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


# ---- bad rows, order ----

SWF_BAD = [
    # (a line between two good ones, the message on it)
    ("1 2 3\n", "3 fields, not 18"),  # cut off
    (line(5).strip() + " 1\n", "19 fields, not 18"),  # one too many
    # a text
    (
        line("x"),
        "submit time(='x') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # a text
    (
        line(run="1h"),
        "run time(='1h') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # not decimal
    (
        line(run="0x10"),
        "run time(='0x10') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # a comma
    (
        line(requested_kb="1,5"),
        (
            "requested memory(='1,5') must be a number >= 0 and at most 1e+15, or -1 if"
            " missing"
        ),
    ),
    # a text
    (
        line(status="ok"),
        "status(='ok') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # before the log
    (
        line(-2),
        "submit time(='-2') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # ended before it began
    (
        line(run=-60),
        "run time(='-60') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # no number
    (
        line(run="nan"),
        "run time(='nan') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # never ends
    (
        line(run="inf"),
        "run time(='inf') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # never ends either
    (
        line(run="1e16"),
        "run time(='1e16') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    (
        line(allocated=1.5),
        (
            "allocated processors(='1.5') must be a whole number >= 0 and at most"
            " 1e+15, or -1 if missing"
        ),
    ),
    (
        line(allocated=-4),
        (
            "allocated processors(='-4') must be a whole number >= 0 and at most 1e+15,"
            " or -1 if missing"
        ),
    ),
    (
        line(allocated="inf"),
        (
            "allocated processors(='inf') must be a whole number >= 0 and at most"
            " 1e+15, or -1 if missing"
        ),
    ),
    (
        line(requested=2.5),
        (
            "requested processors(='2.5') must be a whole number >= 0 and at most"
            " 1e+15, or -1 if missing"
        ),
    ),
    (
        line(used=-5),
        "used memory(='-5') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    (
        line(requested_kb="nan"),
        (
            "requested memory(='nan') must be a number >= 0 and at most 1e+15, or -1 if"
            " missing"
        ),
    ),
    (
        line(status="nan"),
        "status(='nan') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    # the first of two faults
    (
        line(run=-7, requested=-7),
        "run time(='-7') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
]
CSV_BAD = [
    ("1,2\n", "2 fields, not 7"),
    (row(1).strip() + ",1\n", "8 fields, not 7"),
    (
        row("late"),
        "time(='late') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    (row(-3), "time(='-3') must be a number >= 0 and at most 1e+15, or -1 if missing"),
    (
        row("nan"),
        "time(='nan') must be a number >= 0 and at most 1e+15, or -1 if missing",
    ),
    (
        row(1, run="x"),
        (
            "wallclock_runtime_sec(='x') must be a number >= 0 and at most 1e+15, or -1"
            " if missing"
        ),
    ),
    (
        row(1, run=-3),
        (
            "wallclock_runtime_sec(='-3') must be a number >= 0 and at most 1e+15, or"
            " -1 if missing"
        ),
    ),
    (
        row(1, cores=0.5),
        (
            "num_cores(='0.5') must be a whole number >= 0 and at most 1e+15, or -1 if"
            " missing"
        ),
    ),
    (
        row(1, cores="many"),
        (
            "num_cores(='many') must be a whole number >= 0 and at most 1e+15, or -1 if"
            " missing"
        ),
    ),
    (
        row(1, mb="inf"),
        (
            "total_MB_req(='inf') must be a number >= 0 and at most 1e+15, or -1 if"
            " missing"
        ),
    ),
]
BAD = [("log.swf", HEAD, line, *case) for case in SWF_BAD] + [
    ("log.csv", CSV_HEAD, row, *case) for case in CSV_BAD
]


@pytest.mark.parametrize(
    ("name", "head", "good", "text", "fault"),
    BAD,
    ids=[f"{case[0]} {case[4]}" for case in BAD],
)
def test_a_bad_line_is_left_out_and_named_and_refused_by_strict(
    read, caplog, name, head, good, text, fault
):
    text, number = head + good(0) + text + good(9), len(head.splitlines()) + 2
    log = read(text, name)
    assert log.jobs.submit_s.tolist() == [0.0, 9.0]
    assert (len(log.log.report.bad), log.log.report.counts) == (1, {})
    [note] = caplog.messages
    assert note.endswith(f"{name}: 1 bad row: line {number}: {fault} (left out)")
    with pytest.raises(InputError) as refused:
        read(text, name, strict=True)
    assert str(refused.value).endswith(
        f"{name}: 1 bad row: line {number}: {fault} (rejected in strict mode)"
    )


# ---- files ----


GOOD = (
    HEAD + "".join(line(second, 60 + second % 977) for second in range(3000))
).encode()
PACKED = gzip.compress(GOOD, mtime=0)
FILES = [
    # (name, content, options, message)
    ("log.swf", b"", {}, "the file is empty"),
    # nothing, packed
    ("log.swf.gz", gzip.compress(b"", mtime=0), {}, "the file is empty"),
    ("log.swf", b"\x7fELF\x00\x01\x02", {}, "not a text file"),
    ("log.csv.gz", gzip.compress(b"PK\x03\x04\x00", mtime=0), {}, "not a text file"),
    # a header and nothing else
    ("log.swf", HEAD.encode(), {}, r"no usable job \(bad rows: 0; left out: none\)"),
    ("log.swf", b"\n  \n", {}, r"no usable job \(bad rows: 0; left out: none\)"),
    (
        "log.swf",
        (HEAD + line(run=-1) * 2).encode(),
        {},
        r"no usable job \(bad rows: 0; left out: 2 of no run time\)",
    ),
    (
        "log.swf",
        (HEAD + line(run=-9)).encode(),
        {},
        r"no usable job \(bad rows: 1; left out: none\)",
    ),
    (
        "log.swf",
        b"Dear reader,\n\nthis is no log.\n",
        {},
        r"line 1: not a row of the format swf, .* \(2 fields, not 18\)",
    ),
    ("log.swf", b"\xff\xfe\x9d\x80\n", {}, "not a text file in UTF-8"),
    (
        "log.swf",
        (";\n\n" + "a " * 18).encode(),
        {},
        r"no usable job \(bad rows: 1; left out: none\)",
    ),
    (
        "log.swf",
        (HEAD + "1 2\n" + line()).encode(),
        {},
        r"line 6: not a row of the format swf, .* \(2 fields, not 18\)",
    ),
    # another format's file
    ("log.swf", CSV_HEAD.encode(), {}, "no usable job"),  # read as csv
    ("log.swf", CSV_HEAD.encode(), {"format": "swf"}, "line 1: not a row of the forma"),
    (
        "log.csv",
        (HEAD + line()).encode(),
        {"format": "csv"},
        "line 1: no column submit_s or timestamp or time",
    ),
    (
        "log.csv",
        b"\n\ntime,runtime\n1,2\n",
        {},
        (
            r"line 3: no column service_s or wallclock_runtime_sec \(columns: 'time,"
            r" runtime'\)"
        ),
    ),
    ("log.csv", b"\n\n", {}, "the file is empty"),
    ("log.csv", CSV_HEAD.encode(), {}, "no usable job"),  # a header and nothing else
    # cut off within quotes
    (
        "log.csv",
        (CSV_HEAD + row(1) + '"2,').encode(),
        {},
        r"line 3: not CSV \(unexpected end of data\)",
    ),
    # half a download
    ("log.swf.gz", PACKED[: len(PACKED) // 2], {}, "damaged gzip file .*ended before"),
    ("log.swf.gz", PACKED[:5], {}, "damaged gzip file"),  # not even its beginning
    # overwritten
    (
        "log.swf.gz",
        PACKED[:2000] + b"\xff" * 200 + PACKED[2200:],
        {},
        r"damaged gzip file \((Error -3|CRC check failed)",  # by the version of zlib
    ),
    # not what was packed
    (
        "log.swf.gz",
        PACKED[:-8] + b"\0" * 8,
        {},
        r"damaged gzip file \(CRC check failed",
    ),
    # something follows
    ("log.swf.gz", PACKED + b"more", {}, r"damaged gzip file \(Not a gzipped file"),
    (
        "log.txt",
        GOOD,
        {"format": "csv"},
        "line 1: no column submit_s or timestamp or time",
    ),
]


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    FILES,
    ids=[f"{case[0]} {case[3]}" for case in FILES],
)
def test_a_file_that_is_no_log_is_one_line_that_names_it(
    read, name, content, options, said
):
    check_refused(lambda: read(content, name, **options), rf"/{name}: {said}")


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    check_refused(
        lambda: read_jobs(tmp_path / "none.swf"),
        r"none\.swf: No such file or directory$",
    )
    (tmp_path / "logs.swf").mkdir()
    check_refused(
        lambda: read_jobs(str(tmp_path / "logs.swf")), r"logs\.swf: Is a directory$"
    )
    for name, said in (("sfw", "; did you mean 'swf'?"), ("", "")):
        with pytest.raises(
            InputError,
            match=re.escape(
                f"unknown trace format {name!r}{said} (allowed: csv, gentd26, swf, "
            ),
        ):
            read_jobs(tmp_path / "none.swf", name)
    check_refused(
        lambda: read_jobs(tmp_path / "none.swf", strict="no"), r"strict\(='no'\)"
    )
    check_refused(
        lambda: read_jobs(tmp_path / "none.swf", unit="x"),
        r"unknown unit 'x' \(allowed: cores, gpus\)",
    )


# ---- a log in one line ----


def test_a_log_is_told_in_one_line():
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


# ---- a real log ----


@pytest.mark.slow
@pytest.mark.skipif(
    not NASA.is_file(),
    reason="the log of the Parallel Workloads Archive is not next to the project",
)
def test_the_nasa_log_is_read_as_another_reader_reads_it(caplog):
    log = read_jobs(NASA, strict=True)
    lines = [
        words
        for words in map(
            str.split, gzip.decompress(NASA.read_bytes()).decode().split("\n")
        )
        if words and words[0] != ";"
    ]
    assert len(lines) == log.jobs.jobs == 18_239
    # it begins at 0
    assert columns(log) == [
        (float(words[1]), float(words[3]), int(words[4]), 0.0) for words in lines
    ]
    assert np.count_nonzero(log.jobs.run_s == 0) == 173  # less than half a second
    assert log.jobs.cores.max() == 128
    assert (len(log.log.report.bad), log.log.report.counts) == (0, {})
    assert {
        "Computer": "Intel iPSC/860",
        "MaxNodes": "128",
        "MaxProcs": "128",
    }.items() <= log.log.header.items()
    # October to December 1993
    assert describe(log.jobs).startswith("18,239 jobs in 92.00 days, 198.2 per day, ")
    assert caplog.messages == []
