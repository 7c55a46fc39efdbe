"""Bad input: every entry point prints one line with the name, the value and what is
allowed, and leaves no files behind.
"""

import errno
import itertools
import os
import re
import signal
import textwrap
import threading
from dataclasses import replace

import pytest
from support import check_refused, needs, outcome, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.rental.view import SlotView

NAN, INF = float("nan"), float("inf")
POISSON = "[workload]\njobs = 3\nrate_per_s = 0.01\n"
HEADER = "submit_s,service_s\n"


@pytest.fixture(autouse=True)
def in_time():
    """No case may hang: it fails after 30 seconds."""

    def too_long(number, frame):
        pytest.fail("took longer than 30 seconds", pytrace=False)

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Run an invalid command in an empty directory; return the error line."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        before = {
            path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
        }
        status, out, err = outcome(capsys, *arguments)
        assert (status, out) == (2, "")
        assert err.endswith("\n")
        assert len(err.splitlines()) == 1
        after = {
            path: path.read_bytes()
            for path in tmp_path.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert after == before
        return err

    return run


def holds(text, words):
    """Return whether the text contains each of the words, as whole words."""
    missing = [
        word
        for word in words
        if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    ]
    assert not missing, f"{missing} not in {text!r}"


# ---- scenario files ----

TOML = [
    # (the file, what the message must name besides the file)
    ("jobs = = 3", ["line 1"]),  # not TOML
    # a key twice
    ("[workload]\njobs = 3\njobs = 4\nrate_per_s = 1", ["overwrite", "line 3"]),
    ("\xff\xfe\x00\x01", ["text in UTF-8"]),  # written as Latin-1: binary
    ("", ["[workload]", "missing", "rate_per_s"]),  # an empty file
    # an unknown table; the nearest
    ("[wrkload]\njobs = 3", ["'wrkload'", "mean 'workload'"]),
    ('name = "x"', ["[workload]", "missing"]),  # no workload
    ("workload = 3", ["[workload]", "3", "table"]),  # a number in place of a table
    # the number of jobs is missing
    ("[workload]\nrate_per_s = 0.01", ["[workload]", "jobs"]),
    ("[workload]\njobs = 3", ["[workload]", "rate_per_s"]),  # the rate is missing
    # an unknown key; the nearest
    (
        "[workload]\njobs = 3\nrate_per_h = 9",
        ["[workload]", "'rate_per_h'", "mean 'rate_per_s'"],
    ),
    # not a number
    (
        "[workload]\njobs = true\nrate_per_s = 0.01",
        ["[workload]", "jobs", "True", "whole number"],
    ),
    # a text
    (
        '[workload]\njobs = 3\nrate_per_s = "x"',
        ["[workload]", "rate_per_s", "'x'", "number > 0"],
    ),
    # not finite
    (
        "[workload]\njobs = 3\nrate_per_s = inf",
        ["[workload]", "rate_per_s", "inf", "number > 0"],
    ),
    # more than all
    (
        POISSON + "tight_fraction = 1.5",
        ["[workload]", "tight_fraction", "1.5", "from 0 to 1"],
    ),
    # a text
    (
        POISSON + 'tight_fraction = "x"',
        ["[workload]", "tight_fraction", "'x'", "from 0 to 1"],
    ),
    # no window
    (
        POISSON + "tight_window_s = 0",
        ["[workload]", "tight_window_s", "0", "number > 0"],
    ),
    # a text
    (POISSON + 'complexity_mix = "x"', ["[workload]", "complexity_mix", "'x'"]),
    # one number
    (POISSON + "complexity_mix = 3", ["[workload]", "complexity_mix", "3"]),
    # shares below one
    (
        POISSON + "complexity_mix = [0.5, 0.4]",
        ["complexity_mix", "[0.5, 0.4]", "sum to 1", "0.9"],
    ),
    # sum to one, but are not shares
    (
        POISSON + "complexity_mix = [1.5, -0.5]",
        ["complexity_mix", "1.5", "from 0 to 1"],
    ),
    (POISSON + "complexity_mix = []", ["complexity_mix", "[]", "sum to 1"]),  # none
    # no time for level 4
    (
        POISSON + "complexity_mix = [0.25, 0.25, 0.25, 0.25]",
        ["mean_execution_s", "RTX", "4 levels"],
    ),
    # a text
    (
        POISSON + '[fleet]\nslots = "five"',
        ["slots", "'five'", "whole number >= 1", "list"],
    ),
    (POISSON + "[fleet]\nslots = 0", ["slots", "0", "whole number >= 1"]),  # none
    # a fraction
    (POISSON + "[fleet]\nslots = 1.5", ["slots", "1.5", "whole number >= 1"]),
    (POISSON + "[fleet]\nslots = []", ["slots", "[]", "non-empty"]),  # none
    # no such type; the nearest
    (
        POISSON + '[fleet]\nslots = ["RTX 3091"]',
        ["'RTX 3091'", "mean 'RTX 3090'", "RTX A4000"],
    ),
    # an unknown key; the nearest
    (POISSON + "[fleet]\nslot = 3", ["[fleet]", "'slot'", "mean 'slots'"]),
    (POISSON + "tarce = 'x.csv'", ["[workload]", "'tarce'", "mean 'trace'"]),
    (POISSON + '[fleet]\nfree_types = "yes"', ["free_types", "'yes'"]),  # a text
    # a text, which would count as true
    (POISSON + '[fleet]\nfree_types = "False"', ["free_types", "'False'"]),
    (POISSON + "[fleet]\nfree_types = 1", ["free_types", "1"]),  # a number
    # no such clock; the nearest
    (
        POISSON + '[market]\nclock = "calibratd"',
        ["clock", "'calibratd'", "mean 'calibrated'"],
    ),
    (POISSON + "[market]\nclock = 3", ["[market]", "clock(=3)", "type Clock"]),
    # a number
    (POISSON + "[market.clock]\nbands = 3", ["[market.clock]", "bands", "3"]),
    # three numbers, not two
    (
        POISSON + "[market.clock]\nbands = [[0, 1, 2]]",
        ["[market.clock]", "bands[0]", "[0, 1, 2]", "a pair"],
    ),
    # a text
    (
        POISSON + '[market.clock]\nbands = [[0, "x"]]',
        ["[market.clock]", "bands[0][1]", "'x'", "number >= 0"],
    ),
    # an hour twice
    (
        POISSON + "[market.clock]\nbands = [[0, 1], [8, 2], [8, 1]]",
        ["[market.clock]", "[0, 8, 8]", "increasing"],
    ),
    # hours fall
    (
        POISSON + "[market.clock]\nbands = [[0, 1], [9, 2], [8, 1]]",
        ["[market.clock]", "[0, 9, 8]", "increasing"],
    ),
    # nothing holds at hour 0
    (
        POISSON + "[market.clock]\nbands = [[6, 1]]",
        ["[market.clock]", "[6]", "increasing from 0"],
    ),
    # no such hour
    (
        POISSON + "[market.clock]\nbands = [[0, 1], [24, 2]]",
        ["[market.clock]", "[0, 24]", "below 24"],
    ),
    # none
    (POISSON + "[market.clock]\nbands = []", ["[market.clock]", "[]", "increasing"]),
    # no such hour
    (
        POISSON + "[market.clock]\nbands = [[0, 1]]\nstart_h = 24",
        ["start_h", "24", "below 24"],
    ),
    # two pairs
    (
        POISSON + "[market]\ndelay_s = [[0, 1], [2, 3]]",
        ["[market]", "delay_s", "[[0, 1], [2, 3]]", "three pairs"],
    ),
    # a number
    (POISSON + "[market]\ndelay_s = 3", ["[market]", "delay_s", "3", "three pairs"]),
    # reversed
    (
        POISSON + "[market]\ndelay_s = [[1, 0], [2, 3], [4, 5]]",
        ["delay_s[0](=[1, 0])", "least <= greatest"],
    ),
    # negative
    (
        POISSON + "[market]\ndelay_s = [[-1, 0], [2, 3], [4, 5]]",
        ["delay_s[0][0]", "-1", "number >= 0"],
    ),
    # more than certain
    (
        POISSON + "[market]\nhigh_cap = 1.5",
        ["[market]", "high_cap", "1.5", "from 0 to 1"],
    ),
    # no such law; the nearest
    (
        POISSON + '[service]\ndistribution = "lognorm"',
        ["distribution", "'lognorm'", "mean 'lognormal'"],
    ),
    # one number in place of one a level
    (POISSON + "[service]\nsigma = 0.1", ["[service]", "sigma", "0.1"]),
    # negative
    (
        POISSON + "[service]\nsigma = [-0.1]",
        ["[service]", "sigma", "-0.1", "number >= 0"],
    ),
    # none for levels 2 and 3
    (POISSON + "[service]\nsigma = [0.1]", ["sigma", "(0.1,)", "3"]),
    # one table in place of a list
    (POISSON + "[gpu]\nname = 3", ["[[gpu]]", "list of tables"]),
    # the price is missing
    (POISSON + '[[gpu]]\nname = "A"', ["[[gpu]]", "price_usd_per_h"]),
    (POISSON + "gpu = [3]", ["[workload]", "'gpu'"]),  # at the wrong place
    # a number in place of a table
    ("gpu = [3]\n" + POISSON, ["[[gpu]]", "3", "table"]),
    # a negative price
    (
        POISSON + '[[gpu]]\nname = "A"\nprice_usd_per_h = -1\n'
        "mean_execution_s = [1, 2, 3]\nhigh_stock_probability = 1",
        ["[[gpu]]", "price_usd_per_h of A", "-1", "number >= 0"],
    ),
    # one time in place of one a level
    (
        POISSON + '[[gpu]]\nname = "A"\nprice_usd_per_h = 1\n'
        "mean_execution_s = 5\nhigh_stock_probability = 1",
        ["[[gpu]]", "mean_execution_s", "5"],
    ),
    # two types of one name: which of them does a slot have?
    (
        POISSON + 2 * '[[gpu]]\nname = "A"\nprice_usd_per_h = 1\n'
        "mean_execution_s = [1, 2, 3]\nhigh_stock_probability = 1\n",
        ["bad.toml", "'A'"],
    ),
    ('module = "shop"', ["unknown module 'shop'"]),
    # no such log
    ('[workload]\ntrace = "nowhere.csv"', ["nowhere.csv", "No such file"]),
    # a log and a number of jobs
    ('[workload]\ntrace = "jobs.csv"\njobs = 3', ["[workload]", "'jobs'"]),
    # a number
    ('[workload]\ntrace = "jobs.csv"\nformat = 3', ["trace format", "3", "csv"]),
    # a number
    ('[workload]\ntrace = "jobs.csv"\nwindow = 5', ["window", "5", "FROM:TO"]),
    # one date, and no text
    ('[workload]\ntrace = "jobs.csv"\nwindow = 2024-11-20', ["window", "FROM:TO"]),
    # a text, which would count as true
    ('[workload]\ntrace = "jobs.csv"\nstrict = "no"', ["strict", "'no'"]),
    ("[workload]\njob = []", ["listed", "at least one job"]),  # none
    ("[workload]\njob = 3", ["[[job]]", "3", "list of tables"]),  # a number
    # the times are missing
    ("[[workload.job]]\nid = 0", ["[[workload.job]]", "submit_s", "deadline_s"]),
    # due before it comes
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 9\ndeadline_s = 3",
        ["job 0", "9", "3", "submit_s <= deadline_s"],
    ),
    # a text
    ('[[workload.job]]\nid = 0\nsubmit_s = "x"\ndeadline_s = 3', ["submit_s", "'x'"]),
    # does not start at 0
    (
        "[[workload.job]]\nid = 1\nsubmit_s = 0\ndeadline_s = 3",
        ["ids of the jobs", "[1]", "0, 1, 2"],
    ),
    # a fraction
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\ncomplexity = 1.5",
        ["job 0", "complexity", "1.5"],
    ),
    # no time for level 4
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\ncomplexity = 4",
        ["mean_execution_s", "4 levels"],
    ),
    # none
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\ngpus = 0",
        ["job 0", "gpus", "0"],
    ),
    # a fraction
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\ngpus = 1.5",
        ["job 0", "gpus", "1.5"],
    ),
    # a text, which is true
    (
        '[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\ntight = "no"',
        ["job 0", "tight", "'no'"],
    ),
    # not a number
    (
        "[[workload.job]]\nid = 0\nsubmit_s = 0\ndeadline_s = 3\nweight = nan",
        ["job 0", "weight", "nan"],
    ),
]


