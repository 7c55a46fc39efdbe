"""Logs of clusters: which lines become which jobs, counted omissions and errors."""

import gzip
import logging
from functools import partial

import numpy as np
import pytest
from cluster.cases import simulate
from support import DATA, check_refused, messages

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.logs import read_cluster, read_jobs
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.logs import STEPS_PER_S, philly
from cgrsp_simpy.studies.subject import subject_of

read_philly, read_openb, read_swf = (
    partial(read_jobs, format=name) for name in ("philly", "openb", "swf")
)
TRACE = DATA / "gavel_philly" / "ee9e8c.trace"
needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the folder of real data is absent"
)
POD_HEAD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
)


def gavel(
    job_type="ResNet-18 (batch size 128)", steps="2000", arrival="0.000000", gpus="1"
):
    return (
        "\t".join(
            [job_type, "python3 main.py", "--num_steps", "1", steps, arrival, gpus]
        )
        + "\n"
    )


def pod(
    gpus="1",
    milli="1000",
    qos="LS",
    created="0",
    deleted="100",
    scheduled="0",
    cpu="4000",
):
    return (
        f"pod,{cpu},8192,{gpus},{milli},,{qos},Running,{created},{deleted},"
        f"{scheduled}\n"
    )


def batch(
    submit=0,
    run=60,
    allocated=1,
    requested=-1,
    limit=-1,
    status=1,
    user=3,
    application=2,
):
    return (
        f"7 {submit} -1 {run} {allocated} -1 -1 {requested} {limit} -1 {status} {user}"
        f" 1 {application} -1 -1 -1 -1\n"
    )


# ---- Philly traces ----


def test_steps_become_seconds_by_the_rate_of_the_type(file):
    jobs = read_philly(
        file(
            gavel(steps="2000")
            + gavel("A3C", "440", "5", "4")
            + gavel("ResNet-18 (batch size 256)", "85", "7")
            + gavel("LM (batch size 80)", "23", "7")
        )
    )
    assert jobs.duration_s.tolist() == pytest.approx([100, 440 / 4.4, 85 / 8.5, 1])
    assert (
        jobs.iterations.tolist() == [2000, 440, 85, 23]
        and jobs.estimate_s.tolist() == jobs.duration_s.tolist()
    )
    assert jobs.arrival_s.tolist() == [0, 5, 7, 7]
    assert jobs.gpus.tolist() == [1, 4, 1, 1]
    assert jobs.family.tolist() == [
        0,
        1,
        0,
        2,
    ]  # two are ResNet-18, whatever the batch size
    assert set(jobs.kind) == {1} and jobs.user is None and jobs.name == "log"


def test_user_defined_rates(file):
    assert read_jobs(
        file(gavel("Mamba", "10")), philly({"Mamba": 0.5})
    ).duration_s.tolist() == [20]
    check_refused(
        lambda: read_jobs(file(gavel("Mamba", "10")), philly({"Mamba": 0})),
        r"steps_per_s of Mamba\(=0\) must be a number > 0",
    )


@needs_data
def test_the_shortest_job_of_every_type_takes_half_an_hour_to_an_hour():
    """Over the four traces: the criterion by which the default rates were chosen."""
    shortest_h = dict.fromkeys(STEPS_PER_S, np.inf)
    for path in TRACE.parent.glob("*.trace"):
        for line in path.read_text().splitlines():
            job_type, steps = line.split("\t")[0], float(line.split("\t")[4])
            shortest_h[job_type] = min(
                shortest_h[job_type], steps / STEPS_PER_S[job_type] / 3600
            )
    assert min(shortest_h.values()) > 0.5 and max(shortest_h.values()) < 1


# ---- openb ----


