"""Results directories that are checked by running a sample of their tasks again."""

import hashlib
import json
import os
import shlex
import shutil
from functools import partial

import pytest
from support import check_bad_input, check_refused, outcome, output

from cgrsp_simpy.base import files as files_module
from cgrsp_simpy.base.table import many
from cgrsp_simpy.cli import main
from cgrsp_simpy.decide.verify import verify
from cgrsp_simpy.studies import store


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A results directory of a command, with several tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cgrsp_simpy.studies.replicate.TASK_S", 0.004)
    assert main("compare quiet --policies fifo,rh --seeds 9 --out out".split()) == 0
    return tmp_path / "out"


def altered(folder, number):
    """Change an outcome, with a checksum that fits."""
    path = folder / "chunks" / f"{number:06}.json"
    result = json.loads(path.read_text())
    result["outcomes"][0][0][4] += 1e-9
    configuration = json.loads((folder / "configuration.json").read_text())
    study = store.digest(json.dumps(configuration).encode())
    summed = json.dumps([study, number, result["outcomes"]])
    result["sha256"] = hashlib.sha256(summed.encode()).hexdigest()
    path.write_text(json.dumps(result))


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_a_directory_is_not_changed_and_an_altered_outcome_is_found(made, capsys):
    """The altered file has a checksum that fits."""
    before = files(made)
    assert len(before) > 5
    assert output(capsys, "verify", "out", "--sample", "2").endswith(
        "out: 2 tasks run again, with identical results\n"
    )
    assert files(made) == before
    altered(made, 1)
    assert main(["verify", "out", "--sample", "100"]) == 1
    assert "task 1 gave another result (1 of " in capsys.readouterr().out


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["0abc", "7", "1\N{SUPERSCRIPT TWO}"])
def test_a_file_without_a_task_number_is_ignored(made, capsys, name):
    tasks = len(list((made / "chunks").iterdir()))
    (made / "chunks" / f"{name}.json").write_text("{}")
    assert f"out: {tasks} tasks run again, with" in output(
        capsys, "verify", "out", "--sample", "100"
    )


def test_a_file_of_no_task_is_not_a_repeated_run_and_a_missing_one_not_altered(
    made, capsys
):
    (made / "chunks" / "000777.json").write_text("{}")
    check_bad_input(
        outcome(capsys, "verify", "out", "--sample", "100"),
        ["000777.json does not belong to any task of the study"],
    )
    (made / "chunks" / "000001.json").unlink()
    check_bad_input(
        outcome(capsys, "verify", "out", "--sample", "1"), ["is not finished"]
    )


LOG = "time,seconds\n" + "".join(f"{60 * job},{30 + job % 7}\n" for job in range(150))
MARKET = "time,type,status\n" + "".join(
    f"{1800 * n},G,{('high', 'low')[n % 2]}\n" for n in range(100)
)
SMALL = "quiet jobs=30 --policies fifo,spt --seeds 2"
OF_LOG = "trace=log.csv log.submit=time log.service=seconds"
COMMANDS = (  # all that make results directories, and the sources of their scenarios
    f"compare {SMALL} --precision .5",
    f"compare rental {OF_LOG} --policies fifo --seeds 2",
    f"compare {SMALL} market=market.csv 'market.RTX 3090=G' sight=now",
    f"sweep {SMALL} slots=5,6",
    "sweep hectic name=quiet,hectic jobs=20,30 rh:reserve=1,2 --policies fifo,rh"
    " --seeds 2",
    "compare month days=1 --seeds 1 --policies fifo",
    pytest.param(
        f"advise {SMALL} spot.share=.4 spot.per_h=.2 --target wait<=1",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "papers tables thesis 5.2 --seeds 2 --workers 1", marks=pytest.mark.slow
    ),
    "compare cluster jobs=20 warm_up=0 after=0 --seeds 2",
    "sweep cluster placement=best,first jobs=20 warm_up=0 --policies fifo --seeds 2",
    "compare dag:er:n=9 --policies heft --seeds 2",
    pytest.param(
        "compare hgsp:tasks1 source.tasks=5 --policies fifo --seeds 2",
        marks=pytest.mark.slow,
    ),
    "compare llm source.requests=20 --policies fifo --seeds 2",
    "compare spot --policies greedy --seeds 2",
    "compare waiting machines=3 jobs=50 --seeds 2",
)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("line", COMMANDS)
def test_the_configuration_alone_identifies_the_runs_to_repeat(
    tmp_path, monkeypatch, capsys, line
):
    monkeypatch.chdir(tmp_path)
    for name, text in (("log.csv", LOG), ("market.csv", MARKET)):
        (tmp_path / name).write_text(text)
    assert main([*shlex.split(line), "--out", "made"]) == 0
    (tmp_path / "made").rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "manifest.json").write_text(
        json.dumps(
            {
                **json.loads((tmp_path / "elsewhere" / "manifest.json").read_text()),
                "command": "cgrsp compare hectic --out taken --policies hostile.py:f",
            }
        )
    )
    (tmp_path / "log.csv").unlink()
    (tmp_path / "market.csv").unlink()
    before = files(tmp_path)
    assert main(["verify", "elsewhere"]) == 0
    tasks = many(min(5, len([*(tmp_path / "elsewhere" / "chunks").iterdir()])), "task")
    message = f"elsewhere: {tasks} run again, with identical results"
    assert message in capsys.readouterr().out
    assert files(tmp_path) == before


