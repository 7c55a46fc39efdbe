"""Logs of workflows: which files become which graphs, omissions and errors."""

import logging
import re
from math import inf
from pathlib import Path

import numpy as np
import pytest
from support import check_refused, messages

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat

# Read if it exists: a folder next to the project.
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "pegasus"
needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the folder of real data is absent"
)


def edges_of(graph):
    return [(graph.names[start], graph.names[end]) for start, end in graph.edges]


# ---- WfFormat ----


def item(name, size, link="input"):
    return {"name": name, "sizeInBytes": size, "link": link}


def task(name, parents=(), files=(), seconds=1.0, **more):
    return {
        "name": name,
        "parents": list(parents),
        "files": list(files),
        "runtimeInSeconds": seconds,
        **more,
    }


def workflow(*tasks, version="1.4"):
    return {"schemaVersion": version, "workflow": {"tasks": list(tasks)}}


SPLIT = task(
    "split",
    files=[item("raw", 9e9), item("left", 2e9, "output"), item("right", 3e9, "output")],
    seconds=4,
)
JOIN = task(
    "join",
    ["split"],
    [item("left", 2e9), item("right", 3e9), item("raw", 9e9)],
    7.5,
    memoryInBytes=1_500_001,
)


def test_tasks_become_nodes_and_shared_files_data(file):
    """Worked by hand: 2 + 3 gigabytes from split to join; raw is written by nobody, so
    that it is on no edge.
    """
    graph = read_wfformat(file(workflow(SPLIT, JOIN)))
    assert (
        graph.names == ("split", "join")
        and graph.work_tflop.tolist() == [4, 7.5]
        and graph.memory_mb.tolist() == [0, 2]
    )
    assert (
        graph.edges.tolist() == [[0, 1]]
        and graph.data_gb.tolist() == [5]
        and graph.name == "log"
    )


def test_a_file_is_sent_along_each_edge_to_its_readers_only(file):
    write = task("write", files=[item("x", 1e9, "output"), item("y", 2e9, "output")])
    readers = [
        task("one", ["write"], [item("x", 1e9)]),
        task("both", ["write"], [item("x", 1e9), item("y", 2e9)]),
    ]
    assert read_wfformat(file(workflow(write, *readers))).data_gb.tolist() == [1, 3]


def test_an_edge_counts_once_if_parent_child_or_both_list_it(file):
    graph = read_wfformat(
        file(workflow(task("a", children=["b", "c"]), task("b", ["a", "a"]), task("c")))
    )
    assert sorted(edges_of(graph)) == [("a", "b"), ("a", "c")]


def test_the_earlier_names_give_the_same_graph(file):
    """1.3: runtime, memory in KB and size; numbers of sizes are bytes."""
    words = {
        "runtimeInSeconds": "runtime",
        "memoryInBytes": "memory",
        "sizeInBytes": "size",
    }

    def earlier(given):
        return {words.get(key, key): value for key, value in given.items()}

    tasks = [
        earlier(each | {"files": [earlier(one) for one in each["files"]]})
        for each in (SPLIT, JOIN)
    ]
    tasks[1]["memory"] = 2000.0  # rounded up to 2 MB, as 1500.001
    old, new = (
        read_wfformat(file(workflow(*each, version=version)))
        for each, version in ((tasks, "1.3"), ((SPLIT, JOIN), "1.4"))
    )
    for column in ("work_tflop", "memory_mb", "edges", "data_gb", "names"):
        assert np.array_equal(getattr(old, column), getattr(new, column))


