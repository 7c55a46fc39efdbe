"""Instances of HGSP: clusters, files and errors."""

from functools import partial

import numpy as np
import pytest
from hgsp.tasks import FAST, FOUR, SLOW, execute, instance_of, needs_orlib, orlib
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.instance import (
    CLUSTERS,
    COLUMNS,
    Gpu,
    Instance,
    cluster,
    read_instance,
    read_orlib,
    write_instance,
)
from cgrsp_simpy.hgsp.schedule import Schedule, greedy_assignment
from cgrsp_simpy.hgsp.search import search


def named(*names):
    return Instance([1, 1], [1, 1], [1, 1], [1, 1], [0, 0], (FAST,), task_names=names)


# ---- instances ----


def test_the_printed_clusters():
    """Section IV.A: 3, 6 and 9 GPUs, one, two and three of each model; the speeds of
    the printed runs are those of the text times 4/3.
    """
    assert [len(cluster(name)) for name in CLUSTERS] == [3, 6, 9] * 2
    assert cluster("small-30") == (
        Gpu("A100", 80, 57.0),
        Gpu("A30", 24, 30.0),
        Gpu("L40", 48, 55.5),
    )
    for ran, text in zip(cluster("large"), cluster("large-30"), strict=True):
        assert ran.speed == text.speed * 4 / 3
    assert [gpu.name for gpu in cluster("large")] == ["A100"] * 3 + ["A30"] * 3 + [
        "L40"
    ] * 3


def test_times_are_workload_over_speed_if_the_memory_is_sufficient():
    assert FOUR.times_s.tolist() == [[5, 10], [4, 8], [np.inf, 4], [1, 2]]
    assert repr(FOUR) == f"Instance(gpus={FAST, SLOW}, name='instance')"


@needs_orlib
def test_the_orlib_layout():
    first = orlib(1)
    assert (first.tasks, first.workload[0], first.weight[0], first.deadline_s[0]) == (
        40,
        26,
        1,
        1588,
    )
    halved = orlib(125, machines=2)
    assert (len(halved.gpus), halved.deadline_s[0]) == (2, orlib(125).deadline_s[0] / 2)


def test_names_go_with_their_tasks_through_files_and_schedules(tmp_path):
    """Given in another order than that of arrival, and not numbered."""
    gpus = (FAST, FAST, SLOW)
    made = Instance(
        [2, 4, 6],
        [5, 5, 20],
        [9, 9.1, 1 / 3],
        [1, 2, 0.1],
        [3, 0, 1],
        gpus,
        task_names=("z", "y", "x"),
    )
    write_instance(made, tmp_path / "tasks.csv")
    result = read_instance(tmp_path / "tasks.csv", gpus)
    assert made.task_names == result.task_names == ("y", "x", "z")
    rows = greedy_assignment(result, range(3)).rows()
    assert [(row["task"], row["gpu_number"], row["gpu"]) for row in rows] == [
        ("y", 1, "fast"),
        ("x", 3, "slow"),
        ("z", 1, "fast"),
    ]
    columns = ("start_s", "finish_s", "deadline_s", "weight")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (0, 2, 9.1, 2),
        (1, 7, 1 / 3, 0.1),
        (3, 4, 9, 1),
    ]
    wrong = Schedule(
        result, np.array([0, 0, 0]), np.array([0.0, 2, 5]), np.array([2.0, 5, 6])
    )
    assert wrong.fault() == "task x runs on a GPU whose memory it exceeds (Eq. 3)"
    assert instance_of((1, 0, 9, 1, 5), (2, 0, 9, 1, 0)).task_names == ("2", "1")


def test_a_deadline_before_the_arrival_is_allowed_and_reported(caplog):
    late = instance_of((1, 0, 1, 1, 5))
    assert (
        "1 of 1 tasks have a deadline before their arrival, first task 1;"
        in caplog.text
    )
    assert greedy_assignment(late, [0]).metrics["dmc"] == 1
    assert execute(greedy_assignment(late, [0])).metrics["weighted_tardiness"] == 4.5