def test_pods_become_jobs(file):
    rows = pod(created="10", scheduled="30", deleted="130") + pod(
        "8", qos="BE", created="20", scheduled="20", deleted="70", cpu="1"
    )
    jobs = read_openb(file(POD_HEAD + rows))
    assert jobs.arrival_s.tolist() == [0, 10] and jobs.duration_s.tolist() == [100, 50]
    assert (
        jobs.gpus.tolist() == [1, 8]
        and jobs.kind.tolist() == [0, 1]
        and jobs.family.tolist() == [0, 1]
    )
    assert jobs.iterations is jobs.user is None


def test_pods_that_cannot_run_are_counted(file, caplog):
    with caplog.at_level(logging.INFO):
        jobs = read_openb(
            file(
                POD_HEAD
                + pod()
                + 2 * pod("0", "0")
                + pod(created="5", scheduled="7", deleted="7")
            )
        )
    assert jobs.jobs == 1
    left_out, read = messages(caplog, logging.INFO)[-2:]
    assert left_out.endswith("log: rows left out: 2 of no GPU, 1 of run time 0")
    assert read.endswith(
        "equal to it: 1; unknown: iterations, user; all at once, on 64 GPUs"
    )


# ---- SWF ----


def test_lines_of_swf_become_jobs(file):
    text = (
        "; Version: 2.2\n\n"
        + batch(5, 60, 4, limit=90, user=7, application=1)
        + batch(6, 10, -1, requested=2, user=9)
    )
    jobs = read_swf(file(text))
    assert (
        jobs.arrival_s.tolist() == [0, 1]
        and jobs.duration_s.tolist() == [60, 10]
        and jobs.gpus.tolist() == [4, 2]
    )
    assert jobs.estimate_s.tolist() == [90, 10] and jobs.iterations is None
    assert (
        jobs.user.tolist() == [0, 1]
        and jobs.family.tolist() == [0, 1]
        and set(jobs.kind) == {1}
    )


def test_lines_of_swf_that_cannot_run_are_counted(file, caplog):
    unfit = [
        batch(status=2),
        batch(status=5, run=0),
        batch(run=0),
        batch(run=-1),
        batch(submit=-1),
        batch(allocated=0),
    ]
    with caplog.at_level(logging.INFO):
        assert (
            read_swf(
                file(batch(status=0) + batch(status=5) + "".join(unfit)), strict=True
            ).jobs
            == 2
        )
    reasons = (
        "1 of part of a job, 1 of cancelled before it ran, 1 of no run time, 1 of no"
        " submit time, 1 of no processors"
    )
    assert messages(caplog, logging.INFO)[-2].endswith(
        f"left out: {reasons}, 1 of run time 0"
    )


SLURM = (  # limit in either column, in seconds
    ("90", "90", 5400),
    ("1-00:00:00", "1440", 86400),
    ("02:30:30", "150.5", 9030),
    ("30:30", "30.5", 1830),
    ("1-06", "1800", 108000),
    ("1-06:30", "1830", 109800),
)


@pytest.mark.parametrize("column", ["Timelimit", "TimelimitRaw"])
def test_every_limit_of_slurm_is_read_and_missing_ones_are_tabled(file, column):
    def read(limits):
        head = f"JobID|Submit|Start|End|{column}|AllocTRES\n"
        at = "2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-01T11:05:00"
        rows = (f"{job}|{at}|{limit}|gres/gpu=2\n" for job, limit in enumerate(limits))
        return read_jobs(file(head + "".join(rows)), "sacct")

    def told(jobs):
        study = cg.compare(Scenario(jobs), ["fifo", "easy"], range(1))
        note = study.tables[0].note
        assert note in str(study) and note in str(
            cg.sweep(Scenario(jobs), {}, ["easy"], range(1))
        )
        return note

    limits = [row[column == "TimelimitRaw"] for row in SLURM]
    jobs = read(limits)
    assert jobs.estimate_s.tolist() == [row[-1] for row in SLURM] and told(jobs) == ""
    some = read([*limits, "UNLIMITED", "Partition_Limit"])
    assert some.estimate_s.tolist()[-2:] == [365 * 86400, 3600]
    assert told(some) == (
        "log records no limit for 1 of 8 jobs: schedulers that use limits use"
        " their run times instead"
    )
    assert told(some.chosen(range(5), "log")) == ""
    assert (
        told(read(["Partition_Limit"]))
        == "log records no limits: schedulers that use limits use the run times instead"
    )
    check_refused(
        lambda: read(["2 hours"]),
        r"\(='2 hours'\) must be minutes, or \[days-\]hours:min",
    )


