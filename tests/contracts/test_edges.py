"""Edge cases: infinite numbers, endless work, special files, policies that exit; each
ends soon, with one line.
"""

import gzip
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from support import check_bad_input, check_refused, csv_rows, outcome, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base import files
from cgrsp_simpy.base.checks import check_number, check_whole
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.table import csv_text, from_cell
from cgrsp_simpy.hgsp.instance import CLUSTERS, Instance, read_instance, write_instance
from cgrsp_simpy.papers.dag.figures import FIGURES
from cgrsp_simpy.studies.subject import subject_of

ENDLESS = "9" * 400


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    """Run a command in an empty directory; its status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    return lambda line: outcome(capsys, *line.split())


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("compare hectic --seeds 1000000000000", "1,000,000,000"),
        ("compare hectic --workers 1000000 --seeds 2", "1,024"),
        ("compare month days=1000000000000", "1,000,000,000"),
        ("compare month days=0", "days"),
        ("run cluster jobs=1000000000000", "1,000,000,000"),
        ("run cluster jobs=900000000", "--yes"),
        ("run cluster load=1e-300", "load"),
        ("run cluster cluster=1000000x8", "nodes"),
        ("run waiting machines=1000000000000 --policy ajw", "1,000,000,000"),
        ("compare waiting machines=105 jobs=900000000", "--yes"),
        ("compare waiting machines=105 --seeds 900000", "--yes"),
        ("run waiting machines=5 jobs=900000000", "--yes"),
        ("plan waiting service_s=1e18", "1,000,000 machines"),
        ("plan waiting --policies sww:wait_s=1e300", "out of range"),
        ("plan waiting service_s=1e308 --policies ajw", "1,000,000 machines"),
        ("plan waiting --policies=--", "expected one argument"),
        (
            "bound quiet --seeds 1 --bin 1e-9",
            "--bin(=1e-09) must be a number >= 0.0166667",
        ),
        ("bound quiet --seeds 1000000", "--yes"),
        (f"sample x.csv hgsp:tasks1 source.tasks={ENDLESS}", "tasks"),
        (f"sample x.csv hgsp:tasks1 source.tasks={'9' * 5000}", "tasks"),
        ("run hgsp:tasks1 source.tasks=900000000 --policy wspt", "--yes"),
        ("run hectic slots=1000000000000", "slots"),
        ("run hectic jobs=900000000", "--yes"),
        ("run dag platform.gpus=1000000", "gpus"),
        ("papers tables dag graph=er:n=8 concentration=1e308", "concentration"),
        ("papers check --seeds 1000000", "10,000"),
        ("sweep quiet slots=1000000000000", "slots"),
    ],
)
def test_an_endless_input_gives_a_one_line_error(ended, line, word):
    check_bad_input(ended(line), [word])


LONG = "(=a whole number of more than 40 digits) must be"
test_infinite_numbers_are_rejected_in_python_with_a_short_message = refusals(
    (lambda: check_number("rate", 10**400, above=0), f"rate{LONG}"),
    (lambda: check_number("rate", 10**5000, above=0), f"rate{LONG}"),
    (lambda: check_number("rate", -(10**40), above=0), f"rate{LONG}"),
    (lambda: check_number("rate", 1 - 10**40, above=0), f"rate(={1 - 10**40})"),
    (lambda: check_whole("jobs", 10**5000, least=1), f"jobs{LONG}"),
)


# ---- files ----


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.toml", f"[workload]\njobs = {'9' * 5000}\n", "run x.toml"),
        ("x.toml", f"[workload]\njobs = {ENDLESS}\nrate_per_s = 1", "run x.toml"),
        ("x.toml", f"[workload]\njobs = 3\nrate_per_s = {ENDLESS}", "run x.toml"),
        ("x.toml", "a = " + "[" * 100_000, "run x.toml"),
        ("x.toml", "a = " + "[" * 100_000, "run dag platform=x.toml"),
        ("x.toml", f"a = {'9' * 5000}", "run hgsp:tasks1 source.cluster=x.toml"),
        ("x.toml", "a = " + "[" * 100_000, "run hgsp:tasks1 source.cluster=x.toml"),
        ("x.json", "[" * 100_000, "run dag:x.json"),
        (
            "x.csv",
            f"submit_s,service_s,{'x' * 140_000}\n0,5,1\n",
            "run rental trace=x.csv",
        ),
        (
            "x.csv",
            f"name,memory_gb,{'x' * 140_000}\n0,5,1\n",
            "run hgsp:tasks1 source.cluster=x.csv",
        ),
        ("x.csv", f"submit_s,{'x' * 140_000}\n", "run hgsp instance=x.csv"),
        (
            "x.csv",
            f"name,cores,{'x' * 140_000}\n",
            "plan x.csv sizes=x.csv --limit p95=60",
        ),
        ("x.swf", "1 0 0 10 2\n", "run rental trace=x.swf log.submit=service_s"),
    ],
)
def test_an_endless_file_gives_a_one_line_error(ended, tmp_path, name, text, line):
    (tmp_path / name).write_text(text)
    status, out, err = ended(line)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert name in err
    assert len(err) < 1000


@pytest.mark.parametrize(
    "text", ["root:x:0:0:root:/root:/bin/sh\n", "hunter2\n", "KEY=a,TOP=b\n"]
)
def test_the_text_of_a_file_that_is_not_a_log_is_not_shown(ended, tmp_path, text):
    (tmp_path / "secret").write_text(text)
    (tmp_path / "x.toml").write_text('[workload]\ntrace = "secret"\n')
    status, _, err = ended("run x.toml")
    assert (status, err) == (
        2,
        "cgrsp run: x.toml: secret: line 1: no column submit_s or timestamp or time\n",
    )


# ---- policies ----

LEAVING = """import sys
class Own(BaseException): pass
def leaves(view):
    sys.exit(0)