def test_a_wrong_scenario_file_gives_a_one_line_error(refused, tmp_path):
    (tmp_path / "jobs.csv").write_text(HEADER + "0,5\n")
    for text, words in TOML:
        (tmp_path / "bad.toml").write_bytes(text.encode("latin-1"))
        holds(refused("run", "bad.toml"), ["bad.toml", *words])


# ---- logs ----

LOGS = [
    # (the file, options, what the message must name besides the file)
    ("", "", ["empty"]),  # an empty file
    ("  \n\n", "", ["empty"]),  # blank lines
    (HEADER, "", ["no usable job"]),  # a header and nothing else
    ("\x00\x01\x02", "", ["not a text file"]),  # binary: zero bytes
    ("\xff\xfe\x9d", "", ["not a text file"]),  # binary: not UTF-8
    ("0,5\n1,6\n", "", ["line 1", "submit_s or timestamp"]),  # no header
    # no service times
    ("submit_s,seconds\n0,5\n", "", ["line 1", "service_s", "submit_s, seconds"]),
    # no submissions
    (
        "start,service_s\n0,5\n",
        "",
        ["line 1", "submit_s or timestamp", "start, service_s"],
    ),
    # predecessors of jobs without ids
    ("job,submit_s,service_s,after\n1,0,5,\n2,0,5,1\n", "", ["after", "job_id"]),
    # another format's file
    (
        HEADER + "0,5\n",
        "log.format=gentd26",
        ["line 1", "gmt_create", "submit_s, service_s"],
    ),
    (HEADER + '0,5\n1,"6\n', "", ["line 3", "not CSV"]),  # cut off within quotes
    (HEADER + "0,nan\n", "", ["no usable job"]),  # the only row is bad
    # the last row is cut off
    (
        HEADER + "0,5\n1,6\n2\n",
        "log.strict=yes",
        ["line 4", "1 field, not 2", "strict"],
    ),
    # a field too many
    (
        HEADER + "0,5\n1,6,7\n",
        "log.strict=yes",
        ["line 3", "3 fields, not 2"],
    ),
    # not a number
    (
        HEADER + "0,5\n1,nan\n",
        "log.strict=yes",
        ["line 3", "service_s", "nan", "number >= 0"],
    ),
    # negative
    (
        HEADER + "0,5\n1,-6\n",
        "log.strict=yes",
        ["line 3", "service_s", "-6", "number >= 0"],
    ),
    # no work at all
    (
        HEADER + "1,0\n",
        "log.strict=yes",
        ["no usable job", "1 of run time 0"],
    ),
    # never ends
    (
        HEADER + "0,5\n1,inf\n",
        "log.strict=yes",
        ["line 3", "service_s", "inf", "number >= 0"],
    ),
    # a text
    (
        HEADER + "0,5\n1,long\n",
        "log.strict=yes",
        ["line 3", "service_s", "'long'", "number"],
    ),
    # an empty cell
    (
        HEADER + "1,\n",
        "log.strict=yes",
        ["no usable job", "1 of no run time"],
    ),
    # before the start
    (
        HEADER + "0,5\n-1,6\n",
        "log.strict=yes",
        ["line 3", "submit_s", "-1", "number >= 0"],
    ),
    # no time
    (
        HEADER + "0,5\nnan,6\n",
        "log.strict=yes",
        ["line 3", "submit_s", "nan", "number >= 0"],
    ),
    # no time
    (
        "timestamp,service_s\nsoon,5\n",
        "log.strict=yes",
        ["line 2", "timestamp", "'soon'", "YYYY-MM-DD HH:MM:SS"],
    ),
    # due before it comes
    (
        "submit_s,service_s,deadline_s\n9,5,8\n",
        "log.strict=yes",
        ["line 2", "deadline_s", "'8'", "submission"],
    ),
    # a text
    (
        "submit_s,service_s,deadline_s\n9,5,x\n",
        "log.strict=yes",
        ["line 2", "deadline_s", "'x'", "number"],
    ),
    # a fraction
    (
        "submit_s,service_s,gpus\n0,5,1.5\n",
        "log.strict=yes",
        ["line 2", "gpus", "'1.5'", "whole number"],
    ),
    # none
    (
        "submit_s,service_s,gpus\n0,5,0\n",
        "log.strict=yes",
        ["no usable job", "1 of no GPU"],
    ),
    # negative
    (
        "submit_s,service_s,weight\n0,5,-1\n",
        "log.strict=yes",
        ["line 2", "weight", "-1", "number >= 0"],
    ),
    # the second row comes first
    (
        HEADER + "5,5\n3,5\n9,5\n",
        "log.strict=yes",
        ["out of order", "line 3", "strict"],
    ),
    # one bound
    (HEADER + "0,5\n", "log.window=0", ["window", "'0'", "FROM:TO", "seconds"]),
    (HEADER + "0,5\n", "log.window=:", ["window", "':'", "FROM:TO"]),  # none
    # not finite
    (HEADER + "0,5\n", "log.window=0:inf", ["window", "'0:inf'", "FROM:TO"]),
    # three bounds
    (HEADER + "0,5\n", "log.window=0:9:12", ["window", "'0:9:12'", "FROM:TO"]),
    # reversed
    (HEADER + "0,5\n", "log.window=9:0", ["window", "'9:0'", "FROM before TO"]),
    # nothing between
    (
        HEADER + "0,5\n",
        "log.window=9:9",
        ["window", "'9:9'", "FROM before TO"],
    ),
    # no job in it
    (HEADER + "0,5\n", "log.window=10:20", ["no usable job", "10:20"]),
    # the axis is seconds
    (
        HEADER + "0,5\n",
        "log.window=2024-11-20:2024-11-22",
        ["window", "'2024-11-20:2024-11-22'", "seconds"],
    ),
    # the axis is time
    (
        "timestamp,service_s\n2024-11-20,5\n",
        "log.window=0:10",
        ["window", "'0:10'", "timestamps"],
    ),
    # reversed
    (
        "timestamp,service_s\n2024-11-20,5\n",
        "log.window=2024-11-22:2024-11-20",
        ["window", "FROM before TO"],
    ),
    # no such day
    (
        "timestamp,service_s\n2024-11-20,5\n",
        "log.window=2024-11-31:2024-12-02",
        ["window", "'2024-11-31:2024-12-02'"],
    ),
    # the window is right, the file is empty
    ("timestamp,service_s\n", "log.window=2024-11-20:2024-11-22", ["no usable job"]),
]


