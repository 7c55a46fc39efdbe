"""`cgrsp waiting`: what it prints, to whom, and with what status."""

import json
import math
import re
from pathlib import Path

import pytest
from support import check_bad_input, csv_rows, outcome, output

from cgrsp_simpy.waiting.formulas import analyze, optimum
from cgrsp_simpy.waiting.policies import POLICIES

NASA = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "swf"
    / "NASA-iPSC-1993-3.1-cln.swf.gz"
)
SMALL = ["--jobs", "2000", "--seeds", "3"]
LOG = "; Computer: none\n" + "".join(
    f"{job} {10 * job} -1 {run} {cores} -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n"
    for job, (run, cores) in enumerate(
        [
            (100, 1),
            (5, 2),
            (300, 4),
            (40, 1),
            (60, 8),
            (200, 2),
            (7, 1),
            (90, 4),
            (30, 1),
            (10, 1),
        ]
    )
)


def told(capsys, *words):
    return outcome(capsys, "waiting", *words)


@pytest.fixture
def log_file(tmp_path):
    path = tmp_path / "small.swf"
    path.write_text(LOG, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", POLICIES)
def test_analyze_prints_the_formula(capsys, name):
    options = [
        "--rate-per-s",
        ".2",
        "--service-s",
        "500",
        "--machines",
        "101",
        "--policy",
        name,
    ]
    status, out, _ = told(capsys, "analyze", *options, "--format", "json")
    found = json.loads(out)
    assert status == 0
    printed = ["wait_s_as_printed"] * (name == "compound")
    assert list(found) == ["wait_s", *printed, "price", "on_demand_fraction", "servers"]
    assert found == analyze(name, 0.2, 500, 101)


def test_analyze_over_a_duration_costs(capsys):
    _, out, _ = told(
        capsys,
        "analyze",
        "--policy",
        "njw",
        "--machines",
        "108",
        "--duration",
        "26280",
        "--format",
        "json",
    )
    found = json.loads(out)
    assert list(found) == ["wait_s", "price", "on_demand_fraction", "cost", "servers"]
    assert found["cost"] == pytest.approx(found["price"] * 100 * 26280)


def test_analyze_without_servers_is_at_the_cheapest_number(capsys):
    _, out, _ = told(capsys, "analyze", "--policy", "njw", "--format", "json")
    assert json.loads(out) == optimum("njw", 0.2, 500)


def test_optimize_one_policy_and_all(capsys):
    _, out, _ = told(
        capsys,
        "optimize",
        "--policies",
        "sww",
        "--objective",
        "total",
        "--format",
        "json",
    )
    assert json.loads(out) == optimum("sww", 0.2, 500, by="total")
    _, out, _ = told(capsys, "optimize")
    assert [line.split()[0] for line in out.splitlines()] == ["policy", *POLICIES]


def test_prices_count_in_their_own_unit(capsys):
    _, out, _ = told(
        capsys,
        "analyze",
        "--policy",
        "ajw",
        "--machines",
        "200",
        "--prices",
        "fixed=1",
        "--format",
        "json",
    )
    assert json.loads(out)["price"] == pytest.approx(2)


def test_compare_has_the_formula_beside(capsys):
    status, out, err = told(
        capsys, "compare", "--machines", "101", *SMALL, "--format", "json"
    )
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert list(found["policies"]) == list(POLICIES)
    assert found["policies"]["ajw"]["formula"]["wait_s"] == pytest.approx(
        441.66, abs=0.01
    )
    assert set(found["policies"]["ajw"]["price"]) == {"mean", "ci95", "n"}


def test_compare_leaves_out_what_has_no_steady_state_and_says_so(capsys, caplog):
    out = output(capsys, "waiting", "compare", "--machines", "95", *SMALL)
    assert [line.split()[0] for line in out.splitlines()[-6:]] == [
        "policy",
        "njw",
        "ajw-t",
        "sww",
        "ljw",
        "compound",
    ]
    assert "ajw is left out" in caplog.text


@pytest.mark.parametrize("action", ["analyze", "run", "compare"])
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_every_format_of_every_action(capsys, action, form):
    policy = [] if action == "compare" else ["--policy", "njw"]
    small = {"analyze": [], "run": SMALL[:2], "compare": SMALL}[action]
    out = output(
        capsys,
        "waiting",
        action,
        *policy,
        "--machines",
        "100",
        *small,
        "--format",
        form,
    )
    if form == "json":
        json.loads(out)
    elif form == "csv":
        assert all(None not in row.values() for row in csv_rows(out))
    else:
        assert "price" in out


def test_odd_prices_are_allowed_and_said_once(capsys, caplog):
    out = output(
        capsys,
        "waiting",
        "analyze",
        "--policy",
        "njw",
        "--machines",
        "108",
        "--prices",
        "fixed=0",
    )
    assert caplog.text.count("owning costs nothing") == 1
    assert "price" in out


# ---- logs ----


def test_a_log_is_simulated_on_shared_machines(capsys, caplog, log_file):
    caplog.set_level("INFO")
    options = ["--trace", log_file, "--machines", "1", "--machine", "cores=8"]
    out = output(capsys, "waiting", "compare", *options, "--format", "json")
    assert "10 jobs" in caplog.text
    found = json.loads(out)["policies"]
    assert found["njw"]["wait_s"]["mean"] == 0
    assert found["njw"]["formula"] is None
    assert found["ajw"]["on_demand_fraction"]["mean"] == 0


WEEKS = [(3600 * hour, 1800 + hour % 7) for hour in range(24 * 30)]


def test_a_plan_is_three_lines_a_table_and_a_figure(capsys, tmp_path):
    """A job of half an hour or so every hour: one machine has half an hour to spare."""
    options = [
        "--trace",
        csv_log(tmp_path, *WEEKS),
        "--machine",
        "whole",
        "--limit",
        "p95=10min",
    ]
    status, out, _ = told(capsys, "plan", *options, "--out", tmp_path / "drawn")
    own, wait, cost, empty, *table = out.splitlines()
    assert (status, empty) == (0, "")
    assert own == "own: 1 x machine, reserved for a year; rent the rest"
    assert wait.endswith(
        "0.0% of the jobs wait, 95 % of all at most 0 s; 0.0% are rented"
    )
    assert cost.startswith("cost: 33,638.4 a year (95 %: 33,638.4 to 33,638.4), 7.65")
    assert table[0].startswith("load: 0.50")
    assert table[3].split() == [
        "p95_wait_s",
        "wait_s",
        "price",
        "bill",
        "machines",
        "policy",
    ]
    drawn = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert drawn == {
        f"waiting_plan.{ending}" for ending in ("csv", "png", "svg", "pdf")
    }


def test_a_log_that_is_too_short_is_declined_with_status_1_and_the_number_that_decides(
    capsys, tmp_path
):
    options = [
        "--trace",
        csv_log(tmp_path, *WEEKS[:100]),
        "--machine",
        "whole",
        "--budget",
        "1e5",
    ]
    status, out, _ = told(capsys, "plan", *options)
    assert status == 1
    assert out.startswith(
        "the log is too short to say: 4 days, and less than 14; what decides is"
    )
    assert "the load, 0.5" in out
    found = json.loads(told(capsys, "plan", *options, "--format", "json")[1])
    assert found["reason"] and found["bill"]["high"] <= 1e5


def test_machines_of_gpus_are_planned_from_a_table_of_them(capsys, tmp_path):
    table, jobs = tmp_path / "gpus.csv", tmp_path / "jobs.csv"
    table.write_text(
        "name,gpus,memory_gb,price_per_h,boot_s,reserved_1y_per_h\n"
        "one,1,1,2,60,\n"
        "four,4,4,8,60,3\n",
        encoding="utf-8",
    )
    rows = "".join(f"{7200 * n},{6600},{1 + n % 2 * 7}\n" for n in range(12 * 30))
    jobs.write_text(f"submit_s,service_s,gpus\n{rows}", encoding="utf-8")
    options = ["--trace", str(jobs), "--sizes", str(table), "--format", "json"]
    found = json.loads(told(capsys, "plan", *options, "--limit", "p95=30min")[1])
    # jobs of 8 GPUs rent two of four; a quarter of a machine that works all the time is
    # too little
    assert found["own"] == {}
    price = 2 * (6600 + 60) / 6600
    assert found["price"]["mean"] == pytest.approx(price)


def test_a_formula_that_lets_jobs_wait_longer_than_they_run_is_told(capsys, caplog):
    for policy, warned in (("ljw", True), ("ajw", False)):
        caplog.clear()
        wait_s = json.loads(
            told(capsys, "optimize", "--policies", policy, "--format", "json")[1]
        )
        assert (
            (wait_s["wait_s"] > 500) == warned == ("longer in the mean" in caplog.text)
        )


def csv_log(folder, *jobs):
    """A log of times and running times, each of one core."""
    path = folder / "log.csv"
    path.write_text(
        "time,wallclock_runtime_sec\n" + "".join(f"{at},{run}\n" for at, run in jobs),
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize(
    "jobs",
    [
        [(0, 500)],  # one job
        [(0, 500), (10, 200)],
        [(0, run) for run in (500, 400, 300, 200, 100)],  # all at one time
        [(0, 0), (5, 500), (9, 0)],  # some of no running time
        [(0, 500), (1e9, 200)],  # a gap of thirty years
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        ["--machine", "whole"],
        ["--machine", "whole", "--order", "sjf"],
        [],
        ["--order", "sjf"],
    ],
)
def test_odd_logs_have_finite_figures_whatever_is_asked(capsys, tmp_path, jobs, kind):
    options = ["--trace", csv_log(tmp_path, *jobs), *kind, "--format", "json"]
    found = json.loads(told(capsys, "compare", "--machines", "2", *options)[1])[
        "policies"
    ]
    for row in found.values():
        assert all(
            math.isfinite(row[name]["mean"])
            for name in ("wait_s", "price", "on_demand_fraction", "opportunity")
        )


@pytest.mark.parametrize("jobs", [[(0, 0)], [(0, 0), (5, 0)]])
@pytest.mark.parametrize("kind", [["--machine", "whole"], []])
def test_a_log_without_work_is_refused(capsys, tmp_path, jobs, kind):
    log = csv_log(tmp_path, *jobs)
    planned = ["plan", "--limit", "p95=60"]
    for words in (["run", "--machines", "1"], ["compare", "--machines", "1"], planned):
        check_bad_input(
            told(capsys, *words, "--trace", log, *kind),
            ["an hour of work has no price"],
        )


@pytest.mark.slow
def test_the_formula_stands_beside_what_it_is_of_alone(capsys):
    """Not beside the shortest first, nor where idle machines are lent; with
    mispredicted waits, beside sww.
    """
    for more in (["--order", "sjf"], ["--work-conserving"]):
        found = json.loads(
            told(
                capsys,
                "compare",
                "--machines",
                "104",
                *SMALL,
                *more,
                "--format",
                "json",
            )[1]
        )
        assert all(row["formula"] is None for row in found["policies"].values())
    _, out, _ = told(
        capsys, "compare", "--machines", "104", *SMALL, "--errors", "wait_over=.1"
    )
    cells = [re.split(r"  +", line.strip()) for line in out.splitlines()[-7:]]
    assert {len(line) for line in cells} == {9}
    assert [line[0] for line in cells if line[2] not in ("-", "formula")] == ["sww"]


def test_whole_machines_and_a_price_table(capsys, log_file, tmp_path):
    table = tmp_path / "sizes.csv"
    table.write_text(
        "name,cores,memory_gb,price_per_h\neight,8,32,1\n", encoding="utf-8"
    )
    options = [
        "--trace",
        log_file,
        "--policy",
        "njw",
        "--machines",
        "2",
        "--format",
        "json",
    ]
    whole = json.loads(told(capsys, "run", *options, "--machine", "whole")[1])[
        "summary"
    ]
    shared = json.loads(
        told(capsys, "run", *options, "--sizes", str(table), "--machine", "cores=8")[1]
    )["summary"]
    assert whole["on_demand_fraction"] > shared["on_demand_fraction"]


@pytest.mark.skipif(not NASA.is_file(), reason="the log is not here")
@pytest.mark.parametrize(
    "order",
    [
        pytest.param("fcfs", marks=pytest.mark.slow),
        pytest.param("sjf", marks=pytest.mark.long),
    ],
)
def test_the_nasa_log_through_all_six_policies(capsys, caplog, tmp_path, order):
    """One machine of 128 processors is owned, as it was; what does not wait rents
    sizes up to that.
    """
    caplog.set_level("INFO")
    table = tmp_path / "sizes.csv"
    sizes = [
        f"{cores} cores,{cores},{4 * cores},{0.048 * cores:.3f}"
        for cores in (1, 2, 4, 8, 16, 32, 64, 128)
    ]
    table.write_text(
        "name,cores,memory_gb,price_per_h\n" + "\n".join(sizes) + "\n", encoding="utf-8"
    )
    options = [
        "--trace",
        str(NASA),
        "--sizes",
        str(table),
        "--order",
        order,
        "--machines",
        "1",
        "--machine",
        "cores=128",
    ]
    waits = "ajw,njw,ajw-t:wait_s=3600,sww:wait_s=3600,ljw,compound:wait_s=3600"
    out = output(
        capsys, "waiting", "compare", *options, "--policies", waits, "--format", "json"
    )
    assert "18,239 jobs" in caplog.text
    found = json.loads(out)["policies"]
    found = {name.partition(":")[0]: row for name, row in found.items()}
    assert list(found) == list(POLICIES)
    # 0.4 of 1 / 0.466, its load
    assert found["ajw"]["price"]["mean"] / 9.6 == pytest.approx(0.858, abs=0.001)
    assert (
        found["sww"]["wait_s"]["mean"]
        <= found["ajw-t"]["wait_s"]["mean"]
        <= found["ajw"]["wait_s"]["mean"]
    )
    cost = {name: found[name]["opportunity"]["mean"] for name in POLICIES}
    if order == "fcfs":  # under sjf nobody waits long
        assert cost["compound"] <= min(cost["ajw"], cost["ajw-t"], cost["ljw"])
    assert max(cost.values()) < (0.03 if order == "fcfs" else 0.002)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("words", "told_words"),
    [
        (["analyze", "--policy", "ajw", "--machines", "100"],
         ["no steady state", "at least 101"]),
        (["analyze", "--policy", "njw", "--machines", "0"], ["servers(=0)"]),
        (["run", "--policy", "njw", "--machines", "0"], ["--machines(=0)"]),
        (["analyze", "--policy", "fifo", "--machines", "9"], ["'fifo'", "ajw, njw"]),
        (["analyze", "--policy", "njw", "--machines", "9", "--rate-per-s", "-1"],
         ["rate_per_s(=-1.0)"]),
        (["analyze", "--policy", "njw", "--machines", "9", "--service-s", "0"],
         ["service_s(=0.0)"]),
        (["analyze", "--policy", "sww:wait_s=-5", "--machines", "9"],
         ["wait_s(=-5.0)"]),
        (["analyze", "--policy", "njw", "--machines", "9", "--prices", "fixed=-1"],
         ["fixed price(=-1.0)"]),
        (["analyze", "--policy", "njw", "--machines", "9", "--duration", "0"],
         ["--duration(=0.0)"]),
        (["analyze", "--policy", "ljw", "--machines", "101", "--errors",
          "wait_over=.1"],
         ["mispredictions", "simulate"]),
        (["optimize", "--policies", "njw", "--prices", "fixed=0"],
         ["fixed price(=0.0)"]),
        (["optimize", "--objective", "hidden"], ["'hidden'"]),
        (["run", "--policy", "njw", "--machines", "9", "--jobs", "0"], ["jobs(=0)"]),
        (["run", "--policy", "njw", "--machines", "9", "--order", "lifo"], ["'lifo'"]),
        (["run", "--policy", "njw", "--machines", "9", "--errors", "wait_over=2"],
         ["wait_over(=2.0)"]),
        (["run", "--policy", "njw", "--machines", "9", "--trace", "none.swf"],
         ["none.swf", "No such file"]),
        (["run", "--policy", "njw", "--machines", "9", "--log", "strict=yes"],
         ["--log", "strict", "--trace"]),
        (["run", "--policy", "njw", "--machines", "9", "--machine", "whole"],
         ["--machine", "--trace"]),
        (["compare", "--machines", "9", "--machine", "cores=8"],
         ["--machine(='cores=8')", "--trace"]),
        (["plan", "--limit", "p95=60"], ["--trace"]),
        (["plan", "--trace", "none.swf"], ["--limit", "--budget"]),
        (["plan", "--trace", "none.swf", "--limit", "p95=1h", "--budget", "9"],
         ["--limit", "--budget"]),
        (["plan", "--trace", "none.swf", "--limit", "p95=soon"],
         ["p95=soon", "p95=30min"]),
        (["plan", "--trace", "none.swf", "--limit", "p100=1h"],
         ["limit(='p100=1h')", "p95=30min"]),
        (["plan", "--trace", "none.swf", "--limit", "most=1h"],
         ["limit(='most=1h')", "mean"]),
        (["plan", "--trace", "none.swf", "--limit", "p95=1h"],
         ["none.swf", "No such file"]),
        (["run", "--machines", "9", "--prices", "sizes.csv"],
         ["--prices(='sizes.csv')", "--sizes"]),
        (["optimize", "--policies", "njw", "--prices", "fixed=1e-9"],
         ["fixed price(=1e-09)", "1,000,000 machines"]),
        (["compare", "--machines", "9", "--policies", "njw,njw"],
         ["names that differ"]),
        (["compare", "--machines", "90", "--policies", "ajw"], ["none of ajw"]),
        (["run"], ["--machines"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(capsys, words, told_words):
    check_bad_input(told(capsys, *words), told_words)


def test_a_log_goes_with_no_rate_and_a_job_that_fits_nowhere_is_named(capsys, log_file):
    for option in ("--rate-per-s", "--jobs"):
        status, _, err = told(
            capsys,
            "run",
            "--policy",
            "njw",
            "--machines",
            "1",
            "--trace",
            log_file,
            option,
            "1",
        )
        assert (status, option in err) == (2, True)
    status, _, err = told(
        capsys,
        "run",
        "--policy",
        "ajw",
        "--machines",
        "1",
        "--trace",
        log_file,
        "--machine",
        "cores=4",
    )
    assert status == 2
    assert "job 5 (8 cores, 0 GB)" in err
