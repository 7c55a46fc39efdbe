"""JSON has null where a number does not exist, and neither NaN nor Infinity, wherever the
package writes JSON.
"""

import json
from pathlib import Path

import pytest

import cgrsp_simpy
from cgrsp_simpy.cli import main
from cgrsp_simpy.model.table import json_text

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


@pytest.mark.parametrize(
    "line",
    [
        "cluster table --loads 0.6 --seeds 1",  # no interval of one seed
        "cluster compare --schedulers fifo,easy --jobs 1 --seeds 1",
        "run --day quiet --jobs-per-day 1",  # no tight job, or no loose one
        "compare --day quiet --jobs-per-day 1 --policies fifo,spt --seeds 1",
        "sweep name=quiet slots=1,2 --policies fifo --seeds 1",
        "dag correlate --graph er:n=20 --gpus 3 --pairs 20",
        "hgsp compare --level tasks1 --schedulers fifo --instances 1",
        "waiting compare --rate 0.2 --service 500 --servers 104 --jobs 50 --trials 1",
    ],
)
def test_commands_print_json_that_any_program_reads(line, capsys):
    assert main([*line.split(), "--format", "json"]) == 0
    assert strict(capsys.readouterr().out)


def test_no_command_goes_to_json_another_way():
    commands = list((Path(cgrsp_simpy.__file__).parent / "cli").glob("*.py"))
    assert commands
    assert not [path.name for path in commands if "json.dump" in path.read_text()]
