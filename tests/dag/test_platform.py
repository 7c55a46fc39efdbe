"""Platforms from files: speeds, memory, links with bandwidth and latency; a worked
example; errors in files.
"""

import json

import numpy as np
import pytest
from support import check_refused, csv_rows, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cli import main
from cgrsp_simpy.dag.listing import upward_rank_s
from cgrsp_simpy.dag.platform import BUSY, Platform, Servers, read_platform
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out, makespans
from cgrsp_simpy.dag.scenario import Scenario, simulate
from cgrsp_simpy.studies.subject import subject_of

TOML = """
[[gpu]]
name = "a"
server = "left"
tflops = 2
memory_gb = 0.01

[[gpu]]
name = "b"
server = "left"
tflops = 1.0
memory_gb = 0.01

[[gpu]]
name = "c"
server = "right"
tflops = 4
memory_gb = 0.005

[[link]]
one_end = "left"
other_end = "left"
gb_per_s = 2
latency_s = 0.25

[[link]]
one_end = "left"
other_end = "right"
gb_per_s = 1
latency_s = 0.5

[[link]]  # the last entry for b and c
one_end = "b"
other_end = "right"
gb_per_s = 4
latency_s = 1
"""
CSV = """name,server,tflops,memory_gb,one_end,other_end,gb_per_s,latency_s
a,left,2,0.01
b,left,1.0,0.01
c,right,4,0.005
,,,,left,left,2,0.25
,,,,left,right,1,0.5
,,,,b,right,4,1
"""


@pytest.fixture(params=["toml", "csv"])
def lab(request, tmp_path):
    path = tmp_path / f"lab.{request.param}"
    path.write_text({"toml": TOML, "csv": CSV}[request.param], encoding="utf-8")
    return path


def example(path):
    """Node x sends 2 GB to y, 1 GB to z, and nothing to w, which waits for it all the
    same; y sends 1 GB to v.
    """
    edges, data_gb = [(0, 1), (0, 2), (0, 3), (1, 4)], [2, 1, 0, 1]
    graph = cg.dag.Graph(
        [4, 6, 8, 1, 4],
        [3, 2, 5, 0, 1],
        edges,
        data_gb,
        names=("x", "y", "z", "w", "v"),
    )
    return Problem(graph, read_platform(path))


def test_a_file_describes_gpus_and_links(lab):
    result = read_platform(lab)
    assert result.name == "lab, 3 GPUs" and result.names == ("a", "b", "c")
    assert result.tflops.tolist() == [2, 1, 4] and result.memory_mb.tolist() == [
        10,
        10,
        5,
    ]
    assert result.server.tolist() == [0, 0, 1]
    assert result.bandwidth_gb_per_s.tolist() == [[2, 2, 1], [2, 2, 4], [1, 4, 0]]
    assert result.latency_s.tolist() == [
        [0.25, 0.25, 0.5],
        [0.25, 0.25, 1],
        [0.5, 1, 0],
    ]


def test_latency_by_hand(lab):
    """Node x on a until 2; y on b from 2 + 0.25 + 2/2, z on c from 2 + 0.5 + 1/1, v
    there from 9.25 + 1 + 1/4.

    Node w has no data from x: no transfer, so no latency.
    """
    problem = example(lab)
    plan = Plan(np.array([0, 1, 2, 2, 2]), np.array([0, 1, 3, 2, 4]))
    run = simulate(problem, plan)
    assert run.jobs[["start_s", "finish_s"]].tolist() == [
        *((0, 2), (3.25, 9.25), (3.5, 5.5), (2, 2.25), (10.5, 11.5)),
    ]
    assert carried_out(problem, plan).finish_s.tolist() == run.jobs["finish_s"].tolist()
    every = np.tile(plan.gpu, (40, 1))  # number of plans computed at once
    assert makespans(problem, every, plan.order).tolist() == [11.5] * 40
    assert run.timeline.resources == ("0  a", "1  b", "2  c")