def test_an_unusable_log_gives_a_one_line_error(refused, tmp_path, caplog):
    for text, options, words in LOGS:
        (tmp_path / "bad.csv").write_bytes(text.encode("latin-1"))
        line = refused("run", "rental", "trace=bad.csv", *options.split())
        holds(*line.split("bad.csv")[1:], words)  # names the file once


@pytest.mark.parametrize(
    ("text", "kept", "words"),
    [
        (
            "submit_s,service_s,deadline_s\n0,5,\n1,nan,\n2,-5,\n-3,5,\n4,5,3\n5,5,\n6\n",
            {0.0: 5.0, 5.0: 5.0},
            [
                "5 bad rows",
                "line 3",
                "line 4",
                "line 5",
                "line 6",
                "line 8",
                "left out",
            ],
        ),
        (  # ten are shown
            HEADER + "0,5\n" + "0,x\n" * 12,
            {0.0: 5.0},
            ["12 bad rows", "line 3", "line 12", "and 2 more, at lines 13, 14"],
        ),
        (  # the lines of ten others are listed
            HEADER + "0,5\n" + "0,x\n" * 21,
            {0.0: 5.0},
            ["21 bad rows", "and 11 more, at lines 13, 14", "20, 21, 22, ..."],
        ),
        (  # line breaks within quotes count
            'submit_s,service_s,job_id\n0,5,"two\nlines"\n1,x,b\n',
            {0.0: 5.0},
            ["line 4"],
        ),
        (
            HEADER + "0,5\n9,6\n4,7\n",
            {0.0: 5.0, 4.0: 7.0, 9.0: 6.0},
            ["out of order", "line 4", "sorted"],
        ),
    ],
    ids=["bad rows", "many", "more", "line breaks", "out of order"],
)
def test_changes_to_a_log_are_reported_with_their_lines(
    text, kept, words, file, caplog
):
    log = cg.trace(file(text, "log.csv")).workload
    assert [*zip(log.submit_s, log.service_s)] == [*kept.items()]
    [note] = caplog.messages
    holds(note, ["log.csv", *words])


