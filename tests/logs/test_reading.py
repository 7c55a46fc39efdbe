"""Small logs with one peculiarity each, and how they are read, worked by hand."""

import json

import numpy as np
import pytest
from support import check_refused

from cgrsp_simpy.logs import read_log

DAY = "2026-03-02T"


def sacct(*rows, names="JobID|Submit|Start|End|AllocTRES|State", times=(1, 2, 3)):
    """Accounting of Slurm with times of one day, such as 09:00:00."""

    def cells(row):
        return "|".join(
            f"{DAY}{cell}" if place in times and cell[:1].isdigit() else cell
            for place, cell in enumerate(row.split("|"))
        )

    return "\n".join([names, *map(cells, rows), ""])


def swf(*rows, header=""):
    """Rows of the first five fields, with the last two if given."""
    lines = []
    for row in rows:
        number, submit, wait, run, cpus, *last = row
        before, think = last or (-1, -1)
        lines.append(
            f"{number} {submit} {wait} {run} {cpus} -1 -1 {cpus} 900 -1 1 1 1 -1 1 -1"
            f" {before} {think}"
        )
    return "\n".join([*header.splitlines(), *lines, ""])


GPU = "cpu=1,node=1,gres/gpu=1"
ONE = f"1|09:00:00|09:01:00|10:01:00|{GPU}|COMPLETED"
TWO = f"2|09:10:00|09:11:00|09:41:00|{GPU}|COMPLETED"
ELIGIBLE = "JobID|Submit|Eligible|Start|End|AllocTRES|State"
ELAPSED = "JobID|Submit|Start|End|ElapsedRaw|Suspended|AllocTRES"
UNIX = "; UnixStartTime: 1772434800\n"  # 2026-03-02 07:00 UTC
HEAD = "submit_s,service_s\n"

