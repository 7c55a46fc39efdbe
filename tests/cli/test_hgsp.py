"""`cgrsp hgsp`: what it prints, and with what status."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import check_bad_input, csv_rows, outcome, output

from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import cluster

DATA = Path(__file__).parents[3] / "shared" / "data"
FIGURES = [
    "weighted_tardiness",
    "act_s",
    "twct",
    "dmc",
    "dmr_pct",
    "makespan_s",
    "utilisation_pct",
    "lower_bound",
    "gap_pct",
    "scheduler",
]
SMALL = ["--level", "tasks3:tasks=30"]


def told(capsys, *words):
    return outcome(capsys, "hgsp", *words)


def with_pairs(words, path, pairs):
    """The words, with other pairs behind a file."""
    return [f"{path}:{pairs}" if word.startswith(str(path)) else word for word in words]


@pytest.mark.parametrize(
    "scheduler",
    ["fifo", "greedy", "sagreedy", "search", "wspt", "edd", "atc"],
)
def test_solve_prints_the_metrics_with_bound_and_gap(capsys, scheduler):
    moves = ["--moves", "2000"] if scheduler == "search" else []
    status, out, _ = told(
        capsys, "solve", "--policy", scheduler, *SMALL, *moves, "--format", "json"
    )
    found = json.loads(out)
    assert status == 0
    assert list(found) == FIGURES
    assert found["scheduler"] == scheduler
    assert found["lower_bound"] <= found["weighted_tardiness"]
    assert 0 <= found["gap_pct"] <= 100


@pytest.mark.parametrize("format", ["table", "json"])
def test_equal_solutions_are_printed_alike_and_the_wall_time_is_logged(
    capsys, caplog, format
):
    caplog.set_level("INFO")
    words = ("solve", "--policy", "greedy", *SMALL, "--format", format)
    one, other = (told(capsys, *words)[1] for _ in range(2))
    assert one == other and one
    assert "greedy planned for " in caplog.text


def test_the_program_proves_a_small_instance(capsys):
    options = ["--level", "tasks3:tasks=4,slack=0.3:0.8"]
    found = json.loads(
        told(capsys, "solve", "--policy", "milp", *options, "--format", "json")[1]
    )
    assert found["gap_pct"] < 0.01


def test_what_is_generated_can_be_solved(capsys, tmp_path):
    path = tmp_path / "tasks.csv"
    assert told(capsys, "generate", *SMALL, "--out", str(path)) == (0, f"{path}\n", "")
    from_file = told(
        capsys, "solve", "--policy", "atc", "--instance", str(path), "--format", "csv"
    )[1]
    assert (
        from_file
        == told(capsys, "solve", "--policy", "atc", *SMALL, "--format", "csv")[1]
    )
    assert len(csv_rows(from_file)) == 30


def test_a_schedule_names_the_files_tasks_and_the_gpus(capsys, tmp_path):
    """The file is not in order of arrival; b fits on the A100 alone, of which the
    medium cluster has two.
    """
    path = tmp_path / "tasks.csv"
    path.write_text(
        (
            "task,workload,memory_gb,deadline_s,weight,arrival_s\n"
            "late,60,9,9,1,5\n"
            "b,60,60,9,1,0\n"
            "c,570,60,9,1,0\n"
        ),
        encoding="utf-8",
    )
    words = [
        "solve",
        "--policy",
        "greedy",
        "--instance",
        f"{path}:cluster=medium",
        "--format",
        "csv",
    ]
    rows = csv_rows(told(capsys, *words)[1])
    assert [(row["task"], row["gpu_number"], row["gpu"]) for row in rows] == [
        ("b", "1", "A100"),
        ("c", "2", "A100"),
        ("late", "1", "A100"),
    ]
    assert [float(row["start_s"]) for row in rows] == [0, 0, 5]


HOPELESS = "workload,memory_gb,deadline_s,weight,arrival_s\n57,9,0.5,1,0\n"
LOOSE = "workload,memory_gb,deadline_s,weight,arrival_s\n57,9,50,1,0\n"
# two of 1 s on the A100, both due after 1 s
CROWDED = "workload,memory_gb,deadline_s,weight,arrival_s\n" + "57,70,1,1,0\n" * 2
# what does not wait for the second, which is due after 1.6 s, ends it after 4 s
TRAPPED = (
    "workload,memory_gb,deadline_s,weight,arrival_s\n171,70,100,1,0\n57,70,1.6,1,0.5\n"
)


@pytest.mark.parametrize(
    ("tasks", "bound", "gap"),
    [
        (HOPELESS, 0.5, 0.0),
        (LOOSE, 0.0, 0.0),
        (CROWDED, 1.0, 0.0),
        (TRAPPED, 0.0, None),
    ],
    ids=["hopeless", "loose", "crowded", "trapped"],
)
def test_where_no_bound_is_known_there_is_no_gap_and_what_is_in_time_is_optimal(
    capsys, tmp_path, tasks, bound, gap
):
    path = tmp_path / "tasks.csv"
    path.write_text(tasks, encoding="utf-8")
    file = f"{path}:cluster=small-30"
    one = ["solve", "--policy", "fifo", "--instance", file]
    two = ["compare", "--policies", "fifo,atc", "--instance", file]
    found = json.loads(told(capsys, *one, "--format", "json")[1])
    assert (found["lower_bound"], found["gap_pct"]) == (
        pytest.approx(bound, abs=1e-5),
        pytest.approx(gap, abs=1e-3),
    )
    compared = json.loads(told(capsys, *two, "--format", "json")[1])
    assert compared["policies"]["fifo"]["gap_pct"]["mean"] == found["gap_pct"]
    assert ("no bound known" in told(capsys, *one)[1]) == (gap is None)
    rows = csv_rows(told(capsys, *two, "--format", "csv")[1])
    assert {row["gap_pct"] == "nan" for row in rows} == {gap is None}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the instances are not here")
def test_the_orlib_layout(capsys):
    path = str(DATA / "orlib_wt" / "wt40.txt")
    options = [
        "solve",
        "--policy",
        "search",
        "--orlib",
        f"{path}:index=2",
        "--moves",
        "100000",
        "--format",
        "json",
    ]
    found = json.loads(told(capsys, *options)[1])
    listed = int((DATA / "orlib_wt" / "wtopt40.txt").read_text().split()[1])
    assert listed <= found["weighted_tardiness"] <= 1.01 * listed
    assert (
        json.loads(told(capsys, *with_pairs(options, path, "index=2,tasks=40"))[1])[
            "weighted_tardiness"
        ]
        == found["weighted_tardiness"]
    )
    two = json.loads(told(capsys, *with_pairs(options, path, "index=2,machines=2"))[1])
    assert two["makespan_s"] < found["makespan_s"]


@pytest.mark.parametrize(
    ("words", "told_words"),
    [
        (
            ["solve", "--policy", "hidden", "--level", "tasks1"],
            ["'hidden'", "sagreedy"],
        ),
        (
            ["solve", "--policy", "atc", "--level", "tasks1", "--instance", "x.csv"],
            ["one of"],
        ),
        (["solve", "--policy", "atc", "--level", "tasks7"], ["'tasks7'"]),
        (
            ["solve", "--policy", "atc", "--instance", "none.csv"],
            ["none.csv", "No such file"],
        ),
        (["solve", "--policy", "atc", "--level", "tasks3:slack=1"], ["slack(=(1.0,))"]),
        (["solve", "--policy", "atc", "--level", "tasks3:load=0"], ["load(=0.0)"]),
        (["solve", "--policy", "atc", "--level", "tasks3:cluster=huge"], ["'huge'"]),
        (["solve", "--policy", "search", *SMALL, "--moves", "0"], ["moves(=0)"]),
        (["solve", "--policy", "search", *SMALL, "--seconds", "0"], ["seconds(=0.0)"]),
        (["compare", *SMALL, "--policies", "atc,atc"], ["names that differ"]),
        (["generate", "--out", "x.csv"], ["--level"]),
        (
            ["solve", "--policy", "atc", "--level", "tasks3:taks=3"],
            ["'taks'", "mean 'tasks'"],
        ),
        (
            ["solve", "--policy", "atc", "--level", "tasks3:tasks=x"],
            ["tasks(='x')", "whole number"],
        ),
        (
            ["solve", "--policy", "atc", "--orlib", "wt40.txt:tasks=9,tasks=9"],
            ["tasks", "twice"],
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, told_words):
    check_bad_input(told(capsys, *words), told_words)


def test_a_task_that_fits_nowhere_is_named_or_left_out(capsys, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(
        "workload,memory_gb,deadline_s,weight,arrival_s\n1,99,3,1,0\n1,9,3,1,0\n",
        encoding="utf-8",
    )
    status, _, err = told(capsys, "solve", "--policy", "atc", "--instance", str(path))
    assert status == 2
    assert "task 1" in err
    assert "80 GB" in err
    assert (
        told(
            capsys, "solve", "--policy", "atc", "--instance", f"{path}:skip_unfit=yes"
        )[0]
        == 0
    )


@pytest.mark.parametrize(
    ("scheduler", "option", "said"),
    [
        ("fifo", "--moves=9", "with fifo; it goes with search"),
        ("milp", "--moves=9", "with milp; it goes with search"),
        ("atc", "--seconds=1", "with atc; it goes with search or milp"),
        ("search:moves=9", "--moves=9", "with search:moves=9; it goes with search"),
    ],
)
@pytest.mark.parametrize("action", ["solve", "compare"])
def test_an_option_without_effect_is_refused_before_anything_is_read(
    capsys, action, scheduler, option, said
):
    policy = "--policy" if action == "solve" else "--policies"
    name = option.split("=")[0]
    assert told(capsys, action, policy, scheduler, *SMALL, option) == (
        2,
        "",
        f"cgrsp hgsp: {name} has no effect {said}\n",
    )


def test_an_option_with_effect_for_one_of_the_schedulers_is_allowed(capsys):
    assert (
        told(
            capsys,
            "compare",
            *SMALL,
            "--policies",
            "fifo,search",
            "--moves",
            "500",
            "--seeds",
            "1:3",
        )[0]
        == 0
    )


def test_an_orlib_file_of_another_size_is_never_guessed(capsys, tmp_path):
    """600 numbers: two instances of 100 tasks, whose first processing times are 1, ...,
    100.
    """
    path = tmp_path / "two.txt"
    path.write_text(" ".join(str(1 + k % 100) for k in range(600)), encoding="ascii")
    words = ["solve", "--policy", "edd", "--orlib", str(path)]
    check_bad_input(
        told(capsys, *words),
        [
            "600 numbers do not tell how many tasks",
            "5 instances of 40 or 4 instances of 50 or 2 instances of 100 would fit",
            "give it (tasks=N)",
        ],
    )
    rows = csv_rows(
        told(capsys, *words[:-1], f"{path}:tasks=100,index=2", "--format", "csv")[1]
    )
    assert len(rows) == 100
    assert {row["gpu"] for row in rows} == {"machine 1"}
    status, _, err = told(capsys, *words[:-1], f"{path}:tasks=70")
    assert (status, "numbers(=600) must be a multiple of 210" in err) == (2, True)


LISTED = "workload,memory_gb,deadline_s,weight,arrival_s\n60,60,9,1,0\n57,9,0.5,2,0\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(LISTED, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["solve", "--policy", "edd", "--seed", "1"],
            "--seed(=1) must be 0 here; it goes with sagreedy",
        ),
        (
            ["run", "--policy", "edd", "--seed", "1"],
            "--seed(=1) must be 0 here; it goes with sagreedy",
        ),
        (
            ["compare", "--policies", "search:moves=9", "--seeds", "1:2"],
            "--seeds(='1:2') must be left out",
        ),
        (
            ["compare", "--policies", "fifo", "--seeds", "3"],
            "--seeds(='0:3') must be left out",
        ),
        (
            ["sweep", "delay_s=0,1", "--policies", "fifo", "--seeds", "3"],
            "--seeds(='0:3') must be left out",
        ),
    ],
)
def test_seeds_without_effect_on_tasks_that_are_there_are_refused(
    capsys, file, words, said
):
    check_bad_input(told(capsys, *words, "--instance", file), [said])
    assert (
        told(
            capsys, "solve", "--policy", "sagreedy", "--seed", "1", "--instance", file
        )[0]
        == 0
    )


def test_a_sweep_of_noise_over_tasks_of_a_file_takes_seeds(capsys, file):
    """At noise 0 every seed is the same; at another each has its own times."""
    words = [
        "sweep",
        "noise=0,0.2",
        "--policies",
        "atc",
        "--seeds",
        "3",
        "--instance",
        file,
    ]
    status, out, _ = told(capsys, *words, "--format", "csv")
    rows = csv_rows(out)
    assert status == 0
    assert [(row["noise"], row["seed"]) for row in rows] == [
        (noise, seed) for noise in ("0", "0.2") for seed in "012"
    ]
    assert len({row["makespan_s"] for row in rows[:3]}) == 1
    assert len({row["makespan_s"] for row in rows[3:]}) == 3


def test_without_options_compare_has_intervals_and_tests(capsys, monkeypatch):
    monkeypatch.setitem(LEVELS, "tasks1", Level(12, "small", 0.7, (1.2, 4.0)))
    out = output(capsys, "hgsp", "compare", "--policies", "fifo,atc")
    assert "tasks1: mean of 10 seeds ± 95 % half width" in out
    assert "difference from fifo, paired by seed" in out
    found = json.loads(told(capsys, "compare", "--format", "json")[1])
    assert list(found["policies"]) == [
        "fifo",
        "greedy",
        "sagreedy",
        "search:moves=20000",
        "atc",
    ]
    found = json.loads(
        told(capsys, "compare", "--moves", "100", "--seeds", "2", "--format", "json")[1]
    )
    assert list(found["policies"])[3] == "search"


# ---- clusters of one's own ----

CSV_CLUSTER = "speed,name,memory_gb,rack\n57,A100,80,a\n30,A30,24,b\n55.5,L40,48,c\n"
TOML_CLUSTER = "".join(
    f'[[gpu]]\nname = "{name}"\nmemory_gb = {memory}\nspeed = {speed}\n\n'
    for name, memory, speed in (("A100", 80, 57), ("A30", 24, 30), ("L40", 48, 55.5))
)


@pytest.mark.parametrize(
    ("name", "text"), [("own.csv", CSV_CLUSTER), ("own.toml", TOML_CLUSTER)]
)
@pytest.mark.parametrize("source", ["level", "instance"])
def test_a_cluster_of_a_file_is_the_printed_one_if_it_says_the_same(
    capsys, tmp_path, file, source, name, text
):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    words = ["solve", "--policy", "greedy", "--format", "csv"]
    tasks = (
        ["--level", "tasks3:tasks=30"]
        if source == "level"
        else ["--instance", f"{file}:"]
    )
    joined = ["," if source == "level" else "", "cluster="]

    def on(cluster):
        return told(capsys, *words, tasks[0], f"{tasks[1]}{''.join(joined)}{cluster}")

    assert on(path) == on("small-30")


def test_the_load_is_that_of_the_clusters_own_speed(tmp_path):
    """Ten times the speed, ten times the arrivals: tasks come in a tenth of the
    time.
    """
    path = tmp_path / "fast.csv"
    path.write_text("name,memory_gb,speed\nX,80,1900\n", encoding="utf-8")
    fast, small = (
        generate(Level(50, gpus, 0.7, (1, 2))) for gpus in (cluster(str(path)), "small")
    )
    assert [gpu.name for gpu in fast.gpus] == ["X"]
    assert fast.arrival_s == pytest.approx(small.arrival_s / 10, abs=0.0056)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "own.csv",
            "name,speed\nA,1\n",
            "columns(='name,speed') must be among others name,memory_gb,speed",
        ),
        (
            "own.csv",
            "name,memory_gb,speed\nA,1,1\nB,1,fast\n",
            "line 3: speed(='fast') must be a number",
        ),
        (
            "own.csv",
            "name,memory_gb,speed\nA,1,0\n",
            "line 2: speed of A(=0.0) must be a number > 0",
        ),
        ("own.csv", "name,memory_gb,speed\n", "GPUs(=0) must be at least one"),
        ("own.toml", "[[gpu]]\nname = 'A'\nspeed = 1\n", "[[gpu]] lacks memory_gb"),
        (
            "own.toml",
            "[[gpus]]\n",
            "unknown key in the file 'gpus'; did you mean 'gpu'?",
        ),
        ("own.toml", "gpu", "own.toml: "),
        ("none.csv", None, "No such file"),
    ],
)
def test_a_wrong_cluster_is_one_line_and_status_2(capsys, tmp_path, name, text, said):
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    check_bad_input(
        told(capsys, "solve", "--policy", "fifo", "--level", f"tasks3:cluster={path}"),
        [said, str(path)],
    )


@pytest.mark.parametrize("size", [50, 100])
def test_the_librarys_layouts_of_50_and_100_tasks(capsys, tmp_path, size):
    """125 instances a file; each has its own times, weights and due dates, in the
    library's lines of 20 numbers.
    """
    numbers = np.random.default_rng(size).integers(1, 101, (125, 3, size))
    path = tmp_path / f"wt{size}.txt"
    path.write_text(
        "\n".join(" ".join(f"{n:5}" for n in line) for line in numbers.reshape(-1, 10)),
        encoding="ascii",
    )
    times, weights, due = numbers[86]
    order = np.argsort(due, kind="stable")
    ends = np.cumsum(times[order])
    expected = float(weights[order] @ np.maximum(0, ends - due[order]))
    words = [
        "solve",
        "--policy",
        "edd",
        "--format",
        "json",
        "--orlib",
    ]
    assert (
        json.loads(told(capsys, *words, f"{path}:index=87")[1])["weighted_tardiness"]
        == expected
    )
    other = path.rename(tmp_path / "other.txt")
    assert told(capsys, *words, f"{other}:index=87")[0] == 2
    found = json.loads(told(capsys, *words, f"{other}:index=87,tasks={size}")[1])
    assert found["weighted_tardiness"] == expected