test_impossible_input_gives_a_one_line_error = refusals(
    (lambda: instance_of((0, 1, 1, 1, 0)), ["workload of task 1(=0.0)", "> 0"]),
    (
        lambda: instance_of((1, 1, 1, 1, 0), (1, 1, 1, -2, 0)),
        ["weight of task 2(=-2.0)"],
    ),
    (lambda: instance_of((1, -1, 1, 1, 0)), ["memory_gb of task 1(=-1.0)"]),
    (lambda: instance_of((1, 1, np.nan, 1, 0)), ["deadline_s of task 1(=nan)"]),
    (
        lambda: instance_of((1, 50, 1, 1, 0)),
        ["memory_gb of task 1(=50.0)", "no GPU", "40 GB"],
    ),
    (lambda: Instance([], [], [], [], [], (FAST,)), ["no task"]),
    (lambda: Instance([1], [1, 2], [1], [1], [1], (FAST,)), ["shape of memory_gb"]),
    (
        lambda: instance_of((1, 1, 1, 1, 0), gpus=()),
        ["gpus(=()) must be at least one Gpu"],
    ),
    (
        lambda: instance_of((1, 1, 1, 1, 0), gpus=("A100",)),
        ["gpus[0](='A100') must be of type Gpu"],
    ),
    (
        lambda: instance_of((1, 1, 9, 1, 0), gpus=(FAST,), times_s=[[1, 2]]),
        ["shape of times_s(=(1, 2)) must be (1, 1)"],
    ),
    (
        lambda: instance_of((1, 0, 9, 1, 0), gpus=(SLOW,), free_s=[1.0, 2.0]),
        ["shape of free_s(=(2,)) must be (1,)"],
    ),
    (
        lambda: instance_of((1, 0, 9, 1, 0), gpus=(SLOW,), free_s=[-1.0]),
        ["free_s of GPU 1(=-1.0)"],
    ),
    (
        lambda: instance_of((1, 0, 9, 1, 0), gpus=(SLOW,), free_s=["soon"]),
        ["free_s(=['soon']) must be numbers"],
    ),
    (
        lambda: instance_of((1, 0, 9, 1, 0), gpus=(SLOW,), times_s=5.0),
        ["shape of times_s(=()) must be (1, 1)"],
    ),
    (
        lambda: instance_of((1, 0, 9, 1, 1e17), gpus=(SLOW,)),
        ["arrival_s of task 1(=1e+17) must be small enough for the clock"],
    ),
    (
        lambda: solve_exact(instance_of((1, 0, 0, 1, 0), gpus=(SLOW,), free_s=[3.0])),
        ["free_s(=[3.0])"],
    ),
    (lambda: greedy_assignment(FOUR, "0123"), ["order(='0123') must be a list of"]),
    (lambda: greedy_assignment(FOUR, ["a", 1, 2, 3]), ["order(=('a', 1, 2, 3))"]),
    (lambda: search(FOUR), ["the search needs a limit: moves or a time budget"]),
    (lambda: search(FOUR, moves=-1), ["moves(=-1) must be a whole number >= 1"]),
    (lambda: search(FOUR, time_budget_s=0), ["time_budget_s(=0) must be a number >"]),
    (lambda: named("a", "a"), ["name of a task(='a')", "2 tasks have it"]),
    (lambda: named("a"), ["number of task_names(=1)", "2, one per task"]),
    (lambda: named("a", ""), ["name of a task(='')"]),
    (lambda: Gpu("none", 1, 0), ["speed of none(=0)"]),
    (lambda: cluster("huge"), ["unknown cluster 'huge'"]),
    (lambda: cg.hgsp.generate(9), ["level(=9) must be a Level or the name of one"]),
    (lambda: cg.hgsp.generate("tasks9"), ["unknown load level 'tasks9'", "tasks4"]),
    (lambda: cg.hgsp.Level(10, "small", 1e-300, (1, 2)), ["load(=1e-300)", "1e-06"]),
    (
        lambda: cg.hgsp.Level(10, "small", 1, (2, 1)),
        ["slack(=(2, 1))", "least <= greatest"],
    ),
    (
        lambda: cg.hgsp.Level(10, "small", 1, (1, 2), workload=(0, 9)),
        ["workload(=(0, 9))", "whole numbers >= 1"],
    ),
    (lambda: cg.hgsp.Level(0, "small", 1, (1, 2)), ["tasks(=0)"]),
)


