"""Random commands of every module with values that no one would give: each ends with
status 0, 1 or 2, soon, and a wrong one with one line.

A seed gives the same commands each time; CGRSP_FUZZ tells how many a test tries (200).
"""

import argparse
import os
import random
import shlex

import fuzzing
import pytest

from cgrsp_simpy.cli import make_parser

COMMANDS = int(os.environ.get("CGRSP_FUZZ", "200"))
LONG_NUMBER = "9" * 400
WHOLE = [
    "0",
    "-1",
    "1.5",
    "x",
    "",
    "1000000000",
    "1000000001",
    "1000000000000",
    LONG_NUMBER,
]
WHOLE += ["9" * 5000, "+3", " 3 ", "1_0", "٣", "nan", "-0"]
NUMBERS = [
    "0",
    "-1",
    "x",
    "",
    "nan",
    "inf",
    "-inf",
    "1e-300",
    "1e300",
    "1e308",
    "1e309",
    "1e18",
]
NUMBERS += [
    "1e-9",
    "1e-18",
    "5e-324",
    "0.5",
    "1",
    "2",
    "100",
    LONG_NUMBER,
    "1e6",
    "-0.0",
]
TEXTS = [
    "",
    " ",
    ",",
    ":",
    "=",
    "x",
    "a=b",
    "a=",
    "=b",
    "0:inf",
    "1:2",
    "9:0",
    "nan",
    "-",
    "--",
]
TEXTS += [
    "é",
    "😀",
    "\udcff",
    "\n",
    "a\nb",
    "\t",
    "..",
    ".",
    "/",
    "/dev/null",
    "/nowhere/x",
    "~",
]
TEXTS += [
    "x" * 300,
    "x" * 5000,
    "%s",
    "{}",
    "[]",
    "null",
    "0",
    "1",
    "1e400",
    "<b>",
    "=1+1",
    "a,a",
]
FILES = [
    "jobs.csv",
    "day.toml",
    "log.swf",
    "own.py",
    "tasks.csv",
    "flow.json",
    "gpus.toml",
]
FILES += [
    "prices.csv",
    "empty",
    "binary",
    "folder",
    "none.csv",
    "own.py:first",
    "own.py:leaves",
]
# what some texts could well be
LIKELY = {
    "policy": (
        "fifo spt edf rh rh:reserve=1e9 cadr triage own.py:first own.py:leaves random"
        " easy sww ajw greedy heft annealing:moves=5 rh:gate=nan"
    ),
    "policies": (
        "fifo fifo,spt rh:reserve=1,gate=nan own.py:first,fifo easy,fifo ajw,njw sww"
        " heft,round-robin atc,wspt own.py:leaves,fifo =x fifo,fifo"
    ),
    "day": "quiet normal hectic surge Quiet",
    "log": (
        "format=csv format=swf,strict=yes window=0:10 window=0: window=nan:1"
        " submit=submit_s service=x skip_wide=yes weight=short,gpus=1 needed=2 needed=0"
        " history=nan format=azure_llm"
    ),
    "terms": (
        "warm_s=5 retry_s=60,warm_s=1 warm_s=nan restart_s=3 suspension=yes"
        " billed_from=x preemption_per_h=2,checkpoint_s=9 budget_usd_per_day=1e-320"
    ),
    "market": (
        "clock=printed sight=now,persistence_s=60 persistence_s=nan up_h=1,down_h=2"
        " up_h=0 sight=poll:5 RTX=x jobs.csv"
    ),
    "prices": "fixed=1 fixed=0,on_demand=1 on_demand=nan price_miss=1e307 price_slot=0",
    "errors": (
        "wait_over=.1 run_over=.2,run_under=.2 wait_over=nan wait_over=2 wait_under=.5"
    ),
    "machine": "whole cores=4 cores=4,memory_gb=16 cores=0 memory_gb=nan",
    "spot": "share=.4,per_h=.2 share=2,per_h=1 share=.4",
    "seeds": "1 2 0:2 5:3 0 -1 x 1000000000000",
    "budget": "evaluations=5 evaluations=0 seconds=0.2 evaluations=x",
    "show": "events step g.png g.svg a.html /nowhere/g.png g.xyz folder /dev/full.png",
    "instance": (
        "tasks.csv:skip_unfit=yes tasks.csv:cluster=large tasks.csv:cluster=x"
        " none.csv:x="
    ),
    "orlib": "log.swf:index=0 jobs.csv:tasks=5 tasks.csv:machines=0",
    "grid": (
        "slots=1,2 jobs=5 load=0.5,1e308 noise=0,nan tasks=5,6 rate=1"
        " slots=1000000000000 fifo:x=1 rh:reserve=0,1 machines=1,2 graph=er:n=5"
        " name=quiet name=quiet,surge slots=" + "9" * 5000
    ),
    "mix": (
        "quiet=1 quiet=0.5,hectic=0.5 quiet=nan quiet=1e-320,surge=1 quiet=2"
        " overestimate=1 overestimate=nan users=0 kind_shares=1:0:0"
    ),
    "placement": "best first worst x",
    "loads": "0.5 0.6,0.9 1e-300 nan 1e308 0.5,0.5",
    "graph": (
        "er:n=8 er:n=0 er:n=1000000000000 er:n=5,degree=nan chain:n=5 flow.json er:n=x"
        " er er:n=5,degree=1e308 layered:n=9 er:n=6,n=7 whale:"
    ),
    "platform": (
        "gpus.toml x.csv none.toml gpus=3 gpus=0 tflops=1:2 tflops=nan inter_gb_per_s=0"
    ),
    "level": (
        "tasks1:tasks=9 tasks2:tasks=9,load=0.5 x tasks1:slack=2:1 tasks1:tasks=0"
        " tasks1:x=1"
    ),
    "cluster": (
        "8x8 1x1 0x0 1000000x8 4x8,2x4 x gpus=4 gpus=0,memory_gb=1"
        " decode_tokens_per_s=nan"
    ),
    "precision": "0.5 0.9 nan tight_miss_pct=0.9 1e-300 wait_min=5",
    "by": "user job_id x price load delay",
    "objective": "wait mix tight_misses x",
    "order": "fcfs sjf own.py:first",
    "target": "miss<=1 wait<=5,miss<=2% x<=1 miss<1 wait<=-1",
    "load": "1 +10% x 0 nan 1e300",
    "id": "2.9 9.9 x",
    "runs": "folder nowhere",
    "directory": "folder . nowhere jobs.csv",
    "only": "x",
    "swf": "s.swf /nowhere/s.swf folder",
    "out": "out out2 folder jobs.csv /nowhere/x /proc/x",
    "report": "report folder jobs.csv /proc/x",
    "copy": "copied folder jobs.csv",
}
NAMES_FILES = ("scenario", "trace", "instance", "orlib", "sizes", "platform", "graph")
# what keeps the work small, where the option is not drawn
SMALL = {
    "--seeds": "1",
    "--days": "2",
    "--moves": "20",
    "--budget": "evaluations=20",
    "--pairs": "5",
    "--only": "none",
    "--seconds": "0.2",
    "--graph": "er:n=8",
}
SMALL_UNLESS = {
    "--loads": ("0.6",),
    "--jobs": ("30", "--trace"),
    "--level": ("tasks1:tasks=12", "--instance", "--orlib"),
}
SELDOM = {("cluster", "table"): 0.2, ("advise",): 0.5, ("bound",): 0.5}  # take seconds
LEFT_OUT = {"--help"}
# they run for minutes
UNTRIED = {
    *(
        "thesis tables",
        "thesis check",
        "thesis figures",
        "thesis table",
        "thesis figure",
    ),
    "app",  # until it is interrupted
}