@pytest.mark.parametrize(
    ("marks", "family", "user"),
    [
        (((-1, -1), (-1, -1)), None, None),
        (((4, -1), (4, -1)), [0, 0], None),  # one family is a family
        (((4, 7), (-1, 7)), [0, 1], None),  # one user distinguishes no jobs
        (((4, 7), (4, -1)), [0, 0], None),
        (((4, 7), (5, 9)), [0, 1], [0, 1]),
    ],
)
def test_families_and_users_that_are_not_recorded_are_none(file, marks, family, user):
    jobs = read_swf(
        file("".join(batch(application=one, user=other) for one, other in marks))
    )
    assert [
        None if column is None else column.tolist()
        for column in (jobs.family, jobs.user)
    ] == [
        family,
        user,
    ]
    assert jobs.chosen([0], "one").columns == jobs.columns


LIMITED = batch(0, 100, 8, limit=100) + "".join(
    batch(1, run, 8, limit=7200) for run in (60, 7000, 60)
)


@pytest.mark.parametrize(
    ("scheduler", "needs"),
    [
        ("pbs", r"the work of each job \(iterations\)"),
        ("pbs:mode=text,pairs=true", r"the work of each job \(iterations\)"),
        ("sbs", r"the work of each job \(iterations\)"),
        ("las", "jobs of at least two users"),
    ],
)
def test_a_scheduler_rejects_a_log_without_the_columns_it_needs(file, scheduler, needs):
    """Three jobs with the same limit wait, of 60, 7000 and 60 s: no known column
    distinguishes them.
    """
    jobs = read_swf(file(LIMITED))
    message = (
        rf"scheduler {scheduler.partition(':')[0]} needs {needs}, which log does"
        r" not record"
    )
    check_refused(
        lambda: simulate(jobs, Cluster((8,)), cg.cluster.make_scheduler(scheduler)),
        message,
    )
    check_refused(
        lambda: cg.compare(
            Scenario(jobs, Cluster((8,))), ["fifo", scheduler], range(1)
        ),
        message,
    )


# ---- all readers ----

READERS = {
    "philly": (read_philly, "", gavel),
    "openb": (read_openb, POD_HEAD, pod),
    "swf": (read_swf, "; Version: 2.2\n", batch),
}
WIDE = {"philly": {"gpus": "65"}, "openb": {"gpus": "65"}, "swf": {"allocated": 65}}


@pytest.fixture(params=READERS)
def name(request):
    return request.param


def test_a_job_that_is_too_wide_is_rejected_or_left_out(name, file, caplog):
    read, head, row = READERS[name]
    path = file(head + row() + row(**WIDE[name]))
    check_refused(
        lambda: read(path),
        rf"line {2 + (head != '')}: the job needs 65 GPUs; the cluster has 64 ",
    )
    with caplog.at_level(logging.INFO):
        assert read(path, skip_wide=True).jobs == 1
    assert "left out: 1 of wider than the cluster" in "".join(
        messages(caplog, logging.INFO)
    )
    assert read(path, cluster=Cluster((8,) * 9)).jobs == 2


