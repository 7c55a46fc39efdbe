"""Files that were altered at random: each reader returns its results or raises a
one-line error; an altered results directory never gives other results.

A seed gives the same files each time; CGRSP_FUZZ sets the number of files per test
(200).
"""

import gzip
import json
import os
import random
import re
import shutil
from functools import partial
from pathlib import Path

import fuzzing
import pytest

FILES = int(os.environ.get("CGRSP_FUZZ", "200"))
DATA = Path(__file__).parents[1] / "data"
NUMBERS = [
    *"0 -1 nan inf -inf 1e308 1e-320 1e400 0x1 1.5 true null x +1 1e18 -0.0".split(),
    *"1000000000000 99999999999999999999 1_0 ٣".split(),
    *("", "9" * 400, "9" * 5000),
]
PIECES = [
    '"',
    "'",
    ",",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "\r",
    "\t",
    "|",
    ";",
    "#",
    ":",
    "\0",
    "é",
    "\ufeff",
    "\udcff",
    "x" * 140_000,
    "[" * 5000,
    "{" * 5000,
    '"""',
    "=1+1",
    "<b>",
    "\u2028",
    "[[" * 3000,
    '{"a":' * 3000,
    "a.",
    "\n[x]\n",
    "\n[[gpu]]\n",
    "2024-01-01 00:00:00",
    "--",
]
VALUES = [
    None,
    True,
    [],
    {},
    "",
    "x",
    -1,
    0,
    1.5,
    10**30,
    "nan",
    [[]],
    {"float": "x"},
    ["x"] * 3,
    float("nan"),
    float("inf"),
    {"float": "nan"},
    [1, 2, 3],
]

DAY = """name = "a day"
[fleet]
slots = 3
free_types = true
[workload]
jobs = 6
rate_per_s = 0.01
tight_fraction = 0.3
complexity_mix = [0.5, 0.3, 0.2]
[service]
distribution = "lognormal"
sigma = [0.1, 0.2, 0.3]
[market]
delay_s = [[0, 1], [2, 3], [4, 5]]
high_cap = 0.9
[market.clock]
bands = [[0, 1.0], [9, 0.5], [17, 1.0]]
start_h = 8
[[gpu]]
name = "A"
price_usd_per_h = 0.4
mean_execution_s = [60, 90, 120]
high_stock_probability = 0.8
"""
LISTED = """[fleet]
slots = 2
[workload]
job = [
    {id = 0, submit_s = 0, deadline_s = 900, complexity = 2, tight = true},
    {id = 1, submit_s = 5.5, deadline_s = 900, gpus = 2, weight = 2.0},
]
"""
HOURLY = """[workload]
jobs = 6
[workload.rates]
per_h = [10, 20, 30, 5, 9, 9, 9, 9, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]
[[workload.class]]
name = "rush"
share = 0.5
window_s = 600
[[workload.class]]
name = "bulk"
share = 0.5
window_s = 6000
"""
JOBS = "".join(
    f"{9 * n},{5 + n},{n % 3 + 1},user{n % 2},{400 + 9 * n}\n" for n in range(8)
)
JOBS = f"submit_s,service_s,gpus,user,deadline_s\n{JOBS}"
STAMPS = "timestamp,service_s\n2024-11-20 10:00:00Z,5\n2024-11-20T11:00:00+02:00,7\n"
TASKS = (
    "task,workload,memory_gb,deadline_s,weight,arrival_s\n"
    "a,900,10,50,2,0\n"
    "b,500,20,90,1,3\n"
)
GPUS = '[[gpu]]\nserver = "s"\ntflops = 10\nmemory_gb = 24\ncount = 2\n'
LINKS = (
    GPUS
    + '[[link]]\none_end = "s"\nother_end = "s"\ngb_per_s = 10\nlatency_s = 0.001\n'
)
LINKED = (
    "server,tflops,memory_gb,one_end,other_end,gb_per_s\n"
    "s,5,24,,,\n"
    "t,9,24,,,\n"
    ",,,s,t,2\n"
)
CLUSTER = '[[gpu]]\nname = "A"\nmemory_gb = 80\nspeed = 50\n'
PRICES = "name,cores,memory_gb,price_per_h\nsmall,4,16,0.2\nbig,128,512,6.1\n"
NUMBERED = " ".join(str(n % 9 + 1) for n in range(12))
SACCT = (
    "JobID|Submit|Start|End|TimelimitRaw|ReqTRES|AllocTRES|Partition|Account|User|QOS|"
    "State\n"
    "1|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:11:00|60|cpu=4,gres/gpu=1|"
    "cpu=4,mem=8G,gres/gpu=1|p|a|u|q|COMPLETED\n"
    "2|2024-01-01T00:05:00|2024-01-01T00:06:00|2024-01-01T00:09:00|10|gres/gpu=2|"
    "gres/gpu=2|p|a|u|q|FAILED\n"
)
BATCH = "".join(
    f"{name},1,j_1,1,Terminated,{10 + n},{20 + n},100,0.5\n"
    for n, name in enumerate(("M1", "M2_1", "J3_1_2"))
)
FLOW = json.dumps(
    {
        "name": "flow",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": "a",
                        "id": "a",
                        "parents": [],
                        "children": ["b"],
                        "outputFiles": ["f"],
                    },
                    {
                        "name": "b",
                        "id": "b",
                        "parents": ["a"],
                        "children": [],
                        "inputFiles": ["f"],
                    },
                ],
                "files": [{"id": "f", "sizeInBytes": 1000000}],
            },
            "execution": {
                "tasks": [
                    {"id": "a", "runtimeInSeconds": 5.5, "memoryInBytes": 1000},
                    {"id": "b", "runtimeInSeconds": 3},
                ]
            },
        },
    }
)
SWF = (DATA / "nasa_ipsc.swf").read_text()
SWF = "".join(line for line in SWF.splitlines(keepends=True)[:60])
PHILLY = "".join(
    (DATA / "philly_0e4a51.trace").read_text().splitlines(keepends=True)[:6]
)
AZURE = "".join((DATA / "azure_llm_code.csv").read_text().splitlines(keepends=True)[:8])
OWN = "def first(view):\n    return list(zip(view.queue, view.idle))\n"

