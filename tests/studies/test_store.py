"""Results directories: their files, resuming, and refusals. Interruption, damage and
loss in any order are in tests/contracts/test_results_directory.py.
"""

import errno
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from math import isnan
from pathlib import Path

import pytest
from studies.directories import compared, files, refused
from support import CGRSP, check_bad_input, outcome, output, process

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.studies import store
from cgrsp_simpy.studies.store import Store

NAN, INF = float("nan"), float("inf")
posix = pytest.mark.skipif(
    os.name != "posix", reason="signals, groups and limits are those of POSIX"
)


def swept(
    out=None,
    policies=("fifo", "rh"),
    seeds=range(3),
    scenario=cg.day,
    name="quiet",
    **grid,
):
    grid = {"name": name, "slots": [2, 3], "rh:reserve": [0, 1], **grid}
    return cg.sweep(scenario, grid, policies, seeds, out=out)


def over_months(
    out=None, mix=None, policies=("fifo", "spt"), days=4, replications=3, **more
):
    mix = mix or {"quiet": 0.75, "normal": 0.25}
    return cg.compare(
        cg.month(mix, days, **more), policies, range(replications), out=out
    )


precise = partial(compared, scenario=cg.day("hectic", 2, jobs=6), precision=0.1)
STUDIES = {
    # the last task repeats the first run of the user's policy
    "compare": partial(
        compared, policies=["fifo", lambda v: zip(v.queue, v.idle)], seeds=range(7)
    ),
    "precision": precise,
    "sweep": swept,
    "month": over_months,
}
each_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    """Each study is cut into several tasks, and so into several files."""
    monkeypatch.setattr("cgrsp_simpy.studies.replicate.TASK_S", 0.004)


def times(folder):
    """When each finished task was written."""
    return {
        path.name: path.stat().st_mtime_ns
        for path in (folder / "chunks").glob("*.json")
    }


# ---- content ----


@pytest.mark.quick_cases(2)
@each_study
def test_the_files_of_a_study(study, tmp_path):
    result = study(tmp_path / "results")
    contents = files(tmp_path / "results")
    names = set(contents)
    chunks = {name for name in names if name.startswith("chunks/")}
    assert chunks == {f"chunks/{number:06}.json" for number in range(len(chunks))}
    assert len(chunks) > 2
    others = {"configuration.json", "manifest.json", "rows.csv", "summary.json"}
    assert names - chunks == others
    assert csv_text(result.rows) == csv_text(
        study().rows
    )  # a directory changes nothing
    result.to_csv(tmp_path / "rows.csv")
    result.to_json(tmp_path / "summary.json")
    for name in ("rows.csv", "summary.json"):
        assert contents[name] == (tmp_path / name).read_bytes()
    assert study is not precise or len(result.seeds) > 5