OWN = """
from pathlib import Path
Path(__file__).with_name("was_run").touch()
def f(view):
    return zip(view.queue, view.idle)
"""


CASE = {"class": "cgrsp_simpy.waiting.scenario:Scenario", "order": "hostile/own.py:f"}
JOBS = {"class": "cgrsp_simpy.waiting.jobs:ExponentialJobs", "jobs": 9}
GRAPH = {"class": "cgrsp_simpy.dag.scenario:Scenario", "graph": "../secret.json"}
POPEN = {"class": "subprocess:Popen", "args": ["touch", "was_run"]}
POINTS = [[{f"x{k}": n for k in range(9)}, {}] for n in range(9)]
CHANGES = {  # entries of the configuration, and the words of the error
    "code": (
        {"policies": {"fifo": ["hostile/own.py:f", "x"]}},
        "only with --run-code",
    ),
    "code by text": (
        {"policies": {"fifo": "hostile/own.py:f"}},
        "only with --run-code",
    ),
    "code in a name": ({"scenario": {"name": "hostile/own.py:f"}}, ""),
    "code in an order": ({"scenario": CASE | {"source": JOBS}}, "only with --run-code"),
    "another class": (
        {"scenario": POPEN},
        "'subprocess:Popen', which only the script that wrote it",
    ),
    "a file outside": (
        {"scenario": GRAPH},
        "'../secret.json', which is opened only with --run-code",
    ),
    "data outside": (
        {"scenario": {"slots": {"list": 1, "data": "../../secret"}}},
        "'../../secret' is not a digest",
    ),
    "another form": (
        {"policies": [1], "scenario": {"class": {}}},
        "configuration.json is damaged",
    ),
    "an enormous grid": ({"study": "sweep", "points": POINTS}, "points(=9) must be"),
}
ADDED = ("code", "code by text", "code in a name", "data outside")  # to what is there


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        CHANGES["data outside"],
        ({"scenario": {"list": 1, "data": 3}}, "data 3 is not a digest"),
        CHANGES["an enormous grid"],
        (
            {"study": "sweep", "points": [[{"x": 1}, {}]], "seeds": [0]},
            "scenario(={}) must be a cg.Model",
        ),
    ],
)
def test_an_altered_configuration_gives_a_one_line_error(changes, words, file):
    path = file(json.dumps({"policies": {}, **changes}), "configuration.json")
    check_refused(lambda: verify(path.parent), words)


def change(folder, case):
    path = folder / "configuration.json"
    result = json.loads(path.read_text())
    for name, value in CHANGES[case][0].items():
        result[name] = result[name] | value if case in ADDED else value
    path.write_text(json.dumps(result))