CASES = [
    # (the file, its text, the command that reads it)
    ("day.toml", DAY, "run day.toml --policy rh"),
    ("day.toml", DAY, "bound day.toml --seeds 1 --format json"),
    (
        "day.toml",
        DAY,
        "compare day.toml --policies fifo,triage --seeds 2 --format json",
    ),
    ("listed.toml", LISTED, "run listed.toml --policy edf --format json"),
    ("hourly.toml", HOURLY, "run hourly.toml --policy cadr"),
    ("log.toml", '[workload]\ntrace = "jobs.csv"\nwindow = "0:50"\n', "run log.toml"),
    ("jobs.csv", JOBS, "run rental trace=jobs.csv --policy spt --by user"),
    (
        "jobs.csv",
        JOBS,
        "run waiting trace=jobs.csv machines=1 --format json",
    ),
    ("jobs.csv", JOBS, "compare cluster trace=jobs.csv --seeds 1 --format json"),
    (
        "stamps.csv",
        STAMPS,
        "run rental trace=stamps.csv log.window=2024-11-20:2024-11-22",
    ),
    ("log.swf", SWF, "run cluster trace=log.swf --policy easy"),
    ("log.swf", SWF, "run cluster trace=log.swf --policy conservative --show out.swf"),
    (
        "log.swf",
        SWF,
        "compare waiting trace=log.swf machines=2 --seeds 1",
    ),
    ("log.trace", PHILLY, "run cluster trace=log.trace log.format=philly"),
    ("log.txt", SACCT, "run cluster trace=log.txt log.format=sacct --policy easy"),
    ("llm.csv", AZURE, "run llm trace=llm.csv --format json"),
    ("tasks.csv", TASKS, "run hgsp instance=tasks.csv --policy greedy"),
    ("tasks.csv", TASKS, "run hgsp instance=tasks.csv --policy atc --format json"),
    (
        "cluster.toml",
        CLUSTER,
        "run hgsp:tasks1 source.cluster=cluster.toml source.tasks=5",
    ),
    ("wt.txt", NUMBERED, "run hgsp orlib=wt.txt orlib.tasks=2 --policy wspt"),
    ("flow.json", FLOW, "run dag:flow.json platform.gpus=2 --format json"),
    ("batch.csv", BATCH, "run dag:batch.csv:j_1 platform.gpus=2"),
    ("gpus.toml", LINKS, "run dag:er:n=8 platform=gpus.toml"),
    ("gpus.csv", LINKED, "run dag:er:n=8 platform=gpus.csv"),
    (
        "prices.csv",
        PRICES,
        "run waiting trace=log.swf machines=1 sizes=prices.csv --policy compound",
    ),
    ("own.py", OWN, "run quiet jobs=4 --policy own.py:first"),
]


@pytest.mark.quick_cases(8)
@pytest.mark.parametrize(
    ("name", "text", "command"), CASES, ids=[case[2] for case in CASES]
)
def test_the_files_are_read_as_they_are(tmp_path, name, text, command):
    folder = tmp_path / "work"
    folder.mkdir()
    for file, content in (("jobs.csv", JOBS), ("log.swf", SWF), (name, text)):
        (folder / file).write_text(content)
    ended = fuzzing.carried_out(command.split(), folder, tmp_path)
    assert (ended.status, fuzzing.faults(command.split(), ended)) == (0, [])


def spoiled(draw, text):
    """A text, altered in one to four places."""
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        text = draw.choice(WAYS)(draw, text)
    return text


