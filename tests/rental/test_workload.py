"""Logs of real jobs: columns read and drawn, what a policy sees, and the round trip to
a scenario file and back.
"""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.studies.subject import subject_of

NAN = float("nan")
# Read if it exists: a folder next to the project that holds the log of
# cluster-trace-v2026-GenAI.
REAL = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "alibaba_genai_2026"
    / "lora_request_trace.csv"
)
DAY_SECONDS = 24 * 3600.0


@pytest.fixture
def read(tmp_path):
    """A scenario from the text of a CSV file."""

    def make(text, **options):
        path = tmp_path / "log.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return cg.trace(path, **options)

    return make


def stamped(*moments, seconds=5):
    return "timestamp,service_s\n" + "".join(
        f"{moment},{seconds}\n" for moment in moments
    )


# ---- the axis of time ----


DAY_AND_MORE = stamped(
    "2024-11-20 09:30:00", "2024-11-20 09:31:15", "2024-11-21 09:30:00"
)
TWO_HOURS = stamped(
    "2024-11-20 09:30:00", "2024-11-20 10:00:00.5", "2024-11-20 11:00:00"
)
TWO_DAYS = stamped(
    "2024-11-19 23:59:59", "2024-11-20", "2024-11-21 23:59:59", "2024-11-22"
)
AN_HOUR = stamped(
    *(f"2024-11-20 0{moment}" for moment in ("8:29:59", "8:30:10", "9:29", "9:30"))
)
SECONDS = "submit_s,service_s\n0,1\n10,2\n19.5,3\n20,4\n"


@pytest.mark.parametrize(
    ("text", "window", "submit_s"),
    [
        (DAY_AND_MORE, None, (0.0, 75.0, DAY_SECONDS)),  # time 0 is the first
        # time 0 is the beginning of the window, which holds that and not its end
        (TWO_HOURS, "2024-11-20:2024-11-21", (34200.0, 36000.5, 39600.0)),
        (SECONDS, "5:30", (5.0, 14.5, 15.0)),
        (SECONDS, "10:20", (0.0, 9.5)),
        (TWO_DAYS, "2024-11-20:2024-11-22", (0.0, 2 * DAY_SECONDS - 1)),
        (AN_HOUR, "2024-11-20 09:2024-11-20 10", (1740.0, 1800.0)),  # whole hours
        # bounds may hold colons
        (AN_HOUR, "2024-11-20 08:30:2024-11-20 09:30", (10.0, 3540.0)),
        (AN_HOUR, "2024-11-20 08:30:00:2024-11-20 09:30:00", (10.0, 3540.0)),
        (AN_HOUR, "2024-11-20T08:30:00:2024-11-20T09:30:00", (10.0, 3540.0)),
        (AN_HOUR, "2024-11-20 08:30:00.000:2024-11-20 09:30", (10.0, 3540.0)),
        (
            AN_HOUR,
            "2024-11-20T08:30:00+00:00:2024-11-20T10:30:00+01:00",
            (10.0, 3540.0),
        ),
    ],
)
def test_submissions_are_seconds_from_time_0(read, text, window, submit_s):
    assert read(text, window=window).workload.submit_s == submit_s


@pytest.mark.parametrize(
    ("window", "hour"),
    [
        (None, 9.5 + 18 / 3600),
        ("2024-11-20:2024-11-21", 0.0),
        ("2024-11-20 08:15:36:2024-11-21", 8.26),
    ],
)
def test_the_run_starts_at_the_hour_of_day_of_time_0(read, window, hour):
    scenario = read(stamped("2024-11-20 09:30:18"), window=window)
    assert scenario.workload.start_h == pytest.approx(hour, abs=1e-12)
    assert scenario.market.clock.start_h == scenario.workload.start_h


# ---- cells ----


@pytest.mark.parametrize(
    "text",
    [
        # commas, line breaks
        'job_id,submit_s,service_s\n"a, b","0","5"\n"two\nlines",9,6\n',
        "user,service_s,submit_s\nada,5,0\n,6,9\n",  # in any order, with others
        # as pandas writes a table with its index
        ",submit_s,service_s\n0,0,5\n1,9,6\n",
        "submit_s,service_s\n\n0,5\n\n9,6\n\n",  # blank lines
    ],
)
def test_a_log_is_read_without_messages(read, text, caplog):
    log = read(text).workload
    assert (log.submit_s, log.service_s) == ((0.0, 9.0), (5.0, 6.0))
    assert caplog.messages == []