def test_work_is_scaled_by_recorded_clock_speeds(
    file,
):
    """4 s at 1 GHz are 2 s at 2 GHz; what is on no machine, or on one without a clock,
    stays.
    """
    tasks = [task(name, seconds=4) for name in "abcdefg"]
    for each, machine in zip(tasks, ("slow", "fast", "odd", "off", "one", "inf")):
        each["machine"] = machine
    clocks = {"slow": 1000, "fast": 2000, "odd": None, "off": 0, "one": 1, "inf": inf}
    machines = [
        {"nodeName": name, "cpu": {"speed": mhz}} for name, mhz in clocks.items()
    ]
    log = workflow(*tasks)
    log["workflow"]["machines"] = machines
    assert read_wfformat(file(log)).work_tflop.tolist() == [2, 4, 4, 4, 0.002, 4, 4]
    later = {
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [{"id": "a"}, {"id": "b"}]},
            "execution": {
                "tasks": [
                    {"id": "a", "runtimeInSeconds": 4, "machines": ["slow"]},
                    {"id": "b", "runtimeInSeconds": 4, "machines": ["fast"]},
                ],
                "machines": [
                    {"nodeName": "slow", "cpu": {"speedInMHz": 500}},
                    {"nodeName": "fast", "cpu": {"speedInMHz": 2000}},
                ],
            },
        },
    }
    assert read_wfformat(file(later)).work_tflop.tolist() == [1, 4]


@pytest.mark.parametrize("version", ["1.5", "1.6"])
def test_the_later_layout_gives_the_same_graph(file, version):
    """Since 1.5 tasks have ids, and run times and sizes of files are separate."""
    specification = {
        "tasks": [
            {
                "name": "program",
                "id": "split",
                "parents": [],
                "inputFiles": ["raw"],
                "outputFiles": ["left", "right"],
            },
            {
                "name": "program",
                "id": "join",
                "parents": ["split"],
                "inputFiles": ["left", "right", "raw"],
            },
        ],
        "files": [
            {"id": name, "sizeInBytes": size}
            for name, size in (("raw", 9e9), ("left", 2e9), ("right", 3e9))
        ],
    }
    run = [
        {"id": "join", "runtimeInSeconds": 7.5, "memoryInBytes": 1_500_001},
        {"id": "split", "runtimeInSeconds": 4},
    ]
    result = {
        "schemaVersion": version,
        "workflow": {"specification": specification, "execution": {"tasks": run}},
    }
    later = read_wfformat(file(result))
    earlier = read_wfformat(file(workflow(SPLIT, JOIN)))
    assert (
        later.names == earlier.names and later.edges.tolist() == earlier.edges.tolist()
    )
    for column in ("work_tflop", "memory_mb", "data_gb"):
        assert getattr(later, column).tolist() == getattr(earlier, column).tolist()
    specification["tasks"][1]["inputFiles"].append("none")
    check_refused(
        lambda: read_wfformat(file(result)),
        r"sizeInBytes of file none of task join\(=None\) must be a number >= 0",
    )


@needs_data
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "seconds", "data_gb"),
    # The sums are from the files, by a few lines of another program.
    [
        ("epigenomics-chameleon-hep-1seq-100k-001", 41, 48, 539.307, 0.353323676),
        ("montage-chameleon-dss-05d-001", 58, 114, 5585.811, 7.139413893),
    ],
)
def test_real_workflows(name, nodes, edges, seconds, data_gb, caplog):
    with caplog.at_level(logging.INFO):
        graph = read_wfformat(DATA / f"{name}.json")
    assert (graph.nodes, len(graph.edges), graph.name) == (nodes, edges, name)
    assert graph.work_tflop.sum() == pytest.approx(
        seconds, abs=1e-6
    ) and graph.data_gb.sum() == pytest.approx(data_gb)
    # every parent writes what its child reads
    assert np.all(graph.data_gb > 0) and not graph.memory_mb.any()
    assert messages(caplog, logging.INFO) == [
        f"{DATA / name}.json: {nodes} nodes and {edges} edges read"
    ]


