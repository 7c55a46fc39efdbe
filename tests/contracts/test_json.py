"""JSON has null where a number does not exist, and neither NaN nor Infinity, wherever
the package writes JSON.
"""

import argparse
import json
from pathlib import Path

import pytest
from support import needs

import cgrsp_simpy
from cgrsp_simpy.base.table import json_text
from cgrsp_simpy.cli import main, make_parser

NAN, INF = float("nan"), float("inf")


def strict(text):
    """JSON as other programs read it."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_what_is_no_number_is_null_however_deep():
    value = {
        "a": NAN,
        "b": [INF, (-INF, 1.5, {"c": NAN})],
        "d": None,
        "e": "NaN",
        "f": True,
        "g": 3,
    }
    assert strict(json_text(value)) == {
        "a": None,
        "b": [None, [None, 1.5, {"c": None}]],
        "d": None,
        "e": "NaN",
        "f": True,
        "g": 3,
    }


# with as few jobs and seeds as there can be, so that figures are missing
LINES = [
    "cluster table --loads 0.6 --seeds 1",  # no interval of one seed
    "cluster compare --policies fifo,easy --jobs 1 --seeds 1",
    "run --day quiet --jobs 1",  # no tight job, or no loose one
    "compare --day quiet --jobs 1 --policies fifo,spt --seeds 1",
    "sweep name=quiet slots=1,2 --policies fifo --seeds 1",
    "dag correlate --graph er:n=20 --platform gpus=3 --pairs 20",
    "hgsp compare --level tasks1 --policies fifo --seeds 1",
    (
        "waiting compare --rate-per-s 0.2 --service-s 500 --machines 104 --jobs 50"
        " --seeds 1"
    ),
    (
        "tune slots=1:2 jobs=1 --policy fifo --day quiet --search"
        " training=1,population=2 --seeds 1"
    ),
    "month --days 1 --seeds 1 --policies fifo,spt",
    "advise --day quiet --jobs 1 --seeds 1 --policies fifo",
    "bound --day quiet --jobs 1 --seeds 1",
    "bound --day quiet --jobs 1 --seeds 1 --clairvoyant",
    "cluster run --jobs 1",
    "cluster sweep load=0.5 --policies fifo --jobs 1 --seeds 1",
    "cluster replay LOG --policies fifo",  # one job, which did not wait
    "dag solve --graph er:n=1,degree=0 --platform gpus=1 --budget evaluations=2",
    "dag run --graph er:n=1,degree=0 --platform gpus=1",
    (
        "dag compare --graph er:n=1,degree=0 --platform gpus=1 --budget evaluations=2"
        " --seeds 1"
    ),
    "dag sweep gpus=1,2 --graph er:n=1,degree=0 --policies heft --seeds 1",
    "hgsp run --level tasks1:tasks=1",
    "hgsp sweep tasks=1 --policies fifo --seeds 1",
    "hgsp solve --level tasks1:tasks=1 --policy wspt",
    "hgsp table --policies fifo --seeds 1",
    "llm table",
    "llm run --requests requests=1,output_tokens=1,cv=0",
    "llm compare --policies fifo --requests requests=5 --seeds 1",
    "llm sweep gpus=16 --policies fifo --requests requests=5 --seeds 1",
    "spot run --hours 1 --deadline 2 --overhead 0.1",
    "spot compare --hours 1 --deadline 2 --overhead 0.1 --seeds 1",
    "spot sweep deadline=2 --hours 1 --overhead 0.1 --seeds 1",
    "waiting run --machines 1 --jobs 1",
    "waiting sweep machines=9 --rate-per-s 0.01 --jobs 2 --policies ajw-t --seeds 1",
    "waiting analyze --policy ajw-t",
    "waiting optimize",
    "waiting plan --trace JOBS --machine whole --limit p95=600",
    "market report MARKET",  # without prices
    "market fit MARKET",
]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            each, marks=needs("pymoo", pytest.mark.slow) if "tune" in each else ()
        )
        for each in LINES
    ],
)
def test_commands_print_json_that_any_program_reads(line, capsys, tmp_path):
    market = tmp_path / "market.csv"
    rows = "".join(f"{3600 * hour},{hour % 5 and 1}\n" for hour in range(60))
    market.write_text(f"time,status\n{rows}", encoding="utf-8")
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 60 4 -1 -1 4 90 -1 1 7 1 3 2 1 -1 -1\n", encoding="utf-8")
    jobs = tmp_path / "jobs.csv"
    rows = "".join(f"{3600 * hour},{1800 + hour % 7}\n" for hour in range(24 * 30))
    jobs.write_text(f"time,wallclock_runtime_sec\n{rows}", encoding="utf-8")
    files = {"MARKET": str(market), "LOG": str(log), "JOBS": str(jobs)}
    words = [files.get(word, word) for word in line.split()]
    assert main([*words, "--format", "json"]) == 0
    assert strict(capsys.readouterr().out)


def test_every_command_with_json_is_tried():
    def leaves(parser, path=()):
        for each in parser._actions:
            if isinstance(each, argparse._SubParsersAction):
                for name, below in each.choices.items():
                    yield from leaves(below, (*path, name))
        if "json" in (parser.get_default("formats") or ()):
            yield path

    tried = [tuple(line.split()) for line in LINES]
    assert not [
        path
        for path in leaves(make_parser())
        if path not in {words[: len(path)] for words in tried}
    ]


def test_one_place_writes_csv():
    package = Path(cgrsp_simpy.__file__).parent
    files = [
        path
        for path in package.rglob("*.py")
        if "csv.writer" in (text := path.read_text()) or "DictWriter" in text
    ]
    assert [path.name for path in files] == ["table.py"]


def test_no_command_goes_to_json_another_way():
    commands = list((Path(cgrsp_simpy.__file__).parent / "cli").glob("*.py"))
    assert commands
    assert not [path.name for path in commands if "json.dump" in path.read_text()]