def test_a_log_of_one_row_runs(read):
    for text in (
        "submit_s,service_s\n0,5\n",
        "submit_s,service_s\n70,5\n",
        stamped("2024-11-20 09:30:00"),
    ):
        scenario = read(text)
        for policy in cg.POLICIES:
            run = cg.simulate(scenario, policy)
            assert run.summary()["completed"] == 1
        assert scenario.workload.mix == (1.0,)


# ---- measured seconds ----


def test_measured_seconds_are_scaled_by_the_speed_of_the_type_alone(read):
    seconds = [3.0, 250.0, 17.5, 88.0, 41.0, 5.25, 1000.0, 12.0, 60.0, 7.0]
    scenario = read(
        "submit_s,service_s\n"
        + "".join(f"{10 * i},{s}\n" for i, s in enumerate(seconds))
    )
    speeds = np.array([gpu.speed for gpu in scenario.gpus])
    for seed in (0, 1):
        jobs = cg.simulate(scenario, "random", seed).jobs
        assert len(set(jobs["gpu"])) > 1
        np.testing.assert_allclose(
            jobs["service_s"] * speeds[jobs["gpu"]], seconds, rtol=1e-9
        )


SHUFFLED = [(7 * i) % 50 + 1 for i in range(50)]  # 1 .. 50 s, mixed


@pytest.mark.parametrize(
    ("seconds", "classes", "mix"),
    [
        (
            SHUFFLED,
            [1 if s <= 20 else 2 if s <= 40 else 3 for s in SHUFFLED],
            (0.4, 0.4, 0.2),
        ),
        # of six, the quantiles at 40 and 80 % are the third and the fifth: of the
        # smaller class
        ([6, 5, 4, 3, 2, 1], [3, 2, 2, 1, 1, 1], (0.5, 1 / 3, 1 / 6)),
        # two times are two classes
        ([30] * 8 + [90] * 2, [1] * 8 + [2] * 2, (0.8, 0.2)),
    ],
)
def test_size_classes_hold_40_40_and_20_percent_of_the_jobs(
    read, seconds, classes, mix
):
    log = read("submit_s,service_s\n" + "".join(f"0,{s}\n" for s in seconds)).workload
    assert log.complexity == tuple(classes)
    assert log.mix == pytest.approx(mix)
    means = [
        np.mean(np.array(seconds)[np.equal(classes, k)]) for k in sorted(set(classes))
    ]
    assert log.mean_service_s() == pytest.approx(means)


def test_a_policy_sees_the_mean_of_the_class_and_not_the_seconds(read):
    scenario = read(
        "submit_s,service_s\n" + "".join(f"0,{s}\n" for s in (1, 3, 10, 20, 100))
    )
    seen = {}

    def spy(view):
        for job in view.queue:
            seen[job.id] = [
                view.mean_s(job, slot) * slot.gpu.speed for slot in view.slots
            ]
        return zip(view.queue, view.idle)

    cg.simulate(scenario, spy)
    for job, mean in enumerate((2.0, 2.0, 15.0, 15.0, 100.0)):
        assert seen[job] == pytest.approx([mean] * 5)


def test_no_job_attribute_reveals_its_execution_time(read):
    short, long = (
        read(f"submit_s,service_s\n0,{a}\n0,{b}\n0,90\n0,95\n0,99\n")
        for a, b in ((10, 20), (20, 10))
    )

    def told(scenario):
        jobs = [job for job, _ in scenario.workload.generate(0, scenario.service)]
        return [
            (
                job.id,
                job.submit_s,
                job.deadline_s,
                job.complexity,
                job.tight,
                job.gpus,
                job.weight,
            )
            for job in jobs
        ]

    assert short.workload.service_s != long.workload.service_s
    assert told(short) == told(long)
    assert short.known() == long.known()


# ---- deadlines, GPUs, weights ----


@pytest.mark.slow
def test_deadlines_follow_the_class_mix_if_the_log_names_no_class(read):
    text = "submit_s,service_s\n" + "".join(f"{i},{5 + i % 9}\n" for i in range(2000))
    jobs = cg.simulate(read(text, tight_fraction=0.3, slots=50), "fifo").jobs
    window_s = jobs["deadline_s"] - jobs["submit_s"]
    assert window_s == pytest.approx(np.where(jobs["tight"], 3600.0, 28800.0))
    # 2,000 jobs: 4 standard errors of a share of 0.3 are 0.041
    assert jobs["tight"].mean() == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 2000) ** 0.5)
    assert (
        cg.simulate(read(text, tight_fraction=0.0, slots=50), "fifo")
        .jobs["tight"]
        .sum()
        == 0
    )
    assert (
        cg.simulate(read(text, tight_fraction=1.0, slots=50), "fifo")
        .jobs["tight"]
        .all()
    )