def test_a_policy_waits_for_latency_as_well(lab):
    problem = example(lab)
    gpus = dict(zip("xyzwv", (0, 1, 2, 1, 2)))
    seen = {}

    def by_name(view):
        for node in view.queue:
            gpu = view.resources[gpus[node.name]]
            if view.room(gpu) >= view.need(node):
                seen[node.name] = view.data_s(node, gpu)
                yield node, gpu

    run = simulate(problem, by_name)
    assert seen == {"x": 0, "y": 1.25, "z": 1.5, "w": 0, "v": 1.25}
    assert run.jobs["start_s"].tolist() == [0, 3.25, 3.5, 9.25, 10.5]


def test_hefts_ranks_have_the_mean_latency(lab):
    problem = example(lab)
    per_gb = 3 / (2 + 1 + 4)
    latency_s = (0.25 + 0.5 + 1) / 3
    per_tflop = (1 / 2 + 1 + 1 / 4) / 3
    v = 4 * per_tflop
    y = 6 * per_tflop + latency_s + per_gb + v
    z, w = 8 * per_tflop, per_tflop
    x = 4 * per_tflop + max(latency_s + 2 * per_gb + y, latency_s + per_gb + z, w)
    assert upward_rank_s(problem) == pytest.approx([x, y, z, w, v])


def test_a_count_means_equal_gpus_and_a_pair_without_link_is_not_connected(
    file, monkeypatch
):
    monkeypatch.setattr("cgrsp_simpy.dag.platform.MOST_GPUS", 3)
    path = file(
        "[[gpu]]\n"
        "server = 0\n"
        "tflops = 1\n"
        "memory_gb = 8\n"
        "count = 2\n"
        "[[gpu]]\n"
        "server = 1\n"
        "tflops = 3\n"
        "memory_gb = 8\n",
        "rack.toml",
    )
    result = read_platform(path)
    assert (
        result.tflops.tolist() == [1, 1, 3]
        and result.names == ()
        and not result.bandwidth_gb_per_s.any()
    )


def test_other_usage_is_drawn_by_seed_for_a_file_too(lab):
    for platform, own in (
        (Servers(3), Servers(3).platform()),
        (read_platform(lab), read_platform(lab)),
    ):
        result = Scenario("star:n=3", platform, "busy").problem(5).platform
        assert (
            result.tflops.tolist()
            == (own.tflops * (1 - stream(5, "in use").uniform(*BUSY, 3))).tolist()
        )
        assert result.latency_s.tolist() == own.latency_s.tolist()


# ---- the command ----


def test_the_command_takes_a_file(capsys, lab):
    words = ["run", "dag:star:n=5", f"platform={lab}", "--policy", "heft"]
    rows = csv_rows(output(capsys, *words, "--format", "csv"))
    scenario = Scenario("star:n=5", read_platform(lab))
    assert [float(row["finish_s"]) for row in rows] == subject_of(scenario).run(
        "heft"
    ).jobs["finish_s"].tolist()
    subject = json.loads(output(capsys, *words, "--format", "json"))["subject"]
    assert subject.startswith("star:n=5 on lab, 3 GPUs, free")


test_megabytes_and_numbers_of_servers_are_whole = refusals(
    (1.5, 0, r"memory_mb of GPU 1\(=1.5\) must be a whole number from 1 to"),
    (np.nan, 0, r"memory_mb of GPU 1\(=nan\) must be a whole number"),
    (1e300, 0, r"memory_mb of GPU 1\(=1e\+300\) must be a whole number"),
    (5, 0.5, r"server of GPU 1\(=0.5\) must be a whole number"),
    call=lambda memory_mb, server: Platform(
        [1.0, 1.0], [5, memory_mb], [-1, server], np.ones((2, 2))
    ),
)