BAD_WORKFLOWS = [
    (
        '{"schemaVersion": "1.4",\n "workflow": }',
        r"line 2, column 14: not JSON \(Expecting value\)",
    ),
    ("", "the file is empty"),
    (" \n", r"line 2, column 1: not JSON \(Expecting value\)"),
    (b"\xff\xfe\xfa", "not a text file in UTF-8"),
    ("[" * 200_000, "not JSON"),
    ([1, 2], r"not WfFormat: schemaVersion of the file\(=None\) must be a string"),
    (
        {"tasks": []},
        r"not WfFormat: schemaVersion of the file\(=None\) must be a string",
    ),
    (workflow(task("a"), version="1.2"), r"must be 1.3 or 1.4 or 1.5 or 1.6"),
    (
        {"schemaVersion": "1.4"},
        r"not WfFormat: workflow of the file\(=None\) must be an object",
    ),
    (
        {"schemaVersion": "1.4", "workflow": {"tasks": {}}},
        r"not WfFormat: tasks of workflow\(={}\) must be an array",
    ),
    (
        {"schemaVersion": "1.5", "workflow": {"specification": {}}},
        r"execution of workflow\(=None\) must be an object",
    ),
    (workflow("a"), r"not WfFormat: name of a task\(=None\) must be a string"),
    (workflow(), r"nodes of the graph\(=0\) must be at least one"),
    (workflow(task("a"), task("a")), r"names of tasks\(=1\) must be 2, one per task"),
    (workflow(task("a", ["z"])), "parents of task a: there is no task 'z'"),
    (workflow(task("a", [["a"]])), r"parents of task a: there is no task \['a'\]"),
    (workflow(task("a", children=["z"])), "children of task a: there is no task 'z'"),
    (
        workflow(task("a", ["b"]), task("b", ["a"])),
        "the graph has a cycle: (a to b to a|b to a to b)",
    ),
    (workflow(task("a", ["a"])), "the graph has a cycle: a to a"),
    (
        workflow({"name": "a"}),
        r"runtimeInSeconds of task a\(=None\) must be a number >= 0",
    ),
    (
        workflow(task("a", seconds=float("nan"))),
        r"runtimeInSeconds of task a\(=nan\) must be a number >= 0",
    ),
    (
        workflow(task("a", seconds=-1)),
        r"runtimeInSeconds of task a\(=-1.0\) must be a number >= 0",
    ),
    (
        workflow(task("a", seconds=10**400)),
        r"runtimeInSeconds of task a\(=inf\) must be a number >= 0",
    ),
    (
        workflow(task("a", memoryInBytes="x")),
        r"memoryInBytes of task a\(='x'\) must be a number >= 0",
    ),
    (
        workflow(task("a", files=[item("x", -5)])),
        r"sizeInBytes of file x of task a\(=-5.0\) must be a number >= 0",
    ),
    (
        workflow(task("a", files=[item("x", 5, "in")])),
        "unknown link of file x of task a 'in'",
    ),
    (
        workflow(task("a", files=["x"])),
        r"not WfFormat: name of a file of task a\(=None\) must be a string",
    ),
]


def test_a_file_that_is_not_a_workflow_gives_a_one_line_error(file):
    for content, message in BAD_WORKFLOWS:
        path = file(content)
        line = check_refused(lambda path=path: read_wfformat(path), message)
        assert line.startswith(f"{path}: ")


# ---- Alibaba's batch tasks ----


def line(name, start="10", end="20", job="j_1", instances="3"):
    return f"{name},{instances},{job},1,Terminated,{start},{end},100,0.5\n"


def test_names_show_which_node_waits_for_which(file):
    """The example of the trace's own description, its tasks out of order."""
    text = (
        line("M5_3_4")
        + line("M1", "10", "15")
        + line("M2_1")
        + line("M3_1")
        + line("R4_2")
    )
    graph = read_alibaba(file(text), "j_1")
    assert set(edges_of(graph)) == {
        ("M1", "M2_1"),
        ("M1", "M3_1"),
        ("R4_2", "M5_3_4"),
        ("M3_1", "M5_3_4"),
        ("M2_1", "R4_2"),
    }
    # seconds, whatever the number of instances
    assert graph.work_tflop.tolist() == [10, 5, 10, 10, 10]
    assert not graph.data_gb.any() and not graph.memory_mb.any() and graph.name == "j_1"