# ---- Python ----

JOB = cg.Job(0, 0.0, 9.0)
A, *_ = cg.THESIS_GPUS


def only(*times, **rest):
    """A list of one job."""
    return cg.JobList((cg.Job(0, *times, **rest),))


def loaded(**changes):
    """A workload as if from a log of two jobs."""
    columns = {
        "submit_s": (0.0, 1.0),
        "service_s": (5.0, 6.0),
        "deadline_s": (NAN, NAN),
        "gpus": (1, 1),
        "weight": (1.0, 1.0),
    }
    return cg.LoggedWorkload(**{**columns, **changes})


LOCK = threading.Lock()
PYTHON = [
    # (call, what its InputError must name)
    (lambda: cg.day("hectik"), ["day", "'hectik'", "mean 'hectic'"]),  # not a day
    (lambda: cg.day("quiet", slots=0), ["slots", "0", "whole number >= 1"]),  # none
    # a fraction
    (lambda: cg.day("quiet", slots=1.5), ["slots", "1.5", "whole number >= 1"]),
    (lambda: cg.day("quiet", slots="five"), ["slots", "'five'", "list"]),  # a text
    # no such type
    (lambda: cg.day("quiet", slots=["RTX 3091"]), ["'RTX 3091'", "mean 'RTX 3090'"]),
    # a fraction
    (lambda: cg.day("quiet", jobs=1.5), ["jobs", "1.5", "whole number >= 1"]),
    # negative
    (lambda: cg.day("quiet", rate_per_s=-1), ["rate_per_s", "-1", "number > 0"]),
    # not a number
    (lambda: cg.day("quiet", rate_per_s=NAN), ["rate_per_s", "nan", "number > 0"]),
    # more than all
    (
        lambda: cg.day("quiet", tight_fraction=1.1),
        ["tight_fraction", "1.1", "from 0 to 1"],
    ),
    (lambda: cg.day("quiet", free_types="yes"), ["free_types", "'yes'"]),  # a text
    # a text, which would count as true
    (lambda: cg.day("quiet", free_types="False"), ["free_types", "'False'"]),
    # no such clock
    (lambda: cg.day("quiet", clock="print"), ["clock", "'print'", "mean 'printed'"]),
    # shares below one
    (
        lambda: cg.PoissonWorkload(3, 0.1, (0.5, 0.4)),
        ["complexity_mix", "(0.5, 0.4)", "sum to 1", "0.9"],
    ),
    # not a number
    (
        lambda: cg.PoissonWorkload(3, 0.1, (0.5, NAN)),
        ["complexity_mix", "nan", "from 0 to 1"],
    ),
    # none
    (lambda: cg.PoissonWorkload(3, 0.1, ()), ["complexity_mix", "()", "sum to 1"]),
    (lambda: cg.PoissonWorkload(0, 0.1), ["jobs", "0", "whole number >= 1"]),  # none
    # due before it comes
    (lambda: only(9.0, 3.0), ["job 0", "submit_s", "9.0", "3.0"]),
    (lambda: only(0.0, NAN), ["job 0", "deadline_s", "nan"]),  # due at no time
    (lambda: only(NAN, 9.0), ["job 0", "submit_s", "nan"]),  # comes at no time
    (lambda: only(0.0, INF), ["job 0", "deadline_s", "inf"]),  # never due
    (lambda: only(-1.0, 9.0), ["job 0", "submit_s", "-1.0"]),  # before the start
    # levels start at 1
    (lambda: only(0.0, 9.0, complexity=0), ["job 0", "complexity", "0"]),
    # a fraction
    (lambda: only(0.0, 9.0, complexity=1.5), ["job 0", "complexity", "1.5"]),
    (lambda: only(0.0, 9.0, gpus=0), ["job 0", "gpus", "0"]),  # none
    (lambda: only(0.0, 9.0, gpus=1.5), ["job 0", "gpus", "1.5"]),  # a fraction
    (lambda: only(0.0, 9.0, weight=NAN), ["job 0", "weight", "nan"]),  # not a number
    (lambda: only(0.0, 9.0, weight=INF), ["job 0", "weight", "inf"]),  # outweighs all
    (lambda: cg.JobList(()), ["listed", "()", "at least one"]),  # none
    # a gap
    (lambda: cg.JobList((JOB, cg.Job(2, 1.0, 9.0))), ["ids", "[0, 2]", "0, 1, 2"]),
    # out of order
    (lambda: cg.JobList((cg.Job(1, 0.0, 9.0), JOB)), ["ids", "[1, 0]", "0, 1, 2"]),
    # times fall
    (
        lambda: cg.JobList((cg.Job(0, 5.0, 9.0), cg.Job(1, 1.0, 9.0))),
        ["submissions", "[5.0, 1.0]", "order"],
    ),
    # a negative time
    (
        lambda: cg.GpuType("A", 1.0, (5.0, -1.0), 0.5),
        ["mean_execution_s[1] of A", "-1.0", "number > 0"],
    ),
    (lambda: cg.GpuType("A", 1.0, (), 0.5), ["mean_execution_s of A", "()"]),  # no time
    # a negative price
    (
        lambda: cg.GpuType("A", -1.0, (5.0,), 0.5),
        ["price_usd_per_h of A", "-1.0", "number >= 0"],
    ),
    # more than certain
    (
        lambda: cg.GpuType("A", 1.0, (5.0,), 1.5),
        ["high_stock_probability of A", "1.5", "from 0 to 1"],
    ),
    # speed 0
    (lambda: cg.GpuType("A", 1.0, (5.0,), 0.5, 0), ["speed of A", "0", "number > 0"]),
    (lambda: cg.GpuType("", 1.0, (5.0,), 0.5), ["name", "''", "non-empty"]),  # no name
    # reversed
    (
        lambda: cg.Market(delay_s=((10.0, 0.0), (1.0, 2.0), (3.0, 4.0))),
        ["delay_s[0](=(10.0, 0.0))", "least <= greatest"],
    ),
    # two pairs
    (lambda: cg.Market(delay_s=((0.0, 1.0), (2.0, 3.0))), ["delay_s", "three pairs"]),
    (lambda: cg.Market(high_cap=NAN), ["high_cap", "nan"]),  # not a number
    # nothing holds at hour 0
    (lambda: cg.Clock(((6, 1.0),)), ["[6]", "increasing from 0"]),
    (lambda: cg.Clock(((0, 1.0), (0, 2.0))), ["[0, 0]", "increasing"]),  # an hour twice
    (
        lambda: cg.Clock(((0, -1.0),)),
        ["bands[0][1]", "-1.0", "number >= 0"],
    ),  # negative
    # no such hour
    (lambda: cg.Clock(((0, 1.0),), start_h=24), ["start_h", "24", "below 24"]),
    # no such law
    (lambda: cg.Service("gamma"), ["distribution", "'gamma'", "lognormal"]),
    (lambda: cg.Service(sigma=()), ["sigma", "()"]),  # none
    # no window
    (lambda: DeadlineClasses(tight_window_s=0), ["tight_window_s", "0", "number > 0"]),
    # none
    (
        lambda: cg.Scenario("x", cg.JobList((JOB,)), slots=()),
        ["slots", "()", "at least one"],
    ),
    # a slot's type cannot be rented
    (
        lambda: cg.Scenario("x", cg.JobList((JOB,)), slots=(replace(A, name="H100"),)),
        ["H100", "RTX 3090"],
    ),
    # two types of one name
    (
        lambda: cg.Scenario(
            "x",
            cg.JobList((JOB,)),
            slots=(A,),
            gpus=(A, replace(A, price_usd_per_h=9.0)),
        ),
        ["RTX 3090"],
    ),
    # no time for level 4
    (
        lambda: cg.Scenario("x", cg.PoissonWorkload(3, 0.1, (0.25,) * 4)),
        ["mean_execution_s", "RTX", "4 levels"],
    ),
    # no work
    (lambda: loaded(service_s=(5.0, 0.0)), ["service_s", "0.0", "number > 0"]),
    (lambda: loaded(service_s=(5.0, NAN)), ["service_s", "nan"]),  # not a number
    (lambda: loaded(service_s=(5.0,)), ["service_s"]),  # one entry for two jobs
    (lambda: loaded(submit_s=(1.0, 0.0)), ["submit_s", "order"]),  # times fall
    (lambda: loaded(submit_s=(-1.0, 0.0)), ["submit_s", "-1.0"]),  # before the start
    # due before it comes
    (lambda: loaded(deadline_s=(9.0, 0.5)), ["deadline_s", "0.5"]),
    (lambda: loaded(gpus=(1, 0)), ["gpus", "0"]),  # none
    # not a policy
    (lambda: cg.make_policy("fifoo"), ["policy", "'fifoo'", "mean 'fifo'"]),
    # neither name nor function
    (lambda: cg.make_policy(5), ["policy", "5", "function of a view"]),
    # negative
    (
        lambda: cg.simulate(cg.day("quiet"), "fifo", seed=-1),
        ["seed", "-1", "whole number >= 0"],
    ),
    # a fraction
    (
        lambda: cg.simulate(cg.day("quiet"), "fifo", seed=1.5),
        ["seed", "1.5", "whole number >= 0"],
    ),
    # none
    (
        lambda: cg.compare(cg.day("quiet"), [], [0]),
        ["policies", "[]", "at least one"],
    ),
    # none
    (
        lambda: cg.compare(cg.day("quiet"), ["fifo"], []),
        ["seeds", "[]", "at least one"],
    ),
    # the same twice
    (
        lambda: cg.compare(cg.day("quiet"), ["fifo"], [1, 1]),
        ["seeds", "[1, 1]", "duplicates"],
    ),
    # negative
    (
        lambda: cg.compare(cg.day("quiet"), ["fifo"], [0, -1]),
        ["seed", "-1", "whole number >= 0"],
    ),
    # a number in place of several
    (lambda: cg.compare(cg.day("quiet"), ["fifo"], 5), ["seeds", "5"]),
    # the same twice
    (
        lambda: cg.compare(cg.day("quiet"), ["fifo", "fifo"], [0]),
        ["policies", "'fifo', 'fifo'", "duplicates"],
    ),
    # a text in place of a list
    (lambda: cg.compare(cg.day("quiet"), "fifo", [0]), ["policies", "'fifo'"]),
    # no process
    (
        lambda: cg.compare(cg.day("quiet"), ["fifo"], [0], 0),
        ["executor", "0", "whole number >= 1"],
    ),
    # cannot be sent there
    (
        lambda: cg.compare(cg.day("quiet"), [lambda view: LOCK], [0], 2),
        ["<lambda>", "cannot be copied"],
    ),
    # not kept
    (lambda: cg.simulate(cg.day("quiet"), "fifo", records=False).jobs, ["records"]),
]


