"""All JSON that the package writes has null for missing numbers, and neither NaN nor
Infinity.
"""

import json
from pathlib import Path

import jsonschema
import pytest
from support import output

import cgrsp_simpy
from cgrsp_simpy.base.table import json_text
from cgrsp_simpy.cli import VERBS, command_of

NAN, INF = float("nan"), float("inf")


def strict(text):
    """JSON as other programs read it."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_nan_is_null_at_every_depth():
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


def test_nested_values_are_indented_by_two_spaces():
    assert json_text({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'


# with as few jobs and seeds as there can be, so that figures are missing
LINES = [
    "compare cluster jobs=1 warm_up=0 --policies fifo,easy --seeds 1",
    "run quiet jobs=1",  # no tight job, or no loose one
    "compare quiet jobs=1 --policies fifo,spt --seeds 1",
    "sweep hectic name=quiet slots=1,2 --policies fifo --seeds 1",
    "papers tables dag graph=er:n=20 pairs=20",
    "papers tables thesis 4.1",
    ("compare waiting rate_per_s=0.2 service_s=500 machines=104 jobs=50 --seeds 1"),
    "compare month days=1 --seeds 1 --policies fifo,spt",
    "next STATE --policy fifo",
    "forecast STATE --seeds 1",
    "bound quiet jobs=1 slots=1 --seeds 1",
    "bound quiet jobs=1 --seeds 1 --clairvoyant",
    "run cluster jobs=1 warm_up=0",
    "sweep cluster load=0.5,0.6 jobs=1 warm_up=0 --policies fifo --seeds 1",
    "replay LOG --policies fifo",  # one job, which did not wait
    "run dag:er:n=1,degree=0 platform.gpus=1 budget.evaluations=2 --policy rtgs",
    "parameters month",
    "policies hgsp",
    "run dag:er:n=1,degree=0 platform.gpus=1",
    ("compare dag:er:n=1,degree=0 platform.gpus=1 budget.evaluations=2 --seeds 1"),
    "sweep dag:er:n=1,degree=0 gpus=1,2 --policies heft --seeds 1",
    "run hgsp:tasks1 source.tasks=1",
    "sweep hgsp tasks=1,2 --policies fifo --seeds 1",
    "run hgsp:tasks1 source.tasks=1 --policy wspt",
    "papers tables llm",
    "run llm source.requests=1 source.output_tokens=1 source.cv=0",
    "compare llm source.requests=5 --policies fifo --seeds 1",
    "sweep llm gpus=8,16 source.requests=5 --policies fifo --seeds 1",
    "run spot hours=1 deadline=2 overhead=0.1",
    "compare spot hours=1 deadline=2 overhead=0.1 --seeds 1",
    "sweep spot deadline=2,3 hours=1 overhead=0.1 --policies greedy --seeds 1",
    "run waiting machines=1 jobs=2",
    "sweep waiting machines=8,9 rate_per_s=0.01 jobs=2 --policies ajw-t --seeds 1",
    "plan waiting --policies ajw-t",
    "plan waiting",
    "plan JOBS machine=whole --limit p95=600",
    "market report MARKET",  # without prices
    "market fit MARKET",
    # take more than a second
    "papers tables cluster loads=0.6 --seeds 1",  # no interval of one seed
    "compare hgsp:tasks1 --policies fifo --seeds 1",
    "advise quiet jobs=1 --seeds 1 --policies fifo",
    "papers tables hgsp --policies fifo --seeds 1",
]


@pytest.mark.quick_cases(len(LINES) - 4)
@pytest.mark.parametrize("line", LINES)
def test_commands_print_json_that_any_program_reads(line, capsys, tmp_path, file):
    market = tmp_path / "market.csv"
    rows = "".join(f"{3600 * hour},{hour % 5 and 1}\n" for hour in range(60))
    market.write_text(f"time,status\n{rows}", encoding="utf-8")
    log = file("1 0 0 60 4 -1 -1 4 90 -1 1 7 1 3 2 1 -1 -1\n", "log.swf")
    jobs = tmp_path / "jobs.csv"
    rows = "".join(f"{3600 * hour},{1800 + hour % 7}\n" for hour in range(24 * 30))
    jobs.write_text(f"time,wallclock_runtime_sec\n{rows}", encoding="utf-8")
    state = file(
        '{"scenario": "quiet", "now_s": 0, "slots": ["RTX 3090"]}', "state.json"
    )
    files = {"MARKET": market, "LOG": log, "JOBS": jobs, "STATE": state}
    words = [str(files.get(word, word)) for word in line.split()]
    result = strict(output(capsys, *words, "--format", "json"))
    schema = Path(cgrsp_simpy.__file__).parent / "data" / "answer.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(result)
    assert [*result][:2] == ["subject", "parameters"]
    assert {"alternatives", "seeds", "figures"} <= result.keys()
    assert all(isinstance(row, dict) for row in result["figures"])


def test_every_command_with_json_is_tried():
    tried = {line.split()[0] for line in LINES}
    assert tried == {verb for verb in VERBS if "json" in command_of(verb).formats}