def test_every_job_is_a_graph_by_its_name(file, caplog):
    text = (
        line("M1", job="j_2")
        + line("M1")
        + line("J2_1", job="j_2")
        + "\n"
        + line("task_Nzg3ODAw==")
        + line("MergeTask")
    )
    with caplog.at_level(logging.INFO):
        graphs = read_alibaba(path := file(text), strict=True)
    assert {name: (graph.names, edges_of(graph)) for name, graph in graphs.items()} == {
        "j_2": (("M1", "J2_1"), [("M1", "J2_1")]),
        "j_1": (("M1", "task_Nzg3ODAw==", "MergeTask"), []),
    }
    assert messages(caplog, logging.INFO) == [
        f"{path}: 2 jobs read; jobs with faults: 0"
    ]


FAULTS = {
    "truncated": (line("M1", job="j_2")[:-12] + "\n", "line 2: 6 fields, not 9"),
    "no number": (
        line("M1", "ten", job="j_2"),
        r"line 2: start_time\(='ten'\) must be a number > 0",
    ),
    "NaN": (
        line("M1", "nan", job="j_2"),
        r"line 2: start_time\(='nan'\) must be a number > 0",
    ),
    "negative work": (
        line("M1", "30", "20", "j_2"),
        r"line 2: end_time\(='20'\) must be at least start_time",
    ),
    "outside the trace": (
        line("M1", "30", "0", "j_2"),
        r"line 2: end_time\(='0'\) must be a number > 0",
    ),
    "odd name": (
        line("M1_Stg2", job="j_2"),
        r"line 2: task_name\(='M1_Stg2'\) must be like M5_3_4, or without a number",
    ),
    "unknown parent": (
        line("M1_7", job="j_2"),
        "line 2: job j_2: task M1_7: there is no task 7",
    ),
    "same number": (
        line("M1", job="j_2") + line("R1", job="j_2"),
        "line 2: job j_2: tasks M1 and R1 have the same number",
    ),
    "cycle": (
        line("M1_2", job="j_2") + line("M2_1", job="j_2"),
        (
            "line 2: job j_2: the graph has a cycle: (M1_2 to M2_1 to M1_2|M2_1 to M1_2"
            " to M2_1)"
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_invalid_job_is_left_out_entirely_or_rejected(fault, file, caplog):
    bad, message = FAULTS[fault]
    path = file(line("M1") + bad + line("R8", job="j_2"))  # a good task of the bad job
    with caplog.at_level(logging.INFO):
        assert list(read_alibaba(path)) == ["j_1"]
    assert messages(caplog, logging.INFO)[-1].endswith(
        ": 1 job read; jobs with faults: 1"
    )
    [note] = messages(caplog, logging.WARNING)
    assert re.search("1 (fault|bad row): line 2: ", note)
    for options in ({"strict": True}, {"job": "j_2"}):
        with pytest.raises(InputError, match=message) as refused:
            read_alibaba(path, **options)
        assert re.match(
            rf"{re.escape(str(path))}: (1 (fault|bad row): )?line 2: ",
            str(refused.value),
        )
        assert "\n" not in str(refused.value)
    # errors of other tasks do not matter
    assert read_alibaba(path, "j_1").nodes == 1


def test_a_line_truncated_in_its_job_name_does_not_affect_other_jobs(file):
    path = file(line("M1") + line("M1", job="j_12") + "M2,1,j_1")
    assert list(read_alibaba(path)) == ["j_1", "j_12"]
    check_refused(
        lambda: read_alibaba(path, strict=True),
        r"1 bad row: line 3: 3 fields, not 9 \(rejected in strict mode\)",
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (line("M1"), {"job": "j_9"}, "there is no row whose job_name is 'j_9'"),
        ("", {}, "the file is empty"),
        (line("M1_2"), {}, r"no usable job \(faults: 1\)"),
        (b"\xff\xfe,1\n", {}, "not a text file in UTF-8"),
        (line("M1"), {"strict": "yes"}, r"strict\(='yes'\) must be true or false"),
        (
            line("M1", job=""),
            {"strict": True},
            r"line 1: job_name\(=''\) must be given",
        ),
    ],
)
def test_a_file_without_the_job_is_rejected(content, options, message, file):
    check_refused(lambda: read_alibaba(file(content), **options), message)