def leaves(parser, path=()):
    """Each command that has no further actions: its words and its parser."""
    inner = [
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    ]
    if not inner:
        return {path: parser}
    return {
        words: leaf
        for each in inner
        for name, below in each.choices.items()
        for words, leaf in leaves(below, (*path, name)).items()
    }


def drawn_value(draw, option, nasty):
    """A value of an option: one that no one would give, if it is to be nasty."""
    if option.choices and draw.random() < 0.95:
        return draw.choice(sorted(map(str, option.choices)))
    if option.type is int:
        return draw.choice(WHOLE if nasty else "1 2 3 5 7".split())
    if option.type is float:
        return draw.choice(NUMBERS if nasty else "0.5 1 2 10 100".split())
    likely = LIKELY.get(option.dest, "").split(" ")
    files = FILES if option.dest in NAMES_FILES else []
    return draw.choice(TEXTS if nasty and draw.random() < 0.5 else [*likely, *files])


def drawn_command(draw, commands):
    """The words of a command."""
    path = draw.choices(
        sorted(commands), [SELDOM.get(each, 1) for each in sorted(commands)]
    )[0]
    words, options = list(path), commands[path]._actions
    number = draw.choice([0, 1, 1, 2, 3, 6])
    usable = [each for each in options if not LEFT_OUT & set(each.option_strings)]
    optional = [each for each in usable if each.option_strings and not each.required]
    chosen = [each for each in usable if each.required and draw.random() < 0.97]
    chosen += draw.sample(optional, min(number, len(optional)))
    chosen += [
        each
        for each in usable
        if not each.option_strings and not each.required and draw.random() < 0.2
    ]
    for option in chosen:
        nasty = draw.random() < 1.5 / len(chosen)
        value = [] if option.nargs == 0 else [drawn_value(draw, option, nasty)]
        if option.option_strings:
            name = draw.choice(option.option_strings)
            words += (
                [f"{name}={value[0]}"]
                if value and draw.random() < 0.3
                else [name, *value]
            )
        else:
            words += value
    given = {word.partition("=")[0] for word in words}
    known = {name for each in options for name in each.option_strings}
    files = [each for each in options if each.dest == "scenario" and each in chosen]
    given |= {"--trace"} if files else set()
    for name, (value, *unless) in {
        **{n: (v,) for n, v in SMALL.items()},
        **SMALL_UNLESS,
    }.items():
        other = path == ("advise",) and name == "--budget"  # in USD
        if name in known and not given & {name, *unless} and not other:
            words += [name, value]
    if commands[path].get_default("formats") and draw.random() < 0.5:
        words += ["--format", draw.choice(["csv", "json"])]
    return words