test_a_wrong_value_in_python_is_an_input_error_of_one_line = refusals(*PYTHON)


# ---- policies that go wrong ----

# Two slots; jobs 0 and 1 at 0 s, job 2 at 10 s, and at 20 s job 3, which takes two
# slots.
TRIAL = """
[fleet]
slots = 2
[service]
sigma = [0]
[workload]
job = [
    {id = 0, submit_s = 0, deadline_s = 900},
    {id = 1, submit_s = 0, deadline_s = 900},
    {id = 2, submit_s = 10, deadline_s = 900},
    {id = 3, submit_s = 20, deadline_s = 900, gpus = 2},
]
"""

# a class of errors whose text, representation and hash raise an error
FAULTY = (
    "type('Faulty', (Exception,), dict.fromkeys(('__str__', '__repr__', '__hash__'),"
    " lambda _: 1 / 0))"
)
ANSWERS = [
    # (body of rule(view), with `first` to remember things, what the message must name
    # besides policy and time)
    # a running job
    (
        "first = first or view.queue; return [(first[0], view.idle[0])]",
        ["job 0", "not waiting"],
    ),
    # a busy slot
    ("return [(view.queue[0], view.slots[0])]", ["job 1", "slot 0", "busy"]),
    # as it was when idle
    (
        "first = first or view.idle; return [(view.queue[0], first[0])]",
        ["job 1", "slot 0", "busy"],
    ),
    # the same job twice
    (
        "return [(view.queue[0], slot) for slot in view.idle]",
        ["job 0", "not waiting", "twice"],
    ),
    # one slot twice
    (
        "return [(job, view.idle[0]) for job in view.queue]",
        ["job 1", "slot 0", "already assigned"],
    ),
    # a slot of its own making
    ("return [(view.queue[0], SlotView(0, view.idle[0].gpu))]", ["job 0", "slot 0"]),
    # a slot that is not there
    (
        "return [(view.queue[0], SlotView(7, view.idle[0].gpu))]",
        ["job 0", "index=7", "not a slot of the fleet"],
    ),
    # a text as index
    (
        "return [(view.queue[0], SlotView('0', view.idle[0].gpu))]",
        ["job 0", "index='0'", "not a slot of the fleet"],
    ),
    # a name in place of a type
    (
        "return [(view.queue[0], SlotView(0, 'RTX 3090'))]",
        ["job 0", "slot", "RTX 3090"],
    ),
    # an index in place of a slot
    ("return [(view.queue[0], 0)]", ["job 0", "0", "not a slot of the fleet"]),
    # nothing in place of a slot
    ("return [(view.queue[0], None)]", ["job 0", "None", "not a slot of the fleet"]),
    # a job of its own making
    ("return [(cg.Job(0, 0, 9), view.idle[0])]", ["job 0", "not waiting"]),
    ("return [(0, view.idle[0])]", ["0", "not a job"]),  # an id in place of a job
    # the wrong way round
    ("return [(view.idle[0], view.queue[0])]", ["SlotView", "not a job"]),
    ("return 1 / 0", ["raised ZeroDivisionError", "division by zero"]),  # raises
    # raises with a message of two lines
    ("raise ValueError('two\\nlines')", ["raised ValueError", "two"]),
    # raises after an answer
    (
        "yield (view.queue[0], view.idle[0]); raise KeyError('late')",
        ["raised KeyError", "late"],
    ),
    # objects whose own methods fail
    (f"return [{FAULTY}()]", ["returned a Faulty, which is neither a pair"]),
    (f"return [({FAULTY}(), 0)]", ["neither a pair"]),
    (
        f"return [(view.queue[0], {FAULTY}())]",
        ["job 0 to a Faulty, which is not a slot"],
    ),
    (f"return [cg.Wake({FAULTY}())]", ["wake-up at a Faulty"]),
    (f"raise {FAULTY}", ["raised Faulty (my_rules.py, line"]),
    ("return ['-' * 10**6]", ["returned '--", "-...-", "neither a pair"]),
    # asks for what is not there
    ("return view.nothing", ["raised AttributeError", "nothing"]),
    ("view.now_s = 0", ["raised AttributeError", "now_s"]),  # writes to its view
    ("return 5", ["5"]),  # a number
    ("return True", ["True"]),  # a truth value
    ("return [1, 2]", ["returned 1", "neither a pair"]),  # not pairs
    ("return 'ab'", ["returned 'a'", "neither a pair"]),  # a text
    ("return view.queue", ["Job(id=0", "neither a pair"]),  # jobs without slots
    # slots that are not in a tuple of their own
    ("return [(view.queue[0], *view.idle)]", ["Job(id=0", "neither a pair"]),
    # nothing, for ever
    (
        "return None",
        ["4 jobs waiting", "job 0", "2 of 2 slots idle", "cannot continue"],
    ),
    # an empty list, for ever
    ("return []", ["4 jobs waiting", "job 0", "2 of 2 slots idle", "cannot continue"]),
    ("return [cg.Wake(view.now_s - 5)]", ["-5", "wake-up", "after 0 s"]),  # in the past
    ("return [cg.Wake(view.now_s)]", ["0", "wake-up", "after 0 s"]),  # at the present
    ("return [cg.Wake(math.nan)]", ["nan", "wake-up", "finite"]),  # at no time
    ("return [cg.Wake(math.inf)]", ["inf", "wake-up", "finite"]),  # never
    ("return [cg.Wake('soon')]", ["'soon'", "wake-up", "finite"]),  # a text
    # for ever, without an assignment
    pytest.param(
        "return [cg.Wake(view.now_s + 1)]",
        ["4 jobs waiting", "wake-ups"],
        marks=pytest.mark.slow,
    ),
    # too few slots
    (
        "return [(job, view.idle[0]) for job in view.queue if job.gpus > 1]",
        ["job 3", "1 slot;", "needs 2"],
    ),
    # too many slots
    ("return [(view.queue[0], view.idle)]", ["job 0", "2 slots", "needs 1"]),
    # one slot twice
    (
        "return [(job, view.idle[:1] * 2) for job in view.queue if job.gpus > 1]",
        ["job 3", "slot 0", "already assigned"],
    ),
]
RULE = (
    "import math\n"
    "import cgrsp_simpy as cg\n"
    "from cgrsp_simpy.rental.view import SlotView\n"
    "first = None\n"
    "def rule(view):\n"
    "    global first\n"
    "    "
)