# name: file, text, arguments, what is read; a text: the error
CASES = {
    # ---- Slurm: rows that are no jobs, and states ----
    "a step is no job": (
        "a.txt",
        sacct(ONE, f"1.batch|09:01:00|09:01:00|10:01:00|{GPU}|COMPLETED", TWO),
        {},
        {"ids": "1,2", "service_s": [3600, 1800], "left_out": {"step of a job": 1}},
    ),
    "tasks of an array are jobs, its pending rest has no run time": (
        "a.txt",
        sacct(
            f"8_1|09:00:00|09:01:00|10:01:00|{GPU}|COMPLETED",
            f"8_[2-9%4]|09:00:00|Unknown|Unknown|{GPU}|PENDING",
        ),
        {},
        {"ids": "8_1", "left_out": {"no run time": 1}},
    ),
    "a requeued job is a job per run": (
        "a.txt",
        sacct(
            f"7|09:00:00|09:01:00|10:05:00|{GPU}|REQUEUED",
            f"7|10:05:00|10:15:00|12:15:00|{GPU}|TIMEOUT",
        ),
        {},
        {"ids": "7,7", "wait_s": [60, 600], "service_s": [3840, 7200]},
    ),
    "cancelled before it ran, without a start or with one": (
        "a.txt",
        sacct(
            ONE,
            f"2|09:00:00|None|09:30:00|{GPU}|CANCELLED by 1001",
            f"3|09:00:00|09:30:00|09:30:00|{GPU}|CANCELLED by 1001",
        ),
        {},
        {"ids": "1", "left_out": {"cancelled before it ran": 2}},
    ),
    "cancelled while it ran": (
        "a.txt",
        sacct(f"1|09:00:00|09:01:00|09:31:00|{GPU}|CANCELLED by 1001"),
        {},
        {"ids": "1", "service_s": [1800]},
    ),
    "an unknown end is that of a running job": (
        "a.txt",
        sacct(ONE, f"2|09:00:00|09:30:00|Unknown|{GPU}|RUNNING"),
        {},
        {"ids": "1,2", "running": [0, 1]},
    ),
    "Unix times, 0 for none": (
        "a.txt",
        (
            "JobID|Submit|Start|End|AllocTRES|State\n"
            f"1|1772442000|1772442060|1772445660|{GPU}|COMPLETED\n"
            f"2|1772442700|0|0|{GPU}|PENDING\n3|1772442800|1772442900|0|{GPU}|RUNNING\n"
        ),
        {},
        {"ids": "1,3", "wait_s": [60, 100], "left_out": {"no run time": 1}},
    ),
    # ---- shares of a GPU ----
    "a pod with half a GPU": (
        "pods.csv",
        (
            "creation_time,deletion_time,scheduled_time,num_gpu,gpu_milli,cpu_milli,"
            "memory_mib,qos\n0,9,1,1,500,1,1,LS\n0,9,1,1,1000,1,1,LS\n0,9,1,0,0,1,1,LS\n"
        ),
        {},
        {"gpus": [1, 1, 0], "said": "1 job with a share of a GPU, which counts as a"},
    ),
    "an instance with half a GPU": (
        "pai.csv",
        (
            "fe1,a,1.0,Terminated,9.0,19.0,600.0,29.3,100.0,V100\n"
            "fe2,b,4.0,Terminated,9.0,19.0,600.0,29.5,150.0,T4\n"
        ),
        {},
        {"gpus": [1, 8], "said": "1 job with a share of a GPU, which counts as a"},
    ),
    # ---- Slurm: ready times ----
    "a dependent job waits from the time at which it is eligible": (
        "a.txt",
        sacct(
            f"1|09:00:00|09:00:00|09:01:00|10:01:00|{GPU}|COMPLETED",
            f"2|09:00:00|10:01:00|10:02:00|10:12:00|{GPU}|COMPLETED",
            names=ELIGIBLE,
            times=(1, 2, 3, 4),
        ),
        {},
        {
            "ids": "1,2",
            "ready_s": [0, 3660],
            "wait_s": [60, 60],
            "said": "1 of 2 jobs were ready after their submission, by 1.02 h",
        },
    ),
    "a job that is not eligible yet waits from its submission": (
        "a.txt",
        sacct(
            f"1|09:00:00|Unknown|09:01:00|10:01:00|{GPU}|COMPLETED",
            names=ELIGIBLE,
            times=(1, 2, 3, 4),
        ),
        {},
        {"ready_s": [0], "wait_s": [60]},
    ),
    "a job eligible after its start was ready at its start": (
        "a.txt",
        sacct(
            f"1|09:00:00|09:30:00|09:10:00|10:01:00|{GPU}|COMPLETED",
            names=ELIGIBLE,
            times=(1, 2, 3, 4),
        ),
        {},
        {"ready_s": [600], "wait_s": [0]},
    ),
    "a dependency in the command of submission": (
        "a.txt",
        sacct(
            f"{ONE}|sbatch a.sh",
            f"2|09:00:00|10:02:00|10:12:00|{GPU}|COMPLETED|sbatch -d afterok:1 b.sh",
            names="JobID|Submit|Start|End|AllocTRES|State|SubmitLine",
        ),
        {},
        {"ids": "1,2", "ready_s": [0, 3660], "wait_s": [60, 60]},
    ),
    # ---- Slurm: elapsed times ----
    "a suspended job ran for its elapsed time": (
        "a.txt",
        sacct(
            f"1|09:00:00|09:01:00|19:01:00|7200|08:00:00|{GPU}",
            f"2|09:00:00|09:01:00|09:01:30|29||{GPU}",  # rounded
            names=ELAPSED,
        ),
        {},
        {
            "service_s": [7200, 29],
            "said": "1 job whose elapsed time is not End - Start",
        },
    ),
    "half a node": (
        "a.txt",
        sacct(
            f"1|09:00:00|09:01:00|10:01:00|{GPU}|1",
            f"2|09:00:00|09:01:00|10:01:00|{GPU}|1.5",
            names="JobID|Submit|Start|End|AllocTRES|NNodes",
        ),
        {},
        {"ids": "1", "bad": "NNodes(='1.5') must be a whole number"},
    ),
    "the most memory": (
        "a.txt",
        sacct("1|09:00:00|09:01:00|10:01:00|mem=1000000000000000G|COMPLETED"),
        {},
        {"ids": "1", "memory_gb": [1e15]},
    ),
    "suspended time without an elapsed time": (
        "a.txt",
        sacct(
            f"1|09:00:00|09:01:00|19:01:00|08:00:00|{GPU}",
            names="JobID|Submit|Start|End|Suspended|AllocTRES",
        ),
        {},
        {"service_s": [7200]},
    ),
    "an elapsed time of days": (
        "a.txt",
        (
            "JobID|Submit|Start|End|Elapsed|AllocTRES\n"
            f"1|2026-03-01T09:00|2026-03-01T09:00|2026-03-02T11:00|1-02:00:00|{GPU}\n"
        ),
        {},
        {"service_s": [93600]},
    ),
    "a clock that is set back, with elapsed times": (
        "a.txt",
        (
            "JobID|Submit|Start|End|ElapsedRaw|AllocTRES\n"
            f"1|2025-10-26T01:30|2025-10-26T02:30|2025-10-26T02:10|2400|{GPU}\n"
            f"2|2025-10-26T01:00|2025-10-26T01:05|2025-10-26T04:05|14400|{GPU}\n"
        ),
        {},
        {"ids": "2,1", "service_s": [14400, 2400], "said": "the clock changed"},
    ),
    "a clock that is set back, with a zone": (
        "a.txt",
        (
            "JobID|Submit|Start|End|AllocTRES\n"
            f"1|2025-10-26T01:00|2025-10-26T01:05|2025-10-26T04:05|{GPU}\n"
            f"2|2025-10-26T01:00|2025-10-26T01:05|2025-10-26T02:30|{GPU}\n"
        ),
        {"tz": "Europe/Berlin"},
        {
            "service_s": [14400, 5100],
            "said": "1 ambiguous time because of a clock change in Europe/Berlin",
        },
    ),
    "a naive log whose job starts before its submission": (
        "a.txt",
        sacct(f"1|02:50:00|02:05:00|04:05:00|{GPU}|COMPLETED"),
        {},
        {"ready_s": [0], "said": "1 job with a start before the submission"},
    ),
    "an end before the start, without an elapsed time": (
        "a.txt",
        sacct(ONE, f"2|01:30:00|02:30:00|02:10:00|{GPU}|COMPLETED"),
        {},
        {"ids": "1", "bad": "must be at or after Start"},
    ),
    "resources in another form, before a row in this form": (
        "a.txt",
        sacct(ONE.replace(GPU, "cpu"), TWO),
        {},
        {"ids": "2", "gpus": [1], "bad": "AllocTRES(='cpu') must be in the form cpu=8"},
    ),
    # ---- Slurm: parts, names, delimiters, headers ----
    "a heterogeneous job is one job": (
        "a.txt",
        sacct(
            "8+0|09:10:00|09:20:00|10:20:00|cpu=2,node=1,gres/gpu=4|COMPLETED",
            "8+1|09:10:00|09:20:00|10:20:00|cpu=64,node=2|COMPLETED",
        ),
        {},
        {
            "ids": "8",
            "gpus": [4],
            "cores": [66],
            "nodes": [3],
            "said": "1 part of heterogeneous jobs",
        },
    ),
    "a bar in a name is a bad row": (
        "a.txt",
        sacct(
            f"{ONE}|train",
            f"{TWO}|grid lr=1|2",
            names="JobID|Submit|Start|End|AllocTRES|State|JobName",
        ),
        {},
        {"ids": "1", "bad": "8 fields, not 7"},
    ),
    "a bar at the end of each line": (
        "a.txt",
        sacct(f"{ONE}|", names="JobID|Submit|Start|End|AllocTRES|State|"),
        {},
        {"ids": "1"},
    ),
    "a delimiter of three characters": (
        "a.txt",
        sacct(ONE, TWO).replace("|", "^|^"),
        {"delimiter": "^|^"},
        {"ids": "1,2"},
    ),
    "a delimiter that is not given": (
        "a.txt",
        sacct(ONE, TWO).replace("|", "^|^"),
        {},
        (
            "are its cells separated by '^|^', not by commas? (delimiter='^|^' in"
            " Python, 'log.delimiter=^|^' on the command line)"
        ),
    ),
    "no header line, with names": (
        "a.txt",
        sacct(ONE, TWO).partition("\n")[2],
        {"header": "JobID%20+Submit+Start+End+AllocTRES+State", "format": "sacct"},
        {"ids": "1,2", "service_s": [3600, 1800]},
    ),
    "no header line, without names": (
        "a.txt",
        sacct(ONE, TWO).partition("\n")[2],
        {},
        "it resembles the format sacct without its header line: give the names of"
        " its columns (header='JobID+Submit+Start' in Python,"
        " log.header=JobID+Submit+Start on the command line)",
    ),
    "raw ids": ("a.txt", sacct(ONE).replace("JobID", "JobIDRaw"), {}, {"ids": "1"}),
    "a missing column": (
        "a.txt",
        sacct(ONE).replace("Submit", "Sent"),
        {},
        "it resembles the format sacct, without Submit",
    ),
    "types of GPUs, and no limit": (
        "a.txt",
        sacct(
            "1|09:00:00|09:01:00|10:01:00|cpu=1,gres/gpu:a100=2,gres/gpu:t4=1|X|Y",
            names="JobID|Submit|Start|End|AllocTRES|State|Timelimit",
        ).replace("Y", "UNLIMITED"),
        {},
        {"gpus": [3], "limit_s": [365 * 86400]},
    ),
    # ---- SWF ----
    "fields 17 and 18: the think time is no wait": (
        "a.swf",
        swf((1, 0, 0, 1000, 4), (2, 1, 1059, 100, 1, 1, 60)),
        {},
        {"ids": "1,2", "ready_s": [0, 1060], "wait_s": [0, 0]},
    ),
    "a preceding job that the record contradicts": (
        "a.swf",
        swf((1, 0, 0, 1000, 4), (2, 1, 9, 100, 1, 1, 60)),
        {},
        {"ready_s": [0, 1], "wait_s": [0, 9]},
    ),
    "a preceding job that is not in the log": (
        "a.swf",
        swf((2, 1, 9, 100, 1, 1, 60)),
        {},
        {"ready_s": [1], "wait_s": [9]},
    ),
    "-1 in every field that may be unknown": (
        "a.swf",
        swf((1, 0, -1, 50, 4), (2, 5, -1, -1, 4)),
        {},
        {"rows": 2, "ids": "1", "wait_s": [None], "left_out": {"no run time": 1}},
    ),
    "a named zone in the header": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; TimeZoneString: America/New_York\n"),
        {},
        {"start": "2026-03-02T02:00:00"},
    ),
    "seconds from UTC in the header": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; TimeZone: -18000\n"),
        {},
        {"start": "2026-03-02T02:00:00"},
    ),
    "a zone that is passed wins over that of the header": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; TimeZoneString: America/New_York\n"),
        {"tz": "Europe/Berlin"},
        {"start": "2026-03-02T08:00:00"},
    ),
    "SWF under another name": (
        "a.log",
        swf((1, 0, 0, 9, 1), header=UNIX),
        {},
        {"format": "swf"},
    ),
    # ---- CSV ----
    "17:04 in Berlin is 17:04 on the market's clock": (
        "a.csv",
        HEAD + "2026-03-02 16:04:00Z,9\n",
        {"tz": "Europe/Berlin"},
        {"start": "2026-03-02T17:04:00"},
    ),
    "17:04 without a zone": (
        "a.csv",
        HEAD + "2026-03-02 17:04:00,9\n",
        {"tz": "Europe/Berlin"},
        {"start": "2026-03-02T17:04:00"},
    ),
    "a named zone in each time": (
        "a.csv",
        HEAD + "2026-03-02 09:00:00 UTC,120\n2026-03-02 09:10:00 CET,60\n",
        {"tz": "UTC"},
        {"service_s": [60, 120], "ready_s": [0, 3000]},
    ),
    "an ambiguous time, and one whose offset is recorded": (
        "a.csv",
        HEAD + "2025-10-26 02:30:00,9\n2025-10-26 02:30:00+01:00,5\n",
        {"tz": "Europe/Berlin"},
        {"ready_s": [0, 3600], "said": "1 ambiguous time because of a clock change"},
    ),
    "dates without a time of day": (
        "a.csv",
        "when,service_s\n2026-03-02,9\n2026-03-02 09:00,5\n2026-03-03,5\n2026-3,5\n",
        {"columns": {"submit": "when"}},
        {"said": "2 jobs whose date in the column when has no time of day", "bad": ""},
    ),
    "a time that has none in UTC": (
        "a.csv",
        HEAD + "0001-01-01 00:00:00,9\n2026-03-02 17:04:00,9\n",
        {"tz": "Europe/Berlin", "strict": True},
        "submit_s(='0001-01-01 00:00:00') must be a time of the form",
    ),
    "a column that is a number": (
        "a.csv",
        HEAD + "1,1\n",
        {"columns": {"submit": 3}},
        "column for submit(=3) must be the name of a column of the file",
    ),
    "an unknown zone": ("a.csv", HEAD + "1,1\n", {"tz": "Mars"}, "tz(='Mars') must be"),
    "a byte order mark, CRLF and quoted numbers": (
        "a.csv",
        '\ufeffsubmit_s,service_s\r\n"0","120"\r\n"60","30.5"\r\n',
        {},
        {"service_s": [120, 30.5]},
    ),
    "an index column without a name": (
        "a.csv",
        ",submit_s,service_s\n0,0.0,120.0\n1,60.0,30.5\n",
        {},
        {"service_s": [120, 30.5]},
    ),
    "semicolons and decimal commas": (
        "a.csv",
        "submit_s;service_s\n1.000,5;120,0\n2.060,0;30,5\n",
        {"delimiter": ";", "decimal": ","},
        {"ready_s": [1000.5, 2060], "service_s": [120, 30.5]},
    ),
    "tabs": (
        "a.csv",
        "submit_s\tservice_s\n0\t9\n",
        {"delimiter": "tab"},
        {"service_s": [9]},
    ),
    "thousands by commas are bad rows": (
        "a.csv",
        HEAD + '"1,234",9\n5,8\n',
        {},
        {"rows": 2, "service_s": [8], "bad": "must be"},
    ),
    "the greatest number that is allowed": (
        "a.csv",
        HEAD + "0,1e15\n",
        {},
        {"service_s": [1e15]},
    ),
    "a row of blank cells is a row": (
        "a.csv",
        HEAD + "0,9\n,\n",
        {},
        {"rows": 2, "service_s": [9], "left_out": {"no run time": 1}},
    ),
    "two columns with one name": (
        "a.csv",
        "submit_s,service_s,submit_s\n0,1,2\n",
        {},
        "line 1: column submit_s(=",
    ),
    "day numbers of Excel are reported": (
        "a.csv",
        HEAD + "46083.375,120\n46083.5,60\n46084.25,60\n",
        {},
        {"service_s": [120, 60, 60], "said": "may be day numbers of Excel"},
    ),
    "the first days of 2000 and the last of 2099 may be of Excel": (
        "a.csv",
        HEAD + "36526,9e9\n73050.5,60\n73051,60\n",
        {},
        {"said": "may be day numbers of Excel"},
    ),
    **{
        f"submissions from {first} to {last} are none of Excel": (
            "a.csv",
            f"{HEAD}{first},9e9\n{last},60\n",
            {},
            {"submit_s": [first, last]},
        )
        for first, last in ((46083.5, 46083.5), (36525, 36526.5), (73051, 73051.5))
    },
    "submissions over the mean run time are none of Excel": (
        "a.csv",
        HEAD + "46083.5,1\n46084.5,1\n",
        {},
        {"service_s": [1, 1]},
    ),
    "submissions over the most years that are allowed": (
        "a.csv",
        HEAD + "0,5\n1577880000,5\n",
        {},
        {"ready_s": [0, 1_577_880_000]},
    ),
    "0 among Unix times": (
        "a.csv",
        HEAD + "0,5\n1772442000,5\n",
        {},
        "years between submissions(=56.2) must be at most 50",
    ),
    "1970 among timestamps": (
        "a.csv",
        HEAD + "1970-01-01,5\n2026-03-02,5\n",
        {},
        "years between submissions(=56.2) must be at most 50",
    ),
    "two jobs with one id": (
        "a.csv",
        "job_id,submit_s,service_s\na,0,5\na,1,6\n",
        {},
        {"ids": "a,a", "said": "job ids that occur more than once: 1"},
    ),
    "a CSV table with a ready time": (
        "a.csv",
        "submit_s,ready_s,start_s,service_s\n0,360000,360010,5\n1,,71,5\n",
        {},
        {
            "ready_s": [1, 360000],
            "wait_s": [70, 10],
            "said": "1 of 2 jobs were ready after their submission, by 100.00 h on"
            " average and at most 100.00 h",
        },
    ),
    "a CSV table with predecessors": (
        "a.csv",
        "job_id,submit_s,start_s,service_s,after,think_s\na,0,0,50,,\nb,0,70,5,a,10\n",
        {},
        {"ids": "a,b", "ready_s": [0, 60], "wait_s": [0, 10]},
    ),
    "a CSV table with predecessors without starts": (
        "a.csv",
        "job_id,submit_s,service_s,after\na,0,50,\nb,0,5,a\n",
        {},
        {
            "ready_s": [0, 0],
            "said": "end of the preceding job of 1 job is not recorded",
        },
    ),
    "a CSV table as JSON lines": (
        "a.jsonl",
        '{"submit_s": 0, "service_s": 5}\n{"submit_s": 1}\n{"submit_s"\n',
        {},
        {"service_s": [5], "left_out": {"no run time": 1}, "bad": "not an object"},
    ),
    "a start at time 0, which Slurm prints of a job that has none": (
        "a.txt",
        sacct(ONE, f"2|09:10:00|1970-01-01T00:00:00|09:41:00|{GPU}|FAILED").replace(
            f"{DAY}1970", "1970"
        ),
        {},
        {"ids": "1", "left_out": {"no run time": 1}},
    ),
    "accounting in aligned columns": (
        "a.txt",
        "JobID           JobName  Partition      State\n12    a.sh  gpu  COMPLETED\n",
        {},
        "are its cells aligned by blanks? sacct -P separates them",
    ),
    "a zip archive": ("a.csv", b"PK\x03\x04\x14\0\0\0", {}, "but a zip archive or"),
    "a file of zstd": ("a.csv", b"\x28\xb5\x2f\xfd\x04\0", {}, "compressed by zstd"),
    "a file of xz": ("a.csv", b"\xfd7zXZ\0\0", {}, "compressed by xz"),
    "a file of bzip2": ("a.csv", b"BZh91AY&SY", {}, "compressed by bzip2"),
    "a table in UTF-16": (
        "a.csv",
        (HEAD + "0,5\n").encode("utf-16"),
        {},
        "in UTF-16: save it in UTF-8",
    ),
    # ---- other formats ----
    "Gavel with ten fields": (
        "a.trace",
        "A3C\tpython3 a.py\trl\t--n\t0\t440\t2\t1\t-1.000000\t300\n",
        {},
        {"format": "philly", "ready_s": [300], "service_s": [100], "gpus": [2]},
    ),
    "an array of JSON objects": (
        "a.json",
        json.dumps(
            [{"arrived_at": 5, "num_prefill_tokens": 3, "num_decode_tokens": 4}]
        ),
        {},
        {
            "format": "llm",
            "prompt_tokens": [3],
            "output_tokens": [4],
            "said": "read as a log of the format llm",
        },
    ),
    "JSON that is none": (
        "a.json",
        "[1, 2",
        {"format": "csv"},
        "line 1, column 6: not",
    ),
    "limits in each form of --time": (
        "a.txt",
        sacct(
            *(
                f"{n}|09:00:00|09:01:00|10:01:00|{GPU}|{limit}"
                for n, limit in enumerate(
                    "90 1:30 02:03:04 1-02 1-02:03 1-02:03:04 UNLIMITED 0 0:01".split()
                )
            ),
            names="JobID|Submit|Start|End|AllocTRES|TimelimitRaw",
        ),
        {},
        {"limit_s": [*(5400, 90, 7384, 93_600, 93_780, 93_784, 365 * 86_400, None, 1)]},
    ),
    "the date of a header counts before its Unix time": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; StartTime: Sat Dec  4 23:00:03 PST 1993"),
        {},
        {"start": "1993-12-04T23:00:03"},
    ),
    "a date of another calendar does not count": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; StartTime: Sat Okt  2 23:00:03 PDT 1993"),
        {},
        {"start": "2026-03-02T07:00:00"},
    ),
    "a day that no month has does not count": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"{UNIX}; StartTime: Sat Feb 31 23:00:03 PDT 1993"),
        {},
        {"start": "2026-03-02T07:00:00"},
    ),
    "a Unix time before 1970": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header="; UnixStartTime: -1"),
        {},
        {"start": "1969-12-31T23:59:59"},
    ),
    "a Unix time after all dates": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header=f"; UnixStartTime: {'9' * 20}"),
        {},
        {"start": None},
    ),
    "a header without a time": (
        "a.swf",
        swf((1, 0, 0, 9, 1), header="; Version: 2.2"),
        {},
        {"start": None},
    ),
    "JSON of an unknown kind": ("a.json", '{"jobid": 1}', {}, "not WfFormat"),
    "BurstGPT": (
        "a.csv",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens\n5,x,472,18,490\n",
        {},
        {"format": "llm", "ready_s": [5], "prompt_tokens": [472]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_unusual_log_is_read_correctly(file, caplog, name):
    caplog.set_level("INFO")
    path, text, arguments, expected = CASES[name]
    if isinstance(expected, str):
        check_refused(lambda: read_log(file(text, path), **arguments), [expected])
        return
    log = read_log(file(text, path), **arguments)
    faults = "; ".join(fault.what for fault in log.report.bad)
    columns = {**log.columns, "wait_s": log.get("start_s", np.nan) - log["ready_s"]}
    values = {
        "ids": ",".join(log.tags["job_id"]),
        "left_out": log.report.counts,
        "rows": log.report.rows,
        "format": log.format,
        "start": log.start and log.start.isoformat(),
    }
    assert ("Excel" in caplog.text) == ("Excel" in expected.get("said", ""))
    for key, value in expected.items():
        if key in columns:
            results = [None if number != number else number for number in columns[key]]
            assert results == pytest.approx(value), key
        elif key in values:
            assert values[key] == value, key
        else:
            assert value in {"bad": faults, "said": caplog.text}[key]
    assert ("left_out" in expected) == bool(log.report.left_out)
    assert ("bad" in expected) == bool(faults)


@pytest.mark.parametrize("name", ["gpus", "user", "deadline"])
def test_a_column_that_is_named_must_be_in_the_file(file, name):
    path = file("submit_s,service_s,gpus\n0,5,1\n")
    check_refused(lambda: read_log(path, columns={name: "other"}), "no column other")