def test_a_deadline_from_the_log_is_kept_and_is_tight_if_within_an_hour(read):
    text = "submit_s,service_s,deadline_s\n100,5,150\n100,5,3700\n100,5,3701\n100,5,\n"
    jobs = cg.simulate(read(text, tight_fraction=0.0), "fifo").jobs
    assert jobs["deadline_s"].tolist() == [150.0, 3700.0, 3701.0, 28900.0]
    assert jobs["tight"].tolist() == [True, True, False, False]


@pytest.mark.parametrize("first", ["nan", "NaN", "none", ""])
def test_a_job_with_the_deadline_text_none_has_no_deadline(read, caplog, first):
    rows = f"submit_s,service_s,deadline_s,limit_s\n1,5,{first},{first}\n2,5,60,nan\n"
    assert read(rows).workload.deadline_s == pytest.approx((NAN, 60.0), nan_ok=True)
    assert caplog.messages == []


@pytest.mark.parametrize("none", ["", "nan", "NaT", "None"])
def test_a_deadline_lies_on_the_axis_of_the_submission(read, none):
    text = (
        "timestamp,service_s,deadline_s\n"
        "2024-11-20 09:00:00,5,2024-11-20 09:30:00\n"
        f"2024-11-20 10:00:00,5,{none}\n"
    )
    assert read(text).workload.deadline_s == pytest.approx((1800.0, NAN), nan_ok=True)
    assert read(
        text, window="2024-11-20:2024-11-21"
    ).workload.deadline_s == pytest.approx((34200.0, NAN), nan_ok=True)
    assert read(
        "submit_s,service_s,deadline_s\n20,5,80\n", window="10:30"
    ).workload.deadline_s == (70.0,)


def test_the_share_of_tight_jobs_counts_given_deadlines_and_expected_ones(read):
    text = "submit_s,service_s,deadline_s\n0,5,60\n0,5,9999\n0,5,\n0,5,\n"
    assert read(text, tight_fraction=0.5).known().tight_fraction == pytest.approx(
        (1 + 0 + 0.5 + 0.5) / 4
    )


def test_the_gpus_of_a_job_are_slots_that_it_holds_at_once(read):
    scenario = read(
        "submit_s,service_s,gpus\n0,30,2\n0,30,\n0,30,3\n", slots=["RTX 3090"] * 3
    )
    jobs = cg.simulate(scenario, "fifo").jobs
    assert jobs["gpus"].tolist() == [2, 1, 3]
    assert jobs["dispatch_s"][:2].tolist() == [0.0, 0.0]
    # the last one needs all three
    assert jobs["dispatch_s"][2] == max(jobs["finish_s"][:2])
    assert jobs["cost_usd"] == pytest.approx(np.array([2, 1, 3]) * 30 * 0.46 / 3600)


# ---- to a scenario file and back ----

OTHER_GPUS = (
    cg.GpuType('H"100', 2.5, (10.0, 20.0), 0.3, 4.0),
    cg.GpuType("Große Karte \\ 2", 0.0, (30, 40), 1.0, 0.5),
)


def logs(path):
    """Scenarios of a log; of the others, nothing is as it is by default."""
    moments = [f"2024-11-20 {8 + i // 60:02}:{i % 60:02}:30" for i in range(90)]
    rows = [
        f"{at},{5 + i * i % 37},,{1 + i % 2},{i % 3}" for i, at in enumerate(moments)
    ]
    rows.append("2024-11-20 11:00:00,5,2024-11-20 11:20:00,1,1")
    path.write_text(
        "\n".join(["timestamp,service_s,deadline_s,gpus,weight", *rows, ""])
    )
    market = cg.Market(
        cg.Clock(((0, 0.25), (6.5, 2.0)), 23.75),
        ((1e-07, 2), (3.5, 4), (5, 6.25)),
        0.5,
        1.25,
        0.75,
    )
    plain = cg.trace(path)
    log = cg.trace(
        path,
        window="2024-11-20 08:10:2024-11-20 09:10",
        slots=3,
        tight_fraction=0.5,
        free_types=True,
        clock="printed",
        strict=True,
    )
    classes = DeadlineClasses(0.35, 1234.5, 1e5)
    other = replace(
        log,
        name='Ein "Tag"\t',
        market=market,
        gpus=(*log.gpus, *OTHER_GPUS),
        service=cg.Service("exponential", (0, 0.5, 0.1)),
    )
    return plain, other, replace(log, workload=replace(log.workload, deadlines=classes))