@pytest.mark.parametrize(("body", "words"), ANSWERS)
def test_a_wrong_answer_of_a_policy_gives_a_one_line_policy_error(
    refused, tmp_path, body, words
):
    (tmp_path / "trial.toml").write_text(TRIAL)
    (tmp_path / "my_rules.py").write_text(RULE + body + "\n")
    line = refused("run", "trial.toml", "--policy", "my_rules.py:rule")
    holds(line, ["policy 'rule'", "at t =", *words])
    with pytest.raises(cg.PolicyError) as caught:
        cg.simulate(cg.Scenario.from_toml("trial.toml"), "my_rules.py:rule")
    assert line == f"cgrsp run: {' '.join(str(caught.value).split())}\n"


def test_the_error_of_a_policy_is_the_cause_of_the_policy_error():
    with pytest.raises(cg.PolicyError) as caught:
        cg.simulate(cg.day("quiet"), lambda view: 1 / 0)
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)


def test_a_type_that_cannot_be_rented_is_rejected_if_types_are_free():
    def rule(view):
        return [
            (view.queue[0], SlotView(0, replace(view.idle[0].gpu, price_usd_per_h=0.0)))
        ]

    check_refused(
        lambda: cg.simulate(cg.day("quiet", free_types=True), rule),
        "job 0 to slot 0 as RTX 3090, which the view does not offer",
        cg.PolicyError,
    )


