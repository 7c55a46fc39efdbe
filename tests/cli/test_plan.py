"""The JSON of commands contains the words of the command line."""

import json

import pytest
from support import output

from cgrsp_simpy.cli import main


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log of a month of hourly jobs in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{3600 * hour},{1800 + hour % 7}\n" for hour in range(24 * 30))
    (tmp_path / "log.csv").write_text(f"submit_s,service_s\n{rows}")
    return "log.csv"


@pytest.mark.parametrize("machine", ["whole", "4", None])
def test_the_json_of_a_plan_has_the_machine_that_was_given(machine, log, capsys):
    words = [] if machine is None else [f"machine={machine}"]
    main(["plan", log, *words, "--limit", "p95=600", "--format", "json"])
    parameters = json.loads(capsys.readouterr().out)["parameters"]
    given = {} if machine is None else {"machine": machine}
    assert parameters == {"trace": log, **given}


def test_the_table_of_dag_is_of_any_graph_on_any_number_of_gpus(capsys):
    line = "papers tables dag graph=er:n=20 gpus=3 state=busy pairs=50 --format json"
    few = json.loads(output(capsys, *line.split()))["figures"]
    more = json.loads(output(capsys, *line.replace("gpus=3", "gpus=6").split()))[
        "figures"
    ]
    assert few[0]["found"] != more[0]["found"]


def test_a_pgf_without_latex_is_rejected_by_name(capsys, monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.plots.figure.which", lambda name: None)
    assert main(["redraw", "figure_5_6.csv", "--style", "width=120,pgf=yes"]) == 2
    line = "cgrsp redraw: pgf(='pdflatex') must be an installed LaTeX program\n"
    assert capsys.readouterr().err == line