def link(folder):
    outside = folder.parent / "outside"
    shutil.move(folder / "chunks", outside)
    (folder / "chunks").symlink_to(outside)


def link_to_be_written(folder):
    (folder / "rows.csv.part").symlink_to(folder.parent / "secret.json")


def pipe(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)


def half_a_file(folder):
    path = folder / "configuration.json"
    path.write_text(path.read_text()[:200])


def deep_lists(folder):
    (folder / "configuration.json").write_text("[" * 100_000)


def enormous(folder, name):
    os.truncate(folder / name, files_module.MOST_BYTES + 1)


TWO = ("chunks/000000.json", "configuration.json")
HOSTILE = {
    "a link": (link, "chunks is a link"),
    "a link to be written": (link_to_be_written, "rows.csv.part is a link"),
    **{case: (partial(change, case=case), CHANGES[case][1]) for case in CHANGES},
    "a pipe": (partial(pipe, name=TWO[0]), "000000.json is a link or not a file"),
    "a pipe of settings": (partial(pipe, name=TWO[1]), "json: not a file"),
    "half a file": (half_a_file, "configuration.json is damaged"),
    "deep lists": (deep_lists, "configuration.json is damaged"),
    **{
        name: (partial(enormous, name=name), "json: more than 268,435,456 bytes")
        for name in TWO
    },
}


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("case", HOSTILE)
def test_an_untrusted_folder_gives_a_one_line_error_and_runs_no_code(
    made, capsys, case
):
    """A directory is verified or resumed."""
    spoil, words = HOSTILE[case]
    (made.parent / "hostile").mkdir()
    (made.parent / "hostile" / "own.py").write_text(OWN)
    (made.parent / "secret.json").write_text("[1, 2]")
    spoil(made)
    before = sorted(made.parent.rglob("*"))
    capsys.readouterr()
    ended = outcome(capsys, "verify", "out", "--sample", "1")
    check_bad_input(ended, [words])
    assert "[1, 2]" not in ended[2]
    assert sorted(made.parent.rglob("*")) == before
    assert main("compare quiet --policies fifo,rh --seeds 9 --out out".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert (made.parent / "secret.json").read_text() == "[1, 2]"
    assert not (made.parent / "hostile" / "was_run").exists()


def test_a_study_of_a_function_is_verified_in_its_script(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "import cgrsp_simpy as cg\n\n@cg.model\ndef walk(env, steps=3):\n"
        "    env.run(steps)\n    return {'sum': steps}\n"
    )
    assert main("compare own.py:walk steps=2,3 --seeds 1 --out out".split()) == 0
    capsys.readouterr()
    result = outcome(capsys, "verify", "out")
    check_bad_input(
        result, ["own:walk', which only the script that wrote it can create"]
    )


def test_policies_of_files_are_run_again_if_allowed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    line = "compare quiet jobs=30 --policies own.py:f,fifo --seeds 2 --out out"
    output(capsys, *line.split())
    (tmp_path / "was_run").unlink()
    check_bad_input(
        outcome(capsys, "verify", "out"),
        ["'own.py', which is opened only with --run-code"],
    )
    assert not (tmp_path / "was_run").exists()
    assert main(["verify", "out", "--run-code"]) == 0
    assert (tmp_path / "was_run").exists()


def test_a_sample_replaces_no_file_but_is_written_twice(tmp_path, capsys):
    file = tmp_path / "log.csv"
    assert [outcome(capsys, "sample", str(file))[0] for _ in range(2)] == [0, 0]
    assert file.read_text().startswith("job,timestamp,service_s,customer\n")
    file.write_text("other")
    check_bad_input(outcome(capsys, "sample", str(file)), ["or this log"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("verify none", "none"),
        ("verify .", ""),
        *(
            (f"{verb} {'x' * 300}.csv", f"cgrsp {verb}: File name too long: xxx")
            for verb in ("verify", "sample")
        ),
    ],
    ids=["none", "another", "verify", "sample"],
)
def test_a_name_that_is_neither_results_nor_a_file_gives_a_one_line_error(
    line, words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    check_bad_input(outcome(capsys, *line.split()), [words])
