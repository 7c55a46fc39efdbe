"""`cgrsp parameters`: names, values, units and meanings of any scenario."""

import json

import pytest
from support import check_bad_input

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.cli.parameters import MODULES, from_file, scenario_of, unit


def outcome(capsys, *words):
    """Status, stdout and stderr of the command."""
    status = main(["parameters", *words])
    return status, *capsys.readouterr()


def test_every_parameter_is_listed_with_value_unit_and_meaning(capsys):
    status, out, _ = outcome(capsys, "hectic")
    rows = {line.split()[0]: " ".join(line.split()) for line in out.splitlines()}
    assert status == 0
    assert rows["workload.rate_per_s"] == (
        "workload.rate_per_s 0.1 per s Arrivals per second, > 0."
    )
    assert rows["terms.budget_usd_per_day"].split()[1:4] == ["None", "USD", "per"]
    assert "market.clock.start_h" in rows


@pytest.mark.parametrize("name", ["hectic", *MODULES, "hgsp:tasks2", "dag:er:n=20"])
def test_the_file_of_a_scenario_gives_it_again(capsys, tmp_path, name):
    path = tmp_path / "scenario.toml"
    assert outcome(capsys, name, str(path))[0] == 0
    assert from_file(path) == scenario_of(name) == scenario_of(str(path))


@pytest.mark.parametrize("name", ["surge", *MODULES])
def test_a_schema_names_the_parameters(capsys, name):
    schema = json.loads(outcome(capsys, name, "--schema")[1])
    assert set(schema["required"]) <= set(schema["properties"])
    assert "module" in schema["properties"] or name == "surge"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hektic", ["unknown scenario 'hektic'; did you mean 'hectic'?", "waiting"]),
        ("none.toml", ["none.toml", "No such file"]),
        ("hgsp:tasks9", ["tasks9"]),
    ],
)
def test_an_unknown_scenario_is_one_line(capsys, name, words):
    check_bad_input(outcome(capsys, name), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('module = "wating"', ["unknown module 'wating'; did you mean 'waiting'?"]),
        ('module = "llm"\nttft_s = 1', ["unknown key in the file 'ttft_s'"]),
        (
            'module = "llm"\n[service]\ngpus = 0',
            ["[service]: gpus(=0) must be a whole"],
        ),
        (
            'module = "spot"\n[source]\nkind = "TwoStat"',
            ["unknown kind of source 'TwoStat'; did you mean 'TwoState'?"],
        ),
    ],
)
def test_a_wrong_file_is_one_line_with_its_name(capsys, tmp_path, text, words):
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    check_bad_input(outcome(capsys, str(path)), [str(path), *words])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("warm_s", "s"),
        ("rate_per_s", "per s"),
        ("price_usd_per_h", "USD per h"),
        ("storage_usd_per_gb_month", "USD per GB month"),
        ("per_h", "per h"),
        ("per_server", ""),
        ("slots", ""),
    ],
)
def test_the_unit_is_that_of_the_name(name, expected):
    assert unit(name) == expected


def test_a_file_of_another_module_runs(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(
        'module = "llm"\n[source]\nkind = "Offered"\nrequests = 5\n', encoding="utf-8"
    )
    scenario = from_file(path)
    assert len(cg.simulate(scenario, "fifo").rows()) == 5