OWN = """import sys
def first(view):
    return list(zip(view.queue, view.idle))
def leaves(view):
    sys.exit(0)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with files of most kinds."""
    made = tmp_path / "work"
    (made / "folder").mkdir(parents=True)
    texts = {
        "jobs.csv": "submit_s,service_s,gpus,user\n0,5,1,a\n3,9,2,=b\n4,50,1,a\n",
        "day.toml": "[workload]\njobs = 5\nrate_per_s = 0.01\n",
        "log.swf": "; MaxProcs: 8\n1 0 0 10 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n",
        "own.py": OWN,
        "tasks.csv": (
            "workload,memory_gb,deadline_s,weight,arrival_s\n9,1,90,1,0\n5,2,50,2,3\n"
        ),
        "flow.json": '{"workflow": {"tasks": []}}',
        "gpus.toml": '[[gpu]]\nserver = "a"\ntflops = 10\nmemory_gb = 24\ncount = 2\n',
        "prices.csv": "name,cores,memory_gb,price_per_h\na,4,16,0.2\nb,64,256,3\n",
        "empty": "",
        "binary": "\x00\x01\x02",
    }
    for name, text in texts.items():
        (made / name).write_text(text)
    return made


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_random_commands_end_in_order(folder, tmp_path, seed):
    draw = random.Random(seed)
    commands = {
        path: leaf
        for path, leaf in leaves(make_parser()).items()
        if " ".join(path) not in UNTRIED
    }
    wrong = []
    for _ in range(COMMANDS):
        words = drawn_command(draw, commands)
        ended = fuzzing.carried_out(words, folder, tmp_path)
        wrong += [
            f"{fault}: cgrsp {shlex.join(words)}\n{ended.err[-600:]}"
            for fault in fuzzing.faults(words, ended)
        ]
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong)