def lacking(draw, text):
    """Without some letters, or the rest."""
    start = draw.randrange(len(text) + 1)
    return text[:start] + text[start + draw.choice([draw.randrange(30), len(text)]) :]


def with_piece(draw, text):
    start = draw.randrange(len(text) + 1)
    return text[:start] + draw.choice(PIECES) + text[start:]


def other(draw, text, pattern):
    """Another text in place of one of this pattern: one of them, or a number."""
    results = list(re.finditer(pattern, text))
    if not results:
        return text
    place = draw.choice(results)
    piece = draw.choice([draw.choice(results)[0], "x", "", *NUMBERS])
    return text[: place.start()] + piece + text[place.end() :]


other_number = partial(other, pattern=r"-?\d+(\.\d+)?")
other_word = partial(other, pattern=r"\w+")


def other_lines(draw, text):
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one] = draw.choice(
        [lines[other], "", lines[one] * 2, lines[one].rstrip("\r\n")]
    )
    return "".join(lines)


WAYS = [lacking, lacking, with_piece, *[other_number] * 3, other_word, other_lines]


def altered_json(draw, text):
    """JSON with another value in some place; as text where it is none."""
    try:
        result = json.loads(text)
    except ValueError:
        return spoiled(draw, text)
    places = list(inner(result))
    if not places:
        return spoiled(draw, text)
    holder, key = draw.choice(places)
    if draw.random() < 0.2:
        del holder[key]
    else:
        holder[key] = draw.choice(VALUES)
    return json.dumps(result)


def inner(value):
    """Each place within lists and objects."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs):
        yield value, key
        if isinstance(each, (dict, list)):
            yield from inner(each)


def packed(draw, text):
    """A text as the bytes of a file, at times gzipped, and then at times damaged."""
    content = text.encode("utf-8", errors="surrogateescape")
    if draw.random() < 0.75:
        return content
    content = bytearray(gzip.compress(content, mtime=0))
    if draw.random() < 0.6:
        for _ in range(draw.choice([1, 3])):
            content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content[: draw.choice([None, None, draw.randrange(len(content))])])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_altered_files_are_read_or_give_a_clean_error(tmp_path, seed):
    draw, folder, wrong = random.Random(seed), tmp_path / "work", []
    for _ in range(FILES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "jobs.csv").write_text(JOBS)
        (folder / "log.swf").write_text(SWF)
        name, text, command = draw.choice(CASES)
        change = (
            altered_json if name.endswith("json") and draw.random() < 0.7 else spoiled
        )
        content = packed(draw, change(draw, text))
        (folder / name).write_bytes(content)
        ended = fuzzing.carried_out(command.split(), folder, tmp_path)
        wrong += [
            f"{fault}: {command}: {fuzzing.shown(content)}\n{ended.err[-600:]}"
            for fault in fuzzing.faults(command.split(), ended)
        ]
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong)


STUDIES = [
    "compare quiet jobs=5 --policies fifo,spt --seeds 3 --out out",
    "sweep quiet slots=1,2 jobs=5 --policies fifo --seeds 2 --out out",
    "compare month days=2 --seeds 2 --policies fifo,spt --out out",
    ("compare dag:er:n=8 platform.gpus=2 budget.evaluations=20 --seeds 2 --out out"),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The results directories of some studies, and what the commands printed."""
    results = []
    for number, command in enumerate(STUDIES):
        folder = tmp_path_factory.mktemp(f"kept{number}")
        ended = fuzzing.carried_out(command.split(), folder, folder.parent)
        assert ended.status == 0, ended.err
        results.append((command, folder / "out", ended.out))
    return results


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_an_altered_results_directory_gives_the_same_results_or_none(
    tmp_path, kept, seed
):
    draw, folder, wrong = random.Random(seed), tmp_path / "work", []
    for _ in range(FILES):
        shutil.rmtree(folder, ignore_errors=True)
        command, whole, printed = draw.choice(kept)
        shutil.copytree(whole, folder / "out")
        path = draw.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        is_result = path.parent.name == "chunks" or path.name == "configuration.json"
        change = draw.choice([altered_json, spoiled])
        content = change(draw, path.read_text()).encode(
            "utf-8", errors="surrogateescape"
        )
        path.write_bytes(content)
        again = draw.choice([command, "verify out --sample 2"])
        ended = fuzzing.carried_out(again.split(), folder, tmp_path)
        result = fuzzing.faults(again.split(), ended)
        if again == command and ended.status == 0 and ended.out != printed:
            result.append("other results")
        if again != command and ended.status == 1 and not is_result:
            result.append("sound results that are called altered")
        wrong += [
            f"{fault}: {again}: {path.name}: {fuzzing.shown(content)}\n"
            f"{ended.err[-600:]}"
            for fault in result
        ]
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong)