@pytest.mark.parametrize(
    "name, changes, fault",
    [
        ("philly", {"steps": "many"}, r"steps\(='many'\) must be a number"),
        ("philly", {"steps": "0"}, r"steps\(='0'\) must be a number >= 1"),
        ("philly", {"steps": "nan"}, r"steps\(='nan'\)"),
        ("philly", {"arrival": "-5"}, r"arrival\(='-5'\)"),
        ("philly", {"gpus": "1.5"}, r"gpus\(='1.5'\) must be a whole number"),
        ("philly", {"gpus": "0"}, r"gpus\(='0'\) must be a whole number >= 1"),
        (
            "philly",
            {"job_type": "Mamba"},
            r"job_type\(='Mamba'\) must be one whose steps per second are given",
        ),
        ("philly", {"gpus": "1\t2"}, r"8 fields, not 7"),
        ("openb", {"gpus": "x"}, r"num_gpu\(='x'\)"),
        (
            "openb",
            {"milli": "0"},
            r"gpu_milli\(='0'\) must be a number > 0, at most 1000",
        ),
        ("openb", {"milli": "1001"}, r"gpu_milli\(='1001'\)"),
        ("openb", {"deleted": "inf"}, r"deletion_time\(='inf'\)"),
        ("openb", {"qos": "LS,LS"}, r"12 fields, not 11"),
        ("swf", {"run": "long"}, r"run time\(='long'\)"),
        (
            "swf",
            {"submit": -2},
            (
                r"submit time\(='-2'\) must be a number >= 0 and at most 1e\+15, or -1"
                r" if missing"
            ),
        ),
        (
            "swf",
            {"allocated": 1.5},
            r"allocated processors\(='1.5'\) must be a whole number",
        ),
        ("swf", {"application": "2 2"}, r"19 fields, not 18"),
    ],
)
def test_a_bad_line_is_skipped_and_reported_or_rejected(
    name, changes, fault, file, caplog
):
    read, head, row = READERS[name]
    path = file(head + row() + row(**changes))
    with caplog.at_level(logging.INFO):
        assert read(path).jobs == 1
    assert "1 bad row: line" in messages(caplog, logging.WARNING)[0]
    check_refused(lambda: read(path, strict=True), f"line {2 + (head != '')}: {fault}")


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("philly", "", "the file is empty"),
        ("openb", "", "the file is empty"),
        ("swf", "", "the file is empty"),
        ("philly", "\n\n", "no usable job"),
        ("openb", POD_HEAD, r"no usable job \(bad rows: 0; left out: none\)"),
        ("openb", POD_HEAD + pod("0", "0", cpu="0"), r"left out: 1 of no GPU\)"),
        ("swf", "; Version: 2.2\n", "no usable job"),
        ("philly", "a,b,c\n", r"line 1: not a row of the format philly.*\(1 field,"),
        (
            "openb",
            POD_HEAD.replace("num_gpu", "gpus"),
            r"line 1: no column num_gpu \(columns: 'name,",
        ),
        ("openb", POD_HEAD + 'pod,"' + pod(), "line 2: not CSV"),
        (
            "swf",
            "a b c\n",
            (
                r"line 1: not a row of the format swf, the Standard Workload Format.*"
                r" \(3 fields"
            ),
        ),
        ("swf", gzip.compress(batch().encode(), mtime=0)[:-9], "damaged gzip file"),
    ],
)
def test_an_invalid_file_gives_a_one_line_error(name, text, message, file):
    with pytest.raises(cg.InputError, match=message) as error:
        READERS[name][0](file(text))
    assert "\n" not in str(error.value) and str(error.value).count("log: ") == 1


# ---- needs of a job in addition to GPUs ----

HEAD = "JobID|User|QOS|Partition|Submit|Start|End|Timelimit|NNodes|ReqTRES|AllocTRES\n"


