"""Help, and errors on one line that use the current names."""

import os
import random
import re
import shlex
import subprocess
from pathlib import Path
from shutil import which

import pytest
from support import CGRSP, check_bad_input, outcome, output

from cgrsp_simpy.base.files import MOST_BYTES
from cgrsp_simpy.cli import VERBS, overview, parser_of
from cgrsp_simpy.cli.parameters import SOURCE_WORDS
from cgrsp_simpy.cli.scenarios import MARKET_WORDS, Worded
from cgrsp_simpy.studies.subject import subject_of

REFUSED = {  # a command -> the content of its error line
    # names
    "compar hectic": ["unknown verb 'compar'", "mean 'compare'"],
    "compare hectik": ["unknown scenario 'hectik'", "mean 'hectic'"],
    "compare hectic:x": ["unknown scenario 'hectic:x'"],
    "compare hectic slotz=4": ["unknown parameter 'slotz'", "mean 'slots'"],
    "compare waiting machine=4": ["unknown parameter 'machine'", "'machines'"],
    "run hectic --policy fifoo": ["unknown policy 'fifoo'", "mean 'fifo'"],
    "run hectic --policy rh:reserv=2": ["'reserv'", "mean 'reserve'"],
    "compare rental trace=none.csv log.nodez=x": [
        "unknown parameter 'log.nodez'; did you mean 'log.nodes'?"
    ],
    "compare hectic latitude=4": [
        "unknown parameter 'latitude' (closest of 43: workload, tight_window_s, "
    ],
    "compare .": ["scenario(='.')", "not a folder"],
    "compare none.toml": ["none.toml", "No such file"],
    "compare none.py:shop": ["'none.py' does not exist"],
    "compare rental": ["given together with trace=LOG"],
    "compare hgsp:tasks9": ["tasks9"],
    "compare dag:tree": ["tree"],
    # words and options confused with each other
    "compare hectic seeds=3": ["seeds is an option: --seeds 3"],
    "run hectic --policies fifo": ["did you mean '--policy'?"],
    "compare": ["required: SCENARIO (see"],
    "sample log.swf": ["ends in .csv"],
    # forms and values
    "compare hectic slots": ["parameter(='slots')", "name=value"],
    "compare hectic slots=": ["parameter(='slots=')", "name=value"],
    "compare hectic slots=4 slots=5": ["slots=5", "given only once"],
    "compare hectic warm_s=1 terms.warm_s=2": ["terms.warm_s is given twice"],
    "compare hectic slots=0": ["slots(=0)", "whole number >= 1"],
    "compare hectic slots=x": ["slots(='x')", "whole number >= 1"],
    "compare hectic jobs=1.5": ["jobs(=1.5)", "whole number"],
    "compare hectic free_types=perhaps": ["free_types", "true or false"],
    "compare hectic tight_fraction=2": ["tight_fraction(=2)", "from 0 to 1"],
    "compare hectic terms.warm_s=-1": ["warm_s(=-1)", ">= 0"],
    "compare hectic terms.warm_s=1min": ["warm_s(='1min')", "only the number, in s"],
    "compare hectic gpus=2024": ["unknown gpus '2024'", "thesis, 2025"],
    "compare hectic gpus.memory_gb=0.5 gpus=none.csv": ["none.csv", "No such file"],
    "compare month mix.quiet=0.5": ["mix", "sum to 1 (here 1.3)"],
    "compare cluster cluster=8": ["cluster(='8')", "numbers of nodes"],
    "compare cluster cluster=x8": ["cluster(='x8')", "numbers of nodes"],
    "compare cluster cluster=8xa": ["cluster(='8xa')", "numbers of nodes"],
    "compare cluster cluster=100001x8": ["number of nodes(=100001)", "at most 100,000"],
    "compare cluster cluster.sizes=4x8": ["sizes(='4x8')", "use cluster=4x8"],
    "compare waiting machines=3x": ["machines(='3x')"],
    "compare llm steps=none.csv": ["none.csv", "No such file"],
    "compare hectic --seeds 0": ["--seeds", "0"],
    "compare hectic --seeds 5:3": ["--seeds(='5:3')", "TO above FROM"],
    "compare hectic --workers 0": ["--workers(=0)"],
    "compare hectic --precision x": ["--precision", "'x'"],
    "compare hectic --format xml": ["--format", "'xml'"],
    "compare hectic --format jsn": ["'jsn'", "did you mean 'json'?"],
    "run hectic --seed -1": ["--seed(=-1)"],
    "run": ["arguments are required: SCENARIO (see"],
    "papers": ["arguments are required: ACTION (see"],
    "advise hectic prices.nope=2": [
        "unknown parameter 'prices.nope'",
        "prices.price_miss",
    ],
    "parameters hectic --out .": ["--out(='.')", ".toml"],
    "parameters hectic --out a.json": ["--out(='a.json')", ".toml"],
    # several values
    "compare hectic slots=4,5": ["slots=4,5", "cgrsp sweep hectic slots=4,5"],
    "run hectic slots=4,5": ["one value for run"],
    "sweep hectic slots=4": ["needs a parameter with several values"],
    "sweep hectic slots=4,4": ["values of slots", "different"],
    "sweep hectic rh:reserve=0,1 --policies fifo": ["'rh'", "fifo"],
    "compare hectic rh:reserve=1": ["parameter(='rh:reserve')", "--policies"],
    # without effect
    "compare hectic trace=a.csv": ["parameter(='trace')", "rental trace=LOG"],
    "compare month:x": ["unknown scenario 'month:x'"],
    "compare hgsp:": ["scenario(='hgsp:')"],
    "compare own.py": ["scenario(='own.py')", "FILE.py:NAME"],
    "compare waiting log.format=csv": [
        "log.format",
        "given only together with trace=LOG",
    ],
    "run hectic terms.restart_s=9": [
        "terms.restart_s is used only by preemption_per_h"
    ],
    "run hgsp moves=9 --policy greedy": ["moves", "omitted unless search runs"],
    "run dag:er:n=9 budget=9 --policy heft": ["budget", "omitted unless one"],
    "compare hectic --by user --out x": ["--out must be omitted if --by is given"],
    "compare cluster --gap --seeds 2": ["--gap", "rented slots"],
    "run hectic --policy fifo,spt": ["--policy(='fifo,spt')", "one, or two"],
    "run hectic --policy fifo,spt --by user --show a.html": [
        "--policy(='fifo,spt')",
        "and without --by",
    ],
    "run hectic --show a.avi": ["--show(='a.avi')", ".png"],
    "run hectic --show a.swf": ["only runs of cluster"],
    **{
        f"run hectic --show events --format {form}": [
            f"--format(='{form}') must be omitted if --show events is given"
        ]
        for form in ("json", "csv")
    },
    "run hectic --show step --format csv": ["--format(='csv')", "--show step"],
    "run hectic --show a.png --show a.png": ["--show(='a.png,a.png')", "different"],
    "parameters hectic --schema --format csv": ["--format(='csv')", "--schema"],
    "papers tables thesis slots=3": ["parameter(='slots') must be omitted"],
    "advise hectic --target miss<=1,miss<=2": ["'miss<=1,miss<=2'", "different"],
    "advise hectic --target wait<=3%": ["target(='wait<=3%')", "without %"],
    "bound cluster": ["scenario(='cluster')", "rental with trace=LOG"],
    "bound hectic prices.price_miss=2": ["requires --objective cost"],
    "bound hectic jobs=3 --clairvoyant --bin 5 --seeds 1": ["--bin must be omitted if"],
    "bound hectic --clairvoyant --frontier": ["--clairvoyant must be omitted"],
    "advise hectic spot.share=.4": ["spot.share=.4 spot.per_h=.2"],
    "bound hectic jobs=3 prices.price_miss=1,2 --objective cost --seeds 1": [
        "prices.price_miss(='1,2') must be one value"
    ],
    "plan waiting slots=4": ["unknown parameter 'slots'"],
    "plan waiting order=sjf": ["parameter of a plan(='order')"],
    "plan waiting machines=3 --objective total": ["--objective must be omitted if"],
    "plan waiting --limit p95=600": ["--limit must be omitted: plans by formula"],
    "plan waiting errors.wait_under=1": ["of ajw(='wait_under=1') must be none"],
    "compare waiting instance=a.csv": ["unknown parameter 'instance'", "trace"],
    "sweep hgsp:tasks1 trace=a.csv": ["unknown parameter 'trace'", "orlib"],
    "run quiet --seed 1.5": ["--seed: '1.5' must be a whole number"],
    "papers list --style font.size=9": ["--style must be omitted with list"],
    "plan a.csv machine=3 machine=4 --limit p95=600": ["machine(='3 and 4')", "once"],
    "plan waiting --duration 0": ["--duration(=0.0)", "> 0"],
    "plan waiting --policies ajw,ajw": ["--policies(='ajw,ajw')", "different names"],
    "lectures 1 --copy x --slides x": ["not allowed with argument --copy"],
    "plan waiting trace=a.csv": ["trace=a.csv", "omitted: plans by formula"],
    "plan waiting machines=3x4": ["machines(='3x4')", "a number"],
    "plan a.csv machines=3 --limit p95=600": ["machines=3", "machine=CORES"],
    "parameters month --out a.toml": ["'month'", "whose scenarios can be files"],
    "parameters month --schema": ["'month'", "whose scenarios can be files"],
    "market report none.csv": ["none.csv", "No such file"],
    # the stem of files may be the name of a folder
    f"market report none.csv --out {Path(__file__).parent}": ["No such file"],
    "replay none.swf": ["none.swf", "No such file"],
    "forecast none.json slots=3": ["parameters(='slots=3')", "omitted if a state"],
    "sample x.csv cluster": ["hgsp:LEVEL"],
    "sample x.csv --seed 3": ["--seed(=3)", "hgsp"],
    # options and words, before a log is read
    "plan none.csv --limit p95=600 --growth -2": ["--growth(=-2.0)", "> -1"],
    "plan none.csv --limit p95=600 --seed -2": ["--seed(=-2)", "number >= 0"],
    "plan none.csv --limit p95=600 --policies nope": ["waiting policy 'nope'"],
    "plan none.csv --limit p95=600 --policies ajw,ajw": ["--policies(='ajw,ajw')"],
    "plan none.csv --budget 0": ["--budget(=0.0)", "> 0"],
    "plan none.csv --budget 9 order=sjf": ["parameter of a plan(='order')"],
    "plan none.csv --budget 9 prices.on_demand=-3": ["on_demand price(=-3)"],
    "replay none.csv --policies nope": ["unknown scheduler 'nope'"],
    "replay none.csv --what-if nodes=x": ["what-if nodes(='x')"],
    "forecast none.csv --policies easy:depth=x": ["depth(='x')", "whole number"],
    "forecast none.json --later 0": ["--later(=0.0)", "> 0"],
    "bound rental trace=none.csv --frontier --policies nope": ["policy 'nope'"],
    "bound rental trace=none.csv --objective cost prices.price_miss=-1": ["price_miss"],
    "advise rental trace=none.csv --policies nope": ["unknown policy 'nope'"],
    "run cluster trace=none.csv --policy nope": ["unknown scheduler 'nope'"],
    "compare llm trace=none.csv --policies nope": ["policy 'nope'"],
    "sweep rental trace=none.csv slots=4,5 --policies nope": ["policy 'nope'"],
    "advise rental trace=none.csv --load 0": ["--load(=0.0)", "> 0"],
    "advise rental trace=none.csv --budget inf": ["--budget(=inf)", "> 0"],
    "advise rental trace=none.csv spot.share=-1 spot.per_h=1": ["instances(=-1)"],
    "run rental trace=none.csv --show a.avi": ["--show(='a.avi')"],
    "step rental trace=none.csv --html a.html --steps 0": ["steps(=0)"],
    "compare rental trace=none.csv --by user --gap": ["--gap must be omitted"],
    "verify none --sample 0": ["--sample(=0)", ">= 1"],
    # before a run
    "run month days=300 --show a.png": ["not a single simulation"],
    "run quiet --show events --show step": ["(='events,step') must be"],
    "verify nowhere": ["nowhere is not a results directory"],
    "lectures 99": ["unknown lecture '99'"],
    "app --port 65536": ["--port(=65536) must be at most 65,535"],
    "app --port 0": ["--port(=0) must be "],
    # places to write to, before logs are read or anything is computed
    **{
        line: ["/dev/null is not a directory"]
        for line in (
            "plan none.csv --limit p95=600 --out /dev/null/x",
            "compare rental trace=none.csv --out /dev/null/x",
            "sweep rental trace=none.csv slots=4,5 --out /dev/null/x",
            "advise rental trace=none.csv --report /dev/null/x",
            "bound rental trace=none.csv --frontier --report /dev/null/x",
            "market report none.csv --out /dev/null/x",
            "market fit none.csv --out /dev/null/x.toml",
            "papers figures waiting trace=none.csv --out /dev/null/x",
            "papers all --out /dev/null/x",
            "papers tables thesis none --out /dev/null/x",
            "step rental trace=none.csv --html /dev/null/x.html",
            "run quiet --show events --show /dev/null/x.png",
            "lectures 99 --slides /dev/null/x",
            "lectures --browser /dev/null/x --pyodide none",
        )
    },
    # styles
    **{
        f"papers figures thesis 3.1 --style {style}": words
        for style, words in {
            "font.size=abc": ["font.size(='abc')", "allows, such as 10.0"],
            "font.sise=9": ["unknown setting of style 'font.sise'", "'font.size'?"],
            "font.size=8,font.size=9": ["font.size=8", "different settings"],
            "pgf=maybe": ["pgf(='maybe') must be yes or no"],
        }.items()
    },
    "papers all --out x --style font.size=abc": ["font.size(='abc')"],
    # values of thousands of characters
    **{
        line.replace("X", 5000 * "x"): ["x" * 150 + "...x"]
        for line in (
            "X",
            "run X",
            "run X.py:shop",
            "run quiet X=1",
            "run quiet --format X",
            "run quiet --policy rh:X",
            "compare quiet --seeds X",
            "advise quiet --load X",
            "plan X --limit p95=600",
            "papers figures thesis 3.1 --out X",
        )
    },
    # parameters as options, and verbs behind scenarios
    "compare --slots 7 hectic": [
        "unrecognized arguments: --slots; parameters are written as NAME=VALUE"
    ],
    "compare hectic --seedz 4": ["mean '--seeds'"],
    "waiting run machines=104": [
        "unknown verb 'waiting'; the scenario follows the verb"
    ],
    "--version x": ["arguments(='x') must be omitted with --version"],
    "--help run hectic": ["arguments(='run hectic') must be omitted with --help"],
    "--completion bash x": ["arguments(='x') must be omitted with --completion"],
    "--format json compare hectic": ["options follow the verb"],
}