def test_a_scenario_of_a_log_survives_a_file(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "scenario.toml"
    for scenario in logs(tmp_path / "log.csv"):
        scenario.to_toml(path)
        back = cg.Scenario.from_toml(path)
        assert back == scenario
        back.to_toml(tmp_path / "again.toml")
        assert (tmp_path / "again.toml").read_bytes() == path.read_bytes()


def test_a_scenario_file_finds_a_log_in_its_own_folder(tmp_path, file, monkeypatch):
    (tmp_path / "jobs.csv").write_text("submit_s,service_s\n0,5\n")
    path = file(
        '[workload]\ntrace = "jobs.csv"\ntight_fraction = 0.5\n', "scenario.toml"
    )
    monkeypatch.chdir(Path(__file__).parent)
    scenario = cg.Scenario.from_toml(path)
    assert scenario == replace(
        cg.trace(tmp_path / "jobs.csv", tight_fraction=0.5), name="scenario"
    )
    assert cg.trace(tmp_path / "jobs.csv").workload.deadlines == DeadlineClasses(0.2)


def test_a_log_created_in_python_cannot_be_written_and_leaves_no_file(tmp_path):
    log = cg.LoggedWorkload((0.0,), (5.0,), (NAN,), (1,), (1.0,))
    check_refused(
        lambda: cg.Scenario("made", log).to_toml(tmp_path / "made.toml"),
        "read from a file",
    )
    assert list(tmp_path.iterdir()) == []


# ---- Alibaba's image-generation requests ----


def test_only_successful_requests_of_a_log_are_read(read, caplog):
    caplog.set_level("INFO")
    text = (
        "gmt_create,predict_type,predict_status,exec_time_seconds,groupId,"
        "negative_prompt_length\n"
        "2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000,\n"
        "2024-11-15 16:58:00,TXT_2_IMG,FAILED,5.0,G0000,26.0\n"
        "2024-11-15 16:58:05,TXT_2_IMG,PENDING,6.0,G0000,\n"
        "2024-11-15 16:58:10,IMG_2_IMG,SUCCEED,43.0,G0001,\n"
        "2024-11-15 16:58:20,IMG_2_IMG,SUCCEED,0.0,G0001,\n"
    )
    log = read(text, format="gentd26").workload
    assert (log.submit_s, log.service_s) == ((0.0, 20.0), (32.0, 43.0))
    [left_out] = caplog.messages
    assert left_out.endswith(
        "rows left out: 1 of predict_status FAILED, 1 of predict_status PENDING, 1 of"
        " run time 0"
    )


real = pytest.mark.skipif(
    not REAL.exists(),
    reason="the log of cluster-trace-v2026-GenAI is not next to the project",
)


@pytest.fixture(scope="module")
def requests():
    """The rows of the file, by another reader."""
    with REAL.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@real
def test_of_the_26823_requests_the_26392_that_succeeded_are_read(requests, caplog):
    caplog.set_level("INFO")
    succeeded = [row for row in requests if row["predict_status"] == "SUCCEED"]
    assert (len(requests), len(succeeded)) == (26_823, 26_392)
    # else they would be bad rows
    assert sum(float(row["exec_time_seconds"]) <= 0 for row in succeeded) == 0
    log = cg.trace(REAL, "gentd26").workload
    assert log.jobs == 26_392
    assert sorted(log.service_s) == sorted(
        float(row["exec_time_seconds"]) for row in succeeded
    )
    # as the log's own description says
    assert np.quantile(log.service_s, [0.5, 0.9, 0.99]).tolist() == [23.0, 53.0, 106.0]
    left_out = [message.partition(": ")[2] for message in caplog.messages]
    counts = ", ".join(
        f"{n} of predict_status {s}"
        for n, s in ((398, "FAILED"), (30, "PENDING"), (3, "PROCESSING"))
    )
    assert left_out == [f"rows left out: {counts}"]


def test_logs_that_differ_in_their_deadlines_differ():
    columns = {"submit_s": [0.0], "service_s": [5.0], "gpus": [1], "weight": [1.0]}
    logs = [
        cg.LoggedWorkload(deadline_s=[due_s], **columns)
        for due_s in (20.0, 2000.0, NAN)
    ]
    assert len({*logs, cg.LoggedWorkload(deadline_s=[float("nan")], **columns)}) == 3


def test_jobs_drawn_again_have_the_draws_of_their_own_complexity():
    day = replace(cg.day("hectic", jobs=50), service=cg.Service(sigma=(0.1, 0.2, 0.3)))
    drawn = subject_of(day).draw(3)
    assert [*drawn.redrawn(3)] == [*drawn]
    assert [*drawn.redrawn(4)] != [*drawn]