def accounted(
    at=0,
    start=None,
    run=60,
    limit="UNLIMITED",
    nodes="",
    tres="gres/gpu=1",
    asked="",
    **more,
):
    """A row of sacct, times in seconds after midnight; run None: it still runs."""
    start = at if start is None else start

    def stamp(seconds):
        return (
            f"2026-03-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        )

    end = "Unknown" if run is None else stamp(start + run)
    names = {"user": "ann", "qos": "normal", "partition": "gpu", **more}
    times = f"{stamp(at)}|{stamp(start)}|{end}"
    return (
        f"1|{names['user']}|{names['qos']}|{names['partition']}|{times}|{limit}|"
        f"{nodes}|{asked}|{tres}\n"
    )


def started_on(jobs, cluster, scheduler="fifo"):
    """The start and the nodes, with the GPUs of each, of each job."""
    run = subject_of(Scenario(jobs, cluster)).run(scheduler)
    return [(row["start_s"], row["nodes"]) for row in run.rows()]


def test_gpus_on_several_nodes_do_not_go_onto_one(file):
    rows = (
        accounted(tres="gres/gpu=8,node=4")
        + accounted(nodes="2", tres="gres/gpu=5")
        + accounted(tres="gres/gpu=8")
    )
    cluster = Cluster((8,) * 4)
    jobs = read_jobs(file(HEAD + rows), "sacct", cluster)
    # nodes 0 to 3 have 6 GPUs left, nodes 0 and 1 then 3 and 4; 8 on one must wait for
    # all
    assert started_on(jobs, cluster) == [
        (0, "0:2 1:2 2:2 3:2"),
        (0, "0:3 1:2"),
        (60, "0:8"),
    ]
    check_refused(
        lambda: read_jobs(file(HEAD + rows), "sacct", Cluster((16, 16))),
        r"line 2: the job needs 8 GPUs, 4 nodes; the cluster has 32 ",
    )
    assert (
        read_jobs(file(HEAD + rows), "sacct", Cluster((16, 16)), skip_wide=True).jobs
        == 2
    )


@pytest.mark.parametrize(
    "tres", ["gres/gpu:a100_1g.5gb=1", "gres/gpu=1,gres/gpu:3g.20gb=1"]
)
def test_a_mig_slice_is_no_gpu(file, tres):
    path = file(HEAD + accounted() + accounted(tres=tres))
    assert read_jobs(path, "sacct").jobs == 1
    check_refused(
        lambda: read_jobs(path, "sacct", strict=True),
        r"line 3: AllocTRES.* must be a number of whole GPUs, not MIG slices",
    )


def test_types_and_partitions_choose_the_nodes(file):
    nodes = file(
        'gpus,gpu_type,partition\n4,v100,gpu\n4,a100,gpu\n4,a100,"gpu,long"\n', "n.csv"
    )
    cluster = read_cluster(nodes)
    rows = (
        accounted(tres="gres/gpu:v100=2,gres/gpu=2")
        + accounted(
            tres="gres/gpu:a100=4,gres/gpu=4", asked="gres/gpu=4", partition="long"
        )
        # the first type counts
        + accounted(asked="gres/gpu:a100=1,gres/gpu:v100=1", tres="gres/gpu:a100=2")
        + accounted(tres="gres/gpu=4", asked="gres/gpu=4")
    )
    jobs = read_jobs(file(HEAD + rows), "sacct", cluster)
    assert jobs.tags["gpu_type"] == ("", "", "a100", "")
    assert started_on(jobs, cluster) == [
        (0, "0:2"),
        (0, "2:4"),
        (0, "1:2"),
        (60, "0:4"),
    ]
    nowhere = HEAD + accounted() + accounted(partition="big")
    check_refused(
        lambda: read_jobs(file(nowhere), "sacct", cluster),
        r"line 3: the job needs 1 GPU.*partition big",
    )


@pytest.mark.parametrize("size", [1, 1000])  # a unit of memory, GB
def test_a_job_fits_only_if_all_of_it_fits(file, size):
    cluster = read_cluster(
        file("gpus,cores,memory_gb" + f"\n4,16,{64 * size}" * 2 + "\n", "nodes.csv")
    )
    rows = (
        # no core left on node 0
        accounted(tres=f"cpu=16,mem={size}G,gres/gpu=1")
        # nor memory on node 1
        + accounted(tres=f"cpu=1,mem={60 * size}G,gres/gpu=1")
        + accounted(tres=f"cpu=1,mem={8 * size}G,gres/gpu=1")
        + accounted(tres=f"cpu=8,mem={4 * size}G")  # no GPU at all
    )
    jobs = read_jobs(file(HEAD + rows), "sacct", cluster)
    assert jobs.gpus.tolist() == [1, 1, 1, 0]
    assert started_on(jobs, cluster, "fifo-skip") == [
        (0, "0:1"),
        (0, "1:1"),
        (60, "0:1"),
        (0, ""),
    ]
    assert read_jobs(file(HEAD + rows), "sacct", Cluster((4, 4))).jobs == 3


def test_jobs_that_still_run_hold_their_gpus(file):
    """The log ends at 300 s; the first job has run since 100 s and may up to 600 s, the
    second since 20 s without a limit, the last since 300 s.
    """
    rows = (
        accounted(at=100, run=None, limit="00:10:00", tres="gres/gpu=8")
        + accounted(start=20, run=None, limit="Partition_Limit", partition="cpu")
        + accounted(at=240, run=60, limit="5")
        + accounted(at=300, run=None, limit="Partition_Limit", partition="cpu")
    )
    jobs = read_jobs(file(HEAD + rows), "sacct")
    assert jobs.arrival_s.tolist() == [0, 100, 240, 300]
    assert jobs.duration_s.tolist() == [280, 600, 60, 1] and jobs.running.tolist() == [
        *(True, True, False, True),
    ]
    result = started_on(jobs, Cluster((8,)))
    assert [start_s for start_s, _ in result] == [0, 280, 880, 880]
    message = (
        "3 of 4 jobs of log were still running at its end: their waits are known,"
        " and their end is estimated by their limit"
    )
    assert subject_of(Scenario(jobs)).report.note.endswith(message)
    assert subject_of(Scenario(jobs.chosen([2], "log"))).report.note == ""


def test_a_partition_limit_is_the_longest_time_limit_in_the_log(file):
    limits = {
        "gpu": ("60", "1-00:00:00", "Partition_Limit"),
        "long": ("Partition_Limit",),
    }
    rows = [
        accounted(limit=each, partition=name)
        for name, own in limits.items()
        for each in own
    ]
    jobs = read_jobs(file(HEAD + "".join(rows)), "sacct")
    assert jobs.estimate_s.tolist() == [3600, 86400, 86400, 60]
    assert jobs.limited.tolist() == [True, True, True, False]


def test_a_log_without_a_gpu_is_one_of_cores(file, caplog):
    rows = accounted(tres="cpu=48,node=1") + accounted(tres="cpu=32,node=2")
    rows += accounted(tres="node=1")  # of unknown cores
    cluster = read_cluster(file("gpus,cores\n0,64\n0,64\n", "nodes.csv"))
    assert cluster == Cluster((64, 64))
    with caplog.at_level(logging.INFO):
        jobs = read_jobs(file(HEAD + rows), "sacct", cluster)
    assert (
        "log: no job has a GPU: cores count as GPUs"
        in messages(caplog, logging.INFO)[-3]
    )
    assert started_on(jobs, cluster) == [(0, "0:48"), (0, "0:16 1:16")]


def test_qualities_of_service_have_the_priorities_that_are_given(file):
    rows = "".join(accounted(qos=name) for name in ("high", "low", "other"))
    read = partial(read_jobs, file(HEAD + rows), "sacct")
    assert read().qos is None
    assert read(qos={"high": 50, "low": 10}).qos.tolist() == [1, 0.2, 0]
    check_refused(lambda: read(qos={"low": -1}), "priority of a quality of service")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpus\n", "no usable job"),
        ("gpus\n4\nx\n", r"line 3: gpus\(='x'\) must be a whole number"),
        ("cores\n4\n", "no column gpus or gpu"),
        ("gpus\n0\n", r"GPUs of node 0\(=0\)"),
        ("gpus,cores\n4,\n4,8\n", r"cores\[0\]\(=0\) must be a whole number >= 1"),
    ],
)
def test_a_table_that_describes_no_cluster_is_rejected(file, text, message):
    check_refused(lambda: read_cluster(file(text, "nodes.csv")), message)