def test_invalid_calls_give_a_one_line_error_and_leave_no_files(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for line, words in REFUSED.items():
        check_bad_input(outcome(capsys, *line.split()), words)
        assert not [*tmp_path.iterdir()], line


@pytest.mark.slow
def test_a_style_with_which_nothing_can_be_drawn_is_refused(capsys, tmp_path):
    line = f"papers figures thesis 3.1 --style image.cmap=x --out {tmp_path}"
    check_bad_input(outcome(capsys, *line.split()), ["style(={'image.cmap': 'x'})"])


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_is_complete_in_80_columns(verb):
    text = parser_of(verb).format_help() if verb else overview()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith(("...", "…"))] or not verb
    assert "{" not in text  # a placeholder that nothing has filled
    assert all(name in overview() for name in VERBS)
    assert not verb or f"{MOST_BYTES // 2**20} MiB" in " ".join(text.split())


def test_there_are_at_most_80_options_and_words_except_parameters():
    helps = [parser_of(verb).format_help() for verb in VERBS]
    options = {
        name for text in helps for name in re.findall(r"(?m)^ +(--[\w-]+)", text)
    }
    words = {
        *MARKET_WORDS,
        *(word for known in SOURCE_WORDS.values() for word in known),
    }
    assert len(options) > 40 and len(options | words) <= 80