TIMED = "task,memory_gb,deadline_s,weight,arrival_s,time_s:fast,time_s:slow\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("workload,memory_gb\n1,2\n", ["columns"]),
        ("workload,deadline_s,weight,arrival_s\n1,3,1,0\n", ["columns", "memory_gb"]),
        (
            "workload,memory_gb,deadline_s,weight,arrival_s\n1,2,x,1,0\n",
            ["line 2", "deadline_s(='x')"],
        ),
        (
            "workload,memory_gb,deadline_s,weight,arrival_s\n1,2,3\n",
            ["line 2", "weight"],
        ),
        ("workload,memory_gb,deadline_s,weight,arrival_s\n", ["no task"]),
        (
            "workload,memory_gb,deadline_s,weight,arrival_s\n1,99,3,1,0\n",
            ["task 1", "99", "40 GB"],
        ),
        (
            "workload,memory_gb,deadline_s,weight,arrival_s\n1,2,3,1,0,9\n",
            ["line 2", "6 cells, not 5"],
        ),
        (
            "workload,memory_gb,deadline_s,weight,arrival_s,weight\n1,2,3,1,0,9\n",
            ["columns", "'weight' occurs twice"],
        ),
        (
            "Workload,Memory,Deadline,Weight,ArrivalTime,weight\n1,2,3,1,0,9\n",
            ["columns", "'weight' occurs twice"],
        ),
        (
            f"{TIMED}a,5,9,1,3,inf,inf\n",
            ["task a (line 2) fits on no GPU", "times is inf"],
        ),
        (
            f"{TIMED}a,40,9,1,3,inf,inf\n",
            ["task a (line 2) fits on no GPU", "times is inf"],
        ),
        (
            f"{TIMED}a,5,9,1,3,0,1\n",
            ["time of task a (line 2) on GPU 1(=0.0)", "> 0, or inf"],
        ),
        (f"{TIMED}a,5,9,1,3,1,nan\n", ["time of task a (line 2) on GPU 2(=nan)"]),
        (f"{TIMED}a,5,9,1,3,1,\n", ["line 2: time_s:slow(='')"]),
        (
            TIMED.replace(",time_s:slow", "") + "a,5,9,1,3,1\n",
            ["columns", "time_s:fast,time_s:slow"],
        ),
        (
            TIMED.replace("slow", "quick") + "a,5,9,1,3,1,1\n",
            ["columns", "time_s:fast,time_s:slow"],
        ),
        (
            "memory_gb,deadline_s,weight,arrival_s\n5,9,1,3\n",
            ["a list that includes workload, or time_s:"],
        ),
    ],
)
def test_a_wrong_file_is_rejected_by_name(file, text, words):
    path = file(text, "tasks.csv")
    check_refused(lambda: read_instance(path, (FAST, SLOW)), [str(path), *words])


def test_the_headings_of_the_papers_authors_are_read(file):
    path = file(
        "Task,Workload,Memory,Deadline,Weight,ArrivalTime\nT1,8,5,17.5,4,0.25\n"
    )
    result = read_instance(path, (FAST, SLOW))
    assert result.task_names == ("T1",)
    assert [getattr(result, column)[0] for column in COLUMNS] == [8, 5, 17.5, 4, 0.25]


GPU_TABLE = "[[gpu]]\nname = 'a'\nmemory_gb = 1\nspeed = 1\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("gpus.toml", f"{GPU_TABLE}[[cpu]]\n", ["gpus.toml", "'cpu'"]),
        ("gpus.toml", "gpu = []", ["gpus.toml", "GPUs(=0) must be at least one"]),
        ("gpus.csv", "name,memory_gb,speed\n", ["GPUs(=0) must be at least one"]),
        ("gpus.csv", "name,memory_gb,speed\na,1,x\n", ["line 2", "speed of a(='x')"]),
    ],
)
def test_a_wrong_gpu_file_is_rejected_by_name(file, name, text, words):
    check_refused(lambda: cluster(str(file(text, name))), words)


@pytest.mark.parametrize(
    ("name", "text"),
    [("gpus.toml", GPU_TABLE), ("gpus.csv", "name,memory_gb,speed\na,1,1\n")],
)
def test_gpus_are_read_from_a_table_or_toml(file, name, text):
    assert cluster(str(file(text, name))) == (Gpu("a", 1.0, 1.0),)


@pytest.mark.parametrize(
    ("text", "kept", "said"),
    [
        (
            "workload,memory_gb,deadline_s,weight,arrival_s\n1,99,3,1,0\n1,9,3,1,0\n",
            "2",
            "1 task left out, which no GPU can run: line 2: task 1",
        ),
        (
            f"{TIMED}a,5,9,1,3,inf,inf\nb,20,9,1,3,1,inf\nc,5,9,1,3,1,inf\n",
            "c",
            "2 tasks left out, which no GPU can run: line 2: task a; line 3: task b",
        ),
        (f"{TIMED}a,40,9,1,3,inf,2\n", "a", ""),  # it just fits
    ],
)
def test_tasks_that_fit_nowhere_can_be_left_out(file, caplog, text, kept, said):
    assert read_instance(file(text), (FAST, SLOW), skip_unfit=True).task_names == (
        kept,
    )
    assert said in caplog.text and bool(said) == bool(caplog.text)