# (the file, policy, what the message must name besides the file)
FILES = [
    # a syntax error
    ("def rule(view:\n    pass\n", "my_rules.py:rule", ["SyntaxError", "line 1"]),
    # not indented
    ("def rule(view):\nreturn\n", "my_rules.py:rule", ["IndentationError", "line 2"]),
    # fails when loaded
    (
        "import no_such_module\n",
        "my_rules.py:rule",
        ["ModuleNotFoundError", "no_such_module"],
    ),
    # no such function; the nearest
    (
        "def role(view):\n    return []\n",
        "my_rules.py:rule",
        ["function", "'rule'", "mean 'role'"],
    ),
    ("rule = 5\n", "my_rules.py:rule", ["function", "'rule'"]),  # not a function
    # which function?
    ("def rule(view):\n    return []\n", "my_rules.py", ["function", "''", "rule"]),
    # which function?
    ("def rule(view):\n    return []\n", "my_rules.py:", ["function", "''", "rule"]),
    ("\x00", "my_rules.py:rule", ["cannot be loaded"]),  # binary
    # takes no view
    (
        "def rule():\n    return []\n",
        "my_rules.py:rule",
        ["'rule'", "raised TypeError", "positional arguments"],
    ),
]


@pytest.mark.parametrize(
    ("text", "policy", "words"),
    FILES,
    ids=[f"{text!r}, {policy}" for text, policy, _ in FILES],
)
def test_a_wrong_policy_file_gives_a_one_line_error(
    refused, tmp_path, text, policy, words
):
    (tmp_path / "my_rules.py").write_text(textwrap.dedent(text))
    holds(refused("run", "quiet", "--policy", policy), words)