def test_the_manifest_records_versions_seeds_and_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["study.py", "two wörds"])
    compared(tmp_path, seeds=[5, 3, 8])
    manifest = {
        "versions": {
            "Python": platform.python_version(),
            "cgrsp_simpy": f"{version('cgrsp_simpy')}, source {store.source_digest()}",
            **{name: version(name) for name in ("simpy", "numpy", "scipy")},
        },
        "seeds": [5, 3, 8],
        "command": shlex.join(["study.py", "two wörds"]),
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    assert (tmp_path / "manifest.json").read_text("utf-8") == text + "\n"


def test_outcomes_survive_a_round_trip(tmp_path):
    there = Store(tmp_path, {}, [0], {})
    outcomes = [
        [[6, 1, 0, 0, 0.1 + 0.2, 1e-300, 1 / 3, INF, 2.0**60], ["“x”"]],
        [{"a": -INF, "b": 1 / 3}],
    ]
    there.save(7, outcomes)
    there.save(8, [[{"a": NAN, "error": "no"}]])
    assert Store(tmp_path, {}, [0], {}).load(7, [2, 1]) == outcomes
    assert there.load(6, [2, 1]) is None
    [[result]] = there.load(8, [1])
    assert (isnan(result["a"]), result["error"]) == (True, "no")
    assert not [
        word
        for word in ("NaN", "Infinity")
        if word in (tmp_path / "chunks" / "000008.json").read_text()
    ]


@pytest.mark.parametrize(
    "line",
    [
        "compare quiet --policies fifo,spt --seeds 3",
        "sweep quiet slots=2,3 --policies fifo --seeds 3",
        "compare month days=2 --seeds 3 --policies fifo",
    ],
)
def test_each_command_keeps_and_resumes(line, tmp_path, capsys, caplog, runs):
    caplog.set_level("INFO")
    argv = [*line.split(), "--out", str(tmp_path / "results")]
    first, kept, done = output(capsys, *argv), files(tmp_path / "results"), len(runs)
    assert {"rows.csv", "summary.json"} <= set(kept)
    assert caplog.messages == [f"results are in {tmp_path / 'results'}"]
    assert (output(capsys, *argv), files(tmp_path / "results"), len(runs)) == (
        first,
        kept,
        done,
    )
    assert output(capsys, *line.split()) == first


# ---- resuming ----


@pytest.mark.quick_cases(1)
@each_study
def test_only_missing_runs_are_repeated(study, tmp_path, runs):
    study(tmp_path)
    kept, written, done = files(tmp_path), times(tmp_path), len(runs)
    study(tmp_path)
    assert (files(tmp_path), times(tmp_path), len(runs)) == (kept, written, done)
    removed = sorted((tmp_path / "chunks").iterdir())[::2]
    for path in [*removed, tmp_path / "rows.csv", tmp_path / "summary.json"]:
        path.unlink()
    runs.clear()
    study(tmp_path)
    assert 0 < len(runs) < done
    assert files(tmp_path) == kept
    left = {
        name: written[name]
        for name in written
        if name not in {path.name for path in removed}
    }
    assert left.items() <= times(tmp_path).items()


# ---- another study ----


OTHERS = [
    # (the study that made the directory, one that differs, what the line must name)
    (
        compared,
        partial(compared, scenario=cg.day("quiet", 4)),
        ["scenario.slots", "list of 5, "],
    ),
    (
        compared,
        partial(compared, scenario=cg.day("quiet", jobs=7)),
        ["scenario.workload.jobs", " 6", " 7"],
    ),
    (
        compared,
        partial(compared, scenario=cg.day("quiet", 5, 0.3)),
        ["scenario.workload.deadlines.tight_fraction", "0.2", "0.3"],
    ),
    (
        compared,
        partial(compared, scenario=cg.day("quiet", clock="printed")),
        ["scenario.market.clock"],
    ),
    (compared, partial(compared, policies=("fifo",)), ["policies", "spt"]),
    (
        compared,
        partial(compared, policies=("spt", "fifo")),
        ["policies", '"fifo", "spt"', '"spt", "fifo"'],
    ),
    (
        partial(compared, policies=("rh:reserve=1",)),
        partial(compared, policies=("rh:reserve=2",)),
        ["policies", "reserve"],
    ),
    (
        compared,
        partial(compared, seeds=range(6)),
        ["seeds", "[0, 1, 2, 3, 4]", "[0, 1, 2, 3, 4, 5]"],
    ),
    (compared, partial(compared, seeds=range(1, 6)), ["seeds[0]", " 0", " 1"]),
    (
        partial(compared, precision=0.9),
        partial(compared, precision=0.8),
        ["precision.wait_min", "0.9", "0.8"],
    ),
    (over_months, swept, ["study", '"compare"', '"sweep"']),
    (swept, partial(swept, slots=[2, 4]), ["points", "slots", " 3", " 4"]),
    (swept, partial(swept, slots=[3, 2]), ["points", "slots"]),
    (
        swept,
        partial(swept, **{"rh:reserve": [0, 2]}),
        ["points", "rh:reserve", " 1", " 2"],
    ),
    (
        swept,
        partial(swept, scenario=partial(cg.day, tight_fraction=0.5)),
        ["deadlines.tight_fraction"],
    ),
    (
        over_months,
        partial(over_months, mix={"quiet": 0.5, "normal": 0.5}),
        ["mix.quiet", "0.75", "0.5"],
    ),
    (over_months, partial(over_months, days=5), ["days", " 4", " 5"]),
    (
        partial(over_months, scenario=partial(cg.day, slots=5)),
        partial(over_months, scenario=partial(cg.day, slots=4)),
        ["scenarios.quiet.slots", "list of 5, "],
    ),
]


@pytest.mark.parametrize(("study", "other", "words"), OTHERS)
def test_another_study_is_rejected_with_the_field_that_differs(
    study, other, words, tmp_path
):
    study(tmp_path)
    before = files(tmp_path)
    refused(
        partial(other, tmp_path),
        str(tmp_path),
        "created with",
        "use another directory",
        *words,
    )
    assert files(tmp_path) == before


MANY = {"a": "x" * 58, "b": [1, [2, 3]]}


@pytest.mark.parametrize(
    ("here", "message"),
    [
        ({"a": 1}, f"with a {json.dumps('x' * 58)}, not 1"),
        ({"a": "x" * 59}, f', not "{"x" * 59}...; use'),
        ({"a": "é"}, 'not "é"; use'),
        ({"b": [1, [2, 4]]}, "with b[1][1] 3, not 4"),
        ({"b": [1, 2]}, "with b[1] [2, 3], not 2"),
        ({"b": [0] * 20}, f"not [{', '.join('0' * 20)}]; use"),
        (
            {"b": [10, *[0] * 19]},
            f"not a list of 20, [10{', 0' * 9}... 0, 0, 0, 0, 0]; use",
        ),
        ({"a": {"c": 1}}, 'not {"c": 1}; use'),
        ({"c": 1}, "with c null, not 1"),
    ],
)
def test_the_difference_of_another_study_is_shown_in_short(here, message, tmp_path):
    Store(tmp_path, MANY, [0], {})
    refused(partial(Store, tmp_path, MANY | here, [0], {}), message)


# ---- another log, other versions, other files ----


@pytest.mark.parametrize(
    "changed",
    [
        "submit_s,service_s\n0,5\n10,60\n",  # other seconds of service
        "submit_s,service_s,gpus\n0,5,2\n10,6,1\n",  # wider jobs
    ],
)
def test_a_changed_log_is_rejected(tmp_path, file, changed):
    log = file("submit_s,service_s\n0,5\n10,6\n", "log.csv")
    compared(tmp_path / "results", cg.trace(log))
    log.write_text(changed)
    refused(
        lambda: compared(tmp_path / "results", cg.trace(log)), "use another directory"
    )


def test_a_folder_with_other_files_is_rejected_and_not_changed(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused(partial(compared, tmp_path), str(tmp_path), "notes.txt", "empty directory")
    assert files(tmp_path) == {"notes.txt": b"mine"}
    # and no empty folder
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_chunks_without_a_configuration_are_never_another_studys_results(tmp_path):
    compared(tmp_path, cg.day("quiet", 1))
    # ended early, and a damaged configuration removed
    for name in ("configuration.json", "rows.csv", "summary.json"):
        (tmp_path / name).unlink()
    refused(
        partial(compared, tmp_path),
        str(tmp_path),
        "no configuration.json",
        "empty directory",
    )


# ---- damage ----

PYTHON, NUMPY = platform.python_version(), version("numpy")
DAMAGE = [  # a file, its content or an edit of it, and what the line says
    *(
        ("manifest.json", text, ["damaged"])
        for text in ("", "{", "[]", "{}", "[" * 10**5)
    ),
    *(("configuration.json", text, ["damaged"]) for text in ("", "{", "[" * 9999)),
    *(("configuration.json", text, ["created with"]) for text in ("[]", "{}")),
    *(("chunks/000000.json", text, ["damaged"]) for text in ("", "[]", "{}", "3")),
    *(  # other versions
        (
            "manifest.json",
            lambda text, name=name, now=now: re.sub(
                f'("{name}": )"{now}"', r'\1"0.0.9"', text
            ),
            [f"version of {name}", '"0.0.9"', f'"{now}"', "use another directory"],
        )
        for name, now in (("Python", PYTHON), ("numpy", NUMPY))
    ),
]


@pytest.mark.parametrize(("name", "text", "words"), DAMAGE)
def test_an_altered_file_gives_a_one_line_error(name, text, words, tmp_path):
    compared(tmp_path)
    path = tmp_path / name
    path.write_text(text(path.read_text()) if callable(text) else text)
    before = files(tmp_path)
    refused(partial(compared, tmp_path), str(tmp_path), *words)
    assert files(tmp_path) == before


# ---- nowhere to write ----


@pytest.mark.parametrize(
    "where",
    ["file/results", "/proc/nowhere/results", "x" * 300],
    ids=lambda it: it[:24],
)
def test_an_unwritable_path_gives_a_one_line_error(
    where, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    line = ["compare", "quiet", "--seeds", "2", "--out", where]
    check_bad_input(outcome(capsys, *line), ["cgrsp compare: ", where[:40]])
    assert files(tmp_path) == {"file": b"mine"}


def test_a_file_in_place_of_the_chunks_gives_a_one_line_error(tmp_path):
    compared(tmp_path)
    shutil.rmtree(tmp_path / "chunks")
    (tmp_path / "chunks").write_text("mine")
    refused(partial(compared, tmp_path), str(tmp_path / "chunks"))


def limited():
    """No file may grow beyond 8000 bytes: configuration and manifest fit, the rows of
    300 runs do not.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


@pytest.mark.slow
@posix
@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["here", "2 workers"])
def test_a_file_that_cannot_grow_ends_the_command_with_one_line(tmp_path, workers):
    command = [
        *CGRSP,
        *"compare quiet --policies fifo,spt --seeds 150 --out results".split(),
        *workers,
    ]
    options = {
        "cwd": tmp_path,
        "capture_output": True,
        "text": True,
        "check": False,
        "timeout": 60,
    }
    done = subprocess.run(
        command,
        preexec_fn=limited,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        **options,
    )
    assert (done.returncode, done.stdout) == (2, "")
    path, why = Path("results", "chunks", "000000.json"), os.strerror(errno.EFBIG)
    messages = [
        line
        for line in done.stderr.splitlines()
        if line != "cgrsp: results are in results"
    ]
    assert messages == [f"cgrsp compare: {path}: {why}"]
    assert set(files(tmp_path)) == {
        "results/configuration.json",
        "results/manifest.json",
    }
    done = subprocess.run(command, **options)  # the limit is gone
    assert done.returncode == 0
    assert (tmp_path / "results" / "rows.csv").stat().st_size > 2500


# ---- a sudden end ----

KILLED = "compare hectic --policies fifo,spt,rh --seeds 24 --workers 2 --out results"


def killed(folder, enough):
    """A command that is killed as soon as so many tasks are finished; its workers end
    by themselves.
    """
    command = subprocess.Popen(
        [*CGRSP, *KILLED.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + 60
        while (
            not enough(len(list(folder.glob("results/chunks/*.json"))))
            and time.monotonic() < until
        ):
            assert command.poll() is None, "it ended before it was killed"
            time.sleep(0.002)
    finally:
        command.kill()
    # the workers have the same stderr: its end shows that none is left
    assert command.communicate(timeout=20) and command.returncode == -signal.SIGKILL


def finished(folder):
    done = process([*CGRSP, *KILLED.split()], folder)
    assert (done.returncode, done.stderr) == (0, "cgrsp: results are in results\n")
    return done.stdout


@pytest.mark.slow
@posix
def test_a_killed_study_resumes_to_bit_identical_files(tmp_path):
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    stopped.mkdir()
    whole.mkdir()
    killed(stopped, enough=lambda tasks: tasks >= 2)
    left = times(stopped / "results")
    again, once = finished(stopped), finished(whole)
    kept = files(whole)
    assert 2 <= len(left) < len(times(whole / "results"))  # it was not finished
    assert again == once
    # the command in manifest.json, too: it is the same one in another folder
    assert files(stopped) == kept
    # what was finished was not made again
    assert left.items() <= times(stopped / "results").items()
    assert json.loads(kept["results/manifest.json"])["command"].endswith(f" {KILLED}")


def test_a_checkout_and_a_wheel_with_the_lectures_record_the_same_source(
    tmp_path,
):
    package = Path(cg.__file__).parent
    copy = tmp_path / "cgrsp_simpy"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "lectures").mkdir(exist_ok=True)
    (copy / "lectures" / "09_new.py").write_text("print()\n")
    (copy / "cli" / "run.py").write_text("")
    assert store.source_digest(copy) == store.source_digest(package)
    with (copy / "base" / "market.py").open("a") as file:
        file.write("# changed\n")
    assert store.source_digest.__wrapped__(copy) != store.source_digest(package)