@pytest.mark.parametrize(
    ("name", "text", "index", "tasks", "words"),
    [
        ("wt.txt", "1 2 3", 1, 40, ["numbers(=3)", "a multiple of 120"]),
        ("wt40.txt", "1 " * 300, 1, None, ["numbers(=300)", "a multiple of 120"]),
        ("wt.txt", "", 1, 40, ["wt.txt: the file is empty"]),
        ("wt.txt", " \n", 1, 40, ["numbers(=0)", "a multiple of 120"]),
        ("wt.txt", "1 " * 120, 2, 40, ["index(=2)", "from 1 to 1"]),
        ("wt.txt", "a b", 1, 40, ["wt.txt: not a list of numbers"]),
        ("wt.txt", b"1 \xe9", 1, 40, ["wt.txt: not a list of numbers"]),
        (
            "wt.txt",
            "1 " * 15000,
            1,
            None,
            [
                "125 instances of 40 or 100 instances of 50 or 50 instances of 100",
                "tasks=N",
            ],
        ),
        (
            "wt.txt",
            "1 2 3",
            1,
            None,
            ["3 numbers cannot determine the number of tasks per instance; specify"],
        ),
        ("wt.txt", "1 2 3", 1, 0, ["tasks of an instance(=0)"]),
    ],
)
def test_a_file_of_another_layout_is_rejected(file, name, text, index, tasks, words):
    path = file(text, name)
    check_refused(lambda: read_orlib(path, index, tasks=tasks), words)


def test_messages_on_a_file_name_task_and_line(file, caplog):
    """Line 2 arrives after line 3, after its deadline; line 3 arrives at its own."""
    head = "task,workload,memory_gb,deadline_s,weight,arrival_s\n"
    result = read_instance(file(f"{head}b,1,9,3,1,5\na,1,9,3,1,3\n"), (FAST, SLOW))
    assert (result.task_names, result.lines) == (("a", "b"), (3, 2))
    assert (
        "1 of 2 tasks have a deadline before their arrival, first task b"
        " (line 2);" in caplog.text
    )
    for row, said in (
        ("c,0,9,3,1,0", "workload of task c (line 3)"),
        ("c,1,99,3,1,0", "memory_gb of task c (line 3)"),
    ):
        path = file(f"{head}b,1,9,9,1,5\n{row}\n")
        check_refused(partial(read_instance, path, (FAST, SLOW)), [said])


@pytest.mark.parametrize(
    ("name", "tasks", "size"),
    [("wt40", None, 40), ("wt50", None, 50), ("wt100", None, 100), ("wt40", 1, 1)],
)
def test_files_of_the_or_library_give_their_size_by_name(file, name, tasks, size):
    instance = read_orlib(file("1 " * (2 * 3 * size), f"{name}.txt"), 2, tasks=tasks)
    assert (instance.tasks, instance.gpus) == (size, (Gpu("machine 1", 0.0, 1.0),))


# ---- times of each task on each GPU ----


def test_times_of_a_file_are_by_the_names_of_gpus(tmp_path):
    path, gpus = tmp_path / "tasks.csv", (SLOW, FAST, SLOW)
    path.write_text(
        f"{TIMED}b,5,9,1,3,4,7\na,20,9,1,0,1,2\nc,5,9,1,4,inf,3\n", encoding="utf-8"
    )
    result = read_instance(path, gpus)
    assert result.times_s.tolist() == [[2, np.inf, 2], [7, 4, 7], [3, np.inf, 3]]
    assert result.tags.columns == {}
    write_instance(result, tmp_path / "again.csv")
    again = read_instance(tmp_path / "again.csv", gpus)
    np.testing.assert_array_equal(again.times_s, result.times_s)
    unlike = Instance((), [0], [9], [1], [0], (SLOW, SLOW), times_s=[[1, 2]])
    check_refused(
        lambda: write_instance(unlike, path),
        r"GPUs with the same name\(='slow'\) must be equally fast",
    )