def closes(view):
    raise GeneratorExit
def own(view):
    raise Own("stop_arrivals")
def late(view):
    for pair in zip(view.queue, view.idle):
        yield pair
    sys.exit(0)
def interrupts(view):
    raise KeyboardInterrupt
"""


@pytest.fixture
def leaving(tmp_path):
    (tmp_path / "own.py").write_text(LEAVING)


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("name", ["leaves", "closes", "own", "late"])
def test_a_policy_that_exits_gives_a_one_line_error_or_a_failed_run(
    ended, name, caplog
):
    day = "quiet jobs=9"
    check_bad_input(
        ended(f"run {day} --policy own.py:{name}"),
        [f"policy {name!r} at t = ", " raised "],
    )
    status, out, _ = ended(
        f"compare {day} --policies own.py:{name},fifo --seeds 2 --format json"
    )
    assert status == 1 and "2 of 4 runs failed; the first: own.py" in caplog.text
    assert json.loads(out)["figures"][1]["wait_min"]["n"] == 2


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("text", ["import sys; sys.exit(0)", "raise GeneratorExit"])
def test_a_file_that_exits_on_loading_gives_a_one_line_error(ended, tmp_path, text):
    (tmp_path / "own.py").write_text(text)
    check_bad_input(
        ended("compare hectic --policies own.py:leaves --seeds 1"), ["cannot be loaded"]
    )


@pytest.mark.usefixtures("leaving")
def test_an_interrupt_ends_the_command_wherever_it_comes(ended):
    status, out, err = ended(
        "compare quiet --policies fifo,own.py:interrupts --seeds 2"
    )
    assert (status, out, err) == (130, "", "cgrsp compare: interrupted\n")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("cgrsp_simpy.cli.parser_of", "cgrsp"),  # while the verb's module is loaded
        # Matplotlib's writer then fails, since it has no frame
        ("matplotlib.animation.PillowWriter.grab_frame", "cgrsp run"),
    ],
)
def test_an_interrupt_ends_the_command_in_a_library(
    ended, monkeypatch, tmp_path, function, name
):
    def interrupts(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(function, interrupts)
    assert ended("run quiet jobs=3 --show x.gif") == (130, "", f"{name}: interrupted\n")
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("leaving")
def test_advice_over_failed_runs_is_rejected(ended):
    line = "quiet jobs=9 --policies fifo,own.py:leaves --seeds 1"
    check_bad_input(
        ended(f"advise {line}"), ["own.py:leaves on 5 slots, fixed types, seed "]
    )


# ---- CSV ----


def test_a_text_in_a_csv_is_no_formula_and_a_number_stays_one():
    formulas = ["=1+1", "+x", "-x", "@sum", "\tx", "-"]
    plain = ["-1", "+1.5", "-inf", "-1e-9", "x=1", "", "'", "'x=", "fifo"]
    text = csv_text([{"name": name, "value": -1.5} for name in formulas + plain])
    cells = [row["name"] for row in csv_rows(text)]
    assert cells == [f"'{name}" for name in formulas] + plain
    assert [from_cell(cell) for cell in cells] == formulas + plain
    assert text.count(",-1.5\n") == len(formulas + plain)


def test_names_of_tasks_are_read_as_they_were_written(tmp_path):
    names = ("=a", "'b", "-1", "c")
    ones = [1.0] * 4
    made = Instance(
        ones, ones, ones, ones, ones, gpus=CLUSTERS["small"], task_names=names
    )
    write_instance(made, tmp_path / "tasks.csv")
    assert read_instance(tmp_path / "tasks.csv", CLUSTERS["small"]).task_names == names


# ---- results directories ----


@pytest.mark.slow
def test_two_processes_in_one_results_directory_give_the_files_of_one(tmp_path):
    line = "compare quiet --policies fifo,spt --seeds 12 --out"
    command = [sys.executable, "-m", "cgrsp_simpy", *line.split()]
    both = [
        subprocess.Popen(
            [*command, "both"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ends = [(*process.communicate(timeout=120), process.returncode) for process in both]
    assert [end[1:] for end in ends] == [("cgrsp: results are in both\n", 0)] * 2
    assert ends[0] == ends[1]
    cg.compare(cg.day("quiet"), ["fifo", "spt"], range(12), out=tmp_path / "one")
    there = {path.name for path in (tmp_path / "both").rglob("*")}
    assert there == {path.name for path in (tmp_path / "one").rglob("*")}
    for name in ("rows.csv", "chunks/000000.json"):
        assert (tmp_path / "both" / name).read_bytes() == (
            tmp_path / "one" / name
        ).read_bytes()


# ---- endless files ----

LONG_FILES = {  # a file of ten lines or more, and the command that reads it
    "log.csv": (
        "submit_s,service_s\n" + "1,1\n" * 20,
        "compare rental trace={} --policies fifo --seeds 1",
    ),
    "log.swf": (
        "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 -1 1 -1 -1 -1\n" * 20,
        "run cluster trace={}",
    ),
    "market.csv": (
        "time,type,status\n" + "".join(f"{1800 * n},G,high\n" for n in range(200)),
        "market report {}",
    ),
    "market.json": (
        json.dumps({"metadata": {"gap_seconds": 600}, "data": [0, 1] * 99}),
        "market report {}",
    ),
    "market_aws.json": (
        json.dumps(
            {
                "SpotPriceHistory": [
                    {"Timestamp": f"2025-01-01 10:{n}", "SpotPrice": n}
                    for n in range(10, 50)
                ]
            }
        ),
        "market report {}",
    ),
    "log.json": (
        json.dumps(
            [{"timestamp": n, "input_length": 9, "output_length": 9} for n in range(20)]
        ),
        "run llm trace={}",
    ),
    "series.csv": (
        "time,status\n" + "".join(f"{600 * n},up\n" for n in range(700)),
        "run spot trace={} hours=2 deadline=3 --policy greedy",
    ),
    "tasks.csv": (
        "workload,memory_gb,deadline_s,weight,arrival_s\n" + "9,1,99,1,0\n" * 20,
        "run hgsp instance={} --policy fifo",
    ),
    "sizes.csv": (
        "name,cores,memory_gb,price_per_h\n" + "a,4,16,1\n" * 20,
        "run waiting trace=small.csv machines=1x4x16 sizes={}",
    ),
    "platform.csv": (
        "server,tflops,memory_gb\n" + "1,9,9\n" * 20,
        "compare dag:er:n=9 platform={} --policies heft --seeds 1",
    ),
}


def read_twice(number):
    """Read a file of so many lines of one byte, and again from its beginning."""
    Path("log").write_bytes(b"\n" * number)
    with files.opened(Path("log")) as file:
        return [*file, file.seek(0), *file]


@pytest.mark.parametrize("check", [files.check_size, files.check_lines, read_twice])
def test_a_value_at_the_limit_is_allowed(check, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for limit in ("MOST_BYTES", "MOST_LINES"):
        monkeypatch.setattr(files, limit, 10)
    check(10)
    check_refused(lambda: check(11), "more than 10")


PACKED = ("log", "market", "series")  # the others are read as they are


@pytest.mark.parametrize(
    ("limit", "most", "name", "packed"),
    [
        ("MOST_BYTES", "10 bytes", "log.csv", False),
        *(("MOST_LINES", "10 lines", name, False) for name in LONG_FILES),
        *(
            pytest.param(*limit, name, packed, marks=pytest.mark.slow)
            for limit in (("MOST_LINES", "10 lines"), ("MOST_BYTES", "10 bytes"))
            for name in LONG_FILES
            for packed in (False, True)
            if not packed or name.startswith(PACKED)
        ),
    ],
)
def test_a_file_over_the_limit_is_rejected_unless_allowed(
    ended, tmp_path, monkeypatch, limit, most, name, packed
):
    text, line = LONG_FILES[name]
    (tmp_path / "small.csv").write_text("submit_s,service_s,cores,memory_gb\n1,1,1,1\n")
    content = gzip.compress(text.encode()) if packed else text.encode()
    (tmp_path / name).write_bytes(content)
    line = line.format(name)
    monkeypatch.setattr(files, limit, 10)
    check_bad_input(ended(line), [f": more than {most}", "--large-files"])
    assert ended(f"{line} --large-files")[0] == 0


# ---- invalid names ----

ESCAPES = "\x1b]0;own\x07\x1b[31mred\x9b2J\u202e"


@pytest.mark.parametrize(
    "line",
    [
        "compare rental trace=log.csv --policies fifo --seeds 1 --by user",
        "compare rental trace=log.csv --policies fifo --seeds 1 --by user --format csv",
        "compare rental trace=log.csv --policies fifo --by user\x1b[31m",
        "compare rental trace=log.csv --policies fifo,\x1b[31m.py:f",
        "compare rental trace=none\x1b[31m.csv --policies fifo",
        "compare escapes.toml --policies fifo --seeds 2",
        "run escapes.toml --policy fifo",
        "run cluster trace=log.csv --by user",
        "verify escapes\x1b[31m",
    ],
)
def test_names_are_printed_visibly(ended, tmp_path, line):
    (tmp_path / "log.csv").write_text(
        f"submit_s,service_s,gpus,user\n1,1,1,u{ESCAPES}\n"
    )
    named = subject_of(cg.day("quiet", jobs=9)).varied(name=f"day {ESCAPES}")
    named.to_toml(tmp_path / "escapes.toml")
    _, out, err = ended(line)
    # none that a terminal would obey
    categories = {unicodedata.category(char) for char in (out + err).replace("\n", "")}
    assert categories.isdisjoint(("Cc", "Cf"))
    assert "\\x1b" in out + err


# ---- where files are written ----


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (
            [
                "compare",
                "quiet",
                "--policies",
                "fifo",
                "--seeds",
                "2",
                "--out",
            ],
            "chunks",
        ),
        pytest.param(
            ["lectures", "3", "--with-answers", "--copy"],
            "answers",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["papers", "figures", "dag", "gantt", "--out"], None, marks=pytest.mark.slow
        ),
    ],
)
def test_a_step_back_in_a_path_makes_no_folder(
    words, names, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert outcome(capsys, *words, "x/../y")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["y"]
    assert names is None or (tmp_path / "y" / names).is_dir()


def test_a_step_back_from_a_link_follows_the_file_system(tmp_path):
    (tmp_path / "there" / "below").mkdir(parents=True)
    (tmp_path / "x").symlink_to(tmp_path / "there" / "below")
    write_whole(tmp_path / "x" / ".." / "y", b"1")
    assert (tmp_path / "there" / "y").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("write", "path", "words"),
    [
        *(
            (write, path, words)
            for write in (
                lambda path: cg.compare(cg.day("quiet"), ["fifo"], range(2), out=path),
                lambda path: FIGURES["gantt"].write(path, None),
            )
            for path, words in (
                ("", "must be a path, not empty (. is the current folder)"),
                ("a\0", r"(='a\x00') must be a valid file name"),
                ("\ud800", r"(='\ud800') must be a valid file name"),
            )
        ),
        (files.check_named, "a\0", r"name of a file(='a\x00') must be a valid file"),
    ],
)
def test_an_empty_or_impossible_path_is_refused(
    write, path, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    check_refused(lambda: write(path), [words])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [files.read_toml, files.content_of])
def test_a_device_without_end_is_too_large(read, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    check_refused(lambda: read(Path("/dev/zero")), "more than 1,000 bytes")