# ---- 300 commands at random ----

SCENARIOS = (
    "quiet",
    "month",
    "waiting",
    "cluster",
    "hgsp",
    "llm",
    "dag:er:n=9",
    "spot",
)
VALUES = ("0", "-1", "1", "2", "x", "nan", "inf", "1e300", "", "true", "a+b", "1,2")
OPTIONS = (
    "--policies fifo",
    "--policy fifo",
    "--policies x",
    "--seeds 1",
    "--seeds x",
    "--seed 1",
    "--format json",
    "--format latex",
    "--gap",
    "--by x",
    "--slots 4",
    "--show events",
    "--precision 0.9",
)
SMALL = {
    "quiet": "jobs=3",
    "month": "days=1 jobs=2",
    "waiting": "jobs=30 machines=105",
    "cluster": "jobs=3 warm_up=0 after=0",
    "hgsp": "source.tasks=3",
    "llm": "source.requests=3",
    "dag:er:n=9": "budget=3",
    "spot": "hours=1 deadline=2",
}


def drawn(rng):
    name = rng.choice(SCENARIOS)
    verb = rng.choice(("run", "compare", "sweep", "parameters", "policies", "bound"))
    known = [*subject_of(Worded(name, []).scenario).parameters]
    words = [
        f"{rng.choice(known)}={rng.choice(VALUES)}" for _ in range(rng.randrange(3))
    ]
    rest = rng.choice((SMALL[name], SMALL[name], ""))
    options = rng.sample(OPTIONS, rng.randrange(3))
    seeds = "--seeds 2" * (verb in ("compare", "sweep") and not options)
    line = " ".join([verb, name, *words, rest, *options, seeds])
    return line if rest else f"{line} --seedz"


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=[pytest.mark.slow] * (part > 0)) for part in range(10)],
)
def test_random_commands_end_in_order(part, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(part)
    for _ in range(30):
        line = drawn(rng)
        status, out, err = outcome(capsys, *line.split())
        assert status in (0, 1, 2), line
        assert status != 2 or re.fullmatch(
            r"cgrsp[^\n]*\n", err.splitlines(True)[-1]
        ), line
        assert status != 2 or not out, line
        assert "Traceback" not in out + err, line


COMPLETION = """
. ./completion
for COMP_LINE in "cgrsp compare hectic sl" "cgrsp run quiet jobs=3 rate" \\
    "cgrsp compare dag:er:n=9 platform.g" "cgrsp plan log.csv prices.f" \\
    "cgrsp replay log.csv plac" "cgrsp compare hectic --se" "cgrsp comp"; do
  read -ra COMP_WORDS <<<"$COMP_LINE"
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMPREPLY=()
  _cgrsp
  echo "${COMPREPLY[@]}"
done
complete -p cgrsp
"""


@pytest.mark.slow
@pytest.mark.skipif(which("bash") is None, reason="needs bash")
def test_bash_completes_verbs_options_and_words_of_a_scenario(tmp_path, file, capsys):
    pytest.importorskip("shtab")
    (tmp_path / "completion").write_text(output(capsys, "--completion", "bash"))
    program = file(f'#!/bin/sh\nexec {shlex.join(CGRSP)} "$@"\n', "cgrsp")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", COMPLETION],
        env={**os.environ, "PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    *replies, registered = done.stdout.splitlines()
    assert replies == [
        "slots=",
        "rate_per_s=",
        "platform.gpus=",
        "prices.fixed=",
        "placement=",
        "--seeds",
        "compare",
    ]
    assert registered.split()[-3:] == ["-F", "_cgrsp", "cgrsp"]


@pytest.mark.slow
def test_a_shell_without_completion_is_rejected(capsys):
    pytest.importorskip("shtab")
    check_bad_input(outcome(capsys, "--completion", "dos"), ["--completion", "'dos'"])


@pytest.mark.parametrize(
    ("verb", "option", "number"),
    [
        ("run", "--seed", "0"),
        ("step", "--steps", "200"),
        *((verb, "--seeds", "10") for verb in ("compare", "sweep")),
        ("advise", "--seeds", "20"),
        ("forecast", "--seeds", "200"),
        ("verify", "--sample", "5"),
        ("verify", "--seed", "0"),
        ("app", "--port", "8501"),
    ],
)
def test_help_has_the_default_of_a_number(verb, option, number):
    text = " ".join(parser_of(verb).format_help().split())
    described = text.rpartition(f"{option} N")[2].partition(" --")[0]
    assert f"(default: {number})" in described