GPU = "[[gpu]]\nserver = 0\ntflops = 1\nmemory_gb = 1\n"
BAD = {
    ".toml": [
        ("", "GPUs(=0) must be at least one"),
        ("[[gpu]", "not TOML (Expected ']]' at the end of an array declaration"),
        ("speed = 1\n" + GPU, "unknown key in the file 'speed'"),
        ("gpu = 3", "[[gpu]](=3) must be a list of tables"),
        ("gpu = [3]", "[[gpu]] 1(=3) must be a table"),
        ("[[gpu]]\nserver = 0\ntflops = 1\n", "[[gpu]] 1 lacks memory_gb"),
        (
            GPU + "tflop = 3\n",
            "unknown key in [[gpu]] 1 'tflop'; did you mean 'tflops'?",
        ),
        (
            GPU.replace("tflops = 1", "tflops = 0"),
            "[[gpu]] 1: tflops(=0) must be a number > 0",
        ),
        (
            GPU.replace("tflops = 1", "tflops = '1'"),
            "[[gpu]] 1: tflops(='1') must be a number > 0",
        ),
        (
            GPU.replace("tflops = 1", "tflops = inf"),
            "[[gpu]] 1: tflops(=inf) must be a number > 0",
        ),
        (
            GPU.replace("memory_gb = 1", "memory_gb = 0"),
            "[[gpu]] 1: memory_gb(=0) must be a number >= 0.001",
        ),
        (
            GPU.replace("server = 0", "server = true"),
            "[[gpu]] 1: server(=True) must be a string or a whole number",
        ),
        (GPU + "count = 0\n", "[[gpu]] 1: count(=0) must be a whole number >= 1"),
        (
            GPU + "count = 100_000\n",
            "[[gpu]] 1: count(=100000) must be a whole number >= 1, at most 10,000",
        ),
        (2 * (GPU + "count = 9_000\n"), "GPUs(=18000) must be at most 10,000"),
        (
            GPU.replace("memory_gb = 1", "memory_gb = 1e300"),
            "[[gpu]] 1: memory_gb(=1e+300) must be a number >= 0.001, at most 1e+09",
        ),
        (GPU + "name = 7\n", "[[gpu]] 1: name(=7) must be a string"),
        (
            GPU + "name = '0'\n",
            "name(='0') must be different from the names of the servers",
        ),
        (
            GPU + "[[link]]\none_end = 0\nother_end = 1\ngb_per_s = 1\n",
            "unknown end of the link in [[link]] 1 '1' (allowed: 0)",
        ),
        (GPU + "[[link]]\none_end = 0\ngb_per_s = 1\n", "[[link]] 1 lacks other_end"),
        (
            GPU + "[[link]]\none_end = 0\nother_end = 0\ngb_per_s = 0\n",
            "[[link]] 1: gb_per_s(=0) must be a number > 0",
        ),
        (
            GPU
            + "[[link]]\none_end = 0\nother_end = 0\ngb_per_s = 1\nlatency_s = -1\n",
            "latency_s(=-1) must be a number >= 0",
        ),
    ],
    ".csv": [
        ("", "the file is empty"),
        ("server,speed\n0,1\n", "unknown key in the header 'speed'"),
        (
            "server,server\n0,1\n",
            "columns(='server,server') must be different, but 'server' occurs twice",
        ),
        (
            "server,tflops,memory_gb\n0,fast,1\n",
            "line 2: tflops(='fast') must be a number > 0",
        ),
        ("server,tflops,memory_gb\n0,1,1\n0,1\n", "line 3 lacks memory_gb"),
        (
            "server,tflops,memory_gb\n0,1,1,5\n",
            "line 2: 4 cells, not 3",
        ),
        (
            "server,tflops,memory_gb,one_end,other_end,gb_per_s\n0,1,1\n,,,0,5,1\n",
            "unknown end of the link in line 3 '5'",
        ),
        (
            "server,tflops,memory_gb,one_end,other_end,gb_per_s\n0,1,1\n,,,0,,1\n",
            "line 3 lacks other_end",
        ),
        (
            "server,tflops,memory_gb,one_end,other_end,gb_per_s\n0,1,1,0,0,1\n",
            "unknown key in line 2 'server'",
        ),
    ],
}


def test_a_bad_file_gives_a_one_line_error_with_its_name(capsys, file):
    for ending, (text, message) in (
        (e, row) for e, rows in BAD.items() for row in rows
    ):
        path = file(text, f"bad{ending}")
        assert main(["run", "dag", f"platform={path!s}", "--policy", "heft"]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"cgrsp run: {path}: ") and message in line


def test_a_missing_file_and_a_wrong_extension_are_errors(tmp_path):
    check_refused(
        lambda: read_platform(tmp_path / "none.toml"),
        r"none.toml: No such file or directory",
    )
    check_refused(
        lambda: read_platform(tmp_path / "lab.json"),
        r"must be a file that ends in .toml or .csv",
    )
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    check_refused(
        lambda: read_platform(tmp_path / "x.csv"),
        r"x.csv: not a text file in UTF-8, but in UTF-16",
    )