# ---- a full disk ----


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("lectures 3 --copy x/y", 3),
        pytest.param(
            *("lectures 3 --assignment x", 1),
            marks=needs("jupytext", pytest.mark.slow),
        ),
        ("run quiet jobs=3 --show a.png --show b/c.html", 2),
        ("compare quiet jobs=3 --policies fifo --seeds 1 --out x/y", 2),
        ("papers figures thesis 3.1 --out x", 3),
        pytest.param(
            "bound quiet jobs=3 --seeds 2 --policies fifo --frontier --report x",
            2,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "advise quiet jobs=9 --seeds 2 --report x", 9, marks=pytest.mark.slow
        ),
    ],
)
def test_a_full_disk_leaves_nothing(line, number, refused, monkeypatch, tmp_path):
    (tmp_path / "a.png").write_text("before")
    calls = itertools.count(1)

    def full(file):
        if next(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(*line.split())
    assert [*tmp_path.iterdir()] == [tmp_path / "a.png"]


@pytest.mark.slow
def test_an_interrupt_keeps_the_figures_that_are_complete(
    capsys, monkeypatch, tmp_path
):
    calls, stop = itertools.count(1), signal.raise_signal
    monkeypatch.setattr(os, "fsync", lambda _: next(calls) < 6 or stop(signal.SIGINT))
    outcome(capsys, *"papers figures thesis 3.1 4.1 --out".split(), str(tmp_path))
    assert [path.stem for path in tmp_path.iterdir()] == ["figure_3_1"] * 4
